"""Primitives of the senses: look at a cup's level, weigh a place, find where everything stands."""

from __future__ import annotations

import numpy as np

from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.motion import wait
from aquamend.worlds.pouring.robot import Robot, failed
from aquamend.worlds.pouring.sensors import level_g, positions_m, scale_g
from aquamend.worlds.pouring.skill import Finding, Skill

PROBE_S = 0.2
"""How long a measurement takes; the paper's unit probe."""
FRESH, STALE = "fresh", "stale"
MISREAD_STAMP = 0.03
CAREFUL_READINGS = 5
CAREFUL_S = CAREFUL_READINGS * PROBE_S
"""How long it takes to measure something so well that a new declaration can rest on it."""
CALIBRATING_S = 3.0


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


def read_stamp(robot: Robot, *, noise: np.random.Generator | None = None) -> Skill:
    """Read how old the camera says that its picture is; now and then a clock is misread."""
    yield from wait(PROBE_S)
    stale = robot.faults.frozen is not None
    misread = (noise or robot.noise("stamp")).random() < MISREAD_STAMP
    return Finding(True, STALE if stale != misread else FRESH)


def look_carefully(robot: Robot, cup: str) -> Skill:
    """Look at a cup several times and take the average; an error that persists stays in it."""
    levels = []
    for _ in range(CAREFUL_READINGS):
        seen = yield from look(robot, cup)
        if seen.value is not None:
            levels.append(seen.value)
    if not levels:
        return failed(f"{cup} cannot be seen")
    level = float(np.mean(levels))
    return Finding(True, f"{cup} holds {level:.1f} g", level)


def weigh_carefully(robot: Robot, place: int) -> Skill:
    """Let a place's scale come to rest and average its readings: what a new declaration is made from."""
    readings = []
    for _ in range(CAREFUL_READINGS):
        yield from wait(PROBE_S)
        readings.append(scale_g(robot.simulation, place, rng=robot.noise(f"scale {place}")))
    grams = float(np.mean(readings))
    return Finding(True, f"place {place + 1} carries {grams:.1f} g", grams)


def localise_carefully(robot: Robot) -> Skill:
    """Find every vessel in several pictures, and believe that it stands where they show it on average."""
    pictures = []
    for _ in range(CAREFUL_READINGS):
        yield from localise(robot, believe=False)
        pictures.append(robot.seen_m)
    for vessel in pictures[-1]:
        found = np.mean([seen[vessel] for seen in pictures if vessel in seen], axis=0)
        robot.believed_m[vessel] = (float(found[0]), float(found[1]))
    return Finding(True, f"{len(pictures[-1])} vessels found")


def calibrate(robot: Robot) -> Skill:
    """Hold what the camera reads against the scales, cup by cup, and say how far it is off.

    Nobody looks through the camera after that, so the offsets are for the record.
    """
    off: dict[str, float] = {}
    for cup in dim.CUPS:
        seen = yield from look(robot, cup)
        place = robot.place_of(cup)
        grams = scale_g(robot.simulation, place, rng=robot.noise(f"scale {place}"))
        if seen.value is not None:
            off[cup] = seen.value - grams
        yield from wait(CALIBRATING_S / len(dim.CUPS) - PROBE_S)
    return Finding(True, "camera off by " + ", ".join(f"{g:+.1f} g at {cup}" for cup, g in off.items()))


def localise(robot: Robot, *, believe: bool = True, noise: np.random.Generator | None = None) -> Skill:
    """Find every vessel by its colour, and believe that it stands there unless it is only a check."""
    yield from wait(PROBE_S)
    found = positions_m(robot.simulation, faults=robot.faults, rng=noise or robot.noise("localise"))
    robot.seen_m = {vessel: xy for vessel, xy in found.items() if vessel != robot.holding}
    if believe:
        robot.believed_m.update(robot.seen_m)
    return Finding(True, f"{len(found)} vessels found")
