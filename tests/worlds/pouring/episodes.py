"""Alarms to branch from, declarations and models written by hand, and calibration records that nobody simulated."""

from functools import cache

import numpy as np

from aquamend.worlds.pouring.alarms import cells, kind_of_sensing
from aquamend.worlds.pouring.configurations import Amount, Configuration, Physical, Sensing, Shifts, suppose
from aquamend.worlds.pouring.declared import Declared
from aquamend.worlds.pouring.drawing import KINDS, draw_perturbation, draw_scene
from aquamend.worlds.pouring.episode import Alarmed, Episode, Stage, until_alarm
from aquamend.worlds.pouring.fitted import Duration, Fitted, Group, Readings
from aquamend.worlds.pouring.monitor import LEVEL, LOAD, POSITION, ROUTINE, Report
from aquamend.worlds.pouring.scene import Standing, TableScene

LEVELS = {"A": 28.0, "B": 18.0, "C": 35.0}
"""B is the target, A its rival, C the third."""
PLACES = {"A": 0, "B": 1, "C": 2}
DECLARED = Declared.measured(LEVELS, PLACES)
POURED = DECLARED.after_pouring(20.0)

SHIFTS = Shifts(
    little=Amount(5.0, 0.8), beyond_rival=Amount(5.0, 1.4), elsewhere=Amount(8.0, 2.0), bias=Amount(8.0, 1.5)
)


def uneven(names) -> dict[str, float]:
    """Return probabilities that all differ."""
    return {name: 2 * i / len(names) / (len(names) + 1) for i, name in enumerate(names, start=1)}


SECONDS = {"fetch": 3.0, "move": 1.5, "pour": 15.0, "put back": 4.0, "pour back": 30.0}
FITTED = Fitted(
    readings=Readings(0.6, 1.0, 0.5, 0.98, 0.96),
    shifts=SHIFTS,
    alarms={kind: uneven(cells(some_affected=kind not in (Physical.NOTHING, Sensing.FROZEN))) for kind in KINDS},
    durations={what: Duration(seconds, 0.1, 9) for what, seconds in SECONDS.items()},
    groups=tuple(Group(kind, Stage.MOVED.value, 12, (10.0, 17.0), (5.0, 5.0, 5.0)) for kind in KINDS),
    records=144,
    calibration={},
)
"""A model with round numbers; every kind of trouble is noticed alike."""

REPORTS = (
    *(Report(POSITION, cup, 60.0) for cup in "ABC"),
    *(Report(signal, cup, 10.0 * sign) for signal in (LEVEL, LOAD) for cup in "ABC" for sign in (1, -1)),
    Report(ROUTINE),
)
"""One report of every kind that there can be."""

SCENE = TableScene(
    (
        Standing("A", 0, 28, (3.0, -2.0)),
        Standing("B", 1, 18, (-4.0, 1.0)),
        Standing("C", 2, 35, (1.0, 4.0)),
        Standing("pitcher", 3, 58),
    )
)
"""The table that ``DECLARED`` describes."""


@cache
def alarmed(perturbation, stage: Stage = Stage.MOVED, seed: int = 5) -> Alarmed:
    """Return the alarm over ``SCENE`` after some trouble; shared, so branch it or enter a world of it."""
    return until_alarm(Episode(SCENE, stage, perturbation, (seed,)))


@cache
def drawn(kind: str, stage: Stage, seed: int) -> Alarmed:
    """Return the alarm over a random table after random trouble of a kind."""
    rng = np.random.default_rng((2026, seed))
    scene = draw_scene(rng)
    return until_alarm(Episode(scene, stage, draw_perturbation(kind, scene, rng), (2026, seed)))


def configuration(physical: Physical = Physical.NOTHING, sensing: Sensing = Sensing.SOUND) -> Configuration:
    """Return a configuration; nothing is the matter unless it is said."""
    return Configuration(physical, sensing)


def supposed(physical: Physical = Physical.NOTHING, sensing: Sensing = Sensing.SOUND, *, poured_g: float = 0.0):
    """Return what a configuration makes of 18, 28 and 35 g, with the shifts written above."""
    return suppose(configuration(physical, sensing), (18.0, 28.0, 35.0), poured_g=poured_g, shifts=SHIFTS)


def kind_of(found: Configuration) -> str:
    """Return the kind of trouble that a configuration with one thing the matter is."""
    return found.physical.value if found.sensing is Sensing.SOUND else kind_of_sensing(found.sensing)
