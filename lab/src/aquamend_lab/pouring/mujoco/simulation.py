"""The table in motion: a MuJoCo state with the hand's set points, advanced tick by tick, branched bit by bit."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from aquamend.arrays import Floats, Indices
from aquamend.errors import MissingLibrary
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.scene import TableScene, mjcf

SETTLING_S = 3.0


class Watcher(Protocol):
    """Something that wants to see the table after every tick."""

    def see(self, simulation: Simulation) -> None:
        """Take note of the state."""


@dataclass(frozen=True, eq=False)
class Compiled:
    """A compiled model and where things are in it; shared by all branches."""

    scene: TableScene
    model: Any
    """The MuJoCo model; its package has no types."""

    @cached_property
    def beads(self) -> Indices:
        """Body number of every bead."""
        return np.array([self.model.body(f"bead_{i}").id for i in range(self.scene.particles)])

    @cached_property
    def bead_qpos(self) -> Indices:
        """Where a bead's three coordinates begin in ``qpos``; the same in ``qvel``, shifted by ``bead_dof``."""
        return np.asarray(self.model.jnt_qposadr[self.model.body_jntadr[self.beads]])

    @cached_property
    def bead_dof(self) -> Indices:
        """Where a bead's three velocities begin in ``qvel``."""
        return np.asarray(self.model.body_dofadr[self.beads])

    @cached_property
    def bead_start(self) -> Floats:
        """Where every bead is when its three coordinates are zero, ``(n_beads, 3)``."""
        return np.array(self.model.body_pos[self.beads])

    @cached_property
    def vessels(self) -> dict[str, int]:
        """Body number of every vessel."""
        return {vessel.name: self.model.body(vessel.name).id for vessel in self.scene.vessels}

    @cached_property
    def scales(self) -> dict[int, int]:
        """By place, for those that have a scale: position of its displacement in ``qpos``."""
        weighed = [place for place, scale in enumerate(self.scene.scales) if scale]
        return {place: int(self.model.joint(f"scale_{place}").qposadr[0]) for place in weighed}

    @cached_property
    def first_reserve_bead(self) -> int:
        """Beads from here on lie out of sight until somebody adds them."""
        return self.scene.particles - self.scene.reserve_g


@dataclass(eq=False, slots=True)
class Simulation:
    """One running table. The truth is in here: sensors read it, policies never see it."""

    compiled: Compiled
    data: Any
    ticks: int = 0
    hand: Floats = field(default_factory=lambda: np.array(dim.HOME))
    """Where the hand is told to be: x, y, z and roll."""
    grip: float = 0.0
    """How far each finger is told to close, from open."""
    added: int = 0
    """Reserve beads that have been poured onto the table."""
    watcher: Watcher | None = None

    @classmethod
    def of(cls, scene: TableScene, watcher: Watcher | None = None) -> Simulation:
        """Return a table at rest."""
        try:
            import mujoco  # an extra, and slow to import
        except ImportError:
            raise MissingLibrary(
                "mujoco-core", "sim", "the pouring robot is simulated by it", package="aquamend-lab"
            ) from None
        model = mujoco.MjModel.from_xml_string(mjcf(scene))
        simulation = cls(Compiled(scene, model), mujoco.MjData(model), watcher=watcher)
        for _ in range(round(SETTLING_S / dim.TICK_S)):
            simulation.tick()
        return simulation

    @property
    def time_s(self) -> float:
        """Simulated time since the start; whole ticks."""
        return self.ticks / dim.TICKS_PER_S

    def tick(self) -> None:
        """Advance by a fiftieth of a second under the present set points."""
        import mujoco

        self.data.ctrl[:4] = self.hand - np.array([*dim.HOME[:3], 0.0])
        self.data.ctrl[4:6] = self.grip
        mujoco.mj_step(self.compiled.model, self.data, dim.STEPS_PER_TICK)
        self.ticks += 1
        if self.watcher is not None:
            self.watcher.see(self)

    def branch(self, watcher: Watcher | None = None) -> Simulation:
        """Return a copy that goes on from here bit for bit as this one would."""
        return Simulation(
            self.compiled, copy.copy(self.data), self.ticks, self.hand.copy(), self.grip, self.added, watcher
        )

    def position(self, vessel: str) -> Floats:
        """Return where the foot of a vessel is, in metres."""
        return np.array(self.data.xpos[self.compiled.vessels[vessel]])

    def beads(self) -> Floats:
        """Return where every bead is, ``(n_beads, 3)``, the reserve included."""
        return np.array(self.data.xpos[self.compiled.beads])

    def beads_in(self, vessel: str) -> Indices:
        """Return the numbers of the beads inside a vessel, however it is tilted."""
        body = self.compiled.vessels[vessel]
        local = (self.beads() - self.data.xpos[body]) @ self.data.xmat[body].reshape(3, 3)
        radius, height = np.hypot(local[:, 0], local[:, 1]), local[:, 2]
        top = dim.VESSEL_HEIGHT + dim.SPOUT_TAB
        return np.flatnonzero((radius < dim.HULL_HALF_WIDTH + 0.003) & (height > 0) & (height < top))

    def grams(self, vessel: str) -> int:
        """Return how much water is in a vessel."""
        return len(self.beads_in(vessel))

    def spilled_g(self) -> int:
        """Return how much of the water in play is in no vessel."""
        in_play = self.compiled.first_reserve_bead + self.added
        inside = {int(i) for vessel in self.compiled.vessels for i in self.beads_in(vessel)}
        return in_play - sum(i < in_play for i in inside)
