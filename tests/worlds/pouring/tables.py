"""Tables at rest, and robots in the middle of their work; shared, so branch before changing anything."""

from functools import cache

import numpy as np
from numpy.random import Generator

from aquamend.recovery import Charge
from aquamend.worlds.pouring.handling import grasp, lift, move
from aquamend.worlds.pouring.looking import localise
from aquamend.worlds.pouring.pouring_skill import pour
from aquamend.worlds.pouring.robot import Robot, drive
from aquamend.worlds.pouring.scene import Standing, TableScene
from aquamend.worlds.pouring.simulation import Simulation
from aquamend.worlds.pouring.skill import Finding, Skill

OFFSETS_MM = ((5.0, -4.0), (0.0, 7.0), (-6.0, 2.0), (3.0, 3.0))
GRAMS = {"A": 20, "B": 25, "C": 30, "pitcher": 60}
"""What the vessels hold before the robots below do anything."""
DOSE_G = 15.0


@cache
def settled(*grams: int) -> Simulation:
    """Return a table at rest with so much water in A, B, C and the pitcher."""
    standing = zip(("A", "B", "C", "pitcher"), range(4), grams, OFFSETS_MM, strict=True)
    simulation = Simulation.of(TableScene(tuple(Standing(*vessel) for vessel in standing), reserve_g=2))
    for _ in range(100):  # the last beads roll into place
        simulation.tick()
    return simulation


def seeded(seed: int = 7) -> Generator:
    """Return a fresh generator, the same each time."""
    return np.random.default_rng(seed)


def spilled(simulation: Simulation, cup: str) -> Simulation:
    """Return a later branch in which the water of a cup lies far off on the table."""
    later, numbers = simulation.branch(), simulation.beads_in(cup)
    across = simulation.compiled.bead_qpos[numbers] + 1
    later.data.qpos[across] += 0.6
    later.data.qvel[simulation.compiled.bead_dof[numbers]] = 1e-3  # wakes them
    for _ in range(50):
        later.tick()
    return later


def hand_at(simulation: Simulation, x: float, y: float, z: float) -> Simulation:
    """Return a later branch with the hand moved there."""
    later = simulation.branch()
    start = later.hand.copy()
    for share in np.linspace(0, 1, 60):
        later.hand[:] = start + share * (np.array([x, y, z, 0.0]) - start)
        later.tick()
    for _ in range(25):
        later.tick()
    return later


@cache
def ready() -> Robot:
    """Return a robot that has looked where everything stands."""
    robot = Robot(settled(*GRAMS.values()).branch())
    drive(robot, localise(robot))
    return robot


@cache
def gripping() -> Robot:
    """Return a robot with its fingers around the pitcher."""
    return _after(ready(), grasp, "pitcher")


@cache
def carrying() -> Robot:
    """Return a robot that has lifted the pitcher."""
    return _after(gripping(), lift)


@cache
def beside() -> Robot:
    """Return a robot that holds the pitcher beside B."""
    return _after(carrying(), move, "B")


@cache
def poured() -> Robot:
    """Return a robot that has poured a dose into B and still holds the pitcher."""
    return _after(beside(), pour, "B", DOSE_G)


def _after(robot: Robot, primitive, *arguments) -> Robot:
    later = robot.branch()
    finding = perform(later, primitive(later, *arguments))
    assert finding.succeeded, finding.told
    return later


def perform(robot: Robot, primitive: Skill, what: str = "it") -> Finding:
    """Return what a primitive finds when run to its end; it leaves its receipt."""
    return drive(robot, robot.perform(what, Charge.CONTINUATION, primitive))


def advanced(robot: Robot, primitive: Skill, seconds: float) -> Skill:
    """Return a primitive that has been run for some time and is not done."""
    for _ in range(round(seconds * 50)):
        next(primitive)
        robot.simulation.tick()
    return primitive


def water_g(robot: Robot) -> dict[str, int]:
    """Return the truth about how much is in every vessel."""
    return {vessel: robot.simulation.grams(vessel) for vessel in robot.simulation.compiled.vessels}


def random_work(seed: int) -> tuple[Robot, str, int]:
    """Return a robot before a random table, a cup, and a dose for it."""
    rng = np.random.default_rng((2024, seed))
    places = [*rng.permutation(3).tolist(), 3]
    offsets = rng.uniform(-6, 6, (4, 2)).tolist()
    grams = [*rng.integers(15, 46, 3).tolist(), int(rng.integers(45, 71))]
    standing = zip(GRAMS, places, grams, map(tuple, offsets), strict=True)
    scene = TableScene(tuple(Standing(*vessel) for vessel in standing), reserve_g=0)
    return Robot(Simulation.of(scene), seed=(seed,)), "ABC"[int(rng.integers(3))], int(rng.integers(10, 26))
