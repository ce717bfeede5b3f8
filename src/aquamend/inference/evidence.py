"""Public evidence: what a probe answered."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Observation:
    """One answer of one probe: the name of an outcome, or a number for a Gaussian probe."""

    probe: str
    outcome: str | float

    def __str__(self) -> str:
        return f"{self.probe} = {self.told}"

    @property
    def told(self) -> str:
        """The answer in a few digits."""
        return self.outcome if isinstance(self.outcome, str) else f"{self.outcome:.6g}"
