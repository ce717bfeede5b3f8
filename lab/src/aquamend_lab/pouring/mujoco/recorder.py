"""Keeps how the table looked over time, for a replay: a few poses a second, none of the physics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.scene import HIDDEN_GROUP, WATER_RGBA
from aquamend_lab.pouring.mujoco.simulation import Compiled, Simulation
from aquamend_lab.pouring.replay.recording import Geom, InvalidRecording, RecordedBody, Recording, Shape

PARKED_M = (0.0, 0.0, -1.0)
"""Where water is shown that nobody has added yet: below the table, out of sight."""

_SHAPES: dict[str, tuple[Shape, int]] = {
    "mjGEOM_PLANE": ("plane", 2),
    "mjGEOM_SPHERE": ("sphere", 1),
    "mjGEOM_CAPSULE": ("capsule", 2),
    "mjGEOM_CYLINDER": ("cylinder", 2),
    "mjGEOM_BOX": ("box", 3),
}
"""What MuJoCo's solids are called in a recording, and how many numbers their size has there."""


@dataclass(frozen=True, slots=True, eq=False)
class _Frame:
    tick: int
    poses: NDArray[np.float32]
    """Position and quaternion of every body shown, ``(n_bodies, 7)``."""
    water: NDArray[np.float32]
    """Where the beads in play are, ``(n_in_play, 3)``; those in reserve come after them, so they need no room."""


@dataclass(eq=False, slots=True)
class Recorder:
    """A watcher that keeps a frame every few ticks; which ticks depends on their number alone."""

    frames_per_s: float = 12.5
    """Rounded so that frames are whole ticks apart."""
    _compiled: Compiled | None = None
    _shown: tuple[int, ...] = ()
    """Body numbers."""
    _frames: list[_Frame] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not 0 < self.frames_per_s <= dim.TICKS_PER_S:
            raise ValueError(
                f"frames_per_s is {self.frames_per_s}; the table can be seen 0 to {dim.TICKS_PER_S} times a second"
            )

    def see(self, simulation: Simulation) -> None:
        """Keep a frame, if its turn has come."""
        if simulation.ticks % round(dim.TICKS_PER_S / self.frames_per_s):
            return
        compiled, data = simulation.compiled, simulation.data
        if self._compiled is None:
            self._compiled, self._shown = compiled, _visible_bodies(compiled)
        shown = list(self._shown)
        poses = np.concatenate([data.xpos[shown], data.xquat[shown]], axis=1, dtype=np.float32)
        in_play = compiled.beads[: compiled.first_reserve_bead + simulation.added]
        self._frames.append(_Frame(simulation.ticks, poses, np.array(data.xpos[in_play], dtype=np.float32)))

    def branch(self) -> Recorder:
        """Return a recorder with the same past, for a branch of the table to go on with."""
        return Recorder(self.frames_per_s, self._compiled, self._shown, list(self._frames))

    def recording(self) -> Recording:
        """Return everything seen so far."""
        if self._compiled is None:
            raise InvalidRecording("nothing has been recorded", "let the table tick under this recorder first")
        poses = np.stack([frame.poses for frame in self._frames]).astype(np.float64)
        water = np.full((len(self._frames), self._compiled.scene.particles, 3), PARKED_M)
        for frame, places in zip(self._frames, water, strict=True):
            places[: len(frame.water)] = frame.water
        return Recording(
            bodies=tuple(_body(self._compiled.model, number) for number in self._shown),
            particle_radius_m=dim.BEAD_RADIUS,
            particle_rgba=WATER_RGBA,
            times_s=np.array([frame.tick for frame in self._frames]) / dim.TICKS_PER_S,
            positions=poses[..., :3],
            quaternions=poses[..., 3:],
            particles=water,
        )


def _visible_bodies(compiled: Compiled) -> tuple[int, ...]:
    """Return the bodies to draw one by one: those with something to see, less the water."""
    water = set(compiled.beads.tolist())
    visible = {int(compiled.model.geom_bodyid[i]) for i in _visible_geoms(compiled.model)}
    return tuple(sorted(visible - water))


def _visible_geoms(model: Any) -> list[int]:
    return [i for i in range(model.ngeom) if model.geom_group[i] != HIDDEN_GROUP]


def _body(model: Any, number: int) -> RecordedBody:
    """Return a body of the model as a recording has it."""
    name = model.body(number).name
    solids = tuple(_geom(model, i) for i in _visible_geoms(model) if model.geom_bodyid[i] == number)
    return RecordedBody(f"cup_{name}" if name in dim.CUPS else name, solids)


def _geom(model: Any, number: int) -> Geom:
    import mujoco  # an extra, and slow to import

    shape, sizes = _SHAPES[mujoco.mjtGeom(int(model.geom_type[number])).name]
    return Geom(
        shape,
        tuple(model.geom_size[number][:sizes].tolist()),
        tuple(model.geom_pos[number].tolist()),
        tuple(model.geom_quat[number].tolist()),
        tuple(model.geom_rgba[number].round(3).tolist()),
    )
