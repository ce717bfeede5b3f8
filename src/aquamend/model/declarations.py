"""Declarations: versioned statements made from evidence, whose validity can be asked of a posterior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Declaration:
    """One version of a statement about a belief, with its value and the evidence that supports it."""

    name: str
    belief: str
    version: int = 1
    value: str | None = None
    """What it declares, where that is more than holds-or-not."""
    true_value: Mapping[str, str] | None = None
    """What would be true under each hypothesis, where known; re-estimation picks from these."""
    invalid_in: Sequence[str] = ()
    """Names of the hypotheses under which this version is invalid."""
    support: Sequence[str] = ()
    """Names of the probes whose evidence it rests on; empty where not recorded."""

    def __str__(self) -> str:
        return f"{self.name} (v{self.version})" if self.version != 1 else self.name
