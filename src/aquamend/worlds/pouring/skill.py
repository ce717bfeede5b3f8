"""What a primitive is, and what it finds: an honest outcome, as its own sensing tells."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """How a primitive ended."""

    succeeded: bool
    told: str
    """What was found, for a person."""
    value: float | None = None
    """What was measured or moved, in grams, where there is such a thing."""


Skill = Generator[None, None, Finding]
"""A primitive, or several of them one after another: it waits for the table's next tick wherever it yields."""

NOTHING_TO_DO = Finding(True, "nothing was to be done")
