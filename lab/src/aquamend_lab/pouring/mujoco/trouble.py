"""What may happen behind the robot's back: water added, cups swapped, a camera that misleads, or nothing at all.

Physical changes act on the table, errors of the camera on the camera alone; both begin when the first declarations have
been made, and last. What sets off a false alarm has passed a moment later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, assert_never

import numpy as np

from aquamend.arrays import Floats, Indices
from aquamend.errors import AquaMendError
from aquamend.problem.model import Cause
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import Body
from aquamend_lab.pouring.mujoco.scene import bead_layers
from aquamend_lab.pouring.mujoco.simulation import Simulation
from aquamend_lab.pouring.reports import Signal

WAKING_M_S = 1e-4
"""A sleeping body that is moved must be pushed a little, or it would go on sleeping in mid-air."""
DROP_M = 0.055
"""Height above the floor of a cup from which added water falls."""


@dataclass(frozen=True, slots=True)
class AddWater:
    """Somebody tops up a cup."""

    cup: str
    grams: int
    cause: ClassVar[Cause] = Cause.EXTERNAL


@dataclass(frozen=True, slots=True)
class SwapCups:
    """Somebody exchanges two cups, each with what is in it."""

    one: str
    other: str
    cause: ClassVar[Cause] = Cause.EXTERNAL


@dataclass(frozen=True, slots=True)
class BiasedCamera:
    """From now on the camera reads one cup too high or too low."""

    cup: str
    bias_g: float
    cause: ClassVar[Cause] = Cause.SELF_ERROR


@dataclass(frozen=True, slots=True)
class MixedUpCamera:
    """From now on the camera takes two cups for one another whenever it reads their levels."""

    one: str
    other: str
    cause: ClassVar[Cause] = Cause.SELF_ERROR


@dataclass(frozen=True, slots=True)
class FrozenCamera:
    """From now on the camera shows what it shows at this moment: its frames go stale."""

    cause: ClassVar[Cause] = Cause.SELF_ERROR


@dataclass(frozen=True, slots=True)
class Occlusion:
    """Something passes before the camera, and for a moment a cup is out of its sight."""

    cup: str
    cause: ClassVar[Cause] = Cause.FALSE_ALARM


@dataclass(frozen=True, slots=True)
class Spike:
    """One signal of the monitor jumps for a moment."""

    signal: Signal
    cup: str
    """The cup that the signal is about, where it is about one."""
    jump: float
    """In multiples of what the monitor tolerates, with its sign."""
    cause: ClassVar[Cause] = Cause.FALSE_ALARM


Trouble = AddWater | SwapCups | BiasedCamera | MixedUpCamera | FrozenCamera | Occlusion | Spike


def happen(trouble: Trouble, body: Body) -> None:
    """Let it happen behind the robot's back; what passes in a moment leaves nothing."""
    match trouble:
        case AddWater(cup=cup, grams=grams):
            _add(body.simulation, cup, grams)
        case SwapCups(one=one, other=other):
            _swap(body.simulation, one, other)
        case BiasedCamera(cup=cup, bias_g=bias_g):
            body.faults = replace(body.faults, bias_g={cup: bias_g})
        case MixedUpCamera(one=one, other=other):
            body.faults = replace(body.faults, exchanged=(one, other))
        case FrozenCamera():
            body.faults = replace(body.faults, frozen=body.simulation.branch())
        case Occlusion() | Spike():
            pass
        case _:
            assert_never(trouble)


def _add(simulation: Simulation, cup: str, grams: int) -> None:
    """Drop beads of the reserve into a cup."""
    compiled = simulation.compiled
    first = compiled.first_reserve_bead + simulation.added
    left = compiled.scene.particles - first
    if grams > left:
        raise AquaMendError(f"{grams} g cannot be added: {left} g are in reserve; raise TableScene.reserve_g")
    beads = np.arange(first, first + grams)
    lift = np.array([0.0, 0.0, dim.FLOOR_THICK + DROP_M])
    _put(simulation, beads, simulation.position(cup) + np.array(bead_layers(grams)) + lift)
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


def _put(simulation: Simulation, beads: Sequence[int] | Indices, positions: Floats) -> None:
    """Move beads to positions, at rest but awake."""
    compiled, data = simulation.compiled, simulation.data
    for bead, position in zip(beads, positions, strict=True):
        q, v = int(compiled.bead_qpos[bead]), int(compiled.bead_dof[bead])
        data.qpos[q : q + 3] = position - compiled.bead_start[bead]
        data.qvel[v : v + 3] = (0.0, 0.0, -WAKING_M_S)
