"""A justification-based truth-maintenance system (Doyle 1979): what is believed, and because of what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Justification:
    """A conclusion holds if all its reasons are believed and nothing it is to hold without is (a support list)."""

    conclusion: str
    reasons: tuple[str, ...]
    unless: tuple[str, ...] = ()
    """May only name what follows by rules without exceptions of their own."""


@dataclass(frozen=True, slots=True)
class TruthMaintenance:
    """Premises that are taken for granted until retracted, and what follows from them."""

    premises: frozenset[str]
    justifications: tuple[Justification, ...]

    def without(self, premises: Iterable[str]) -> TruthMaintenance:
        """Return the network with these premises retracted."""
        return TruthMaintenance(self.premises - frozenset(premises), self.justifications)

    def believed(self) -> frozenset[str]:
        """Return all that has support: the premises, what follows from them, and what holds as others do not."""
        certain = self._closed(self.premises, [rule for rule in self.justifications if not rule.unless])
        usable = [rule for rule in self.justifications if certain.isdisjoint(rule.unless)]
        return self._closed(certain, usable)

    @staticmethod
    def _closed(held: frozenset[str], rules: Iterable[Justification]) -> frozenset[str]:
        while new := {rule.conclusion for rule in rules if held.issuperset(rule.reasons)} - held:
            held |= new
        return held
