"""The cups as they really are, and how probes answer about them: readings with noise, and how likely each answer is."""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from aquamend.arrays import Floats
from aquamend.problem.graph import Value
from aquamend_lab.pouring.task import (
    CUPS,
    FAULTY,
    SOUND,
    CupValues,
    Measurement,
    PouringTask,
    Sense,
    arrangements,
    decided,
)

PLACE_MM = 150.0
"""How far apart the places are, in a row."""

Places = tuple[int, ...]
"""For every cup, the place at which it stands."""


def positions_mm(places: Places) -> tuple[float, ...]:
    """Return where cups at these places stand."""
    return tuple(PLACE_MM * place for place in places)


def fresh_task(declared_g: tuple[float, ...]) -> PouringTask:
    """Return the task with these amounts declared, least first, every cup at its own place: A is the target.

    What the camera has read is believed as long as the camera is.
    """
    at = positions_mm(tuple(range(len(declared_g))))
    return PouringTask(CupValues(declared_g, at, "A"))


@dataclass(frozen=True, slots=True)
class Scene:
    """Cups by number. Before anything happens, every cup holds what was declared and stands at its own place."""

    declared_g: tuple[float, ...]
    """What the camera saw when everything was measured."""
    amount_g: tuple[float, ...]
    place: Places
    camera_bias_g: tuple[float, ...]
    """What the camera reads too much of each cup from now on."""
    camera_stale: bool
    """Whether it keeps showing the pictures of back then."""
    camera_sees: tuple[int, ...]
    """Which cup it takes for cup i."""
    width_g: tuple[float, ...]
    """How wide a range each amount stands for; 0 where it is exactly that."""

    @classmethod
    def as_declared(cls, declared_g: tuple[float, ...]) -> Scene:
        """Return the scene in which all that was declared is true."""
        n = len(declared_g)
        own = tuple(range(n))
        return cls(declared_g, declared_g, own, (0.0,) * n, False, own, (0.0,) * n)

    @property
    def n_cups(self) -> int:
        """Number of cups."""
        return len(self.declared_g)

    @property
    def camera_sound(self) -> bool:
        """Whether nothing is wrong with the camera."""
        return not (any(self.camera_bias_g) or self.camera_stale or self.camera_sees != tuple(range(self.n_cups)))

    def camera_reading_g(self, cup: int) -> float:
        """Return what the camera reads for a cup, without noise; it finds cups by their looks, wherever they stand."""
        seen = self.camera_sees[cup]
        amount = self.declared_g[seen] if self.camera_stale else self.amount_g[seen]
        return amount + self.camera_bias_g[cup]

    def scale_reading_g(self, place: int) -> float:
        """Return what the scale under a place reads, without noise: whatever stands there."""
        return self.amount_g[self.place.index(place)]

    def true(self, task: PouringTask) -> CupValues:
        """Return what is true; the target is the cup that is really the least full."""
        camera = SOUND if self.camera_sound else FAULTY
        return decided(task.cups, self.amount_g, positions_mm(self.place), camera)

    def after_restart(self, task: PouringTask) -> CupValues:
        """Return what is declared once everything was measured again by the same camera, as carefully as at first."""
        readings = [self.camera_reading_g(cup) for cup in range(self.n_cups)]
        return decided(task.cups, readings, positions_mm(self.place))

    def failed(self, task: PouringTask) -> tuple[str, ...]:
        """Return which of the declared values are wrong."""
        return task.wrong(task.values(task.declared), self.true(task))

    def left_wrong(self, task: PouringTask, said: Mapping[str, Value]) -> tuple[str, ...]:
        """Return which of the values that were wrong at the alarm still are: what is charged, and spoils success.

        What is got wrong while recovering is not, as the paper's residual is of failures left uncorrected.
        """
        still = task.wrong(said, self.true(task))
        return tuple(name for name in self.failed(task) if name in still)

    def left_by_restart(self, task: PouringTask) -> tuple[str, ...]:
        """Return which values are still wrong after starting over."""
        return self.left_wrong(task, task.values(self.after_restart(task)))


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


LEVELS = Levels(3.0)


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


def places_told(n_cups: int) -> dict[str, Places]:
    """Return what localising may tell: every cup in its place, or two of them exchanged, or something else."""
    cups, found = CUPS[:n_cups], {}
    for words, pair in arrangements(cups).items():
        other = {} if pair is None else {pair[0]: pair[1], pair[1]: pair[0]}
        found[words] = tuple(cups.index(other.get(cup, cup)) for cup in cups)
    return found | {OTHERWISE: (*range(1, n_cups), 0)}


def arrangement_of(places: Places) -> str:
    """Return how localising tells these places."""
    return next((words for words, known in places_told(len(places)).items() if known == places), OTHERWISE)


def outcomes(measurement: Measurement, n_cups: int) -> tuple[str, ...]:
    """Return the answers a measurement can give."""
    match measurement.sense:
        case Sense.LOOK | Sense.WEIGH:
            return LEVELS.names
        case Sense.LOCALISE:
            return tuple(places_told(n_cups))
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
            return LEVELS.probabilities(off, scatter_g(measurement, scene, noise))
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
        return LEVELS.of(amount - scene.declared_g[cup])
    likely: Floats = np.cumsum(answer_probabilities(measurement, scene, noise))
    return outcomes(measurement, scene.n_cups)[min(int(np.searchsorted(likely, rng.random())), len(likely) - 1)]


def _mostly(names: tuple[str, ...], true: str, error: float) -> list[float]:
    return [1.0 - error if name == true else error / (len(names) - 1) for name in names]
