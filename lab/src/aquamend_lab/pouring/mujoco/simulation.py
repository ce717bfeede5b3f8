"""The pouring table: a MuJoCo model made from a typed description, and the table in motion.

The model has primitives only, no meshes, no GL. In motion it is a MuJoCo state with the hand's set points, advanced
tick by tick, branched bit by bit.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol
from xml.etree import ElementTree

import numpy as np

from aquamend.arrays import Floats, Indices
from aquamend.errors import MissingLibrary
from aquamend_lab.pouring.mujoco import dimensions as dim

WATER, WALL, HULL, TABLE, PAD, PAN = 1, 2, 4, 8, 16, 32
"""Collision classes, one bit each."""

APPEARANCE = {
    "A": (0.86, 0.31, 0.24, 1.0),
    "B": (0.30, 0.64, 0.36, 1.0),
    "C": (0.27, 0.45, 0.84, 1.0),
    dim.PITCHER: (0.78, 0.76, 0.70, 1.0),
}
"""The colour that tells one vessel from another; where it stands tells nothing."""
WATER_RGBA = (0.25, 0.62, 0.92, 1.0)
SCALE_RGBA, PAD_RGBA = (0.30, 0.31, 0.34, 1.0), (0.66, 0.56, 0.44, 1.0)
NUDGE, GOLDEN_ANGLE = 0.0004, 2.4
WALL_GROUP, HIDDEN_GROUP = 1, 3
"""Geometry groups of the vessels, which pictures show as if of glass, and of their hulls, which no camera sees."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A vessel as it stands on the table at the start."""

    name: str
    place: int
    """Position in ``PLACES_X``."""
    grams: int
    offset_mm: tuple[float, float] = (0.0, 0.0)
    """From the middle of its place."""

    @property
    def xy(self) -> tuple[float, float]:
        """Where its axis stands, in metres."""
        return dim.PLACES_X[self.place] + self.offset_mm[0] / 1000, self.offset_mm[1] / 1000


@dataclass(frozen=True, slots=True)
class TableScene:
    """Everything on the table before the robot does anything."""

    vessels: tuple[Placed, ...]
    reserve_g: int = 26
    """Water that somebody may add later; until then it lies out of sight."""
    scales: tuple[bool, ...] = (True,) * len(dim.PLACES_X)
    """Which places have a scale; the others are plain pads of the same height, as everybody can see."""

    @property
    def particles(self) -> int:
        """Beads in all."""
        return sum(vessel.grams for vessel in self.vessels) + self.reserve_g


def mjcf(scene: TableScene) -> str:
    """Return the model as MJCF text."""
    root = ElementTree.Element("mujoco", model="pouring table")
    _add(root, "compiler", angle="radian", autolimits="true")
    option = _add(
        root,
        "option",
        timestep=dim.TIMESTEP_S,
        integrator="discrete",
        solver="Newton",
        cone="elliptic",
        impratio=10,
        iterations=20,
        tolerance=1e-6,
        sleep_tolerance=1e-5,
        gravity=(0, 0, -dim.GRAVITY),
    )
    _add(option, "flag", sleep="enable")
    _add(root, "size", memory="64M")
    world = _add(root, "worldbody")
    _add(
        world, "geom", name="table", type="plane", size=(1.2, 1.2, 0.1), contype=TABLE, conaffinity=WATER | HULL,
        friction=(0.8, 0.005, 0.0001), rgba=(0.80, 0.74, 0.66, 1),
    )  # fmt: skip
    for place, x in enumerate(dim.PLACES_X):
        _place(world, place, x, scene.scales[place])
    for vessel in scene.vessels:
        _vessel(world, vessel)
    _hand(world)
    for i, position in enumerate(_bead_positions(scene)):
        _bead(world, i, position)
    _actuators(root)
    return ElementTree.tostring(root, encoding="unicode")


Value = str | float | tuple[float, ...]


def _add(parent: ElementTree.Element, tag: str, **attributes: Value) -> ElementTree.Element:
    """Return a new element; numbers and tuples become text as MuJoCo reads them."""

    def text(value: Value) -> str:
        if isinstance(value, str):
            return value
        return " ".join(f"{x:.9g}" for x in (value if isinstance(value, tuple) else (value,)))

    return ElementTree.SubElement(parent, tag, {key.rstrip("_"): text(value) for key, value in attributes.items()})


def _place(world: ElementTree.Element, place: int, x: float, scale: bool) -> None:
    """Add a pan on a spring, which sinks by what stands on it and so weighs it, or a pad that does not."""
    thick = 0.003
    pan = _add(world, "body", name=f"place_{place}", pos=(x, 0, dim.SCALE_TOP_Z - thick))
    if scale:
        _add(
            pan, "joint", name=f"scale_{place}", type="slide", axis=(0, 0, 1), stiffness=dim.SCALE_STIFFNESS,
            damping=14,
        )  # fmt: skip
    _add(
        pan, "geom", name=f"place_{place}", type="box", size=(dim.SCALE_HALF_WIDTH, dim.SCALE_HALF_WIDTH, thick),
        mass=dim.PAN_MASS, contype=PAN, conaffinity=HULL, friction=(0.8, 0.005, 0.0001),
        rgba=SCALE_RGBA if scale else PAD_RGBA,
    )  # fmt: skip


def _vessel(world: ElementTree.Element, vessel: Placed) -> None:
    """Add eight walls and a floor that hold water, and a box around them that hands and tables meet."""
    body = _add(world, "body", name=vessel.name, pos=(*vessel.xy, dim.SCALE_TOP_Z + 0.001))
    _add(body, "freejoint", name=vessel.name)
    distance = dim.INNER_APOTHEM + dim.WALL_THICK / 2
    side = (dim.INNER_APOTHEM + dim.WALL_THICK) * math.tan(math.pi / 8)
    shown: dict[str, Value] = {"rgba": APPEARANCE[vessel.name], "group": WALL_GROUP}
    wall = shown | {"contype": WALL, "conaffinity": WATER, "condim": 1, "mass": dim.VESSEL_MASS / 9}
    for i in range(8):
        angle = math.pi * i / 4
        x, y = distance * math.cos(angle), distance * math.sin(angle)
        half = (dim.WALL_THICK / 2, side, dim.WALL_HEIGHT / 2)
        middle = dim.FLOOR_THICK + dim.WALL_HEIGHT / 2
        _add(body, "geom", type="box", size=half, pos=(x, y, middle), euler=(0, 0, angle), **wall)
    _add(
        body, "geom", type="cylinder", size=(dim.HULL_HALF_WIDTH, dim.FLOOR_THICK / 2), pos=(0, 0, dim.FLOOR_THICK / 2),
        **wall,
    )  # fmt: skip
    # Out of sight the floor goes on below the foot: falling water would be pressed through a thin one.
    depth = dim.FLOOR_THICK + dim.FLOOR_BELOW
    _add(
        body, "geom", type="cylinder", size=(dim.HULL_HALF_WIDTH, depth / 2), pos=(0, 0, dim.FLOOR_THICK - depth / 2),
        **(wall | {"mass": 0.0, "rgba": (0, 0, 0, 0), "group": HIDDEN_GROUP}),
    )  # fmt: skip
    _spout(body, distance, side, wall | {"mass": 0.0})
    half_height = dim.VESSEL_HEIGHT / 2
    _add(
        body, "geom", name=f"{vessel.name}_hull", type="box", pos=(0, 0, half_height),
        size=(dim.HULL_HALF_WIDTH, dim.HULL_HALF_WIDTH, half_height), mass=0, rgba=(0, 0, 0, 0), group=HIDDEN_GROUP,
        contype=HULL, conaffinity=HULL | TABLE | PAD, condim=4, friction=(1.2, 0.01, 0.001),
    )  # fmt: skip


def _spout(body: ElementTree.Element, distance: float, side: float, wall: dict[str, Value]) -> None:
    """Raise the rim on the pouring side (-x) but for a gap: water leaves through it bead by bead, and can be dosed."""
    top = dim.VESSEL_HEIGHT + dim.SPOUT_TAB / 2
    tab = (side - dim.SPOUT_GAP / 2) / 2
    for sign in (-1, 1):
        y = sign * (dim.SPOUT_GAP / 2 + tab)
        _add(
            body, "geom", type="box", size=(dim.WALL_THICK / 2, tab, dim.SPOUT_TAB / 2), pos=(-distance, y, top), **wall
        )
        for step in (1, 2):
            angle = math.pi - sign * step * math.pi / 4
            x, y = distance * math.cos(angle), distance * math.sin(angle)
            half = (dim.WALL_THICK / 2, side, dim.SPOUT_TAB / 2)
            _add(body, "geom", type="box", size=half, pos=(x, y, top), euler=(0, 0, angle), **wall)


def _hand(world: ElementTree.Element) -> None:
    """Add a gantry: three slides, a roll about the approach axis (y), and two fingers that close along x."""
    x, y, z, _ = dim.HOME
    carried = world
    for axis, direction in (("x", (1, 0, 0)), ("y", (0, 1, 0)), ("z", (0, 0, 1))):
        start = (x, y, z) if axis == "x" else (0, 0, 0)
        carried = _add(carried, "body", name=f"gantry_{axis}", pos=start, gravcomp=1)
        _add(carried, "joint", name=f"gantry_{axis}", type="slide", axis=direction, damping=60, armature=0.2)
        _add(carried, "inertial", pos=(0, 0, 0), mass=0.3, diaginertia=(1e-3, 1e-3, 1e-3))
    carried = _add(carried, "body", name="hand", gravcomp=1)
    _add(carried, "joint", name="gantry_roll", type="hinge", axis=(0, 1, 0), damping=0.6, armature=0.01)
    steel, dark = (0.55, 0.57, 0.60, 1), (0.22, 0.23, 0.26, 1)
    _add(
        carried, "geom", type="box", size=(0.062, 0.012, 0.016), pos=(0, -dim.PALM_BACK, 0), mass=0.3, rgba=steel,
        contype=0, conaffinity=0,
    )  # fmt: skip
    _add(
        carried, "geom", type="capsule", size=0.016, fromto=(0, -dim.PALM_BACK, 0, 0, -dim.PALM_BACK - 0.16, 0),
        mass=0.2, rgba=dark, contype=0, conaffinity=0,
    )  # fmt: skip
    half = dim.PAD_HALF
    for name, sign in (("left", -1), ("right", 1)):
        finger = _add(
            carried, "body", name=f"finger_{name}", pos=(sign * (dim.FINGER_OPEN + half[0]), 0, 0), gravcomp=1
        )
        _add(
            finger, "joint", name=f"finger_{name}", type="slide", axis=(-sign, 0, 0), range=(-0.005, dim.FINGER_OPEN),
            damping=8, armature=0.02,
        )  # fmt: skip
        _add(
            finger, "geom", name=f"pad_{name}", type="box", size=half, mass=0.03, rgba=dark, contype=PAD,
            conaffinity=HULL, condim=4, friction=(1.2, 0.01, 0.001),
        )  # fmt: skip
        _add(
            finger, "geom", type="box", size=(0.004, dim.PALM_BACK / 2 - half[1] / 2, 0.008),
            pos=(0, -dim.PALM_BACK / 2 - half[1] / 2, 0), mass=0.02, rgba=steel, contype=0, conaffinity=0,
        )  # fmt: skip


def _actuators(root: ElementTree.Element) -> None:
    actuator = _add(root, "actuator")
    for axis, stiffness in (("x", 3000), ("y", 3000), ("z", 3000), ("roll", 60)):
        _add(actuator, "position", name=f"gantry_{axis}", joint=f"gantry_{axis}", kp=stiffness)
    for side in ("left", "right"):
        name = f"finger_{side}"
        _add(actuator, "position", name=name, joint=name, kp=dim.FINGER_STIFFNESS, forcerange=(-20, 20))


def _bead(world: ElementTree.Element, i: int, position: tuple[float, float, float]) -> None:
    # Three slides, not a free joint: a bead of water has no use for rotation, which would more than double the time.
    body = _add(world, "body", name=f"bead_{i}", pos=position)
    for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
        _add(body, "joint", type="slide", axis=axis, damping=dim.BEAD_DAMPING)
    _add(
        body, "geom", type="sphere", size=dim.BEAD_RADIUS, mass=dim.BEAD_MASS, rgba=WATER_RGBA, contype=WATER,
        conaffinity=WATER | WALL | TABLE | PAN | PAD, condim=1,
    )  # fmt: skip


def _bead_positions(scene: TableScene) -> list[tuple[float, float, float]]:
    """Return where every bead starts: in layers above the floor of its vessel, the reserve in a far corner."""
    positions: list[tuple[float, float, float]] = []
    for vessel in scene.vessels:
        x, y = vessel.xy
        foot = dim.SCALE_TOP_Z + 0.001 + dim.FLOOR_THICK
        positions += [(x + dx, y + dy, foot + dz) for dx, dy, dz in bead_layers(vessel.grams)]
    pitch = 2.3 * dim.BEAD_RADIUS
    positions += [(-1.0 + i % 6 * pitch, 0.9 + i // 6 * pitch, dim.BEAD_RADIUS) for i in range(scene.reserve_g)]
    return positions


def bead_layers(count: int) -> list[tuple[float, float, float]]:
    """Return places for beads inside a vessel, relative to the middle of its floor, in layers that do not touch."""
    radius, pitch = dim.BEAD_RADIUS, 2.05 * dim.BEAD_RADIUS
    reach = int((dim.INNER_APOTHEM - radius) / pitch)
    layer = [
        (i * pitch, j * pitch)
        for i in range(-reach, reach + 1)
        for j in range(-reach, reach + 1)
        if math.hypot(i, j) * pitch <= dim.INNER_APOTHEM - 1.1 * radius
    ]
    # Beads exactly above one another would stay standing as towers, so each starts a little beside the last.
    return [
        (
            layer[i % len(layer)][0] + NUDGE * math.cos(GOLDEN_ANGLE * i),
            layer[i % len(layer)][1] + NUDGE * math.sin(GOLDEN_ANGLE * i),
            1.05 * radius + i // len(layer) * pitch,
        )
        for i in range(count)
    ]


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
