"""Tables at rest for tests to look at; shared, so branch before changing anything."""

from functools import cache

import numpy as np
from numpy.random import Generator

from aquamend.worlds.pouring.scene import Standing, TableScene
from aquamend.worlds.pouring.simulation import Simulation

OFFSETS_MM = ((5.0, -4.0), (0.0, 7.0), (-6.0, 2.0), (3.0, 3.0))


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
