"""Drawings: what is in them, and the same policy in the same colour everywhere."""

import re

import pytest
from tests.lab.analysis.report.conftest import losses

from aquamend.errors import MissingLibrary
from aquamend_lab.analysis.charts import Dot, Panel, Style, dot_plot, require_matplotlib, style_of
from aquamend_lab.analysis.metrics import summarise, summarise_together
from aquamend_lab.analysis.paper import paper_table
from aquamend_lab.analysis.report.paired import comparisons
from aquamend_lab.analysis.report.plots import difference_dots, gap_distribution, mean_dots, risk_by_size
from aquamend_lab.analysis.report.rendering import inline_svg
from aquamend_lab.analysis.table import table_of

POLICIES = (
    "greedy-repair", "power-per-cost",
    "exact", "lookahead-2", "lookahead-3", "aquamend", "all-candidates", "linear-chain", "troubleshooting",
    "decoupled", "greedy", "restart", "rollback-only", "no-reprobe", "certified", "structured", "oracle",
    "blind-retry", "veritrace", "belief-replan", "tms-revision",
)  # fmt: skip


def test_no_two_policies_look_the_same():
    assert len({style_of(policy) for policy in POLICIES}) == len(POLICIES)


def test_no_two_ablations_look_the_same():
    ablations = (
        "aquamend", "no-reprobe", "no-attribution", "no-source-separation", "power-per-cost", "independence-proxy",
        "beam-proxy", "monte-carlo-proxy", "overconfident",
    )  # fmt: skip
    assert len({style_of(policy).colour for policy in ablations}) == len(ablations)


def test_a_policy_of_ones_own_always_looks_the_same():
    assert style_of("mine:Careful") == Style("mine:Careful", "#7272d8", "v")


def test_a_drawing_names_its_policies_and_the_paper(m1):
    figure = mean_dots("here", summarise(table_of(m1)), paper_table("m1-v2"))
    for text in (b"AquaMend, all candidates", b"Exact adaptive", b"mean expected risk", b"95 % interval", b"paper"):
        assert text in figure.svg
    assert "hollow: the paper’s value" in figure.caption
    assert figure.png.startswith(b"\x89PNG")


def test_without_the_papers_numbers_nothing_is_hollow(m1):
    assert "paper" not in mean_dots("here", summarise(table_of(m1)), None).caption


def test_an_infinite_mean_is_not_drawn(make):
    run = make(losses("aquamend", ["inf"]), losses("exact", [1.0]))
    assert b"AquaMend" not in mean_dots("here", summarise(table_of(run)), None).svg


def test_risk_is_drawn_against_size_only_where_groups_are_sizes(m1, depth, proxies):
    assert b"mean expected risk" in risk_by_size("here", summarise(table_of(depth)), table_of(depth), None).svg
    assert risk_by_size("here", summarise(table_of(m1)), table_of(m1), None) is None
    assert risk_by_size("here", summarise(table_of(proxies)), table_of(proxies), None) is None


@pytest.mark.slow
def test_certified_bounds_are_shaded_where_they_do_not_meet(make):
    def sized(lower):
        lines = losses("certified", [3.0, 3.0])
        return [line | {"group": {"n": line["scenario"]}, "lower": lower, "upper": 3.0} for line in lines]

    for lower, shaded in ((2.0, True), (3.0, False)):
        run = make(sized(lower))
        assert (
            "certified bounds" in risk_by_size("here", summarise(table_of(run)), table_of(run), None).caption
        ) is shaded


def test_the_distribution_says_the_share_without_a_gap(m1):
    text = gap_distribution("here", table_of(m1)).svg.decode()
    assert "AquaMend (75 %)" in text
    assert "Restart (0 %)" in text
    assert ">0.01<" in text
    assert "mathdefault" not in text
    assert "Oracle" not in text


def test_a_difference_is_drawn_with_the_sign_that_the_table_has(make):
    run = make(losses("aquamend", [1.0, 2.0]), losses("restart", [3.0, 5.0]))
    figure = difference_dots("here", comparisons(table_of(run), metric="loss"))
    assert "−2.5000" in figure.svg.decode()
    assert "Left of zero, AquaMend is better" in figure.caption


@pytest.mark.slow
@pytest.mark.parametrize("name", ["$a_b$", "a$\\frac$b", "_private", "x" * 300])
def test_any_name_can_be_drawn_as_it_is_written(make, name):
    run = make(losses("exact", [1.0, 1.0]), losses(name, [1.5, 2.0]))
    for figure in (mean_dots("here", summarise(table_of(run)), None), gap_distribution("here", table_of(run))):
        assert name[:29] in figure.svg.decode()


def test_a_mean_over_fewer_scenarios_says_so_in_the_drawing(make):
    run = make(losses("aquamend", [1.0, 2.0]), losses("exact", [1.0]))
    assert b"Exact adaptive (1 of 2)" in mean_dots("here", summarise(table_of(run)), None).svg


def test_the_key_speaks_of_intervals_only_where_there_are_any():
    for low, text in ((0.5, b"ours, 95 % interval"), (None, b">ours<")):
        dots = (Dot("exact", "Exact", 1.0, "1", low, None if low is None else 1.5, paper=2.0),)
        assert text in dot_plot("here", [Panel("", dots)], axis="x").svg


@pytest.mark.slow
def test_estimators_are_drawn_group_by_group(proxies):
    text = mean_dots("here", summarise(table_of(proxies)), paper_table("m1-proxy-v2")).svg.decode()
    assert "mode = correlated, support = small" in text
    assert "Beam-32" in text


def test_a_drawing_in_a_page_takes_the_pages_colours_and_has_its_own_identifiers(m1):
    figure = mean_dots("here", summarise(table_of(m1)), None)
    inside = inline_svg(figure)
    assert "currentColor" in inside
    assert "xmlns" not in inside
    assert all(name.startswith("here-") for name in re.findall(r'\bid="([^"]+)"', inside))


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingLibrary, match=r"pip install 'aquamend-lab\[report\]'"):
        require_matplotlib()


@pytest.mark.slow
def test_episodes_are_drawn_by_loss_and_by_success_each_on_its_own_axis(stress):
    figure = mean_dots("here", summarise_together(table_of(stress)), paper_table("t4-stress-v3"))
    for text in (">mean realised loss<", ">mean success<", ">Blind retry<"):
        assert text in figure.svg.decode()
    assert figure.caption == "Mean realised loss and success with their 95 % intervals; hollow: the paper’s value."
    assert figure == mean_dots("here", summarise_together(table_of(stress)), paper_table("t4-stress-v3"))


def test_a_title_takes_two_lines_where_the_labels_leave_no_room_for_one():
    for label, lines in (("Troubleshooting (DTT)", ["prior: four times the false", "alarms"]), ("Exact", [])):
        panel = Panel("prior: four times the false alarms", (Dot("exact", label, 1.0, "1"),))
        text = dot_plot("here", [panel], axis="x").svg.decode()
        assert all(f">{line}<" in text for line in lines or [panel.title])
