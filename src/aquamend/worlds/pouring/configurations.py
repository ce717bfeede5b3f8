"""The 72 joint configurations: eight physical changes times nine states of the camera, and what each would show.

They are told relative to what was measured: the target is the cup declared least full, the rival the next one. What a
configuration predicts follows from it by the same few rules for every probe, so nothing is written down twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

TARGET, RIVAL, THIRD = range(3)


class Physical(StrEnum):
    """What somebody may have done."""

    NOTHING = "nothing happened"
    LITTLE = "a little added to target"
    MUCH = "much added to target"
    """So much that the rival is the least full cup now."""
    ADD_RIVAL = "water added to rival"
    ADD_THIRD = "water added to third"
    SWAP_RIVAL = "target and rival swapped"
    SWAP_THIRD = "target and third swapped"
    SWAP_OTHERS = "rival and third swapped"


class Sensing(StrEnum):
    """What may be wrong with the camera, all along."""

    SOUND = "camera sound"
    TARGET_HIGH = "camera reads target high"
    TARGET_LOW = "camera reads target low"
    RIVAL_HIGH = "camera reads rival high"
    RIVAL_LOW = "camera reads rival low"
    THIRD_HIGH = "camera reads third high"
    THIRD_LOW = "camera reads third low"
    FROZEN = "camera frozen"
    MIXED_UP = "camera mixes up target and rival"


SWAPPED = {
    Physical.SWAP_RIVAL: (TARGET, RIVAL),
    Physical.SWAP_THIRD: (TARGET, THIRD),
    Physical.SWAP_OTHERS: (RIVAL, THIRD),
}
ADDED_TO = {Physical.LITTLE: TARGET, Physical.MUCH: TARGET, Physical.ADD_RIVAL: RIVAL, Physical.ADD_THIRD: THIRD}
BIASED = {
    Sensing.TARGET_HIGH: (TARGET, 1),
    Sensing.TARGET_LOW: (TARGET, -1),
    Sensing.RIVAL_HIGH: (RIVAL, 1),
    Sensing.RIVAL_LOW: (RIVAL, -1),
    Sensing.THIRD_HIGH: (THIRD, 1),
    Sensing.THIRD_LOW: (THIRD, -1),
}


@dataclass(frozen=True, slots=True)
class Configuration:
    """One joint explanation."""

    physical: Physical
    sensing: Sensing

    @property
    def affected(self) -> tuple[int, ...]:
        """The roles that something is the matter with, in order."""
        roles = {*SWAPPED.get(self.physical, ())}
        roles |= {ADDED_TO[self.physical]} if self.physical in ADDED_TO else set()
        roles |= {BIASED[self.sensing][0]} if self.sensing in BIASED else set()
        roles |= {TARGET, RIVAL} if self.sensing is Sensing.MIXED_UP else set()
        return tuple(sorted(roles))


CONFIGURATIONS = tuple(Configuration(p, s) for p, s in product(Physical, Sensing))


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity known with some spread."""

    g: float
    sd_g: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.g + other.g, math.hypot(self.sd_g, other.sd_g))

    def __neg__(self) -> Amount:
        return Amount(-self.g, self.sd_g)


@dataclass(frozen=True, slots=True)
class Shifts:
    """How large changes and errors are where there are some."""

    little: Amount
    beyond_rival: Amount
    """How far above the rival the target comes where much is added."""
    elsewhere: Amount
    """Added to a cup that is not the target."""
    bias: Amount
    """Without its sign."""


@dataclass(frozen=True, slots=True)
class Supposed:
    """The table as it would be under a configuration, by role."""

    before_pouring: tuple[Amount, ...]
    """What each cup would hold if nothing had been poured."""
    now: tuple[Amount, ...]
    stands_at: tuple[int, ...]
    """Whose place each cup would stand on."""
    looked: tuple[Amount, ...]
    """What a look at each cup would show."""
    weighed: tuple[Amount, ...]
    """What the scale of the place where each cup is believed to stand would show."""
    disturbed: tuple[bool, ...]
    """Whether the water seen in each look is not as it lay when it was measured."""
    seen_at: tuple[int, ...]
    """Where the camera would show each cup."""


def cups_read_for(sensing: Sensing) -> tuple[int, ...]:
    """Return whose level the camera reads when it is asked for each role."""
    return (RIVAL, TARGET, THIRD) if sensing is Sensing.MIXED_UP else (TARGET, RIVAL, THIRD)


def suppose(configuration: Configuration, measured_g: Sequence[float], *, poured_g: float, shifts: Shifts) -> Supposed:
    """Return what a configuration makes of three measured cups, least first, and of a pour at the target's place."""
    physical, sensing = configuration.physical, configuration.sensing
    none = Amount(0.0)
    bias = [none] * 3
    if sensing in BIASED:
        role, sign = BIASED[sensing]
        bias[role] = shifts.bias if sign > 0 else -shifts.bias
    added = _added(physical, measured_g, shifts)
    stands_at = list(range(3))
    if physical in SWAPPED:
        one, other = SWAPPED[physical]
        stands_at[one], stands_at[other] = other, one
    poured = [Amount(poured_g if stands_at[role] == TARGET else 0.0) for role in range(3)]
    read_for = cups_read_for(sensing)
    was = [Amount(measured_g[read_for[role]]) + -bias[role] for role in range(3)]
    before = tuple(was[role] + added[role] for role in range(3))
    now = tuple(before[role] + poured[role] for role in range(3))
    frozen = sensing is Sensing.FROZEN
    looked = tuple(
        Amount(measured_g[role])
        if frozen
        else Amount(measured_g[role]) + added[read_for[role]] + poured[read_for[role]]
        for role in range(3)
    )
    weighed = tuple(now[stands_at.index(place)] for place in range(3))
    disturbed = tuple(not frozen and (added[r].g != 0 or poured[r].g != 0) for r in read_for)
    return Supposed(
        before, now, tuple(stands_at), looked, weighed, disturbed, tuple(range(3)) if frozen else tuple(stands_at)
    )


def _added(physical: Physical, measured_g: Sequence[float], shifts: Shifts) -> list[Amount]:
    added = [Amount(0.0)] * 3
    if physical is Physical.LITTLE:
        added[TARGET] = shifts.little
    elif physical is Physical.MUCH:
        added[TARGET] = Amount(measured_g[RIVAL] - measured_g[TARGET]) + shifts.beyond_rival
    elif physical in ADDED_TO:
        added[ADDED_TO[physical]] = shifts.elsewhere
    return added
