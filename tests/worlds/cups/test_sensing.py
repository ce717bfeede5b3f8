"""Probes answer as the model says they do, and each fault fools the senses it should."""

import itertools
import math

import numpy as np
import pytest

from aquamend.worlds.cups import Add, CameraFault, Nothing, Scene, Swap
from aquamend.worlds.cups.events import Together
from aquamend.worlds.cups.sensing import (
    LEVELS,
    Noise,
    answer,
    arrangement_of,
    arrangements,
    camera_state,
    level_of,
    level_probabilities,
    outcomes,
    probabilities,
)

TABLE = Scene.as_declared((100.0, 130.0, 170.0))
PROBES = [*(f"{kind}_{cup}" for kind in ("look", "weigh") for cup in "ABC"), "localise", "check_camera"]
EVENTS = [
    Nothing(),
    Add(0, 9.0),
    Add(1, 46.0),
    Swap(0, 1),
    CameraFault("bias", 0, 12.0),
    CameraFault("stale", 1, -45.0),
    CameraFault("misbinding", 0, other=2),
    Together((Swap(1, 2), Add(0, 44.0)), "two"),
]
SURE = Noise(look_ml=1e-6, weigh_ml=1e-6, localise_error=0.0, check_error=0.0)


def told(probe, *events):
    scene = TABLE
    for event in events:
        scene = event.applied(scene)
    return answer(probe, scene, SURE, np.random.default_rng(0))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
@pytest.mark.parametrize("probe", PROBES)
def test_the_model_is_the_world(probe, event):
    """How often each answer comes is how likely it is said to be, within five standard errors."""
    scene, noise, n = event.applied(TABLE), Noise(), 1500
    rng = np.random.default_rng(7)
    answers = [answer(probe, scene, noise, rng) for _ in range(n)]
    likely = probabilities(probe, scene, noise)
    assert likely.sum() == pytest.approx(1.0, abs=1e-12)
    assert likely.min() >= 0
    for name, p in zip(outcomes(probe, 3), likely, strict=True):
        assert answers.count(name) / n == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / n) + 1 / n)


@pytest.mark.parametrize("deviation", [-80.0, -45.0, -8.1, 0.0, 3.0, 8.0, 60.0])
def test_levels_have_the_probabilities_of_a_normal_reading(deviation):
    likely = level_probabilities(deviation, 4.0)
    assert likely.sum() == pytest.approx(1.0)
    edges = [-math.inf, -45.0, -8.0, 8.0, 45.0, math.inf]
    by_hand = [
        0.5 * (math.erf((b - deviation) / math.sqrt(32)) - math.erf((a - deviation) / math.sqrt(32)))
        for a, b in itertools.pairwise(edges)
    ]
    assert likely == pytest.approx(by_hand)


def test_levels_by_hand():
    assert [level_of(x) for x in (-60.0, -20.0, 0.0, 7.9, 20.0, 60.0)] == [LEVELS[i] for i in (0, 1, 2, 2, 3, 4)]


def test_added_water_is_seen_and_weighed():
    assert told("look_A", Add(0, 20.0)) == told("weigh_A", Add(0, 20.0)) == "higher"
    assert told("look_B", Add(0, 20.0)) == told("weigh_B", Add(0, 20.0)) == "as declared"


def test_a_swap_looks_as_declared_weighs_differently_and_localising_tells():
    swap = Swap(0, 2)
    assert [told(f"look_{x}", swap) for x in "ABC"] == ["as declared"] * 3
    assert [told(f"weigh_{x}", swap) for x in "ABC"] == ["far higher", "as declared", "far lower"]
    assert told("localise", swap) == "A and C exchanged"
    assert told("check_camera", swap) == "in order"


def test_cups_mixed_up_by_the_camera_look_as_declared_weigh_differently_and_stand_in_place():
    mixed = CameraFault("misbinding", 0, other=2)
    assert [told(f"look_{x}", mixed) for x in "ABC"] == ["as declared"] * 3
    assert [told(f"weigh_{x}", mixed) for x in "ABC"] == ["far higher", "as declared", "far lower"]
    assert told("localise", mixed) == "all in place"
    assert told("check_camera", mixed) == "cups mixed up"


@pytest.mark.parametrize(("kind", "state"), [("bias", "biased"), ("stale", "old pictures")])
def test_a_camera_that_was_wrong_is_wrong_again_and_the_scale_is_not(kind, state):
    fault = CameraFault(kind, 0, 20.0)
    assert told("look_A", fault) == "as declared"
    assert told("weigh_A", fault) == "higher"
    assert told("check_camera", fault) == state


def test_a_biased_camera_sees_changes_and_a_frozen_one_none():
    assert told("look_A", CameraFault("bias", 0, 20.0), Add(0, 20.0)) == "higher"
    assert told("look_A", CameraFault("stale", 0, 20.0), Add(0, 20.0)) == "as declared"


def test_scales_may_be_off_place_by_place_without_the_model_knowing():
    scene, rng = Add(0, 20.0).applied(TABLE), np.random.default_rng(0)
    assert answer("weigh_A", scene, SURE, rng, (-20.0, 0.0, 0.0)) == "as declared"
    assert answer("weigh_B", scene, SURE, rng, (0.0, 20.0, 0.0)) == "higher"
    assert answer("look_A", scene, SURE, rng, (-20.0, 0.0, 0.0)) == "higher"


def test_arrangements_are_told_apart():
    assert arrangements(3) == (
        "all in place",
        "A and B exchanged",
        "A and C exchanged",
        "B and C exchanged",
        "otherwise",
    )
    assert len(arrangements(5)) == 1 + 10 + 1
    round_about = Swap(0, 1).applied(Swap(1, 2).applied(TABLE))
    assert arrangement_of(round_about) == "otherwise"
    assert arrangement_of(Swap(0, 1).applied(Swap(0, 1).applied(TABLE))) == "all in place"


def test_of_several_camera_faults_the_first_is_found():
    several = CameraFault("stale", 1, 9.0).applied(CameraFault("bias", 0, 9.0).applied(TABLE))
    assert camera_state(several) == "biased"
