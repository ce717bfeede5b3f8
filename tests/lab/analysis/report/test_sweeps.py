"""Settings with numbers in their names are drawn against them."""

import pytest
from tests.lab.analysis.report.conftest import record

from aquamend_lab.analysis.metrics import summarise
from aquamend_lab.analysis.report.plots import Level, ladders, level_of, sweep_figures
from aquamend_lab.analysis.table import table_of

SETTINGS = ("8 cups", "3 cups", "5 cups", "noise × 0.5", "noise × 4", "poor alarm")


@pytest.fixture
def swept(make):
    def policy(name, extra):
        return [
            record(name, number, 2.0 + number + extra, group={"setting": setting}, expected_risk=None)
            for number, setting in enumerate(SETTINGS)
        ]

    return summarise(table_of(make(policy("aquamend", 0.0), policy("greedy", 1.0), suite="t4-sweep-v3")))


def test_a_level_is_the_number_in_a_setting(swept):
    levels = [level_of(summary) for summary in swept if summary.policy == "greedy"]
    assert levels[0] == Level("cups", 8.0)
    assert levels[3] == Level("noise ×", 0.5)
    assert levels[5] is None


def test_three_levels_make_a_ladder_from_low_to_high_and_two_do_not(swept):
    found = ladders(swept)
    assert list(found) == ["cups"]
    rungs = [summary.group["setting"] for summary in found["cups"] if summary.policy == "greedy"]
    assert rungs == ["3 cups", "5 cups", "8 cups"]


@pytest.mark.slow
def test_ladders_are_lines_and_other_settings_dots(swept):
    line, dots = figures = sweep_figures("here", swept)
    assert ">cups<" in line.svg.decode()
    assert line.caption == "Mean realised loss against the level of “cups”; shaded: the 95 % interval of AquaMend."
    for text in ("poor alarm", "noise × 4", "Greedy re-probe"):
        assert text in dots.svg.decode()
    assert "cups" not in dots.svg.decode()
    assert sweep_figures("here", swept) == figures, "the same bytes again"


def test_suites_without_levels_have_no_sweep(m1, depth, proxies):
    assert [sweep_figures("here", summarise(table_of(run))) for run in (m1, depth, proxies)] == [[], [], []]
