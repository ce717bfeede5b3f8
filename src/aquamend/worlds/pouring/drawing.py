"""Random tables and random trouble for them; everything follows from the generator."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.alarms import kind_of_sensing
from aquamend.worlds.pouring.configurations import Physical, Sensing
from aquamend.worlds.pouring.monitor import POSITION, SIGNALS
from aquamend.worlds.pouring.perturbations import (
    AddWater,
    BiasedCamera,
    FalseAlarm,
    FrozenCamera,
    MixedUpCamera,
    Perturbation,
    SwapCups,
)
from aquamend.worlds.pouring.scene import Standing, TableScene

LEAST_G, RIVAL_MORE_G, THIRD_MORE_G, PITCHER_G = (15, 22), (8, 13), (5, 9), (52, 64)
"""Smallest and largest: the least full cup, how much more the next holds, and the one after it, and the pitcher."""
OFFSET_MM = 6.0
LITTLE_G, BEYOND_RIVAL_G, ELSEWHERE_G, BIAS_G = (4, 6), (3, 7), (5, 12), (6.0, 11.0)
"""A bias of 3 to 5 mm of depth; additions in whole beads."""
JUMP = (1.2, 2.0)

READS_HIGH, READS_LOW = kind_of_sensing(Sensing.TARGET_HIGH), kind_of_sensing(Sensing.TARGET_LOW)
KINDS = (
    *(physical.value for physical in Physical),
    READS_HIGH,
    READS_LOW,
    Sensing.FROZEN.value,
    Sensing.MIXED_UP.value,
)
"""Every kind of trouble, nothing at all included."""


def draw_scene(rng: Generator) -> TableScene:
    """Return a table: cups of any order on any places, each a little off the middle of its place."""
    least = int(rng.integers(*LEAST_G, endpoint=True))
    rival = least + int(rng.integers(*RIVAL_MORE_G, endpoint=True))
    third = rival + int(rng.integers(*THIRD_MORE_G, endpoint=True))
    grams = rng.permutation([least, rival, third])
    places = rng.permutation(len(dim.CUPS))
    offsets = rng.uniform(-OFFSET_MM, OFFSET_MM, (len(dim.VESSELS), 2))
    cups = [
        Standing(cup, int(places[i]), int(grams[i]), (float(offsets[i][0]), float(offsets[i][1])))
        for i, cup in enumerate(dim.CUPS)
    ]
    pitcher = Standing(dim.PITCHER, len(dim.CUPS), int(rng.integers(*PITCHER_G, endpoint=True)))
    return TableScene((*cups, pitcher))


def draw_perturbation(kind: str, scene: TableScene, rng: Generator, *, cup: str | None = None) -> Perturbation:
    """Return trouble of a kind for a table; a biased camera reads ``cup`` wrong, or any."""
    held = {vessel.name: vessel.grams for vessel in scene.vessels if vessel.name != dim.PITCHER}
    target, rival, third = sorted(held, key=lambda name: held[name])
    wrong = cup or str(rng.choice(dim.CUPS))

    def whole(bounds: tuple[int, int]) -> int:
        return int(rng.integers(*bounds, endpoint=True))

    match kind:
        case Physical.NOTHING:
            signal = str(rng.choice(SIGNALS))
            jump = float(rng.uniform(*JUMP)) * (1 if signal == POSITION else int(rng.choice([-1, 1])))
            return FalseAlarm(signal, wrong, jump)
        case Physical.LITTLE:
            return AddWater(target, whole(LITTLE_G))
        case Physical.MUCH:
            return AddWater(target, held[rival] - held[target] + whole(BEYOND_RIVAL_G))
        case Physical.ADD_RIVAL | Physical.ADD_THIRD:
            return AddWater(rival if kind == Physical.ADD_RIVAL else third, whole(ELSEWHERE_G))
        case Physical.SWAP_RIVAL:
            return SwapCups(target, rival)
        case Physical.SWAP_THIRD:
            return SwapCups(target, third)
        case Physical.SWAP_OTHERS:
            return SwapCups(rival, third)
        case Sensing.FROZEN:
            return FrozenCamera()
        case Sensing.MIXED_UP:
            return MixedUpCamera(target, rival)
        case _:
            bias = float(np.round(rng.uniform(*BIAS_G), 2))
            return BiasedCamera(wrong, bias if kind == READS_HIGH else -bias)
