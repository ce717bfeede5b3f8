"""Primitives of the senses: look at a cup's level, weigh a place, find where everything stands, test the camera."""

from __future__ import annotations

from numpy.random import Generator

from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import Body, Skill, Tried, failed
from aquamend_lab.pouring.mujoco.motion import wait
from aquamend_lab.pouring.mujoco.sensors import level_g, positions_m, scale_g
from aquamend_lab.pouring.task import FAULTY, SOUND

PROBE_S = 0.2
"""How long a measurement takes; the paper's unit probe."""
SELF_TEST_ERR = 0.03
"""How often the camera's self test says the opposite of what it found."""


def read_level(body: Body, cup: str, *, noise: Generator | None = None) -> Skill:
    """Read how full a cup is from above; the camera finds it by its colour wherever it stands."""
    yield from wait(PROBE_S)
    level = level_g(body.simulation, cup, faults=body.faults, rng=noise or body.noise(f"look {cup}"))
    return failed(f"{cup} cannot be seen") if level is None else Tried(True, f"{cup} looks like {level:.1f} g", level)


def read_scale(body: Body, place: int, *, noise: Generator | None = None) -> Skill:
    """Read how much water stands on a place, whichever cup it is in."""
    yield from wait(PROBE_S)
    if not body.has_scale(place):
        return failed(f"place {place + 1} has no scale")
    grams = scale_g(body.simulation, place, faults=body.faults, rng=noise or body.noise(f"scale {place}"))
    return Tried(True, f"the scale of place {place + 1} reads {grams:.1f} g", grams)


def check_camera(body: Body, *, noise: Generator | None = None) -> Skill:
    """Let the camera test itself: whether its frames are fresh, and every crop shows the colour it is named after.

    That is all it can know by itself. A level that it reads too high or too low, it reads so in the test as well.
    """
    yield from wait(PROBE_S)
    wrong = body.faults.frozen is not None or body.faults.exchanged is not None
    err = (noise or body.noise("self test")).random() < SELF_TEST_ERR
    return Tried(True, FAULTY if wrong != err else SOUND)


def localise(body: Body, *, believe: bool = True, noise: Generator | None = None) -> Skill:
    """Find every vessel by its colour, and believe that the cups stand there unless it is only a check.

    Where the pitcher stands, the hand knows better: it put it there.
    """
    yield from wait(PROBE_S)
    found = positions_m(body.simulation, faults=body.faults, rng=noise or body.noise("localise"))
    body.seen_m = {vessel: xy for vessel, xy in found.items() if vessel != body.holding}
    if believe:
        body.believed_m.update({cup: xy for cup, xy in body.seen_m.items() if cup in dim.CUPS})
    return Tried(True, f"{len(found)} vessels found")
