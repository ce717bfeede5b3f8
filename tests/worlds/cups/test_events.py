"""The perturbation families: severities on both sides of the boundary, and the attribution each has by right."""

import numpy as np
import pytest

from aquamend.model import Cause
from aquamend.worlds.cups import Add, CameraFault, Nothing, Scene, Swap
from aquamend.worlds.cups.events import Family, Together, cause_of, common_cause_events, standard_events

TABLE_ML = (100.0, 130.0, 170.0)
RNG = np.random.default_rng(4)
TABLES = [tuple(80.0 + np.cumsum([0.0, *RNG.uniform(20, 60, n)])) for n in (2, 2, 2, 3, 4)]


def failed(event, table):
    return event.applied(Scene.as_declared(table)).failed()


def test_every_family_is_there_and_rightly_attributed():
    causes = {event.family: cause_of(event) for event in standard_events(TABLE_ML)}
    assert causes == {
        Family.SWAP: Cause.EXTERNAL,
        Family.ADD: Cause.EXTERNAL,
        Family.DRIFT: Cause.SELF_ERROR,
        Family.FALSE_ALARM: Cause.FALSE_ALARM,
    }


def test_the_sensor_drifts_in_three_ways_and_false_alarms_come_in_two():
    events = standard_events(TABLE_ML)
    assert {e.kind for e in events if isinstance(e, CameraFault)} == {"bias", "stale", "misbinding"}
    assert {e.kind for e in events if isinstance(e, Nothing)} == {"occlusion", "noise spike"}


@pytest.mark.parametrize("table", TABLES)
def test_water_and_bias_stay_short_of_the_boundary_and_cross_it(table):
    events = standard_events(table)
    for kind, cup in ((Add, 0), (CameraFault, 0), (CameraFault, 1)):
        alike = [e for e in events if isinstance(e, kind) and e.cups == (cup,) and getattr(e, "kind", "") != "stale"]
        assert sorted("target" in failed(event, table) for event in alike) == [False, True]
        assert all(f"amount_{'AB'[cup]}" in failed(event, table) for event in alike)


@pytest.mark.parametrize("table", TABLES)
def test_every_event_but_a_false_alarm_breaks_something_and_no_false_alarm_does(table):
    for event in (*standard_events(table), *common_cause_events(table)):
        assert bool(failed(event, table)) == (event.family is not Family.FALSE_ALARM)


@pytest.mark.parametrize("table", TABLES)
def test_names_are_unique_and_amounts_stay_possible(table):
    events = (*standard_events(table), *common_cause_events(table))
    assert len({event.name for event in events}) == len(events)
    for event in events:
        assert min(event.applied(Scene.as_declared(table)).amount_ml) > 0


@pytest.mark.parametrize("table", TABLES)
def test_a_common_cause_breaks_beliefs_about_several_cups(table):
    for event in common_cause_events(table):
        assert len(event.parts) > 1
        assert len({name[-1] for name in failed(event, table) if "_" in name}) > 1


def test_several_faults_of_one_camera_are_the_robots_own_error_and_anything_else_is_not():
    lamp = Together((CameraFault("bias", 0, 9.0), CameraFault("bias", 1, 9.0)), "lamp")
    mixed = Together((CameraFault("bias", 0, 9.0), Add(1, 9.0)), "both")
    assert cause_of(lamp) is Cause.SELF_ERROR
    assert cause_of(mixed) is Cause.EXTERNAL


def test_cups_concerned_are_told_each_once():
    assert Nothing().cups == ()
    assert Swap(0, 2).cups == (0, 2)
    assert CameraFault("misbinding", 0, other=1).cups == (0, 1)
    assert Together((Swap(0, 1), Add(0, -20.0)), "bump").cups == (0, 1)


def test_every_pair_may_be_swapped_and_every_cup_filled():
    events = standard_events((100.0, 130.0, 170.0, 190.0))
    assert [e.cups for e in events if isinstance(e, Swap)] == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert {e.cup for e in events if isinstance(e, Add)} == {0, 1, 2, 3}


def test_a_margin_of_ones_own_says_how_far_across():
    across = max(
        e.amount_ml
        for e in standard_events((100.0, 104.0, 170.0), margin_ml=2.0)
        if e.cups == (0,) and isinstance(e, Add)
    )
    assert across == pytest.approx(6.0)
