"""Declarations: versioned statements made from evidence, whose validity can be asked of a posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from aquamend.codec import TRUE_VALUE, Name
from aquamend.problem.graph.nodes import Value


@dataclass(frozen=True, slots=True)
class Declaration:
    """One version of a statement about a belief, with its value and the evidence that supports it."""

    name: Name
    """What was stated."""
    belief: Name
    """The belief that it is about."""
    version: int = 1
    """Which version of the statement it is; 1 unless given."""
    value: Annotated[Value, TRUE_VALUE] | None = None
    """What it declares; taken from the belief where that declares a value."""
    invalid_in: Sequence[Name] | None = None
    """The hypotheses under which this version is invalid.

    None: where the belief has failed, or, if it says another value than the belief declares, where that is not true.
    """
    support: Sequence[Name] = ()
    """The probes whose evidence it rests on; empty where not recorded."""

    def __str__(self) -> str:
        return f"{self.name} (v{self.version})" if self.version != 1 else self.name
