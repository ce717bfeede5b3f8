"""What a primitive leaves behind: a receipt with start, end, kind of charge and an honest outcome."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from aquamend.execution import Charge


@dataclass(frozen=True, slots=True)
class Finding:
    """How a primitive ended, as its own sensing tells."""

    succeeded: bool
    told: str
    """What was found, for a person."""
    value: float | None = None
    """What was measured or moved, in grams, where there is such a thing."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """The receipt of one primitive; composite skills have none of their own, so no interval is charged twice."""

    what: str
    charge: Charge
    start_s: float
    end_s: float
    finding: Finding

    @property
    def seconds(self) -> float:
        """How long it took; whole ticks."""
        return round(self.end_s - self.start_s, 2)


Skill = Generator[None, None, Finding]
"""A primitive under way: every ``next`` is one tick of the controller, and it returns what it found."""
