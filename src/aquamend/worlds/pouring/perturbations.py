"""What may happen behind the robot's back: water added, cups swapped, a camera that misleads, or nothing at all.

Physical changes act on the table, sensing errors on the camera alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

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


@dataclass(frozen=True, slots=True)
class SwapCups:
    """Somebody exchanges two cups, each with what is in it."""

    one: str
    other: str
    cause: Cause = Cause.EXTERNAL


@dataclass(frozen=True, slots=True)
class BiasedCamera:
    """The camera reads one cup too high or too low, from the start and for good."""

    cup: str
    bias_g: float
    cause: Cause = Cause.SELF_ERROR


@dataclass(frozen=True, slots=True)
class MixedUpCamera:
    """The camera takes two cups for one another whenever it reads their levels, from the start and for good."""

    one: str
    other: str
    cause: Cause = Cause.SELF_ERROR


@dataclass(frozen=True, slots=True)
class FrozenCamera:
    """The camera goes on showing what it saw before: its frames are stale."""

    cause: Cause = Cause.SELF_ERROR


@dataclass(frozen=True, slots=True)
class FalseAlarm:
    """Nothing happens but a blink: one signal of the monitor jumps for a moment."""

    signal: str
    """Which of the monitor's signals."""
    cup: str
    jump: float
    """In multiples of what the monitor tolerates, with its sign."""
    cause: Cause = Cause.FALSE_ALARM


Perturbation = AddWater | SwapCups | BiasedCamera | MixedUpCamera | FrozenCamera | FalseAlarm


def faults_from_the_start(perturbation: Perturbation) -> CameraFaults:
    """Return what is wrong with the camera before anything is measured."""
    match perturbation:
        case BiasedCamera(cup=cup, bias_g=bias_g):
            return CameraFaults(bias_g={cup: bias_g})
        case MixedUpCamera(one=one, other=other):
            return CameraFaults(exchanged=(one, other))
        case _:
            return SOUND


def happen(perturbation: Perturbation, robot: Robot) -> None:
    """Let it happen behind the robot's back; what is so from the start changes nothing any more."""
    match perturbation:
        case AddWater(cup=cup, grams=grams):
            _add(robot.simulation, cup, grams)
        case SwapCups(one=one, other=other):
            _swap(robot.simulation, one, other)
        case FrozenCamera():
            robot.faults = CameraFaults(frozen=robot.simulation.branch())
        case BiasedCamera() | MixedUpCamera() | FalseAlarm():
            pass
        case _:
            assert_never(perturbation)


def _add(simulation: Simulation, cup: str, grams: int) -> None:
    """Drop beads of the reserve into a cup."""
    compiled = simulation.compiled
    first = compiled.first_reserve_bead + simulation.added
    left = compiled.scene.particles - first
    if grams > left:
        raise AquaMendError(f"{grams} g cannot be added: {left} g are in reserve; raise TableScene.reserve_g")
    beads = np.arange(first, first + grams)
    lift = np.array([0.0, 0.0, dim.FLOOR_THICK + DROP_M])
    _put(simulation, beads, simulation.position(cup) + np.array(stacked(grams)) + lift)
    simulation.added += grams


def _swap(simulation: Simulation, one: str, other: str) -> None:
    """Exchange two cups with their contents."""
    way = simulation.position(other) - simulation.position(one)
    contents = {cup: simulation.beads_in(cup) for cup in (one, other)}
    for cup, shift in ((one, way), (other, -way)):
        beads = contents[cup]
        _put(simulation, beads, simulation.beads()[beads] + shift)
        joint = simulation.compiled.model.joint(cup)
        q, v = int(joint.qposadr[0]), int(joint.dofadr[0])
        simulation.data.qpos[q : q + 3] += shift
        simulation.data.qvel[v + 2] = -WAKING_M_S


def _put(simulation: Simulation, beads: Sequence[int] | NDArray[np.intp], positions: NDArray[np.float64]) -> None:
    """Move beads to positions, at rest but awake."""
    compiled, data = simulation.compiled, simulation.data
    for bead, position in zip(beads, positions, strict=True):
        q, v = int(compiled.bead_qpos[bead]), int(compiled.bead_dof[bead])
        data.qpos[q : q + 3] = position - compiled.bead_start[bead]
        data.qvel[v : v + 3] = (0.0, 0.0, -WAKING_M_S)
