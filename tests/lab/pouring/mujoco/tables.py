"""Tables at rest, bodies in the middle of their work, and alarms; shared, so branch before changing anything."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from unittest.mock import patch

import numpy as np
from numpy.random import Generator
from tests.lab.pouring.model.by_hand import FITTED

from aquamend.recovery import Charge
from aquamend_lab.pouring.model.fitted import uncalibrated
from aquamend_lab.pouring.mujoco.body import Body, Skill, Tried, grasp, lift, localise, move, tick_until_done
from aquamend_lab.pouring.mujoco.episode import AtTheAlarm, Episode, until_alarm
from aquamend_lab.pouring.mujoco.simulation import Placed, Simulation, TableScene
from aquamend_lab.pouring.mujoco.skills import pour
from aquamend_lab.pouring.mujoco.trouble import Trouble
from aquamend_lab.pouring.task import Stage

OFFSETS_MM = ((5.0, -4.0), (0.0, 7.0), (-6.0, 2.0), (3.0, 3.0))
GRAMS = {"A": 20, "B": 25, "C": 30, "pitcher": 60}
"""What the vessels hold before the bodies below do anything."""
DOSE_G = 15.0


ALL_SCALES = (True, True, True, True)


@cache
def settled(*grams: int, scales: tuple[bool, ...] = ALL_SCALES) -> Simulation:
    """Return a table at rest with so much water in A, B, C and the pitcher."""
    standing = zip(("A", "B", "C", "pitcher"), range(4), grams, OFFSETS_MM, strict=True)
    scene = TableScene(tuple(Placed(*vessel) for vessel in standing), reserve_g=2, scales=scales)
    simulation = Simulation.of(scene)
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
def ready() -> Body:
    """Return a body that has looked where everything stands."""
    body = Body(settled(*GRAMS.values()).branch())
    tick_until_done(body, localise(body))
    return body


@cache
def gripping() -> Body:
    """Return a body with its fingers around the pitcher."""
    return _after(ready(), grasp, "pitcher")


@cache
def carrying() -> Body:
    """Return a body that has lifted the pitcher."""
    return _after(gripping(), lift)


@cache
def beside() -> Body:
    """Return a body that holds the pitcher beside B."""
    return _after(carrying(), move, "B")


@cache
def poured() -> Body:
    """Return a body that has poured a dose into B and still holds the pitcher."""
    return _after(beside(), pour, "B", DOSE_G)


def _after(body: Body, primitive, *arguments) -> Body:
    later = body.branch()
    finding = perform(later, primitive(later, *arguments))
    assert finding.succeeded, finding.note
    return later


def perform(body: Body, primitive: Skill, what: str = "it") -> Tried:
    """Return what a primitive finds when run to its end; it leaves its receipt."""
    return tick_until_done(body, body.perform(what, Charge.CONTINUATION, primitive))


def advanced(body: Body, primitive: Skill, seconds: float) -> Skill:
    """Return a primitive that has been run for some time and is not done."""
    for _ in range(round(seconds * 50)):
        next(primitive)
        body.simulation.tick()
    return primitive


def water_g(body: Body) -> dict[str, int]:
    """Return the truth about how much is in every vessel."""
    return {vessel: body.simulation.grams(vessel) for vessel in body.simulation.compiled.vessels}


KNOWN = replace(FITTED, alarms=uncalibrated().alarms)
"""A model with round numbers, to which every report is alike."""

SCENE = TableScene(
    (
        Placed("A", 0, 28, (3.0, -2.0)),
        Placed("B", 1, 18, (-4.0, 1.0)),
        Placed("C", 2, 35, (1.0, 4.0)),
        Placed("pitcher", 3, 58),
    ),
    scales=(True, True, False, True),
)
"""B is the least full cup, A its rival, C the third, which stands on no scale."""
LIGHT = TableScene(
    (
        Placed("A", 0, 15, (3.0, -2.0)),
        Placed("B", 1, 5, (-4.0, 1.0)),
        Placed("C", 2, 22, (1.0, 4.0)),
        Placed("pitcher", 3, 0),
    ),
    reserve_g=17,
    scales=(True, True, False, True),
)
"""The same with less water, which is quicker, for whoever pours nothing."""


@cache
def at_rest(scene: TableScene) -> Simulation:
    """Return the table of a scene before anybody has done anything."""
    return Simulation.of(scene)


@cache
def _alarmed(episode: tuple[object, ...]) -> AtTheAlarm:
    scene, stage, trouble, seed, off = episode
    # Every alarm over a scene branches from the same table at rest, which is the same to the bit and quicker.
    table = at_rest(scene)
    with patch.object(Simulation, "of", lambda scene, watcher: table.branch(watcher)):
        return until_alarm(Episode(scene, stage, trouble, (seed,), dict(off)), fitted=KNOWN)


def alarmed(
    trouble: Trouble,
    stage: Stage = Stage.DECIDED,
    *,
    scene: TableScene = LIGHT,
    seed: int = 5,
    off: Mapping[int, float] | None = None,
) -> AtTheAlarm:
    """Return the alarm over a table after some trouble; the same one each time, so branch it or recover on it."""
    return _alarmed((scene, stage, trouble, seed, tuple((off or {}).items())))
