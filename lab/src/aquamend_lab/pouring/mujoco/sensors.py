"""What the robot can measure: water levels and positions from above, scales under the places, weight in the hand.

A fault sits in a sensor, never in the world it looks at. Sensors look at the world as hardware would. The camera knows
vessels by their colour and water by its surface; nothing here counts beads or asks where a body is. Noise comes from
the generator that the caller passes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from aquamend.arrays import Floats
from aquamend.errors import UnknownName
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.camera import Camera, Vector, cast, of_colour
from aquamend_lab.pouring.mujoco.scene import APPEARANCE
from aquamend_lab.pouring.mujoco.simulation import Simulation


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
