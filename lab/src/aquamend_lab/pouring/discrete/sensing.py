"""How the probes answer: readings with noise, relative to what was declared, and how likely each answer is."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from aquamend.arrays import Floats
from aquamend_lab.pouring.discrete.physical_state import Places, Scene
from aquamend_lab.pouring.task import CUPS, FAULTY, SOUND, Measurement, Sense

LOWEST_G, HIGHEST_G = -40.0, 120.0
"""Readings are relative to what was declared; whatever lies beyond these reads alike."""


class Levels:
    """What readings are rounded to: steps of a tolerance, so that what is read can be declared."""

    def __init__(self, step_g: float) -> None:
        lowest, highest = (round(limit / step_g) for limit in (LOWEST_G, HIGHEST_G))
        self.edges_g: tuple[float, ...] = tuple((step_g * (np.arange(lowest, highest) + 0.5)).tolist())
        """Where one level ends and the next begins."""
        words = [f"{step_g * level:+g} g" if level else "as declared" for level in range(lowest, highest + 1)]
        self.names = (f"{words[0]} or less", *words[1:-1], f"{words[-1]} or more")

    def probabilities(self, deviation_g: float, sd_g: float) -> tuple[float, ...]:
        """Return how likely each is read when the mean reading deviates this much from what was declared."""
        return _between(self.edges_g, deviation_g, sd_g)

    def of(self, deviation_g: float) -> str:
        """Return what a reading is rounded to."""
        return self.names[bisect.bisect_right(self.edges_g, deviation_g)]


@lru_cache(maxsize=4096)  # most of what may happen leaves most readings as they were
def _between(edges_g: tuple[float, ...], mean_g: float, sd_g: float) -> tuple[float, ...]:
    """Return how likely a normal reading falls below the first edge, between each two, and beyond the last."""
    below = [0.5 * math.erfc((mean_g - edge) / (sd_g * math.sqrt(2.0))) for edge in edges_g]
    return tuple(b - a for a, b in zip([0.0, *below], [*below, 1.0], strict=True))


LEVELS = {Sense.LOOK: Levels(3.0), Sense.WEIGH: Levels(3.0)}


@dataclass(frozen=True, slots=True)
class Noise:
    """How far readings scatter, and how often the two camera routines err."""

    look_g: float = 1.0
    weigh_g: float = 0.5
    localise_error: float = 0.001
    check_error: float = 0.001

    def of(self, sense: Sense) -> float:
        """Return the standard deviation of an amount that is read."""
        return self.look_g if sense is Sense.LOOK else self.weigh_g


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
    return next((words for words, known in arrangements(len(places)).items() if known == places), OTHERWISE)


def outcomes(measurement: Measurement, n_cups: int) -> tuple[str, ...]:
    """Return the answers a measurement can give."""
    match measurement.sense:
        case Sense.LOOK | Sense.WEIGH:
            return LEVELS[measurement.sense].names
        case Sense.LOCALISE:
            return tuple(arrangements(n_cups))
        case Sense.CHECK_CAMERA:
            return SOUND, FAULTY


def mean_reading_g(measurement: Measurement, scene: Scene) -> float:
    """Return what a cup is read as, without noise; it is weighed where it was declared to stand."""
    cup = CUPS.index(measurement.cup or "")
    return scene.camera_reading_g(cup) if measurement.sense is Sense.LOOK else scene.scale_reading_g(cup)


def scatter_g(measurement: Measurement, scene: Scene, noise: Noise) -> float:
    """Return how far readings scatter: by noise, and as the amount that is read may be anywhere in its range."""
    cup, sd = CUPS.index(measurement.cup or ""), noise.of(measurement.sense)
    if measurement.sense is Sense.LOOK:
        width = 0.0 if scene.camera_stale else scene.width_g[scene.camera_sees[cup]]
    else:
        width = scene.width_g[scene.place.index(cup)]
    return math.hypot(sd, width / math.sqrt(12.0))


def answer_probabilities(measurement: Measurement, scene: Scene, noise: Noise) -> Sequence[float]:
    """Return how likely each answer of a measurement is in a scene."""
    names = outcomes(measurement, scene.n_cups)
    match measurement.sense:
        case Sense.LOOK | Sense.WEIGH:
            off = mean_reading_g(measurement, scene) - scene.declared_g[CUPS.index(measurement.cup or "")]
            return LEVELS[measurement.sense].probabilities(off, scatter_g(measurement, scene, noise))
        case Sense.LOCALISE:
            return _mostly(names, arrangement_of(scene.place), noise.localise_error)
        case Sense.CHECK_CAMERA:
            return _mostly(names, SOUND if scene.camera_sound else FAULTY, noise.check_error)


def read(
    measurement: Measurement,
    scene: Scene,
    noise: Noise,
    rng: np.random.Generator,
    scale_offset_g: Sequence[float] = (),
) -> str:
    """Return what a measurement tells in a scene, with noise."""
    if measurement.cup is not None:
        cup = CUPS.index(measurement.cup)
        offset = scale_offset_g[cup] if measurement.sense is Sense.WEIGH and scale_offset_g else 0.0
        scatter = noise.of(measurement.sense) * float(rng.standard_normal())
        amount = mean_reading_g(measurement, scene) + offset + scatter
        return LEVELS[measurement.sense].of(amount - scene.declared_g[cup])
    likely: Floats = np.cumsum(answer_probabilities(measurement, scene, noise))
    return outcomes(measurement, scene.n_cups)[min(int(np.searchsorted(likely, rng.random())), len(likely) - 1)]


def _mostly(names: tuple[str, ...], true: str, error: float) -> list[float]:
    return [1.0 - error if name == true else error / (len(names) - 1) for name in names]
