"""A justification-based truth-maintenance system (Doyle 1979): what is believed, and because of what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Justification:
    """A conclusion holds if all its reasons do."""

    conclusion: str
    reasons: tuple[str, ...]


@dataclass(slots=True)
class TruthMaintenance:
    """Premises that are taken for granted until retracted, and what follows from them."""

    premises: set[str]
    justifications: tuple[Justification, ...]
    retracted: list[str] = field(default_factory=list)

    def retract(self, premises: Iterable[str]) -> tuple[str, ...]:
        """Take premises back; return every conclusion that loses its last support, in the order of the rules."""
        before = self.believed()
        for premise in premises:
            self.premises.discard(premise)
            self.retracted.append(premise)
        now = self.believed()
        conclusions = dict.fromkeys(rule.conclusion for rule in self.justifications)
        return tuple(name for name in conclusions if name in before and name not in now)

    def believed(self) -> frozenset[str]:
        """Return all that has support: the premises, and whatever follows from what has support."""
        held = set(self.premises)
        grew = True
        while grew:
            new = {rule.conclusion for rule in self.justifications if held.issuperset(rule.reasons)} - held
            held |= new
            grew = bool(new)
        return frozenset(held)
