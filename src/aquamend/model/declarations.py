"""Declarations: versioned statements made from evidence, whose validity can be asked of a posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aquamend.graph.nodes import Value


@dataclass(frozen=True, slots=True)
class Declaration:
    """One version of a statement about a belief, with its value and the evidence that supports it."""

    name: str
    belief: str
    version: int = 1
    value: Value | None = None
    """What it declares; taken from the belief where that declares a value."""
    invalid_in: Sequence[str] | None = None
    """Names of the hypotheses under which this version is invalid.

    None: where the belief has failed, or, if it says another value than the belief declares, where that is not true.
    """
    support: Sequence[str] = ()
    """Names of the probes whose evidence it rests on; empty where not recorded."""

    def __str__(self) -> str:
        return f"{self.name} (v{self.version})" if self.version != 1 else self.name
