"""Watches the table for a replay: poses, what is believed beside what is so, and a picture of every pour."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from aquamend.story.story import Believed
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import Body
from aquamend_lab.pouring.mujoco.picture import still_address
from aquamend_lab.pouring.mujoco.recorder import Recorder
from aquamend_lab.pouring.mujoco.simulation import Simulation

POURING_ROLL = -1.45
"""Roll of the hand at which water runs: worth a picture."""
SAMPLE_TICKS = 10
"""Beliefs are looked at five times a second."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A still, and when it was taken."""

    time_s: float
    address: str
    """Its data address."""


@dataclass(eq=False, slots=True)
class Onlooker:
    """A watcher of one execution; a branch of it goes on with the same past."""

    recorder: Recorder = field(default_factory=Recorder)
    beliefs: list[Believed] = field(default_factory=list)
    body: Body | None = None
    """Whose beliefs are kept, once there are some."""
    held_g: Callable[[], Mapping[str, float]] = dict
    """Returns how much each cup is believed to hold."""
    pour: Picture | None = None
    """Of the last pour, while water ran."""
    _tilted: bool = False
    _flowing: bool = False
    """From the first tilt until the pour has its receipt: what a cup is believed to hold is behind until then."""

    def see(self, simulation: Simulation) -> None:
        """Take note of one tick."""
        self.recorder.see(simulation)
        if self.body is not None and simulation.ticks % SAMPLE_TICKS == 0:
            self._look(simulation, self.body)
        roll = float(simulation.hand[3])
        if roll > POURING_ROLL / 2:
            self._tilted = False
        elif roll < POURING_ROLL and not self._tilted:
            self._tilted = self._flowing = True
            self.pour = Picture(simulation.time_s, still_address(simulation))

    def _look(self, simulation: Simulation, body: Body) -> None:
        places = {cup: body.believed_m[cup] for cup in dim.CUPS if cup != body.holding}
        levels = {cup: (round(g, 1), float(simulation.grams(cup))) for cup, g in self.held_g().items()}
        now = Believed(simulation.time_s, places, levels, self._flowing)
        if not self.beliefs or replace(self.beliefs[-1], time=now.time) != now:
            self.beliefs.append(now)

    def taken(self) -> Picture | None:
        """Return the picture of the last pour, once."""
        picture, self.pour = self.pour, None
        self._flowing = self._tilted
        return picture

    def poured(self, cup: str, grams: float, since_s: float) -> None:
        """Correct what is believed of a cup since a pour whose dose became known only later."""
        for i, belief in enumerate(self.beliefs):
            if belief.time >= since_s:
                said, real = belief.levels_g[cup]
                self.beliefs[i] = replace(belief, levels_g={**belief.levels_g, cup: (round(said + grams, 1), real)})

    def branch(self) -> Onlooker:
        """Return an onlooker with the same past, for a branch of the table."""
        return Onlooker(self.recorder.branch(), list(self.beliefs))
