"""Random tables and trouble: within the ranges, of the kind asked for, and unknown to the public model."""

import subprocess
import sys

import numpy as np
import pytest
from tests.waiting import PATIENCE_S

from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.trouble import (
    BIAS_G,
    JUMP,
    LEAST_G,
    OFFSET_MM,
    PITCHER_G,
    RIVAL_MORE_G,
    SCALE_OFF,
    SCALE_OFF_G,
    THIRD_MORE_G,
    AddWater,
    BiasedCamera,
    FrozenCamera,
    Mishap,
    MixedUpCamera,
    Occlusion,
    Spike,
    SwapCups,
    draw_scales_off,
    draw_scene,
    draw_trouble,
)
from aquamend_lab.pouring.task import OF_A_CUP, Signal

SEEDS = range(60)


def drawn(kind, seed, **options):
    """Return a table, trouble of a kind for it, and its cups with the least full one first."""
    rng = np.random.default_rng((31, seed))
    scene = draw_scene(rng)
    cups = sorted((v for v in scene.vessels if v.name != dim.PITCHER), key=lambda vessel: vessel.grams)
    return scene, draw_trouble(kind, scene, rng, **options), cups


@pytest.mark.parametrize("seed", SEEDS)
def test_a_table_has_its_amounts_apart_and_every_cup_on_a_place_of_its_own(seed):
    scene, _, (target, rival, third) = drawn(Mishap.FROZEN, seed)
    pitcher = scene.vessels[-1]
    assert LEAST_G[0] <= target.grams <= LEAST_G[1]
    assert RIVAL_MORE_G[0] <= rival.grams - target.grams <= RIVAL_MORE_G[1]
    assert THIRD_MORE_G[0] <= third.grams - rival.grams <= THIRD_MORE_G[1]
    assert PITCHER_G[0] <= pitcher.grams <= PITCHER_G[1]
    assert sorted(v.place for v in scene.vessels) == [0, 1, 2, 3]
    assert (pitcher.name, pitcher.place) == (dim.PITCHER, 3)
    assert np.abs([v.offset_mm for v in scene.vessels]).max() <= OFFSET_MM


def test_on_one_table_in_three_one_cup_cannot_be_weighed_and_the_pitcher_always_can():
    scales = [drawn(Mishap.FROZEN, seed)[0].scales for seed in SEEDS]
    assert {sum(each[:3]) for each in scales} == {2, 3}
    assert all(each[3] for each in scales)
    assert {place for each in scales for place in range(3) if not each[place]} == {0, 1, 2}


def test_now_and_then_one_scale_is_off_by_a_lot_and_always_one_that_there_is():
    rng, off = np.random.default_rng(3), []
    for _ in range(600):
        scene = draw_scene(rng)
        off.append((scene, draw_scales_off(scene, rng)))
    found = [(scene, place, grams) for scene, each in off for place, grams in each.items()]
    assert len(found) / len(off) == pytest.approx(SCALE_OFF, abs=0.05)
    assert all(scene.scales[place] and place < 3 for scene, place, _ in found)
    assert all(SCALE_OFF_G[0] <= abs(grams) <= SCALE_OFF_G[1] for *_, grams in found)
    assert {grams > 0 for *_, grams in found} == {True, False}


@pytest.mark.parametrize("seed", SEEDS)
def test_water_is_added_to_whom_the_kind_says_and_to_the_target_much_or_little(seed):
    for kind, role in ((Mishap.LITTLE, 0), (Mishap.MUCH, 0), (Mishap.RIVAL, 1), (Mishap.THIRD, 2)):
        scene, trouble, cups = drawn(kind, seed)
        assert isinstance(trouble, AddWater)
        assert trouble.cup == cups[role].name
        assert 0 < trouble.grams <= scene.reserve_g
        after = cups[0].grams + (trouble.grams if role == 0 else 0)
        assert (after > cups[1].grams) == (kind is Mishap.MUCH)


def test_swaps_and_mixed_up_crops_are_of_the_cups_that_the_kind_says():
    for kind, roles in ((Mishap.SWAP_RIVAL, (0, 1)), (Mishap.SWAP_THIRD, (0, 2)), (Mishap.SWAP_OTHERS, (1, 2))):
        _, trouble, cups = drawn(kind, 4)
        assert trouble == SwapCups(*(cups[role].name for role in roles))
    _, trouble, cups = drawn(Mishap.MIXED_UP, 4)
    assert trouble == MixedUpCamera(cups[0].name, cups[1].name)
    assert drawn(Mishap.FROZEN, 4)[1] == FrozenCamera()


def test_a_bias_is_of_any_cup_and_either_way():
    found = [drawn(Mishap.BIAS, seed)[1] for seed in SEEDS]
    assert all(isinstance(each, BiasedCamera) and BIAS_G[0] <= abs(each.bias_g) <= BIAS_G[1] for each in found)
    assert {each.cup for each in found} == {"A", "B", "C"}
    assert {each.bias_g > 0 for each in found} == {True, False}


def test_a_spike_is_in_a_signal_that_there_is():
    found = [drawn(Mishap.SPIKE, seed)[:2] for seed in range(200)]
    assert {spike.signal for _, spike in found} == {Signal.POSITION, Signal.LEVEL, Signal.LOAD, Signal.STAMP}
    for scene, spike in found:
        assert isinstance(spike, Spike)
        assert JUMP[0] <= abs(spike.jump) <= JUMP[1]
        assert bool(spike.cup) == (spike.signal in OF_A_CUP)
        if spike.signal is Signal.LOAD:
            assert next(scene.scales[v.place] for v in scene.vessels if v.name == spike.cup)
        if spike.signal in (Signal.POSITION, Signal.STAMP):
            assert spike.jump > 0, "nothing stands less than nowhere off"


@pytest.mark.parametrize("kind", [Mishap.OCCLUSION, Mishap.BIAS])
def test_what_is_about_any_cup_can_be_asked_to_be_about_one(kind):
    assert {drawn(kind, seed, cup="C")[1].cup for seed in range(8)} == {"C"}
    assert isinstance(drawn(Mishap.OCCLUSION, 1)[1], Occlusion)


@pytest.mark.parametrize("kind", Mishap)
def test_the_same_generator_draws_the_same(kind):
    assert drawn(kind, 7)[:2] == drawn(kind, 7)[:2]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("mujoco.trouble", "model"),
        ("model.alarm_problem, aquamend_lab.pouring.model.fitted", "mujoco"),
    ],
)
def test_who_draws_trouble_and_who_models_it_know_nothing_of_each_other(one, other):
    program = f"import sys, aquamend_lab.pouring.{one}\nprint([m for m in sys.modules if '.pouring.{other}' in m])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert done.stdout.strip() == "[]"
