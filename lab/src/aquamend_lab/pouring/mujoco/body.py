"""The robot's body: a hand over a table, where it believes that things stand, and a receipt for all that it did."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from aquamend.recovery import Charge, Receipt
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.sensors import SensorFaults
from aquamend_lab.pouring.mujoco.simulation import Simulation, Watcher

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Tried:
    """How a primitive ended, as its own sensing tells."""

    succeeded: bool
    note: str
    """What was found, for a person."""
    value: float | None = None
    """What was measured or moved, in grams, where there is such a thing."""


Skill = Generator[None, None, Tried]
"""A primitive, or several of them one after another: it waits for the table's next tick wherever it yields."""

NOTHING_TO_DO = Tried(True, "nothing was to be done")


def failed(note: str, value: float | None = None) -> Tried:
    """Return an honest failure."""
    return Tried(False, note, value)


def known_at_first() -> dict[str, tuple[float, float]]:
    """Return where vessels stand as far as the robot knows before it has looked: the pitcher has a place of its own."""
    return {dim.PITCHER: (dim.PITCHER_PLACE_X, 0.0)}


@dataclass(eq=False, slots=True)
class Body:
    """Everything the robot has and knows of where things are. It reaches the world by its hand and its sensors only."""

    simulation: Simulation
    faults: SensorFaults = field(default_factory=SensorFaults)
    """What is wrong with its instruments, which it does not know."""
    seed: tuple[int, ...] = (0,)
    """Of the noise in its readings."""
    believed_m: dict[str, tuple[float, float]] = field(default_factory=known_at_first)
    """Where it believes that every vessel stands."""
    seen_m: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Where it last saw every vessel, which it need not believe."""
    holding: str | None = None
    leaves: list[Receipt] = field(default_factory=list)
    """A receipt for every primitive; composite skills have none of their own, so no interval is charged twice."""
    uses: dict[str, int] = field(default_factory=dict)
    """How often each sensor has been read: the next reading's noise depends on nothing else."""
    listener: Callable[[Receipt], None] | None = None
    """Hears of every primitive that ends."""

    def perform(self, what: str, charge: Charge, skill: Skill) -> Skill:
        """Run a primitive, and write its receipt."""
        start = self.simulation.time_s
        finding = yield from skill
        end = self.simulation.time_s
        whole_ticks = round(end - start, 2)
        self.leaves.append(Receipt(charge, what, whole_ticks, start, end, finding.succeeded, finding.note))
        if self.listener is not None:
            self.listener(self.leaves[-1])
        return finding

    def noise(self, sensor: str) -> np.random.Generator:
        """Return the noise of the next reading of a sensor."""
        self.uses[sensor] = self.uses.get(sensor, 0) + 1
        return np.random.default_rng((*self.seed, zlib.crc32(sensor.encode()), self.uses[sensor]))

    def place_of(self, vessel: str) -> int:
        """Return the place that a vessel is believed to stand on."""
        return nearest_place(self.believed_m[vessel][0])

    def seen_place(self, vessel: str) -> int:
        """Return the place that a vessel was last seen on; where it is believed to stand, if it was not seen."""
        return nearest_place(self.seen_m.get(vessel, self.believed_m[vessel])[0])

    def has_scale(self, place: int) -> bool:
        """Whether a place has a scale; everybody knows that."""
        return self.simulation.compiled.scene.scales[place]

    def branch(self, watcher: Watcher | None = None) -> Body:
        """Return a copy that goes on from here as this one would; nobody listens to it yet."""
        return Body(
            self.simulation.branch(watcher), self.faults, self.seed, dict(self.believed_m), dict(self.seen_m),
            self.holding, list(self.leaves), dict(self.uses),
        )  # fmt: skip


def nearest_place(x: float) -> int:
    """Return the place nearest to a position along the row."""
    return int(np.argmin([abs(x - place) for place in dim.PLACES_X]))


def tick_until_done(body: Body, work: Generator[None, None, _Found]) -> _Found:
    """Tick the table until some work is done, and return what it found."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            found: _Found = done.value
            return found
        body.simulation.tick()
