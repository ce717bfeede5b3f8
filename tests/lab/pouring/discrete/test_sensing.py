"""Probes answer as the model says they do, and each fault fools the senses it should."""

import math

import numpy as np
import pytest
from tests.tiers import cases

from aquamend_lab.pouring.discrete import Add, CameraFault, Noise, Nothing, Swap, Together
from aquamend_lab.pouring.discrete.physical_state import (
    LEVELS,
    answer_probabilities,
    arrangement_of,
    outcomes,
    places_told,
    read,
)

from .tables import AS_DECLARED, table

TASK = table()
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


def reading(probe, *events, offset=()):
    scene = AS_DECLARED
    for event in events:
        scene = event.applied(scene)
    rng = np.random.default_rng(0)
    return read(TASK.measurements[probe], scene, SURE, rng, offset)


@pytest.mark.parametrize("event", EVENTS[:: cases(3, 1)], ids=lambda event: event.name)
@pytest.mark.parametrize("probe", TASK.measurements)
def test_the_model_is_the_world(probe, event):
    """How often each answer comes is as likely as said, within five standard errors."""
    measurement, scene, noise, n = TASK.measurements[probe], event.applied(AS_DECLARED), Noise(), 800
    rng = np.random.default_rng(7)
    answers = [read(measurement, scene, noise, rng) for _ in range(n)]
    likely = answer_probabilities(measurement, scene, noise)
    assert sum(likely) == pytest.approx(1.0, abs=1e-12)
    for name, p in zip(outcomes(measurement, 3), likely, strict=True):
        assert answers.count(name) / n == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / n) + 1 / n)


@pytest.mark.parametrize("probe", ["look_A", "weigh_A"])
def test_a_step_of_an_amount_reads_as_its_whole_range_does(probe):
    """One hypothesis for a range of 2 g predicts within 1 % what exact amounts anywhere in it predict on average."""
    measurement, noise = TASK.measurements[probe], Noise()
    step = np.array(answer_probabilities(measurement, Add(0, 21.0, 1.0).applied(AS_DECLARED), noise))
    exact = [answer_probabilities(measurement, Add(0, g).applied(AS_DECLARED), noise) for g in np.linspace(20, 22, 201)]
    assert step == pytest.approx(np.mean(exact, axis=0), abs=0.01)


def test_levels_by_hand():
    assert [LEVELS.of(x) for x in (-60.0, -20.1, -1.4, 1.4, 1.6, 150.0)] == [
        "-39 g or less", "-21 g", "as declared", "as declared", "+3 g", "+120 g or more",
    ]  # fmt: skip
    assert [LEVELS.of(x) for x in (-60.0, -1.4, 1.4, 1.6, 20.0)] == [
        "-39 g or less", "as declared", "as declared", "+3 g", "+21 g",
    ]  # fmt: skip
    assert len(set(LEVELS.names)) == 54


def test_added_water_is_seen_and_weighed():
    assert reading("look_A", Add(0, 24.0)) == reading("weigh_A", Add(0, 24.0)) == "+24 g"
    assert reading("look_B", Add(0, 24.0)) == reading("weigh_B", Add(0, 24.0)) == "as declared"


def test_a_swapped_cup_is_found_by_the_camera_and_its_place_is_weighed():
    assert [reading(f"look_{x}", Swap(0, 2)) for x in "ABC"] == ["as declared"] * 3
    assert [reading(f"weigh_{x}", Swap(0, 2)) for x in "ABC"] == ["+69 g", "as declared", "-39 g or less"]
    assert reading("localise", Swap(0, 2)) == "A and C exchanged"
    assert reading("check_camera", Swap(0, 2)) == "sound"


@pytest.mark.parametrize(
    ("fault", "readings"),
    [
        (CameraFault("bias", 0, 24.0), ["+24 g", "as declared", "as declared"]),
        (CameraFault("stale"), ["as declared"] * 3),
        (CameraFault("misbinding", 0, other=2), ["+69 g", "as declared", "-39 g or less"]),
    ],
)
def test_a_camera_fault_corrupts_what_is_read_from_then_on_and_no_other_sense(fault, readings):
    assert [reading(f"look_{x}", fault) for x in "ABC"] == readings
    assert [reading(f"weigh_{x}", fault) for x in "ABC"] == ["as declared"] * 3
    assert reading("localise", fault) == "all in place"
    assert reading("check_camera", fault) == "faulty"


def test_a_biased_camera_sees_changes_and_a_stale_one_none():
    assert reading("look_A", CameraFault("bias", 0, -16.0), Add(0, 40.0)) == "+24 g"
    assert reading("look_A", CameraFault("stale"), Add(0, 40.0)) == "as declared"


def test_scales_may_be_off_place_by_place_without_the_model_knowing():
    assert reading("weigh_A", Add(0, 24.0), offset=(-24.0, 0.0, 0.0)) == "as declared"
    assert reading("weigh_A", Swap(0, 1), offset=(-24.0, 0.0, 0.0)) == "+6 g", "the scale stays where it is"
    assert reading("look_A", Add(0, 24.0), offset=(-24.0, 0.0, 0.0)) == "+24 g"


def test_arrangements_are_told_apart():
    assert len(places_told(5)) == 1 + 10 + 1
    assert [arrangement_of(p) for p in ((0, 1, 2), (1, 0, 2), (1, 2, 0), (2, 0, 1))] == [
        "all in place", "A and B exchanged", "otherwise", "otherwise",
    ]  # fmt: skip
    assert all(arrangement_of(places) == name for name, places in places_told(4).items())
