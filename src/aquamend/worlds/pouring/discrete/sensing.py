"""How the probes answer: readings with noise, told relative to what was declared, and how likely each answer is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aquamend.graph import Value
from aquamend.worlds.pouring.discrete.scene import Places, Scene, positions_mm
from aquamend.worlds.pouring.task import (
    CAMERA,
    CUPS,
    FAULTY,
    QUANTITY_TOLERANCE_G,
    SOUND,
    Measurement,
    Sense,
    binding,
    quantity,
)

EDGES_G = (-45.0, -8.0, 8.0, 45.0)
LEVELS = ("far lower", "lower", "as declared", "higher", "far higher")


@dataclass(frozen=True, slots=True)
class Noise:
    """How far readings scatter, and how often the two camera routines err."""

    look_g: float = 4.0
    weigh_g: float = 1.5
    localise_error: float = 0.01
    check_error: float = 0.1

    def of(self, sense: Sense) -> float:
        """Return the standard deviation of an amount that is read."""
        return self.look_g if sense is Sense.LOOK else self.weigh_g


class Reading(NamedTuple):
    """What a measurement told, and the values that it read of the beliefs it is about."""

    told: str
    values: dict[str, Value]


def level_probabilities(deviation_g: float, sd_g: float) -> list[float]:
    """Return how likely each level is told when the mean reading deviates this much from what was declared."""
    below = [_below((edge - deviation_g) / sd_g) for edge in EDGES_G]
    return [b - a for a, b in zip([0.0, *below], [*below, 1.0], strict=True)]


def level_of(deviation_g: float) -> str:
    """Return the level that a reading is told as."""
    return LEVELS[int(np.searchsorted(EDGES_G, deviation_g, side="right"))]


def _below(z: float) -> float:
    return 0.5 * (1.0 + math.erf(z / math.sqrt(2.0)))


OTHERWISE = "otherwise"


def arrangements(n_cups: int) -> dict[str, Places]:
    """Return what localising may tell: every cup in its place, or two of them exchanged, or something else."""
    own = tuple(range(n_cups))
    found = {"all in place": own}
    for i, j in combinations(own, 2):
        found[f"{CUPS[i]} and {CUPS[j]} exchanged"] = tuple(j if k == i else i if k == j else k for k in own)
    return found | {OTHERWISE: (*own[1:], 0)}


def arrangement_of(places: Places) -> str:
    """Return how localising tells these places."""
    return next((told for told, known in arrangements(len(places)).items() if known == places), OTHERWISE)


def outcomes(measurement: Measurement, n_cups: int) -> tuple[str, ...]:
    """Return the answers a measurement can give."""
    match measurement.sense:
        case Sense.LOOK | Sense.WEIGH | Sense.HEFT:
            return LEVELS
        case Sense.LOCALISE:
            return tuple(arrangements(n_cups))
        case Sense.CHECK_CAMERA:
            return SOUND, FAULTY


def mean_reading_g(measurement: Measurement, scene: Scene, seen: Places) -> float:
    """Return what a cup is read as, without noise; it is weighed where it was seen."""
    cup = CUPS.index(measurement.cup or "")
    return scene.camera_reading_g(cup) if measurement.sense is Sense.LOOK else scene.scale_reading_g(seen[cup])


def probabilities(measurement: Measurement, scene: Scene, seen: Places, noise: Noise) -> list[float]:
    """Return how likely each answer of a measurement is in a scene."""
    names = outcomes(measurement, scene.n_cups)
    match measurement.sense:
        case Sense.LOOK | Sense.WEIGH | Sense.HEFT:
            off = mean_reading_g(measurement, scene, seen) - scene.declared_g[CUPS.index(measurement.cup or "")]
            return level_probabilities(off, noise.of(measurement.sense))
        case Sense.LOCALISE:
            return _mostly(names, arrangement_of(scene.place), noise.localise_error)
        case Sense.CHECK_CAMERA:
            return _mostly(names, SOUND if scene.camera_sound else FAULTY, noise.check_error)


def accuracy(measurement: Measurement, scene: Scene, seen: Places, noise: Noise) -> float:
    """Return how likely what a measurement reads is right: for amounts, within what the task tolerates."""
    match measurement.sense:
        case Sense.LOOK | Sense.WEIGH | Sense.HEFT:
            cup, sd = CUPS.index(measurement.cup or ""), noise.of(measurement.sense)
            off = mean_reading_g(measurement, scene, seen) - scene.amount_g[cup]
            return _below((QUANTITY_TOLERANCE_G - off) / sd) - _below((-QUANTITY_TOLERANCE_G - off) / sd)
        case Sense.LOCALISE:
            return 1.0 - noise.localise_error
        case Sense.CHECK_CAMERA:
            return 1.0 - noise.check_error


def read(
    measurement: Measurement,
    scene: Scene,
    seen: Places,
    noise: Noise,
    rng: np.random.Generator,
    scale_offset_g: Sequence[float] = (),
) -> Reading:
    """Return what a measurement reads in a scene, with noise."""
    if measurement.cup is not None:
        cup = CUPS.index(measurement.cup)
        offset = scale_offset_g[seen[cup]] if measurement.sense is Sense.WEIGH and scale_offset_g else 0.0
        scatter = noise.of(measurement.sense) * float(rng.standard_normal())
        amount = mean_reading_g(measurement, scene, seen) + offset + scatter
        return Reading(level_of(amount - scene.declared_g[cup]), {quantity(measurement.cup): amount})
    likely: NDArray[np.float64] = np.cumsum(probabilities(measurement, scene, seen, noise))
    told = outcomes(measurement, scene.n_cups)[min(int(np.searchsorted(likely, rng.random())), len(likely) - 1)]
    if measurement.sense is Sense.CHECK_CAMERA:
        return Reading(told, {CAMERA: told})
    return Reading(told, located(told, scene.n_cups))


def located(told: str, n_cups: int) -> dict[str, Value]:
    """Return where every cup stands by what localising told."""
    at = positions_mm(arrangements(n_cups)[told])
    return {binding(CUPS[i]): position for i, position in enumerate(at)}


def _mostly(names: tuple[str, ...], true: str, error: float) -> list[float]:
    return [1.0 - error if name == true else error / (len(names) - 1) for name in names]
