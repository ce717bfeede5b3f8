"""What suites of acted-out episodes show beyond their means: parts, scenes, probabilities and times."""

from pathlib import Path

import pytest
from tests.lab.analysis.report.conftest import record

from aquamend.errors import InvalidRun
from aquamend.learning.estimates import brier
from aquamend_lab.analysis.metrics import summarise, summarise_together
from aquamend_lab.analysis.paper import paper_table
from aquamend_lab.analysis.report.build import analysed, suite_section
from aquamend_lab.analysis.report.document import Folded, Table
from aquamend_lab.analysis.report.executions import (
    counts_table,
    divisions,
    doubt_curves,
    doubts,
    event_qualities,
    quality_table,
    setting_table,
    timing_dots,
    timing_table,
)
from aquamend_lab.analysis.report.paired import comparisons, over_all, paired_table, without_parts
from aquamend_lab.analysis.report.plots import loss_bars, scene_stems
from aquamend_lab.analysis.statistics import paired_bootstrap, stratified_bootstrap
from aquamend_lab.analysis.table import table_of
from aquamend_lab.records import Run

STAGES = ("early", "late")


@pytest.fixture
def run(make):
    """Eight scenes of two stages; all-candidates acts as AquaMend does, and restart's continuation is noisy."""

    def policy(name, rollback, noise, **more):
        return [
            record(
                name, number, None, group={"stage": STAGES[number % 2]}, expected_risk=None,
                sensing=0.5, rollback=rollback, continuation=50.0 + noise * number, residual=10.0 * (number == 3),
                ending="last_resort" if number == 3 else "roll_back", false_alarm=number < 4, rollbacks=rollback,
                decisions=2, evaluated=3 + number, **more,
            )
            for number in range(8)
        ]  # fmt: skip

    kept = {
        "posterior": {"beliefs": ["target", "camera"], "at": [[0.4, 0.2], [0.9, 0.1]]},
        "declarations": [
            {"event": "target", "when": "old", "version": 1, "q": 0.4, "so": True},
            {"event": "camera", "when": "old", "version": 1, "q": 0.2, "so": False},
            {"event": "camera", "when": "current", "version": 2, "q": 0.3, "so": None},
        ],
    }
    records = [
        policy("aquamend", 0.0, 0.0, **kept), policy("all-candidates", 0.0, 0.0, **kept), policy("restart", 9.0, -2.0),
    ]  # fmt: skip
    for line in (line for lines in records for line in lines):
        line["loss"] = sum(line[name] for name in ("sensing", "rollback", "continuation", "residual"))
    timings = [
        {"seed": 0, "scenario": n, "policy": name, "decision_ms": 100.0 + extra * (n % 2 == 0) + n, "peak_kib": None}
        for name, extra in (("aquamend", 0.0), ("all-candidates", 40.0))
        for n in range(8)
    ]
    annotations = [{"seed": 0, "scenario": n, "truths": [{"failed": ["target"]}]} for n in range(8)]
    return make(*records, suite="pouring-v3", timings=timings, annotations=annotations)


def texts(table, row):
    return [cell.text for cell in table.rows[row]]


def test_the_interval_of_a_mean_over_strata_is_resampled_within_them(run):
    table = table_of(run)
    found = summarise_together(table)[2]
    losses = table.column("loss")[:, 2]
    assert found.interval("mean_loss") == stratified_bootstrap(losses, [STAGES[n % 2] for n in range(8)])
    assert found.interval("mean_loss") != paired_bootstrap(losses)


def test_counts_and_savings_are_those_of_the_papers_definitions(run):
    ours, _, restart = summarise_together(table_of(run))
    assert (ours["rollbacks"], restart["rollbacks"], ours["safe_stops"]) == (0.0, 9.0, 1.0)
    assert (ours["zero_rollback_rate"], restart["zero_rollback_rate"]) == (1.0, 0.0)
    spent, whole = 8 * 50.5, sum(0.5 + 9.0 + 50.0 - 2.0 * n for n in range(8))
    assert ours["saving"] == pytest.approx(1.0 - spent / whole)  # residual losses are not in it


def test_a_bar_has_the_parts_of_the_loss_and_the_papers_below(run):
    figure = loss_bars("here", summarise_together(table_of(run)), paper_table("pouring-v3"))
    assert figure.caption == "What the mean realised loss is made of; paler, below: the paper’s."
    for text in ("continuation", "Restart", "mean realised loss", "51.8"):
        assert f">{text}<" in figure.svg.decode()
    assert loss_bars("here", summarise(table_of(run)), None) is None


def test_every_scene_has_a_stem_where_there_are_differences(run):
    table = table_of(run)
    figure = scene_stems("here", over_all(comparisons(table, metric="loss")), table)
    assert "against Restart" in figure.svg.decode()
    assert "all candidates" not in figure.svg.decode()  # it ties on every scene


def test_a_noisy_part_may_be_left_out_of_the_difference(run):
    table = table_of(run)
    found = without_parts(table, over_all(comparisons(table, metric="loss")))
    rows = {(cells[0].text, cells[1].text): [cell.text for cell in cells[2:]] for cells in found.rows}
    complete, without = (rows["Restart", f"realised loss{name}"] for name in ("", " without continuation"))
    assert complete[0] == "−2.000"  # 9 s more of rollback, 7 s less of continuation on average
    assert without == ["−9.000", "[−9.000, −9.000]", "0.000", "0.0078"]


def test_the_papers_paired_differences_stand_beside_ours(run):
    whole = over_all(comparisons(table_of(run), metric="loss"))
    found = paired_table(whole, paper_table("pouring-v3"))
    heads = [column.title for column in found.columns]
    row = next(texts(found, row) for row in range(len(found.rows)) if "Restart" in texts(found, row))
    assert row[heads.index("paper’s difference")] == "−19.610"
    assert row[heads.index("paper’s Holm p")] == "< 0.0001"
    assert "paper’s difference" not in [column.title for column in paired_table(whole).columns]


def test_probabilities_are_scored_once_a_scene_and_unavailable_without_a_truth(run):
    found = event_qualities(table_of(run))
    assert (found["old", "target"].queries, found["old", "target"].rate) == (8, 1.0)
    assert found["old", "target"].brier == pytest.approx(brier([0.4], [True]))
    assert (found["current", "camera"].queries, found["current", "camera"].unknown) == (0, 8)
    table = quality_table(table_of(run))
    assert texts(table, 2)[:7] == ["current", "camera", "0", *["unavailable"] * 4]
    assert texts(table, 0)[-1] == "0.0582"  # the paper’s


@pytest.mark.parametrize("line", [{"event": "x"}, "text", {"event": "x", "when": "old", "q": 1.5, "so": True}])
def test_what_is_no_probability_is_reported_with_its_folder(run, line):
    run.records[0]["declarations"] = [line]
    with pytest.raises(InvalidRun, match=r"^/runs/pouring-v3: "):
        event_qualities(table_of(run))


def test_doubts_go_up_for_what_failed_and_down_for_what_did_not(run):
    run.records[0]["posterior"] = {"beliefs": ["target", "camera"], "at": [[0.4, 0.2]]}  # ended at once
    ours = doubts(table_of(run))[0]
    assert ours.failed == pytest.approx((0.4, (7 * 0.9 + 0.4) / 8))
    assert ours.sound == pytest.approx((0.2, (7 * 0.1 + 0.2) / 8))
    assert "AquaMend, failed" in doubt_curves("here", table_of(run)).svg.decode()


def test_times_are_compared_scene_by_scene_over_all_and_by_stage(run):
    table = timing_table(table_of(run))
    assert [row[0].text for row in table.rows] == ["all", "early", "late"]
    assert texts(table, 1)[2:] == ["4", "103.000", "143.000", "+40.000", "[40.000, 40.000]", "+659 [499, 795]"]
    assert texts(table, 2)[5] == "0.000"
    assert "AquaMend, all candidates minus AquaMend" in timing_dots("here", table_of(run)).svg.decode()


def test_what_was_computed_is_added_up_beside_the_papers(run):
    table = counts_table(table_of(run), paper_table("pouring-v3"))
    rows = {(cells[0].text, cells[1].text): [cell.text for cell in cells[2:]] for cells in table.rows}
    assert rows["all", "AquaMend"] == ["16", "52"]
    assert rows["early", "AquaMend"] == ["8 (25)", "24 (48)"]


def test_scenes_are_divided_only_by_what_was_drawn(depth, run):
    assert [group for group, _ in divisions(table_of(run))] == [{}, {"stage": "early"}, {"stage": "late"}]
    assert [group for group, _ in divisions(table_of(depth))] == [{}]
    assert timing_table(table_of(depth)) is None


@pytest.mark.usefixtures("undrawn")
def test_a_suite_shows_what_its_records_have_and_nothing_else(run, stress):
    def titles(run):
        return [part.title for part in suite_section(analysed(run, title="here", anchor="here")).parts]

    assert {"Stated probabilities", "Decision time"} <= set(titles(run))
    assert not {"Stated probabilities", "Decision time"} & set(titles(stress))
    section = next(p for p in suite_section(analysed(run, title="h", anchor="h")).parts if p.title == "Decision time")
    assert [type(block) for block in section.blocks][::2] == [Table, Folded]


@pytest.mark.usefixtures("undrawn")
def test_a_narrowed_run_says_so_and_is_not_called_complete(run):
    from aquamend_lab.analysis.report.build import analysed_runs, report_of
    from aquamend_lab.analysis.report.rendering import as_markdown

    run.manifest.update(scenarios=8, seeds=1, full={"policies": run.manifest["policies"], "scenarios": 32, "seeds": 1})
    text = as_markdown(report_of(analysed_runs([run])))
    assert text.count("8 of the suite's 32 scenarios (8 of 32 scenarios for each seed)") == 2
    assert "| pouring-v3 | **narrowed** |" in text
    run.manifest["full"]["scenarios"] = 8
    assert "| pouring-v3 | yes |" in as_markdown(report_of(analysed_runs([run])))


def met_again(*losses_by_setting):
    records = [
        {
            "suite": "q1-v3",
            "scenario": 10 * s + i,
            "seed": 0,
            "policy": "aquamend",
            "loss": x,
            "group": {"setting": name},
        }
        for s, (name, losses) in enumerate(losses_by_setting)
        for i, x in enumerate(losses)
    ]
    return table_of(Run(Path("somewhere"), {"suite": "q1-v3", "groups": {"setting": "setting"}}, records, [], []))


def test_every_setting_is_compared_with_the_first_scene_by_scene():
    found = setting_table(met_again(("original", [1.0, 2.0, 3.0]), ("dispersed", [1.0, 2.5, 3.25])))
    (row,) = [[cell.text for cell in row] for row in found.rows]
    low, high = paired_bootstrap([0.0, 0.5, 0.25], resamples=10_000, seed=20260920)
    assert row == ["dispersed", "2/3", "+0.250", f"[{low:.3f}, {high:.3f}]", "+0.186 [0.023, 0.441]"]


def test_settings_with_other_scenes_or_without_a_loss_are_not_compared():
    assert setting_table(met_again(("original", [1.0, 2.0]), ("dispersed", [1.0]))) is None
    assert setting_table(met_again(("original", [1.0]), ("dispersed", ["inf"]))) is None
    assert setting_table(met_again(("original", [1.0, 2.0]))) is None
