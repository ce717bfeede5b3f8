"""The monitor names the signal that is furthest beyond what it tolerates, from what sensors show."""

import pytest

pytest.importorskip("mujoco")

from tests.worlds.pouring.episodes import DECLARED, SCENE

from aquamend.worlds.pouring.faults import CameraFaults
from aquamend.worlds.pouring.looking import localise
from aquamend.worlds.pouring.monitor import (
    LEVEL,
    LOAD,
    POSITION,
    ROUTINE,
    TOLERATED,
    Report,
    check,
    conspicuous,
)
from aquamend.worlds.pouring.motion import wait
from aquamend.worlds.pouring.perturbations import AddWater, FalseAlarm, SwapCups, happen
from aquamend.worlds.pouring.robot import Robot, drive
from aquamend.worlds.pouring.simulation import Simulation


@pytest.fixture(scope="module")
def shared():
    robot = Robot(Simulation.of(SCENE))
    drive(robot, localise(robot))
    return robot


@pytest.fixture
def watched(shared):
    """Return a robot that knows where the cups of its table stand; branched, so anything may be done to it."""
    return shared.branch()


def reports(robot, declared=DECLARED, times=3):
    return [check(robot, declared) for _ in range(times)]


def test_a_table_as_declared_is_not_conspicuous(watched):
    assert sum(map(conspicuous, reports(watched, times=6))) <= 1


def test_a_swap_is_seen_as_cups_far_from_where_they_were(watched):
    happen(SwapCups("A", "C"), watched)
    drive(watched, wait(0.5))
    for report in reports(watched):
        assert report.signal == POSITION
        assert report.cup in "AC"
        assert report.excess == pytest.approx(440, abs=25)


def test_water_added_is_seen_or_weighed_as_more(watched):
    happen(AddWater("B", 14), watched)
    drive(watched, wait(1.0))
    for report in reports(watched):
        assert report.signal in (LEVEL, LOAD)
        assert (report.cup, report.sign) == ("B", "+")
        assert conspicuous(report)


def test_a_camera_that_is_wrong_all_along_shows_on_the_scale_alone(watched):
    watched.faults = CameraFaults(bias_g={"C": 11.0})
    declared = DECLARED.with_quantity("C", 46.0)
    loud = [report for report in reports(watched, declared) if conspicuous(report)]
    assert len(loud) >= 2
    assert {(report.signal, report.cup, report.sign) for report in loud} == {(LOAD, "C", "-")}


def test_signals_are_compared_by_how_far_they_are_beyond_what_is_tolerated(watched):
    x, y = watched.believed_m["A"]
    watched.believed_m["A"] = (x + 0.020, y)
    report = check(watched, DECLARED.with_quantity("C", 23.0))
    assert report.signal in (LEVEL, LOAD), "12 g too much are worse than 20 mm"
    assert (report.cup, report.sign) == ("C", "+")


def test_a_blink_moves_its_own_signal_by_multiples_of_what_is_tolerated(watched):
    same = watched.branch()
    plain, blinked = check(watched, DECLARED), check(same, DECLARED, FalseAlarm(LEVEL, "C", -4.0))
    assert not conspicuous(plain)
    assert (blinked.signal, blinked.cup) == (LEVEL, "C")
    assert blinked.excess == pytest.approx(-4.0 * TOLERATED[LEVEL], abs=4.0)


@pytest.mark.parametrize("signal", [POSITION, LEVEL, LOAD])
def test_what_is_tolerated_is_not_conspicuous(signal):
    assert not conspicuous(Report(signal, "A", TOLERATED[signal]))
    assert conspicuous(Report(signal, "A", TOLERATED[signal] + 0.1))


def test_reports_are_sentences():
    assert str(Report(POSITION, "A", 61.2)) == "A seems to stand 61 mm off"
    assert str(Report(LEVEL, "B", -7.4)) == "B looks 7 g emptier than declared"
    assert str(Report(LOAD, "C", 8.0)) == "the scale of C carries 8 g more than declared"
    assert str(Report(ROUTINE)) == "routine check: nothing conspicuous"
