"""Random tables and random trouble for them; everything follows from the generator.

This is the world's side. What the robot thinks may happen, and how large it thinks that changes are, is its model's
affair, which knows nothing of these ranges but what calibration runs have shown it.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.random import Generator

from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.scene import Placed, TableScene
from aquamend_lab.pouring.mujoco.trouble import (
    AddWater,
    BiasedCamera,
    FrozenCamera,
    MixedUpCamera,
    Occlusion,
    Spike,
    SwapCups,
    Trouble,
)
from aquamend_lab.pouring.reports import OF_A_CUP, SIGNED, Signal

LEAST_G, RIVAL_MORE_G, THIRD_MORE_G, PITCHER_G = (15, 22), (8, 13), (5, 9), (52, 64)
"""Smallest and largest: the least full cup, how much more the next holds, and the one after it, and the pitcher."""
OFFSET_MM = 6.0
WITHOUT_SCALE = 1 / 3
"""How often one of the three places of cups has no scale: what stands there cannot be weighed. The pitcher's has."""
SCALE_OFF = 0.15
"""How often one of the scales is off, without anybody knowing."""
SCALE_OFF_G, BIAS_G = (6.0, 11.0), (6.0, 11.0)
"""How far; a bias of the camera is 3 to 5 mm of depth."""
LITTLE_G, BEYOND_RIVAL_G, ELSEWHERE_G = (4, 6), (3, 7), (5, 12)
"""Additions, in whole beads: to the target, which stays the least full; beyond the rival; to another cup."""
JUMP = (1.2, 2.0)
SPIKES = (Signal.POSITION, Signal.LEVEL, Signal.LOAD, Signal.STAMP)


class Mishap(StrEnum):
    """Every kind of trouble."""

    OCCLUSION = "a cup out of sight for a moment"
    SPIKE = "a spike in a signal"
    LITTLE = "a little water added to the target"
    MUCH = "so much added to the target that it is no longer the least full"
    RIVAL = "water added to the rival"
    THIRD = "water added to the third cup"
    SWAP_RIVAL = "target and rival swapped"
    SWAP_THIRD = "target and third cup swapped"
    SWAP_OTHERS = "the two others swapped"
    BIAS = "the camera misreads a cup"
    FROZEN = "the camera is frozen"
    MIXED_UP = "the camera mixes up target and rival"


class MishapSize(StrEnum):
    """How bad it is, where a suite asks for more than one."""

    MILD = "mild"
    SEVERE = "severe"


def draw_scene(rng: Generator) -> TableScene:
    """Return a table: cups of any order on any places, each a little off the middle of its place."""
    least = int(rng.integers(*LEAST_G, endpoint=True))
    rival = least + int(rng.integers(*RIVAL_MORE_G, endpoint=True))
    third = rival + int(rng.integers(*THIRD_MORE_G, endpoint=True))
    grams = rng.permutation([least, rival, third])
    places = rng.permutation(len(dim.CUPS))
    offsets = rng.uniform(-OFFSET_MM, OFFSET_MM, (len(dim.VESSELS), 2))
    cups = [
        Placed(cup, int(places[i]), int(grams[i]), (float(offsets[i][0]), float(offsets[i][1])))
        for i, cup in enumerate(dim.CUPS)
    ]
    pitcher = Placed(dim.PITCHER, len(dim.CUPS), int(rng.integers(*PITCHER_G, endpoint=True)))
    lacking, bare = rng.random() < WITHOUT_SCALE, int(rng.integers(len(dim.CUPS)))
    scales = tuple(not lacking or place != bare for place in range(len(dim.PLACES_X)))
    return TableScene((*cups, pitcher), scales=scales)


def draw_scales_off(scene: TableScene, rng: Generator) -> dict[int, float]:
    """Return what the scales read too much, place by place: nothing as a rule, now and then one of them does."""
    off, size, sign = rng.random() < SCALE_OFF, float(np.round(rng.uniform(*SCALE_OFF_G), 1)), int(rng.choice([-1, 1]))
    place = int(rng.choice([p for p in range(len(dim.CUPS)) if scene.scales[p]]))
    return {place: sign * size} if off else {}


def draw_trouble(
    kind: Mishap, scene: TableScene, rng: Generator, *, cup: str | None = None, severity: MishapSize | None = None
) -> Trouble:
    """Return trouble of a kind for a table; what is about any one cup is about ``cup``, or about any.

    A severity takes the lower or the upper half of how large a bias or a jump may be.
    """
    held = {vessel.name: vessel.grams for vessel in scene.vessels if vessel.name != dim.PITCHER}
    target, rival, third = sorted(held, key=lambda name: held[name])
    some = cup or str(rng.choice(dim.CUPS))

    def whole(bounds: tuple[int, int]) -> int:
        return int(rng.integers(*bounds, endpoint=True))

    match kind:
        case Mishap.OCCLUSION:
            return Occlusion(some)
        case Mishap.SPIKE:
            weighed = {vessel.name for vessel in scene.vessels if scene.scales[vessel.place]}
            signal = Signal(rng.choice([s for s in SPIKES if s is not Signal.LOAD or some in weighed]))
            sign = int(rng.choice([-1, 1])) if signal in SIGNED else 1
            jump = float(np.round(rng.uniform(*_half(JUMP, severity)), 2))
            return Spike(signal, some if signal in OF_A_CUP else "", sign * jump)
        case Mishap.LITTLE:
            return AddWater(target, whole(LITTLE_G))
        case Mishap.MUCH:
            return AddWater(target, held[rival] - held[target] + whole(BEYOND_RIVAL_G))
        case Mishap.RIVAL | Mishap.THIRD:
            return AddWater(rival if kind is Mishap.RIVAL else third, whole(ELSEWHERE_G))
        case Mishap.SWAP_RIVAL:
            return SwapCups(target, rival)
        case Mishap.SWAP_THIRD:
            return SwapCups(target, third)
        case Mishap.SWAP_OTHERS:
            return SwapCups(rival, third)
        case Mishap.FROZEN:
            return FrozenCamera()
        case Mishap.MIXED_UP:
            return MixedUpCamera(target, rival)
        case Mishap.BIAS:
            bias = float(np.round(rng.uniform(*_half(BIAS_G, severity)), 1))
            return BiasedCamera(some, int(rng.choice([-1, 1])) * bias)


def _half(bounds: tuple[float, float], severity: MishapSize | None) -> tuple[float, float]:
    low, high = bounds
    middle = (low + high) / 2
    return {None: bounds, MishapSize.MILD: (low, middle), MishapSize.SEVERE: (middle, high)}[severity]
