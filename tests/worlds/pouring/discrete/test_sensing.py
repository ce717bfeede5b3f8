"""Probes answer as the model says they do, are right as often as it says, and each fault fools the senses it should."""

import math

import numpy as np
import pytest
from tests.tiers import cases

from aquamend.worlds.pouring.discrete import Add, CameraFault, Noise, Nothing, Swap, Together
from aquamend.worlds.pouring.discrete.sensing import (
    LEVELS,
    accuracy,
    arrangement_of,
    arrangements,
    level_of,
    outcomes,
    probabilities,
    read,
)
from aquamend.worlds.pouring.task import Sense

from .tables import AS_DECLARED, table

TASK = table()
OWN = (0, 1, 2)
EVENTS = [
    Nothing(),
    Add(0, 9.0),
    Add(1, 46.0),
    Swap(0, 1),
    CameraFault("bias", 0, 12.0),
    CameraFault("stale"),
    CameraFault("misbinding", 0, other=2),
    Together((Swap(1, 2), Add(0, 44.0), CameraFault("stale")), "all"),
]
SURE = Noise(look_g=1e-6, weigh_g=1e-6, localise_error=0.0, check_error=0.0)


def told(probe, *events, seen=None, offset=()):
    scene = AS_DECLARED
    for event in events:
        scene = event.applied(scene)
    rng = np.random.default_rng(0)
    return read(TASK.measurements[probe], scene, seen or scene.place, SURE, rng, offset).told


@pytest.mark.parametrize("seen", [OWN, (1, 0, 2)], ids=["located right", "or wrong"])
@pytest.mark.parametrize("event", EVENTS[:: cases(3, 1)], ids=lambda event: event.name)
@pytest.mark.parametrize("probe", TASK.measurements)
def test_the_model_is_the_world(probe, event, seen):
    """How often each answer comes, and how often it is right, is as likely as said, within five standard errors."""
    measurement, scene, noise, n = TASK.measurements[probe], event.applied(AS_DECLARED), Noise(), 800
    rng = np.random.default_rng(7)
    readings = [read(measurement, scene, seen, noise, rng) for _ in range(n)]
    likely = probabilities(measurement, scene, seen, noise)
    assert sum(likely) == pytest.approx(1.0, abs=1e-12)
    answers = [reading.told for reading in readings]
    expected = dict(zip(outcomes(measurement, 3), likely, strict=True))
    if measurement.sense is not Sense.LOCALISE:  # of localising, a lower bound is stated: an error misplaces two cups
        declared = TASK.values(TASK.declared)
        right = sum(not set(TASK.wrong(declared | r.values, scene.true(TASK))) & set(r.values) for r in readings)
        answers += ["right"] * right
        expected["right"] = accuracy(measurement, scene, seen, noise)
    for name, p in expected.items():
        assert answers.count(name) / n == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / n) + 1 / n)


def test_how_often_a_sound_reading_is_right_follows_from_its_noise():
    right = {name: accuracy(m, AS_DECLARED, OWN, Noise()) for name, m in TASK.measurements.items()}
    assert right["look_A"] == pytest.approx(math.erf(3 / 4 / math.sqrt(2)))
    assert right["weigh_A"] == pytest.approx(math.erf(2 / math.sqrt(2)))
    assert (right["localise"], right["check_camera"]) == (0.99, 0.9)


def test_levels_by_hand():
    assert [level_of(x) for x in (-60.0, -20.0, 0.0, 7.9, 20.0, 60.0)] == [LEVELS[i] for i in (0, 1, 2, 2, 3, 4)]


def test_added_water_is_seen_and_weighed():
    assert told("look_A", Add(0, 20.0)) == told("weigh_A", Add(0, 20.0)) == "higher"
    assert told("look_B", Add(0, 20.0)) == told("weigh_B", Add(0, 20.0)) == "as declared"


def test_a_swapped_cup_is_weighed_where_it_was_seen():
    assert [told(f"look_{x}", Swap(0, 2)) for x in "ABC"] == ["as declared"] * 3
    assert [told(f"weigh_{x}", Swap(0, 2)) for x in "ABC"] == ["as declared"] * 3
    assert [told(f"weigh_{x}", Swap(0, 2), seen=OWN) for x in "ABC"] == ["far higher", "as declared", "far lower"]
    assert told("localise", Swap(0, 2)) == "A and C exchanged"
    assert told("check_camera", Swap(0, 2)) == "sound"


@pytest.mark.parametrize(
    ("fault", "looks"),
    [
        (CameraFault("bias", 0, 20.0), ["higher", "as declared", "as declared"]),
        (CameraFault("stale"), ["as declared"] * 3),
        (CameraFault("misbinding", 0, other=2), ["far higher", "as declared", "far lower"]),
    ],
)
def test_a_camera_fault_corrupts_what_is_read_from_then_on_and_no_other_sense(fault, looks):
    assert [told(f"look_{x}", fault) for x in "ABC"] == looks
    assert [told(f"weigh_{x}", fault) for x in "ABC"] == ["as declared"] * 3
    assert told("localise", fault) == "all in place"
    assert told("check_camera", fault) == "faulty"


def test_a_biased_camera_sees_changes_and_a_stale_one_none():
    assert told("look_A", CameraFault("bias", 0, -20.0), Add(0, 40.0)) == "higher"
    assert told("look_A", CameraFault("stale"), Add(0, 40.0)) == "as declared"


def test_scales_may_be_off_place_by_place_without_the_model_knowing():
    assert told("weigh_A", Add(0, 20.0), offset=(-20.0, 0.0, 0.0)) == "as declared"
    assert told("weigh_A", Swap(0, 1), offset=(0.0, 20.0, 0.0)) == "higher"
    assert told("look_A", Add(0, 20.0), offset=(-20.0, 0.0, 0.0)) == "higher"


def test_arrangements_are_told_apart():
    assert len(arrangements(5)) == 1 + 10 + 1
    assert [arrangement_of(p) for p in ((0, 1, 2), (1, 0, 2), (1, 2, 0), (2, 0, 1))] == [
        "all in place", "A and B exchanged", "otherwise", "otherwise",
    ]  # fmt: skip
    assert all(arrangement_of(places) == name for name, places in arrangements(4).items())
