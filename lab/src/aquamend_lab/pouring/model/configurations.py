"""The 72 joint configurations that the robot thinks possible, and what each would make of every reading.

What happened (6) times what is wrong with the camera (6) times whether a scale is off (2). They are named relative to
what was declared: the target is the cup declared least full, the rival the next one. Everything that was declared was
right when it was: what is the matter began after it, except for a scale, which nobody had asked.

A reading is what some cup holds plus an error, so what every probe shows follows from a few rules. All of it is
supposed from public things: how large changes and errors are was learned from calibration. How much was added, nobody
knows before it is read: a configuration with water added is supposed in steps, each with an amount of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product
from typing import NamedTuple

from aquamend.problem.graph import Belief
from aquamend.problem.model import Normal
from aquamend.problem.model.spreads import values_of_spread
from aquamend_lab.pouring.task import QUANTITY_TOLERANCE_G, Sense

ROLES = ("target", "rival", "third")
"""The cups by what was declared before the pour, least full first."""
TARGET, RIVAL, THIRD = range(3)
AS_BELIEVED = tuple(range(3))


class Happening(StrEnum):
    """What somebody may have done."""

    NOTHING = "nothing happened"
    LITTLE = "a little added to target"
    MUCH = "much added to target"
    """So much that the rival is the least full cup now."""
    RIVAL = "water added to rival"
    THIRD = "water added to third"
    SWAPPED = "two cups swapped"
    """Those that were located in each other's place; target and rival, where none were."""


class CameraState(StrEnum):
    """What may be wrong with the camera since."""

    SOUND = "camera sound"
    MISREADS_TARGET = "camera misreads target"
    MISREADS_RIVAL = "camera misreads rival"
    MISREADS_THIRD = "camera misreads third"
    FROZEN = "camera frozen"
    MIXED_UP = "camera mixes up target and rival"


class Scales(StrEnum):
    """Whether one of the scales reads wrong, all along."""

    SOUND = "scales sound"
    OFF = "a scale off"


ADDED_TO = {Happening.LITTLE: TARGET, Happening.MUCH: TARGET, Happening.RIVAL: RIVAL, Happening.THIRD: THIRD}
MISREADS = {CameraState.MISREADS_TARGET: TARGET, CameraState.MISREADS_RIVAL: RIVAL, CameraState.MISREADS_THIRD: THIRD}


def camera_kind(camera: CameraState) -> str:
    """Return the kind of a fault of the camera: which cup it is about aside."""
    return "misreads" if camera in MISREADS else camera.name.lower()


CAMERA_KINDS = tuple(dict.fromkeys(camera_kind(camera) for camera in CameraState))


class Configuration(NamedTuple):
    """One joint explanation."""

    happened: Happening = Happening.NOTHING
    camera: CameraState = CameraState.SOUND
    scales: Scales = Scales.SOUND


CONFIGURATIONS = tuple(Configuration(*parts) for parts in product(Happening, CameraState, Scales))


TWO_AT_ONCE = 0.02
"""Prior probability that somebody has changed something and the camera has gone wrong, both."""


def share_of_change(happened: Happening) -> float:
    """Return the prior probability that somebody did this, whatever the camera does.

    Four families are equally likely: nothing at all, water added, cups swapped, a fault of the camera; so are the kinds
    within a family. Two of them come seldom at once: half of that is water added, half cups swapped.
    """
    kinds = 1 if happened is Happening.SWAPPED else len(ADDED_TO)
    return (1.0 + TWO_AT_ONCE) / 4 / kinds


def share_of_fault(camera: CameraState, *, changed: bool) -> float:
    """Return the prior probability of a fault of the camera, if somebody changed something and if nobody did."""
    one_of = (len(CAMERA_KINDS) - 1) * (len(MISREADS) if camera in MISREADS else 1)
    return (2.0 * TWO_AT_ONCE / (1.0 + TWO_AT_ONCE) if changed else 0.5) / one_of


class Amount(NamedTuple):
    """A quantity known with some spread."""

    g: float
    sd_g: float = 0.0


@dataclass(frozen=True, slots=True)
class Shifts:
    """How large changes and errors are where there are some."""

    little: Amount
    beyond_rival: Amount
    """How far above the rival the target comes where much is added."""
    elsewhere: Amount
    """Added to a cup that is not the target."""
    bias: Amount
    """Of a misread cup, without its sign."""
    scale: Amount
    """Of a scale that is off, without its sign."""


@dataclass(frozen=True, slots=True)
class CupsByRole:
    """What is public about the table at an alarm, by role."""

    declared_g: tuple[float, ...]
    """What each cup was declared to hold, without what the robot has poured."""
    located: tuple[int, ...] = AS_BELIEVED
    """On whose declared place each was seen when the alarm was raised."""
    scales: tuple[bool, ...] = (True, True, True)
    """Which of these places have a scale."""
    poured_g: float = 0.0
    """What the robot has poured, into whatever stood where the target was declared to stand."""

    @property
    def exchanged(self) -> tuple[int, int]:
        """The two cups that would have been swapped."""
        moved = [role for role, place in enumerate(self.located) if role != place]
        return (moved[0], moved[1]) if len(moved) == 2 else (TARGET, RIVAL)


class WeightedReading(NamedTuple):
    """One way in which a reading may come about: what some cup holds, or nothing that changes, plus an error."""

    weight: float
    role: int | None
    """Whose amount is read; None where it is an old picture of what was declared."""
    error: Amount


@dataclass(frozen=True, slots=True)
class Supposed:
    """The table as it would be under a configuration."""

    configuration: Configuration
    table: CupsByRole
    shifts: Shifts
    filled: Amount | None = None
    """What the cup holds that water was added to, in one step of what that may be; None: anything that it may be."""

    def in_steps(self) -> list[tuple[float, Supposed]]:
        """Return what may be the case in full: one step for each amount that is told apart, with its share."""
        happened, declared = self.configuration.happened, self.table.declared_g
        if happened not in ADDED_TO:
            return [(1.0, self)]
        role = ADDED_TO[happened]
        belief = Belief("amount", declared=declared[role], tolerance=QUANTITY_TOLERANCE_G)
        steps = values_of_spread(Normal(*self.holds(role)), belief)
        beyond = declared[RIVAL] if happened is Happening.MUCH else -math.inf
        kept = {float(g): share for g, share in zip(steps.values, steps.shares, strict=True) if float(g) > beyond}
        if not kept:  # so little is added that nothing has failed
            return [(1.0, self)]
        total, sd = math.fsum(kept.values()), steps.width / math.sqrt(12.0)
        return [(share / total, replace(self, filled=Amount(round(g, 2), sd))) for g, share in kept.items()]

    @property
    def stands_at(self) -> tuple[int, ...]:
        """On whose declared place each cup would stand."""
        if self.configuration.happened is not Happening.SWAPPED:
            return AS_BELIEVED
        one, other = self.table.exchanged
        return tuple(other if role == one else one if role == other else role for role in AS_BELIEVED)

    @property
    def seen_at(self) -> tuple[int, ...]:
        """On whose declared place the camera would show each."""
        return AS_BELIEVED if self.configuration.camera is CameraState.FROZEN else self.stands_at

    def holds(self, role: int) -> Amount:
        """Return what a cup would hold, without what the robot has poured."""
        declared, happened = self.table.declared_g, self.configuration.happened
        if ADDED_TO.get(happened) != role:
            return Amount(declared[role])
        if self.filled is not None:
            return self.filled
        if happened is Happening.MUCH:
            return Amount(declared[RIVAL] + self.shifts.beyond_rival.g, self.shifts.beyond_rival.sd_g)
        added = self.shifts.little if happened is Happening.LITTLE else self.shifts.elsewhere
        return Amount(declared[role] + added.g, added.sd_g)

    @property
    def least(self) -> int:
        """The role that would be the least full."""
        return min(AS_BELIEVED, key=lambda role: self.holds(role).g)

    def parts(self, sense: Sense, role: int) -> Iterator[WeightedReading]:
        """Yield how a reading of a cup comes about, net of what the robot believes it has poured into it."""
        none, camera = Amount(0.0), self.configuration.camera
        if sense is Sense.LOOK:
            if camera is CameraState.FROZEN:
                yield WeightedReading(1.0, None, none)
            elif camera is CameraState.MIXED_UP and role in (TARGET, RIVAL):
                yield WeightedReading(1.0, TARGET if role == RIVAL else RIVAL, none)
            elif MISREADS.get(camera) == role:
                yield from _either_way(1.0, role, self.shifts.bias)
            else:
                yield WeightedReading(1.0, role, none)
            return
        there = self.stands_at.index(self.table.located[role])  # it is weighed where it was seen
        if sense is Sense.WEIGH and self.configuration.scales is Scales.OFF:
            share = 1.0 / max(1, sum(self.table.scales))
            if share < 1.0:
                yield WeightedReading(1.0 - share, there, none)
            yield from _either_way(share, there, self.shifts.scale)
        else:
            yield WeightedReading(1.0, there, none)

    def reading(self, sense: Sense, role: int, sd_g: float) -> list[tuple[float, float, float]]:
        """Return the weight, mean and standard deviation of every part of a reading; ``sd_g`` is the sensor's own."""
        found = []
        for weight, of, error in self.parts(sense, role):
            held = Amount(self.table.declared_g[role]) if of is None else self.holds(of)
            dose = self._dose(role, of)
            found.append((weight, held.g + error.g + dose, math.hypot(held.sd_g, error.sd_g, sd_g)))
        return found

    def misread(self, role: int, sd_g: float) -> float:
        """Return how likely a look at a cup is off by more than the task tolerates."""
        held = self.holds(role).g
        exactly = self if self.filled is None else replace(self, filled=Amount(self.filled.g))
        parts = exactly.reading(Sense.LOOK, role, sd_g)
        return 1.0 - math.fsum(w * _within(mean - held, sd, QUANTITY_TOLERANCE_G) for w, mean, sd in parts)

    def _dose(self, role: int, of: int | None) -> float:
        """Return what is poured in the cup that is read, less what the robot thinks is in the one it asked for."""
        if of is None:  # an old picture, from before the pour
            return -self.table.poured_g if role == TARGET else 0.0
        received = self.stands_at[of] == TARGET
        return self.table.poured_g * (float(received) - float(role == TARGET))

    def disturbed(self, sense: Sense, role: int) -> bool:
        """Whether the water that is read may not lie as it lay when it was declared."""
        fresh = {ADDED_TO.get(self.configuration.happened)}
        fresh |= {self.stands_at.index(TARGET)} if self.table.poured_g > 0 else set()
        return any(part.role is not None and part.role in fresh for part in self.parts(sense, role))


def _either_way(weight: float, role: int, error: Amount) -> Iterator[WeightedReading]:
    for sign in (1, -1):
        yield WeightedReading(weight / 2, role, Amount(sign * error.g, error.sd_g))


def _within(off: float, sd: float, tolerance: float) -> float:
    """Return the probability that a normal variable lies within a tolerance of zero."""
    below = [0.5 * (1.0 + math.erf((edge - off) / (sd * math.sqrt(2.0)))) for edge in (-tolerance, tolerance)]
    return below[1] - below[0]
