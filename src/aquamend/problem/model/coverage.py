"""Whether calibration records support screening probes by their power at one alarm (the paper's coverage rule)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from aquamend.codec import Name
from aquamend.codec.forms import FINITE, row
from aquamend.errors import Fault

MASS_SCALE_G = 1.0
OFFSET_SCALE_MM = 5.0
MOST_PROTOTYPE_DISTANCE = 6.0
FEWEST_FIT_GROUPS = 2
Numbers = Annotated[tuple[float, ...], row(FINITE)]


@dataclass(frozen=True, slots=True)
class FitGroup:
    """A group of calibration records that resemble one another."""

    name: Name
    """What to call the group."""
    probes: tuple[Name, ...]
    """Probes the records inform about."""
    prototype_g: Numbers = ()
    """Typical quantities, in grams."""
    prototype_mm: Numbers = ()
    """Typical offsets, in millimetres."""

    def distance(self, quantities_g: Sequence[float], offsets_mm: Sequence[float]) -> float:
        """Return the Euclidean distance to the prototype, quantities per 1 g and offsets per 5 mm."""
        # Few numbers, so plain Python is faster than arrays; strict, because prototypes must fit what was measured.
        grams = ((a - b) / MASS_SCALE_G for a, b in zip(quantities_g, self.prototype_g, strict=True))
        millimetres = ((a - b) / OFFSET_SCALE_MM for a, b in zip(offsets_mm, self.prototype_mm, strict=True))
        return math.hypot(*grams, *millimetres)


@dataclass(frozen=True)
class Coverage:
    """What was measured at the alarm, and the calibration records that may cover it."""

    stage: Name
    """Stage at which the alarm came."""
    covered_stages: tuple[Name, ...]
    """Stages the records were made for."""
    groups: tuple[FitGroup, ...]
    """Groups of calibration records that resemble one another."""
    quantities_g: Numbers = ()
    """What was measured here, in grams, as in the prototypes."""
    offsets_mm: Numbers = ()
    """What was measured here, in millimetres, as in the prototypes."""

    def covers(self, probe: str) -> bool:
        """Whether the stage is covered and at least two relevant groups have a prototype within distance 6."""
        return self.stage in self.covered_stages and self._near.count(probe) >= FEWEST_FIT_GROUPS

    @cached_property
    def _near(self) -> tuple[Name, ...]:
        """The probes of every group with a prototype within that distance, group by group."""
        near = (g for g in self.groups if g.distance(self.quantities_g, self.offsets_mm) <= MOST_PROTOTYPE_DISTANCE)
        return tuple(probe for group in near for probe in dict.fromkeys(group.probes))


def coverage_faults(coverage: Coverage) -> Iterator[Fault]:
    """Yield prototypes that do not have one number for each of the quantities and offsets measured here."""
    for i, group in enumerate(coverage.groups):
        for key, prototype, measured, here in (
            ("prototype_g", group.prototype_g, "quantities_g", coverage.quantities_g),
            ("prototype_mm", group.prototype_mm, "offsets_mm", coverage.offsets_mm),
        ):
            if len(prototype) != len(here):
                yield Fault(
                    f"coverage.groups[{i}].{key}",
                    f"{list(prototype)!r} has {len(prototype)} numbers",
                    f"give {len(here)}, one for each of {measured}",
                )
