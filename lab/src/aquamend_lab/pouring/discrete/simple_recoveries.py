"""Recovery without the joint posterior: what robots do that retry, replan or revise (the paper's baselines).

They see the information state like every policy; what sets them apart is what they ask a world to do.
One of them revises beliefs by a justification-based truth-maintenance system (Doyle 1979).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from aquamend.belief import InformationState
from aquamend.decision.steps import Continue, Reprobe, RollBack, Step
from aquamend.policies import Description
from aquamend.policies.baselines import undoing
from aquamend_lab.pouring.discrete.cup_table import revisions
from aquamend_lab.pouring.task import LOCALISE, cups_of, look, quantity


@dataclass(frozen=True, slots=True)
class BlindRetry:
    """Look at the target and at where the cups stand once more, then go on as before whatever they answered."""

    description: ClassVar[Description] = Description(
        "Blind retry",
        "Look once more, then go on as before whatever was seen.",
        "#b8860b",
        "v",
        "the paper's Blind retry",
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the next of the two looks, then carry on."""
        again = [o.probe for o in state.evidence]
        left = [name for name in (look("A"), LOCALISE) if name in state.legal_probes and name not in again]
        return Reprobe(left[0]) if left else Continue()


@dataclass(frozen=True, slots=True)
class BeliefReplan:
    """Take the likeliest set of failures for true and plan again from there, without looking.

    What rests on it is undone and done again. Nothing was measured, so nothing is corrected, and what had failed fails
    again.
    """

    description: ClassVar[Description] = Description(
        "Belief-space replan",
        "Take the likeliest set of failures for true, undo what rests on it and go on.",
        "#56a0d3",
        "D",
        "the paper's Belief-space replan",
        probes=False,
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the undoing of all below what has most likely failed; what breaks the same counts together."""
        sets, which = np.unique(state.problem.failed, axis=0, return_inverse=True)
        likeliest = sets[int(np.bincount(which.ravel(), state.posterior).argmax())]
        graph = state.problem.graph
        failed = [b.name for b, wrong in zip(graph.beliefs, likeliest, strict=True) if wrong]
        return undoing(state, failed)


@dataclass(frozen=True, slots=True)
class TmsRevision:
    """Retract what was measured of the suspected cup, and re-derive the target from what still has support."""

    description: ClassVar[Description] = Description(
        "TMS revision",
        "Retract the suspected amount and derive the target from what still has support.",
        "#3d7a5c",
        "s",
        "Doyle, Artificial Intelligence 12(3), 1979",
        probes=False,
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the logical revision: the cup no longer believed in, and the target that then follows."""
        cups = cups_of(state.problem.graph)
        flagged = next((cup for cup in cups if quantity(cup) in state.triggers), cups[0])
        believed = justifications(cups).without([f"measured {flagged}"]).believed()
        target = next(cup for cup in cups if f"target {cup}" in believed)
        return RollBack((quantity(flagged),), plan=revisions(cups)[flagged, target])


@lru_cache(maxsize=16)
def justifications(cups: tuple[str, ...]) -> TruthMaintenance:
    """Return why the robot believes what it does: amounts by measuring, ranks by amounts, the target by ranks.

    A cup is the target if it comes before every other one whose amount is believed at all.
    """
    rules = [Justification(f"amount {x}", (f"measured {x}",)) for x in cups]
    rules += [
        Justification(f"{x} before {y}", (f"amount {x}", f"amount {y}")) for x, y in itertools.combinations(cups, 2)
    ]
    for x in cups:
        others = [y for y in cups if y != x]
        for n in range(len(others) + 1):
            for unknown in itertools.combinations(others, n):
                before = tuple(f"{x} before {y}" for y in others if y not in unknown)
                reasons = (f"amount {x}", *before)
                rules.append(Justification(f"target {x}", reasons, tuple(f"amount {y}" for y in unknown)))
    return TruthMaintenance(frozenset(f"measured {x}" for x in cups), tuple(rules))


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
