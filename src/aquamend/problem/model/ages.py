"""How long ago each belief was measured, for causes that overtake beliefs at a rate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aquamend.errors import BadArgument


@dataclass(frozen=True, slots=True)
class Ages:
    """One age for all beliefs, and others for some; in the unit of time that the rates have."""

    all: float | None = None
    """Of every belief that is not named; None: unknown."""
    by_belief: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, age in (("all", self.all), *self.by_belief.items()):
            if age is not None and not 0.0 <= age < math.inf:
                raise BadArgument(f"{name!r} cannot be {age!r} old; give a finite number of at least 0")

    @classmethod
    def from_any(cls, ages: Ages | float | Mapping[str, float] | None) -> Ages:
        """Return ages that were given as one number for all, or by belief."""
        if isinstance(ages, Ages):
            return ages
        if isinstance(ages, Mapping):
            return cls(None, {belief: float(age) for belief, age in ages.items()})
        return cls(None if ages is None else float(ages))

    def of(self, belief: str) -> float | None:
        """Return the age of a belief; None where nobody knows it."""
        return self.by_belief.get(belief, self.all)

    def of_all(self, beliefs: Sequence[str]) -> float | Mapping[str, float] | None:
        """Return how old these beliefs are, as one number where they are all alike; None where nobody knows."""
        if not self.by_belief:
            return self.all
        return {belief: age for belief in beliefs if (age := self.of(belief)) is not None}

    def but(self, others: Ages) -> Ages:
        """Return these ages with others in their place: one for all replaces every one."""
        if others.all is not None:
            return others
        return Ages(self.all, {**self.by_belief, **others.by_belief})
