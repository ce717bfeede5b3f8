"""What may happen behind the robot's back: water added, cups swapped, a camera that misleads, or nothing at all.

Physical changes act on the table, errors of the camera on the camera alone; both begin when the first declarations have
been made, and last. What sets off a false alarm has passed a moment later.

Tables and trouble drawn at random follow from the generator alone. This is the world's side. What the robot thinks may
happen, and how large it thinks that changes are, is its model's affair, which knows nothing of these ranges but what
calibration runs have shown it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, assert_never

import numpy as np
from numpy.random import Generator

from aquamend.arrays import Floats, Indices
from aquamend.errors import AquaMendError
from aquamend.problem.model import Cause
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import Body
from aquamend_lab.pouring.mujoco.simulation import Placed, Simulation, TableScene, bead_layers
from aquamend_lab.pouring.task import OF_A_CUP, SIGNED, Signal

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


LEAST_G, RIVAL_MORE_G, THIRD_MORE_G, PITCHER_G = (15, 22), (8, 13), (5, 9), (52, 64)
"""Smallest and largest: the least full cup, how much more the next holds, and the one after it, and the pitcher."""
OFFSET_MM = 6.0
WITHOUT_SCALE = 1 / 3
"""How often one of the three places of cups has no scale: what stands there cannot be weighed. The pitcher's has."""
SCALE_OFF = 0.15
"""How often one of the scales is off, without anybody knowing."""
SCALE_OFF_G, BIAS_G = (6.0, 11.0), (6.0, 11.0)
"""How far; a bias of the camera is 3 to 5 mm of depth."""
LITTLE_G, BEYOND_RIVAL_G, ELSEWHERE_G = (4, 6), (3, 7), (5, 12)
"""Additions, in whole beads: to the target, which stays the least full; beyond the rival; to another cup."""
JUMP = (1.2, 2.0)
SPIKES = (Signal.POSITION, Signal.LEVEL, Signal.LOAD, Signal.STAMP)


class Mishap(StrEnum):
    """Every kind of trouble."""

    OCCLUSION = "a cup out of sight for a moment"
    SPIKE = "a spike in a signal"
    LITTLE = "a little water added to the target"
    MUCH = "so much added to the target that it is no longer the least full"
    RIVAL = "water added to the rival"
    THIRD = "water added to the third cup"
    SWAP_RIVAL = "target and rival swapped"
    SWAP_THIRD = "target and third cup swapped"
    SWAP_OTHERS = "the two others swapped"
    BIAS = "the camera misreads a cup"
    FROZEN = "the camera is frozen"
    MIXED_UP = "the camera mixes up target and rival"


class MishapSize(StrEnum):
    """How bad it is, where a suite asks for more than one."""

    MILD = "mild"
    SEVERE = "severe"


def draw_scene(rng: Generator) -> TableScene:
    """Return a table: cups of any order on any places, each a little off the middle of its place."""
    least = int(rng.integers(*LEAST_G, endpoint=True))
    rival = least + int(rng.integers(*RIVAL_MORE_G, endpoint=True))
    third = rival + int(rng.integers(*THIRD_MORE_G, endpoint=True))
    grams = rng.permutation([least, rival, third])
    places = rng.permutation(len(dim.CUPS))
    offsets = rng.uniform(-OFFSET_MM, OFFSET_MM, (len(dim.VESSELS), 2))
    cups = [
        Placed(cup, int(places[i]), int(grams[i]), (float(offsets[i][0]), float(offsets[i][1])))
        for i, cup in enumerate(dim.CUPS)
    ]
    pitcher = Placed(dim.PITCHER, len(dim.CUPS), int(rng.integers(*PITCHER_G, endpoint=True)))
    lacking, bare = rng.random() < WITHOUT_SCALE, int(rng.integers(len(dim.CUPS)))
    scales = tuple(not lacking or place != bare for place in range(len(dim.PLACES_X)))
    return TableScene((*cups, pitcher), scales=scales)


def draw_scales_off(scene: TableScene, rng: Generator) -> dict[int, float]:
    """Return what the scales read too much, place by place: nothing as a rule, now and then one of them does."""
    off, size, sign = rng.random() < SCALE_OFF, float(np.round(rng.uniform(*SCALE_OFF_G), 1)), int(rng.choice([-1, 1]))
    place = int(rng.choice([p for p in range(len(dim.CUPS)) if scene.scales[p]]))
    return {place: sign * size} if off else {}


def draw_trouble(
    kind: Mishap, scene: TableScene, rng: Generator, *, cup: str | None = None, severity: MishapSize | None = None
) -> Trouble:
    """Return trouble of a kind for a table; what is about any one cup is about ``cup``, or about any.

    A severity takes the lower or the upper half of how large a bias or a jump may be.
    """
    held = {vessel.name: vessel.grams for vessel in scene.vessels if vessel.name != dim.PITCHER}
    target, rival, third = sorted(held, key=lambda name: held[name])
    some = cup or str(rng.choice(dim.CUPS))

    def whole(bounds: tuple[int, int]) -> int:
        return int(rng.integers(*bounds, endpoint=True))

    match kind:
        case Mishap.OCCLUSION:
            return Occlusion(some)
        case Mishap.SPIKE:
            weighed = {vessel.name for vessel in scene.vessels if scene.scales[vessel.place]}
            signal = Signal(rng.choice([s for s in SPIKES if s is not Signal.LOAD or some in weighed]))
            sign = int(rng.choice([-1, 1])) if signal in SIGNED else 1
            jump = float(np.round(rng.uniform(*_half(JUMP, severity)), 2))
            return Spike(signal, some if signal in OF_A_CUP else "", sign * jump)
        case Mishap.LITTLE:
            return AddWater(target, whole(LITTLE_G))
        case Mishap.MUCH:
            return AddWater(target, held[rival] - held[target] + whole(BEYOND_RIVAL_G))
        case Mishap.RIVAL | Mishap.THIRD:
            return AddWater(rival if kind is Mishap.RIVAL else third, whole(ELSEWHERE_G))
        case Mishap.SWAP_RIVAL:
            return SwapCups(target, rival)
        case Mishap.SWAP_THIRD:
            return SwapCups(target, third)
        case Mishap.SWAP_OTHERS:
            return SwapCups(rival, third)
        case Mishap.FROZEN:
            return FrozenCamera()
        case Mishap.MIXED_UP:
            return MixedUpCamera(target, rival)
        case Mishap.BIAS:
            bias = float(np.round(rng.uniform(*_half(BIAS_G, severity)), 1))
            return BiasedCamera(some, int(rng.choice([-1, 1])) * bias)


def _half(bounds: tuple[float, float], severity: MishapSize | None) -> tuple[float, float]:
    low, high = bounds
    middle = (low + high) / 2
    return {None: bounds, MishapSize.MILD: (low, middle), MishapSize.SEVERE: (middle, high)}[severity]
