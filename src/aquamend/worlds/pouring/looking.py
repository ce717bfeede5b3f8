"""Primitives of the senses: look at a cup's level, weigh a place, find where everything stands."""

from __future__ import annotations

import numpy as np

from aquamend.worlds.pouring.leaf import Finding, Skill
from aquamend.worlds.pouring.motion import wait
from aquamend.worlds.pouring.robot import Robot, failed
from aquamend.worlds.pouring.sensors import level_g, positions_m, scale_g

PROBE_S = 0.2
"""How long a measurement takes; the paper's unit probe."""


def look(robot: Robot, cup: str, *, noise: np.random.Generator | None = None) -> Skill:
    """Read how full a cup is from above; the camera finds it by its colour wherever it stands."""
    yield from wait(PROBE_S)
    rng = noise or robot.noise(f"look {cup}")
    level = level_g(robot.simulation, cup, faults=robot.faults, rng=rng)
    return failed(f"{cup} cannot be seen") if level is None else Finding(True, f"{cup} holds {level:.1f} g", level)


def weigh(robot: Robot, place: int, *, noise: np.random.Generator | None = None) -> Skill:
    """Read how much water stands on a place, whichever cup it is in."""
    yield from wait(PROBE_S)
    grams = scale_g(robot.simulation, place, rng=noise or robot.noise(f"scale {place}"))
    return Finding(True, f"place {place + 1} carries {grams:.1f} g", grams)


def localise(robot: Robot, *, believe: bool = True, noise: np.random.Generator | None = None) -> Skill:
    """Find every vessel by its colour, and believe that it stands there unless it is only a check."""
    yield from wait(PROBE_S)
    found = positions_m(robot.simulation, faults=robot.faults, rng=noise or robot.noise("localise"))
    robot.seen_m = {vessel: xy for vessel, xy in found.items() if vessel != robot.holding}
    if believe:
        robot.believed_m.update(robot.seen_m)
    return Finding(True, f"{len(found)} vessels found")
