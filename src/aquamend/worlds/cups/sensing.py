"""How the probes answer: readings with noise, told relative to what was declared, and how likely each answer is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.worlds.cups.scene import CUPS, Scene

EDGES_ML = (-45.0, -8.0, 8.0, 45.0)
LEVELS = ("far lower", "lower", "as declared", "higher", "far higher")
CAMERA_STATES = ("in order", "biased", "old pictures", "cups mixed up")


@dataclass(frozen=True, slots=True)
class Noise:
    """How far readings scatter, and how often the two camera routines err."""

    look_ml: float = 4.0
    weigh_ml: float = 1.5
    localise_error: float = 0.04
    check_error: float = 0.1


def level_probabilities(deviation_ml: float, sd_ml: float) -> NDArray[np.float64]:
    """Return how likely each level is told when the mean reading deviates this much from what was declared."""
    below = [0.5 * (1.0 + math.erf((edge - deviation_ml) / (sd_ml * math.sqrt(2.0)))) for edge in EDGES_ML]
    return np.diff([0.0, *below, 1.0])


def level_of(deviation_ml: float) -> str:
    """Return the level that a reading is told as."""
    return LEVELS[int(np.searchsorted(EDGES_ML, deviation_ml, side="right"))]


def arrangements(n_cups: int) -> tuple[str, ...]:
    """Return what localising may find: every cup in its place, or two of them exchanged, or something else."""
    pairs = [f"{CUPS[i]} and {CUPS[j]} exchanged" for i in range(n_cups) for j in range(i + 1, n_cups)]
    return ("all in place", *pairs, "otherwise")


def arrangement_of(scene: Scene) -> str:
    """Return how the cups stand."""
    moved = [i for i, place in enumerate(scene.place) if place != i]
    if not moved:
        return "all in place"
    if len(moved) == 2:
        return f"{CUPS[moved[0]]} and {CUPS[moved[1]]} exchanged"
    return "otherwise"


def camera_state(scene: Scene) -> str:
    """Return what a test pattern would show of the camera; the first fault found."""
    if any(scene.camera_bias_ml):
        return "biased"
    if any(scene.camera_frozen):
        return "old pictures"
    return "in order" if scene.camera_healthy else "cups mixed up"


def outcomes(probe: str, n_cups: int) -> tuple[str, ...]:
    """Return the answers a probe can give."""
    match probe.split("_")[0]:
        case "look" | "weigh":
            return LEVELS
        case "localise":
            return arrangements(n_cups)
        case _:
            return CAMERA_STATES


def probabilities(probe: str, scene: Scene, noise: Noise) -> NDArray[np.float64]:
    """Return how likely each answer of a probe is in a scene."""
    kind, _, cup = probe.partition("_")
    names = outcomes(probe, scene.n_cups)
    match kind:
        case "look":
            return level_probabilities(_deviation(scene, kind, CUPS.index(cup)), noise.look_ml)
        case "weigh":
            return level_probabilities(_deviation(scene, kind, CUPS.index(cup)), noise.weigh_ml)
        case "localise":
            return _mostly(names, arrangement_of(scene), noise.localise_error)
        case _:
            return _mostly(names, camera_state(scene), noise.check_error)


def answer(
    probe: str, scene: Scene, noise: Noise, rng: np.random.Generator, scale_offset_ml: Sequence[float] = ()
) -> str:
    """Return what a probe answers in a scene: a reading is taken, with noise, and told."""
    kind, _, cup = probe.partition("_")
    if kind in ("look", "weigh"):
        i = CUPS.index(cup)
        sd = noise.look_ml if kind == "look" else noise.weigh_ml
        offset = scale_offset_ml[i] if kind == "weigh" and scale_offset_ml else 0.0
        return level_of(_deviation(scene, kind, i) + offset + sd * float(rng.standard_normal()))
    likely = probabilities(probe, scene, noise)
    return outcomes(probe, scene.n_cups)[min(int(np.searchsorted(likely.cumsum(), rng.random())), len(likely) - 1)]


def _deviation(scene: Scene, kind: str, cup: int) -> float:
    reading = scene.camera_reading_ml(cup) if kind == "look" else scene.scale_reading_ml(cup)
    return reading - scene.declared_ml[cup]


def _mostly(names: tuple[str, ...], true: str, error: float) -> NDArray[np.float64]:
    likely = np.full(len(names), error / (len(names) - 1))
    likely[names.index(true)] = 1.0 - error
    return likely
