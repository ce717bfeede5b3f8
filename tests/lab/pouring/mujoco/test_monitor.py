"""The monitor names the signal that is furthest beyond what it tolerates, from what sensors show."""

from dataclasses import replace

import pytest

pytest.importorskip("mujoco")

from tests.lab.pouring.mujoco.tables import LIGHT, at_rest

from aquamend_lab.pouring.mujoco.body import Body, localise, tick_until_done, wait
from aquamend_lab.pouring.mujoco.episode import TOLERATED, RobotMonitor, conspicuous
from aquamend_lab.pouring.mujoco.sensors import SensorFaults
from aquamend_lab.pouring.mujoco.trouble import (
    AddWater,
    BiasedCamera,
    FrozenCamera,
    MixedUpCamera,
    Occlusion,
    Spike,
    SwapCups,
    happen,
)
from aquamend_lab.pouring.task import ROUTINE, Report, Signal

LEVEL, LOAD, POSITION, SIGHT, STAMP = Signal.LEVEL, Signal.LOAD, Signal.POSITION, Signal.SIGHT, Signal.STAMP
HELD = {vessel.name: float(vessel.grams) for vessel in LIGHT.vessels if vessel.name != "pitcher"}
"""A and B stand on scales, C on none."""


@pytest.fixture(scope="module")
def shared():
    body = Body(at_rest(LIGHT).branch())
    tick_until_done(body, localise(body))
    return body, RobotMonitor.at_rest(body, HELD)


@pytest.fixture
def watched(shared):
    """Return a body that knows where the cups of its table stand; branched, so anything may be done to it."""
    return shared[0].branch()


@pytest.fixture
def monitor(shared):
    return shared[1]


def reports(monitor, body, trouble=None, times=3):
    """Return what the monitor says a moment after some trouble."""
    if trouble is not None:
        happen(trouble, body)
        tick_until_done(body, wait(0.8))
    return [monitor.check(body) for _ in range(times)]


def test_a_table_as_declared_is_not_conspicuous(watched, monitor):
    assert sum(map(conspicuous, reports(monitor, watched, times=6))) <= 1


def test_only_places_with_a_scale_have_a_load(monitor):
    assert dict(monitor.place) == {"A": 0, "B": 1, "C": 2}
    assert {at: round(load) for at, load in monitor.load_g.items()} == pytest.approx({0: 15, 1: 5}, abs=2)


def test_a_swap_is_seen_as_cups_far_from_where_they_were(watched, monitor):
    for report in reports(monitor, watched, SwapCups("A", "C")):
        assert report.signal == POSITION
        assert report.cup in "AC"
        assert report.excess == pytest.approx(440, abs=25)


@pytest.mark.parametrize(("cup", "signals"), [("B", {LEVEL, LOAD}), ("C", {LEVEL})])
def test_water_added_is_seen_or_weighed_as_more_where_there_is_a_scale(watched, monitor, cup, signals):
    for report in reports(monitor, watched, AddWater(cup, 14)):
        assert report.signal in signals
        assert (report.cup, report.sign) == (cup, "+")
        assert conspicuous(report)


@pytest.mark.parametrize(("bias_g", "sign"), [(9.0, "+"), (-9.0, "-")])
def test_a_camera_that_has_begun_to_drift_shows_in_its_level(watched, monitor, bias_g, sign):
    for report in reports(monitor, watched, BiasedCamera("A", bias_g)):
        assert (report.signal, report.cup, report.sign) == (LEVEL, "A", sign)
        assert conspicuous(report)


def test_a_camera_that_mixes_up_two_cups_shows_in_the_levels_of_both(watched, monitor):
    for report in reports(monitor, watched, MixedUpCamera("A", "B")):
        assert report.signal == LEVEL
        assert (report.cup, report.sign) in (("A", "-"), ("B", "+"))


def test_a_frozen_camera_shows_by_the_age_of_its_frames(watched, monitor):
    first, *_, last = reports(monitor, watched, FrozenCamera())
    assert (first.signal, first.cup) == (STAMP, "")
    assert first.excess == pytest.approx(0.8, abs=0.5)
    assert conspicuous(last)


@pytest.mark.parametrize("off_g", [11.0, -11.0])
def test_a_scale_that_was_off_all_along_never_raises_the_load_signal(shared, off_g):
    body = shared[0].branch()
    body.faults = SensorFaults(scale_off_g={0: off_g})
    monitor = RobotMonitor.at_rest(body, HELD)
    assert monitor.load_g[0] == pytest.approx(15 + off_g, abs=2)
    found = [r for _ in range(12) for r in monitor._deviations(body, body.faults) if r.signal is LOAD]
    assert {r.cup for r in found} == {"A", "B"}
    assert sum(map(conspicuous, found)) <= 1
    assert abs(sum(r.excess for r in found if r.cup == "A")) / 12 < 2.5


def test_what_the_robot_has_poured_itself_is_expected_by_camera_and_scale(monitor):
    later = monitor.after_pouring("B", 20.0)
    assert later.quantity_g == {**HELD, "B": 25.0}
    assert later.load_g == {0: monitor.load_g[0], 1: monitor.load_g[1] + 20.0}
    assert monitor.after_pouring("C", 20.0).load_g == monitor.load_g, "C stands on none"
    assert monitor.quantity_g == HELD


def test_signals_are_compared_by_how_far_they_are_beyond_what_is_tolerated(watched, monitor):
    x, y = watched.believed_m["A"]
    watched.believed_m["A"] = (x + 0.020, y)
    report = replace(monitor, quantity_g={**HELD, "C": 10.0}).check(watched)
    assert (report.signal, report.cup, report.sign) == (LEVEL, "C", "+"), "12 g too much are worse than 20 mm"


def test_an_occlusion_hides_its_cup_at_one_check_and_has_passed_at_the_next(watched, monitor):
    hidden = monitor.check(watched, Occlusion("B"))
    assert (hidden.signal, hidden.cup) == (SIGHT, "B")
    assert conspicuous(hidden)
    assert monitor.check(watched).signal is not SIGHT
    assert watched.faults.hidden == ()


def test_a_spike_moves_its_own_signal_by_multiples_of_what_is_tolerated(watched, monitor):
    same = watched.branch()
    plain, jumped = monitor.check(watched), monitor.check(same, Spike(LEVEL, "C", -4.0))
    assert not conspicuous(plain)
    assert (jumped.signal, jumped.cup) == (LEVEL, "C")
    assert jumped.excess == pytest.approx(-4.0 * TOLERATED[LEVEL], abs=4.0)
    assert (same.uses, same.faults) == (watched.uses, watched.faults), "nothing of it stays"


def test_a_spike_in_the_age_of_frames_is_about_no_cup(watched, monitor):
    report = monitor.check(watched, Spike(STAMP, "", 3.0))
    assert (report.signal, report.cup) == (STAMP, "")
    assert report.excess == pytest.approx(1.5, abs=0.5)


@pytest.mark.parametrize("signal", TOLERATED)
def test_what_is_tolerated_is_not_conspicuous(signal):
    assert not conspicuous(Report(signal, "A", TOLERATED[signal]))
    assert conspicuous(Report(signal, "A", TOLERATED[signal] + 0.1))


def test_reports_are_sentences():
    assert str(Report(POSITION, "A", 61.2)) == "A seems to stand 61 mm off"
    assert str(Report(LEVEL, "B", -7.4)) == "B looks 7 g emptier than declared"
    assert str(Report(LOAD, "C", 8.0)) == "the scale under C carries 8 g more"
    assert str(Report(SIGHT, "C", 1.5)) == "C is out of sight"
    assert str(Report(STAMP, "", 1.26)) == "the camera's frames are 1.3 s old"
    assert str(ROUTINE) == "routine check: nothing conspicuous"
