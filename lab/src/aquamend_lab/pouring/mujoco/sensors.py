"""What the robot can measure: water levels and positions from above, scales under the places, weight in the hand.

A fault sits in a sensor, never in the world it looks at. Sensors look at the world as hardware would. The camera knows
vessels by their colour and water by its surface; nothing here counts beads or asks where a body is. Noise comes from
the generator that the caller passes.

The camera works without GL: every pixel is a ray cast into the scene, which gives depth, what was hit, and its colour.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from aquamend.arrays import Bools, Floats
from aquamend.errors import UnknownName
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.simulation import APPEARANCE, HIDDEN_GROUP, WALL_GROUP, WATER_RGBA, Simulation

Vector = tuple[float, float, float]

CUTOFF_M = 4.0
LAMP = (-0.55, 0.75, 1.6)
AMBIENT, DIFFUSE, SHADOWED = 0.46, 0.62, 0.35
"""Light from everywhere, light from the lamp, and what of the lamp's remains in a shadow."""
THROUGH_GLASS = 0.55
"""Share of what lies behind a vessel's wall in the colour of the wall."""
OUTLINE = 0.62
SKY_LOW, SKY_HIGH = (0.93, 0.92, 0.90), (0.76, 0.81, 0.87)
HAZE_FROM_M, HAZE_TO_M = 1.1, 2.4
"""Between these distances things fade into the background, so that the table has no hard end."""


@dataclass(frozen=True, slots=True)
class Camera:
    """A pinhole camera: where it stands, what it looks at, which way is up in its picture."""

    position: Vector
    look_at: Vector
    up: Vector = (0.0, 0.0, 1.0)
    vertical_fov_deg: float = 40.0

    def axes(self) -> Floats:
        """Return the unit vectors to the right, up and forward, as rows ``(3, 3)``."""
        forward = np.subtract(self.look_at, self.position)
        right = np.cross(forward, self.up)
        up = np.cross(right, forward)
        return np.stack([axis / np.linalg.norm(axis) for axis in (right, up, forward)])

    def rays(self, width: int, height: int) -> Floats:
        """Return the unit direction through the middle of every pixel, row by row from the top, ``(h * w, 3)``."""
        reach = math.tan(math.radians(self.vertical_fov_deg) / 2)
        x = ((np.arange(width) + 0.5) * 2 / width - 1) * reach * width / height
        y = (1 - (np.arange(height) + 0.5) * 2 / height) * reach
        flat = np.stack([*np.meshgrid(x, y), np.ones((height, width))], axis=-1).reshape(-1, 3)
        directions: Floats = flat @ self.axes()
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return directions

    def pixel(self, point: Vector, width: int, height: int) -> tuple[float, float]:
        """Return the column and row where a point in front of the camera appears."""
        right, up, depth = self.axes() @ np.subtract(point, self.position)
        scale = height / 2 / math.tan(math.radians(self.vertical_fov_deg) / 2) / depth
        return width / 2 + right * scale, height / 2 - up * scale


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """Where rays end."""

    distance_m: Floats
    """Shape ``(n,)``; infinite where nothing was hit."""
    geoms: NDArray[np.int32]
    """Shape ``(n,)``; -1 where nothing was hit."""
    normals: Floats
    """Shape ``(n, 3)``; zero where nothing was hit."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One picture with depth."""

    depth_m: Floats
    """Shape ``(h, w)``; along the optical axis; infinite where there is nothing."""
    segments: NDArray[np.int32]
    """Shape ``(h, w)``; the number of the geometry seen, or -1."""
    rgb: NDArray[np.uint8]
    """Shape ``(h, w, 3)``."""


def cast(simulation: Simulation, origin: Vector | Floats, directions: Floats, *, glass: bool = True) -> Hits:
    """Return where rays from one point end; without ``glass`` they pass through the walls of vessels.

    ``directions`` are unit vectors, ``(n, 3)``.
    """
    import mujoco  # an extra, and slow to import

    n = len(directions)
    groups = np.ones(6, dtype=np.uint8)
    groups[HIDDEN_GROUP], groups[WALL_GROUP] = 0, glass
    geoms, distance, normals = np.full(n, -1, dtype=np.int32), np.full(n, -1.0), np.zeros(3 * n)
    if n:
        model, start = simulation.compiled.model, np.array(origin, dtype=np.float64)
        flat = np.ascontiguousarray(directions).ravel()
        mujoco.mj_multiRay(
            model, simulation.data, start, flat, groups, True, -1, geoms, distance, normals, n, CUTOFF_M
        )  # fmt: skip
    return Hits(np.where(geoms < 0, np.inf, distance), geoms, normals.reshape(n, 3))


def capture(simulation: Simulation, camera: Camera, width: int, height: int) -> Frame:
    """Return what the camera sees now, with walls of vessels as if of tinted glass."""
    model = simulation.compiled.model
    origin, directions = np.array(camera.position), camera.rays(width, height)
    hits = cast(simulation, origin, directions)
    colours = _lit(simulation, origin, directions, hits)
    walls = (hits.geoms >= 0) & (model.geom_group[hits.geoms] == WALL_GROUP)
    behind = cast(simulation, origin, directions[walls], glass=False)
    seen_through = _lit(simulation, origin, directions[walls], behind)
    colours[walls] += THROUGH_GLASS * (seen_through - colours[walls])

    depth = (hits.distance_m * (directions @ camera.axes()[2])).reshape(height, width)
    segments = hits.geoms.reshape(height, width)
    picture = colours.reshape(height, width, 3)
    picture[_outlines(_objects(model, segments), depth)] *= OUTLINE
    return Frame(depth, segments, (picture.clip(0, 1) * 255).round().astype(np.uint8))


def _lit(simulation: Simulation, origin: Floats, directions: Floats, hits: Hits) -> Floats:
    """Return the colour of what every ray hits in the light of the lamp, from 0 to 1, ``(n, 3)``."""
    colours = _background(directions)
    hit = np.flatnonzero(hits.geoms >= 0)
    points = origin + directions[hit] * hits.distance_m[hit, None]
    from_lamp = points - np.array(LAMP)
    lamp_m = np.linalg.norm(from_lamp, axis=1)
    from_lamp /= lamp_m[:, None]
    reached = cast(simulation, LAMP, from_lamp).distance_m
    facing = np.maximum(0, -np.einsum("ij,ij->i", hits.normals[hit], from_lamp))
    light = AMBIENT + DIFFUSE * facing * np.where(reached < lamp_m - 1e-3, SHADOWED, 1.0)
    own = simulation.compiled.model.geom_rgba[hits.geoms[hit], :3] * light[:, None]
    haze = ((hits.distance_m[hit] - HAZE_FROM_M) / (HAZE_TO_M - HAZE_FROM_M)).clip(0, 1)[:, None]
    colours[hit] = own + haze * (colours[hit] - own)
    return colours


def _background(directions: Floats) -> Floats:
    """Return a sky that darkens upwards, ``(n, 3)``."""
    height = ((directions[:, 2] + 0.35) / 0.7).clip(0, 1)[:, None]
    sky: Floats = (1 - height) * np.array(SKY_LOW) + height * np.array(SKY_HIGH)
    return sky


def _objects(model: Any, segments: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return what belongs together in the eye, ``(h, w)``: the parts of a body, all water, table and background."""
    objects: NDArray[np.int32] = np.where(segments < 0, 0, model.geom_bodyid[segments]).astype(np.int32)
    objects[of_colour(model, segments, WATER_RGBA)] = -1
    return objects


def _outlines(objects: NDArray[np.int32], depth: Floats) -> Bools:
    """Return the pixels beside something nearer that is another object, ``(h, w)``."""
    dark = np.zeros(objects.shape, dtype=np.bool_)
    for here, there in (((slice(None), slice(1, None)), (slice(None), slice(-1))), (np.s_[1:, :], np.s_[:-1, :])):
        other = objects[here] != objects[there]
        dark[here] |= other & (depth[there] < depth[here])
        dark[there] |= other & (depth[here] < depth[there])
    return dark


def of_colour(model: Any, geoms: NDArray[np.int32], rgba: tuple[float, float, float, float]) -> Bools:
    """Return which of the geometries have this colour; -1 has none."""
    same = np.isclose(model.geom_rgba, rgba, atol=1e-3).all(axis=1)
    result: Bools = (geoms >= 0) & same[geoms]
    return result


@dataclass(frozen=True, slots=True, eq=False)
class SensorFaults:
    """Every fault there is now; by default none. They persist: to read again shows the same."""

    bias_g: Mapping[str, float] = field(default_factory=dict)
    """Added to the level that the camera reads for a cup."""
    exchanged: tuple[str, str] | None = None
    """Two cups whose crops are mixed up: the level of one is read for the other. The map of the table stays right."""
    frozen: Simulation | None = None
    """An earlier branch of the table that the camera still shows."""
    hidden: tuple[str, ...] = ()
    """Vessels that something hides from the camera."""
    scale_off_g: Mapping[int, float] = field(default_factory=dict)
    """Added to what the scale under a place reads."""

    @property
    def camera_sound(self) -> bool:
        """Whether nothing is wrong with how the camera reads amounts; what is hidden from it, it does not misread."""
        return not self.bias_g and self.exchanged is None and self.frozen is None

    def shown(self, simulation: Simulation) -> Simulation:
        """Return the table that the camera shows when it looks at this one."""
        return simulation if self.frozen is None else self.frozen

    def crop_of(self, cup: str) -> str:
        """Return the cup that is looked at when this one is asked for."""
        if self.exchanged is None or cup not in self.exchanged:
            return cup
        first, second = self.exchanged
        return second if cup == first else first


SOUND = SensorFaults()
"""Instruments with nothing wrong."""


OVERHEAD = Camera(position=(0.12, 0.0, 3.0), look_at=(0.12, 0.0, 0.0), up=(0.0, 1.0, 0.0), vertical_fov_deg=7.8)
"""Far up, so that a pitcher held beside one cup hides no other."""
OVERHEAD_PIXELS = (256, 104)
"""Width and height; a pixel is 4 mm at the height of the rims."""
WHOLE_M = 2 * dim.HULL_HALF_WIDTH - 0.006
"""A vessel that looks narrower than this is hidden in part, and its middle cannot be known."""
POSITION_SD_M = 0.0015
"""Of each coordinate: an error of 1.9 mm on average."""

PATCH = 16
PATCH_REACH_M = 0.029
"""Rays nearer to the wall than 3 mm are not cast: the middle of the cup is known no better."""
PATCH_HEIGHT_M = 3.0
"""From so high up, rays into a cup are vertical to half a degree."""
RIM_MARGIN_M = 0.008
"""A hit higher than this below the rim is the rim itself, or something in the way."""
FEWEST_RAYS = 30
LEVEL_G_PER_M, LEVEL_AT_FLOOR_G = 2141.5, 0.14
"""Least squares over 480 vessels with 0 to 70 g, 3 s after their beads were dropped from layers nudged by up to 0.4 mm:
sd 0.71 g about the line, worst 2.3 g. Beads dropped in exact columns may stand as towers, and read up to 10 g high."""
RAY_SD_M, COMMON_SD_M = 0.001, 0.00025
LEVEL_SD_G = LEVEL_G_PER_M * math.hypot(COMMON_SD_M, RAY_SD_M / math.sqrt(150))
"""The error all rays of a reading share, and what is left of their own after averaging."""

SCALE_SD_G, FELT_SD_G = 0.5, 0.25
"""Of one reading of a scale, and of the force on the hand at one tick."""
PAN_G, VESSEL_G = 1000 * dim.PAN_MASS, 1000 * dim.VESSEL_MASS


@dataclass(frozen=True, slots=True)
class Seen:
    """A vessel in the overhead picture."""

    xy: tuple[float, float]
    top_z: float
    """Height of the highest point of its rim."""


def level_g(simulation: Simulation, cup: str, *, rng: Generator, faults: SensorFaults = SOUND) -> float | None:
    """Return how much water the camera sees in a cup, or None if it cannot see into it."""
    table, crop = faults.shown(simulation), faults.crop_of(cup)
    if crop not in APPEARANCE:
        raise UnknownName("vessel", crop, APPEARANCE)
    noise_g = rng.normal(0.0, LEVEL_SD_G)  # drawn in any case, so that later draws do not depend on what is seen
    seen = None if crop in faults.hidden else _overhead(table).get(crop)
    height_m = None if seen is None else _surface_m(table, seen)
    if height_m is None:
        return None
    # Rounded first: a table at rest still creeps by nanometres, and must give the same reading to the same seed.
    clean_g = round(LEVEL_AT_FLOOR_G + LEVEL_G_PER_M * height_m, 1)
    return float(clean_g + noise_g + faults.bias_g.get(cup, 0.0))


def positions_m(
    simulation: Simulation, *, rng: Generator, faults: SensorFaults = SOUND
) -> dict[str, tuple[float, float]]:
    """Return where the camera sees every vessel stand, x and y; a vessel hidden even in part is left out."""
    noise = dict(zip(APPEARANCE, rng.normal(0.0, POSITION_SD_M, (len(APPEARANCE), 2)), strict=True))
    return {
        vessel: (float(seen.xy[0] + noise[vessel][0]), float(seen.xy[1] + noise[vessel][1]))
        for vessel, seen in _overhead(faults.shown(simulation)).items()
        if vessel not in faults.hidden
    }


def scale_g(
    simulation: Simulation, place: int, *, rng: Generator, faults: SensorFaults = SOUND, sd_g: float = SCALE_SD_G
) -> float:
    """Return the water on a place: how far its spring is pressed, less pan and vessel; an empty place reads -80 g."""
    pressed_m = -float(simulation.data.qpos[simulation.compiled.scales[place]])
    net_g = 1000 * pressed_m * dim.SCALE_STIFFNESS / dim.GRAVITY - PAN_G - VESSEL_G
    return round(round(net_g, 1) + float(rng.normal(0.0, sd_g)) + faults.scale_off_g.get(place, 0.0), 1)


def lifted_g(simulation: Simulation, *, rng: Generator, sd_g: float = FELT_SD_G) -> float:
    """Return what hangs on the hand, vessel and all: the lifting force less what the drive itself brakes away.

    True when the hand moves evenly; while it speeds up or slows down, inertia is felt as weight.
    """
    model, data = simulation.compiled.model, simulation.data
    axis = model.joint("gantry_z").dofadr[0]
    force = data.actuator_force[model.actuator("gantry_z").id] - model.dof_damping[axis] * data.qvel[axis]
    return float(1000 * force / dim.GRAVITY) + float(rng.normal(0.0, sd_g))


def _overhead(simulation: Simulation) -> dict[str, Seen]:
    """Return every vessel that the overhead camera sees whole, known by its colour."""
    directions = OVERHEAD.rays(*OVERHEAD_PIXELS)
    hits = cast(simulation, OVERHEAD.position, directions)
    found: dict[str, Seen] = {}
    for vessel, colour in APPEARANCE.items():
        mine = of_colour(simulation.compiled.model, hits.geoms, colour)
        if not mine.any():
            continue
        points = np.array(OVERHEAD.position) + directions[mine] * hits.distance_m[mine, None]
        low, high = points.min(axis=0), points.max(axis=0)
        if (high - low)[:2].min() >= WHOLE_M:
            x, y = (low + high)[:2] / 2
            found[vessel] = Seen((float(x), float(y)), float(high[2]))
    return found


def _surface_m(simulation: Simulation, seen: Seen) -> float | None:
    """Return the mean height of what lies in an upright vessel above its floor, or None if too little is seen.

    Heights count from the rim: the foot sinks with the scale under it, or hangs in the hand.
    """
    rim_z = seen.top_z - dim.SPOUT_TAB
    eye: Vector = (*seen.xy, PATCH_HEIGHT_M)
    down = _patch() - np.array([0.0, 0.0, PATCH_HEIGHT_M - rim_z])
    down /= np.linalg.norm(down, axis=1, keepdims=True)
    hits = cast(simulation, eye, down)
    heights = PATCH_HEIGHT_M + down[:, 2] * hits.distance_m
    inside = heights[heights < rim_z - RIM_MARGIN_M]
    if len(inside) < FEWEST_RAYS:
        return None
    return float(inside.mean()) - (rim_z - dim.WALL_HEIGHT)


def _patch() -> Floats:
    """Return the points of a square grid that lie inside the eight walls, relative to the axis, ``(n, 3)``."""
    steps = (np.arange(PATCH) + 0.5) / PATCH * 2 - 1
    x, y = (dim.INNER_APOTHEM * side.ravel() for side in np.meshgrid(steps, steps))
    turns: Floats = np.arange(4) * math.pi / 4
    from_axis = np.abs(np.outer(np.cos(turns), x) + np.outer(np.sin(turns), y)).max(axis=0)
    inside = from_axis < PATCH_REACH_M
    return np.stack([x[inside], y[inside], np.zeros(int(inside.sum()))], axis=1)
