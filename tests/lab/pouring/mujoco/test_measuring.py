"""Primitives of the senses: each takes a moment, reads what is there, and says honestly where it cannot."""

from collections.abc import Callable

import numpy as np
import pytest

pytest.importorskip("mujoco")

from tests.lab.pouring.mujoco.tables import GRAMS, carrying, ready, seeded, settled

from aquamend_lab.pouring.mujoco.body import (
    PROBE_S,
    SELF_TEST_ERR,
    Body,
    Skill,
    check_camera,
    localise,
    read_level,
    read_scale,
    tick_until_done,
)
from aquamend_lab.pouring.mujoco.sensors import SensorFaults
from aquamend_lab.pouring.task import FAULTY, SOUND

pytestmark = pytest.mark.slow

SENSES: dict[str, Callable[[Body], Skill]] = {
    "look": lambda body: read_level(body, "B"),
    "weigh": lambda body: read_scale(body, 1),
    "localise": lambda body: localise(body, believe=False),
    "check camera": check_camera,
}


@pytest.mark.parametrize("sense", SENSES)
def test_a_measurement_takes_a_fifth_of_a_second_and_moves_nothing(sense: str) -> None:
    body = carrying().branch()
    hand, believed = body.simulation.hand.copy(), dict(body.believed_m)
    assert tick_until_done(body, SENSES[sense](body)).succeeded
    assert body.simulation.time_s - carrying().simulation.time_s == pytest.approx(PROBE_S)
    assert (body.simulation.hand == hand).all()
    assert body.believed_m == believed


def test_a_look_and_a_weight_are_near_what_is_there() -> None:
    body = ready().branch()
    for cup, place in (("A", 0), ("B", 1), ("C", 2)):
        assert tick_until_done(body, read_level(body, cup)).value == pytest.approx(GRAMS[cup], abs=2.5)
        assert tick_until_done(body, read_scale(body, place)).value == pytest.approx(GRAMS[cup], abs=2)


def test_a_cup_that_is_hidden_has_no_reading() -> None:
    body = ready().branch()
    body.faults = SensorFaults(hidden=("B",))
    finding = tick_until_done(body, read_level(body, "B"))
    assert (finding.succeeded, finding.note, finding.value) == (False, "B cannot be seen", None)


def test_a_place_without_a_scale_has_no_reading() -> None:
    body = Body(settled(0, 0, 0, 4, scales=(True, False, True, True)).branch())
    finding = tick_until_done(body, read_scale(body, 1))
    assert (finding.succeeded, finding.note, finding.value) == (False, "place 2 has no scale", None)
    assert tick_until_done(body, read_scale(body, 0)).succeeded
    assert [body.has_scale(place) for place in range(4)] == [True, False, True, True]


def test_finding_vessels_is_believed_unless_it_is_only_a_check() -> None:
    body = ready().branch()
    body.believed_m["C"] = (0.3, 0.0)
    tick_until_done(body, localise(body, believe=False))
    assert body.believed_m["C"] == (0.3, 0.0)
    assert body.seen_m["C"] == pytest.approx(ready().believed_m["C"], abs=0.01)
    tick_until_done(body, localise(body))
    assert body.believed_m["C"] == body.seen_m["C"]


def test_what_is_in_the_hand_is_not_taken_to_stand_anywhere() -> None:
    body = carrying().branch()
    tick_until_done(body, localise(body))
    assert sorted(body.seen_m) == ["A", "B", "C"]
    assert body.believed_m["pitcher"] == ready().believed_m["pitcher"]


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        (SensorFaults(), SOUND),
        (SensorFaults(exchanged=("A", "B")), FAULTY),
        (SensorFaults(frozen=settled(*GRAMS.values())), FAULTY),
        (SensorFaults(bias_g={"A": 9.0}), SOUND),
        (SensorFaults(scale_off_g={0: 9.0}), SOUND),
    ],
    ids=["sound", "mixed up", "frozen", "misreads", "scale off"],
)
def test_the_self_test_knows_stale_frames_and_wrong_crops_but_no_bias(faults: SensorFaults, message: str) -> None:
    body, rng = Body(ready().simulation, faults), seeded()
    found = [_at_once(check_camera(body, noise=rng)) for _ in range(400)]
    wrong = np.mean([finding != message for finding in found])
    assert 0.2 * SELF_TEST_ERR < wrong < 3 * SELF_TEST_ERR, "and now and then it says the opposite"


def _at_once(skill: Skill) -> str:
    """Return what a measurement tells, without letting time pass for it."""
    while True:
        try:
            next(skill)
        except StopIteration as done:
            return str(done.value.note)


def test_other_readings_in_between_do_not_change_a_reading() -> None:
    one, other = ready().branch(), ready().branch()
    tick_until_done(other, read_scale(other, 1))
    tick_until_done(other, read_level(other, "C"))
    assert tick_until_done(one, read_level(one, "B")).value == tick_until_done(other, read_level(other, "B")).value
