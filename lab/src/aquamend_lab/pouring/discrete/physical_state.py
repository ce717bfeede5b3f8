"""What is physically so: how much is in each cup, where it stands, and what is wrong with the camera."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aquamend.problem.graph import Value
from aquamend_lab.pouring.task import FAULTY, SOUND, CupValues, PouringTask, decided

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
        return task.restarted(readings, positions_mm(self.place))

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
