"""How likely every report is: probabilities, told relative to the cups that are affected."""

import math

import pytest
from tests.worlds.pouring.episodes import DECLARED, FITTED, REPORTS, configuration

from aquamend.worlds.pouring.alarms import alarm_likelihood, cell_of, cells, kind_of_sensing
from aquamend.worlds.pouring.configurations import CONFIGURATIONS, RIVAL, TARGET, Physical, Sensing
from aquamend.worlds.pouring.fitted import load_fitted
from aquamend.worlds.pouring.monitor import LEVEL, LOAD, ROUTINE, Report


def likelihood(report, found, alarms=FITTED.alarms):
    return alarm_likelihood(report, DECLARED, found, alarms)


@pytest.mark.parametrize("found", CONFIGURATIONS, ids=lambda c: f"{c.physical}, {c.sensing}")
def test_reports_are_a_distribution_under_every_configuration(found):
    assert math.fsum(likelihood(report, found) for report in REPORTS) == pytest.approx(1.0)


@pytest.mark.parametrize("found", CONFIGURATIONS, ids=lambda c: f"{c.physical}, {c.sensing}")
def test_reports_are_a_distribution_in_the_model_that_ships(found):
    total = math.fsum(likelihood(report, found, load_fitted().alarms) for report in REPORTS)
    assert total == pytest.approx(1.0, abs=1e-3), "shares are kept with five digits"


@pytest.mark.parametrize("affected", [(), (TARGET,), (TARGET, RIVAL)])
def test_the_cells_are_what_reports_can_say(affected):
    assert {cell_of(report, affected, DECLARED) for report in REPORTS} == set(cells(some_affected=bool(affected)))


def test_a_cell_says_whether_the_report_names_an_affected_cup():
    assert cell_of(Report(LEVEL, "B", 9.0), (TARGET,), DECLARED) == "level + affected"
    assert cell_of(Report(LOAD, "C", -9.0), (TARGET,), DECLARED) == "load - other"
    assert cell_of(Report(ROUTINE), (TARGET,), DECLARED) == ROUTINE


def test_the_two_cups_of_a_swap_share_the_chance_to_be_named():
    table = dict.fromkeys(cells(some_affected=True), 0.0) | {"load + affected": 0.8, "load + other": 0.2}
    alarms = dict.fromkeys(FITTED.alarms, table)
    swapped = configuration(Physical.SWAP_RIVAL)
    assert likelihood(Report(LOAD, "A", 9.0), swapped, alarms) == pytest.approx(0.4)
    assert likelihood(Report(LOAD, "B", 9.0), swapped, alarms) == pytest.approx(0.4)
    assert likelihood(Report(LOAD, "C", 9.0), swapped, alarms) == pytest.approx(0.2)


def test_of_two_troubles_either_may_have_been_noticed_first():
    report = Report(LEVEL, "B", 9.0)
    alone = likelihood(report, configuration(Physical.MUCH)), likelihood(report, configuration(sensing=Sensing.FROZEN))
    both = likelihood(report, configuration(Physical.MUCH, Sensing.FROZEN))
    assert both == pytest.approx(sum(alone) / 2)


def test_which_cup_a_camera_misreads_is_told_by_the_cup_and_not_by_the_kind():
    kinds = {kind_of_sensing(sensing) for sensing in Sensing}
    assert kinds == {"camera sound", "camera reads high", "camera reads low", Sensing.FROZEN, Sensing.MIXED_UP}
