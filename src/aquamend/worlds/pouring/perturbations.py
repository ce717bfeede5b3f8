"""What may happen behind the robot's back: water added, cups swapped, a camera that misleads, or nothing at all.

Physical changes act on the table, sensing errors on the camera alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.errors import AquaMendError
from aquamend.model import Cause
from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.faults import SOUND, CameraFaults
from aquamend.worlds.pouring.robot import Robot
from aquamend.worlds.pouring.scene import stacked
from aquamend.worlds.pouring.simulation import Simulation

WAKING_M_S = 1e-4
"""A sleeping body that is moved must be pushed a little, or it would go on sleeping in mid-air."""
DROP_M = 0.055
"""Height above the floor of a cup from which added water falls."""


@dataclass(frozen=True, slots=True)
class AddWater:
    """Somebody tops up a cup."""

    cup: str
    grams: int
    cause: Cause = Cause.EXTERNAL

    def before_measuring(self) -> CameraFaults:
        """Return what is wrong with the camera from the start."""
        return SOUND

    def happen(self, robot: Robot) -> None:
        """Let it happen."""
        simulation = robot.simulation
        compiled, x_y_z = simulation.compiled, simulation.position(self.cup)
        first = compiled.first_reserve_bead + simulation.added
        left = compiled.scene.particles - first
        if self.grams > left:
            raise AquaMendError(f"{self.grams} g cannot be added: {left} g are in reserve; raise TableScene.reserve_g")
        beads = np.arange(first, first + self.grams)
        _put(simulation, beads, x_y_z + np.array(stacked(len(beads))) + (0, 0, dim.FLOOR_THICK + DROP_M))
        simulation.added += len(beads)


@dataclass(frozen=True, slots=True)
class SwapCups:
    """Somebody exchanges two cups, each with what is in it."""

    one: str
    other: str
    cause: Cause = Cause.EXTERNAL

    def before_measuring(self) -> CameraFaults:
        """Return what is wrong with the camera from the start."""
        return SOUND

    def happen(self, robot: Robot) -> None:
        """Let it happen."""
        simulation = robot.simulation
        way = simulation.position(self.other) - simulation.position(self.one)
        contents = {cup: simulation.beads_in(cup) for cup in (self.one, self.other)}
        for cup, shift in ((self.one, way), (self.other, -way)):
            beads = contents[cup]
            _put(simulation, beads, simulation.beads()[beads] + shift)
            joint = simulation.compiled.model.joint(cup)
            q, v = int(joint.qposadr[0]), int(joint.dofadr[0])
            simulation.data.qpos[q : q + 3] += shift
            simulation.data.qvel[v + 2] = -WAKING_M_S


@dataclass(frozen=True, slots=True)
class BiasedCamera:
    """The camera reads one cup too high or too low, from the start and for good."""

    cup: str
    bias_g: float
    cause: Cause = Cause.SELF_ERROR

    def before_measuring(self) -> CameraFaults:
        """Return what is wrong with the camera from the start."""
        return CameraFaults(bias_g={self.cup: self.bias_g})

    def happen(self, robot: Robot) -> None:
        """Change nothing: it is so already."""


@dataclass(frozen=True, slots=True)
class MixedUpCamera:
    """The camera takes two cups for one another whenever it reads their levels."""

    one: str
    other: str
    cause: Cause = Cause.SELF_ERROR

    def before_measuring(self) -> CameraFaults:
        """Return what is wrong with the camera from the start."""
        return CameraFaults(exchanged=(self.one, self.other))

    def happen(self, robot: Robot) -> None:
        """Change nothing: it is so already."""


@dataclass(frozen=True, slots=True)
class FrozenCamera:
    """The camera goes on showing what it saw before: its frames are stale."""

    cause: Cause = Cause.SELF_ERROR

    def before_measuring(self) -> CameraFaults:
        """Return what is wrong with the camera from the start."""
        return SOUND

    def happen(self, robot: Robot) -> None:
        """Freeze the picture."""
        robot.faults = CameraFaults(frozen=robot.simulation.branch())


@dataclass(frozen=True, slots=True)
class FalseAlarm:
    """Nothing happens but a blink: one signal of the monitor jumps for a moment."""

    signal: str
    """Which of the monitor's signals."""
    cup: str
    jump: float
    """In multiples of what the monitor tolerates, with its sign."""
    cause: Cause = Cause.FALSE_ALARM

    def before_measuring(self) -> CameraFaults:
        """Return what is wrong with the camera from the start."""
        return SOUND

    def happen(self, robot: Robot) -> None:
        """Change nothing."""


Perturbation = AddWater | SwapCups | BiasedCamera | MixedUpCamera | FrozenCamera | FalseAlarm


def _put(simulation: Simulation, beads: Sequence[int] | NDArray[np.intp], positions: NDArray[np.float64]) -> None:
    """Move beads to positions, at rest but awake."""
    compiled, data = simulation.compiled, simulation.data
    for bead, position in zip(beads, positions, strict=True):
        q, v = int(compiled.bead_qpos[bead]), int(compiled.bead_dof[bead])
        data.qpos[q : q + 3] = position - compiled.bead_start[bead]
        data.qvel[v : v + 3] = (0.0, 0.0, -WAKING_M_S)
