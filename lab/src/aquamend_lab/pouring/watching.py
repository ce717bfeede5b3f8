"""Watches the table for a replay: poses, what is believed beside what is so, and a picture of every pour.

The recorder keeps how the table looked over time, a few poses a second, none of the physics.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aquamend.story.story import Believed
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import Body
from aquamend_lab.pouring.mujoco.sensors import Camera, capture
from aquamend_lab.pouring.mujoco.simulation import HIDDEN_GROUP, WATER_RGBA, Compiled, Simulation
from aquamend_lab.pouring.recording import Geom, InvalidRecording, RecordedBody, Recording, Shape

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


Pixels = NDArray[np.uint8]

STILL_CAMERA = Camera(position=(0.12, 1.02, 0.66), look_at=(0.12, 0.0, 0.17), vertical_fov_deg=23.6)
"""From the front, a little above: the hand comes from the far side, so that nothing stands before the vessels."""
LABEL_DROP = 14
"""Pixels from the foot of a vessel down to the middle of its name: its mouth, where water runs, stays free."""
INK, PAPER = (38, 40, 46), (252, 250, 246)

FONT = {
    "A": ("01110", "10001", "10001", "11111", "10001", "10001", "10001"),
    "B": ("11110", "10001", "10001", "11110", "10001", "10001", "11110"),
    "C": ("01110", "10001", "10000", "10000", "10000", "10001", "01110"),
    "c": ("00000", "00000", "01110", "10000", "10000", "10001", "01110"),
    "e": ("00000", "00000", "01110", "10001", "11111", "10000", "01110"),
    "h": ("10000", "10000", "10110", "11001", "10001", "10001", "10001"),
    "i": ("010", "000", "110", "010", "010", "010", "111"),
    "p": ("00000", "00000", "11110", "10001", "10001", "10001", "11110", "10000", "10000"),
    "r": ("00000", "00000", "10110", "11001", "10000", "10000", "10000"),
    "t": ("0100", "0100", "1110", "0100", "0100", "0101", "0010"),
}
"""The letters that names of vessels are made of, row by row; rows that are missing at the foot are empty."""


def png(rgb: Pixels) -> bytes:
    """Return a picture ``(h, w, 3)`` as a PNG file."""
    height, width, _ = rgb.shape
    rows = np.zeros((height, 1 + 3 * width), dtype=np.uint8)  # every row starts with its filter: none
    rows[:, 1:] = rgb.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in chunks)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def still(simulation: Simulation, width: int = 640, height: int = 340) -> bytes:
    """Return the table as a PNG file."""
    picture = capture(simulation, STILL_CAMERA, width, height).rgb
    for vessel in simulation.compiled.vessels:
        x, y, z = simulation.position(vessel)
        column, row = STILL_CAMERA.pixel((x, y, z), width, height)
        _write(picture, vessel, round(column), round(row) + LABEL_DROP, 3 if len(vessel) == 1 else 2)
    return png(picture)


def still_address(simulation: Simulation) -> str:
    """Return the table as a data address, which a page can show."""
    return f"data:image/png;base64,{base64.b64encode(still(simulation)).decode('ascii')}"


def _write(picture: Pixels, name: str, column: int, row: int, scale: int) -> None:
    """Write a name around a pixel on a small plate, moved so far that it stays inside the picture."""
    rows = max(len(FONT[letter]) for letter in name)
    glyphs = [np.array([list(row) for row in FONT[letter]]) == "1" for letter in name]
    letters = np.hstack([np.pad(glyph, ((0, rows - len(glyph)), (0, 1))) for glyph in glyphs])[:, :-1]
    plate = np.pad(letters.repeat(scale, axis=0).repeat(scale, axis=1), 2 * scale)
    colours = np.where(plate[..., None], INK, PAPER)
    (tall, wide), (height, width) = plate.shape, picture.shape[:2]
    top = min(max(row - tall // 2, 0), max(height - tall, 0))
    left = min(max(column - wide // 2, 0), max(width - wide, 0))
    room = picture[top : top + tall, left : left + wide]
    room[:] = colours[: room.shape[0], : room.shape[1]]


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
