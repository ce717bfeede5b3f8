"""A camera without GL: every pixel is a ray cast into the scene, which gives depth, what was hit, and its colour."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Bools, Floats
from aquamend_lab.pouring.mujoco.scene import HIDDEN_GROUP, WALL_GROUP, WATER_RGBA
from aquamend_lab.pouring.mujoco.simulation import Simulation

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
