"""What a world is: anything that raises an alarm, answers probes, carries a decision out and tells in the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from aquamend.decision.steps import Decision, Reprobe
from aquamend.execution.receipts import Receipt
from aquamend.inference import InformationState, Observation


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a recovery ended, as only the world knows: what was done, what it cost and what was left wrong."""

    receipts: tuple[Receipt, ...]
    undone: tuple[str, ...]
    """Executed actions that were undone."""
    uncorrected: tuple[str, ...]
    """Beliefs left wrong: they had failed and were left as they were, or their new value is wrong too."""
    success: bool
    """Nothing wrong was left, kept or newly declared, and nobody had to be called."""


@runtime_checkable
class World(Protocol):
    """Any object with these three methods is a world. It alone knows what is true."""

    def alarm(self) -> InformationState:
        """Return the public evidence: the state that the recovery starts from, the alarm conditioned on once."""

    def measure(self, step: Reprobe) -> Observation:
        """Run a probe and return what it answered."""

    def commit(self, decision: Decision) -> Outcome:
        """Carry out the decision that ends the recovery; return what was done and paid, probes included."""
