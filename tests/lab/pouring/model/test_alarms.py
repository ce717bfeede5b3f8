"""How likely every report is: probabilities, told relative to the cups that are affected."""

import math

import pytest
from tests.lab.pouring.model.by_hand import FITTED, ORDER, REPORTS, configuration

from aquamend_lab.pouring.model.configurations import (
    CONFIGURATIONS,
    RIVAL,
    TARGET,
    THIRD,
    CameraState,
    Configuration,
    Happening,
    Scales,
)
from aquamend_lab.pouring.model.fitted import KINDS, affected_by, alarm_likelihood, cell_of, cells, kinds_of
from aquamend_lab.pouring.task import ROUTINE, Report, Signal

LEVEL, LOAD, SIGHT = Signal.LEVEL, Signal.LOAD, Signal.SIGHT


def likelihood(report, found, alarms=FITTED.alarms, swapped=(TARGET, RIVAL)):
    return alarm_likelihood(report, ORDER, found, swapped, alarms)


@pytest.mark.parametrize("swapped", [(TARGET, RIVAL), (RIVAL, THIRD)])
@pytest.mark.parametrize("found", CONFIGURATIONS, ids=str)
def test_reports_are_a_distribution_under_every_configuration(found, swapped):
    total = math.fsum(likelihood(report, found, swapped=swapped) for report in REPORTS)
    assert total == pytest.approx(1.0)


@pytest.mark.parametrize("affected", [(), (TARGET,), (TARGET, RIVAL)])
def test_the_cells_are_what_reports_can_say(affected):
    assert {cell_of(report, affected, ORDER) for report in REPORTS} == set(cells(some_affected=bool(affected)))


def test_a_cell_says_whether_the_report_names_an_affected_cup():
    assert cell_of(Report(LEVEL, "B", 9.0), (TARGET,), ORDER) == "level+ affected"
    assert cell_of(Report(LOAD, "C", -9.0), (TARGET,), ORDER) == "load- other"
    assert cell_of(Report(SIGHT, "A", 1.5), (RIVAL,), ORDER) == "sight affected"
    assert cell_of(Report(Signal.STAMP, "", 1.5), (TARGET,), ORDER) == "stamp"
    assert cell_of(ROUTINE, (TARGET,), ORDER) == "routine check"


def test_the_two_cups_of_a_swap_share_the_chance_to_be_named():
    table = dict.fromkeys(cells(some_affected=True), 0.0) | {"load+ affected": 0.8, "load+ other": 0.2}
    alarms = dict.fromkeys(FITTED.alarms, table)
    swapped = configuration(Happening.SWAPPED)
    assert likelihood(Report(LOAD, "A", 9.0), swapped, alarms) == pytest.approx(0.4)
    assert likelihood(Report(LOAD, "B", 9.0), swapped, alarms) == pytest.approx(0.4)
    assert likelihood(Report(LOAD, "C", 9.0), swapped, alarms) == pytest.approx(0.2)
    assert likelihood(Report(LOAD, "C", 9.0), swapped, alarms, (RIVAL, THIRD)) == pytest.approx(0.4)


def test_of_two_troubles_either_may_have_been_noticed_first():
    report = Report(LEVEL, "B", 9.0)
    alone = likelihood(report, configuration(Happening.MUCH)), likelihood(report, configuration(CameraState.FROZEN))
    assert likelihood(report, configuration(Happening.MUCH, CameraState.FROZEN)) == pytest.approx(sum(alone) / 2)


@pytest.mark.parametrize("found", [c for c in CONFIGURATIONS if c.scales is Scales.OFF], ids=str)
def test_a_scale_that_is_off_changes_nothing_about_an_alarm(found):
    sound = found._replace(scales=Scales.SOUND)
    assert [likelihood(r, found) for r in REPORTS] == [likelihood(r, sound) for r in REPORTS]


@pytest.mark.parametrize(
    ("found", "affected"),
    [
        (configuration(), ()),
        (configuration(CameraState.FROZEN), ()),
        (configuration(Happening.MUCH), (TARGET,)),
        (configuration(Happening.SWAPPED), (RIVAL, THIRD)),
        (configuration(CameraState.MISREADS_THIRD), (THIRD,)),
        (configuration(CameraState.MIXED_UP), (TARGET, RIVAL)),
        (configuration(Happening.THIRD, CameraState.MISREADS_RIVAL), (RIVAL, THIRD)),
        (configuration(Happening.SWAPPED, CameraState.MIXED_UP), (TARGET, RIVAL, THIRD)),
    ],
    ids=str,
)
def test_affected_are_the_cups_that_something_is_the_matter_with(found, affected):
    assert affected_by(found, (RIVAL, THIRD)) == affected


def test_which_cup_a_camera_misreads_is_reported_by_the_cup_and_not_by_the_kind():
    kinds = [set(kinds_of(Configuration(camera=camera))) for camera in CameraState]
    assert set().union(*kinds) == {
        Happening.NOTHING.value, "camera misreads a cup", CameraState.FROZEN.value, CameraState.MIXED_UP.value,
    }  # fmt: skip
    assert set().union(*map(kinds_of, CONFIGURATIONS)) == set(KINDS)
