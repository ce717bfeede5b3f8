"""What a policy is: anything that maps an information state to the next step, and may say what it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from aquamend.belief import InformationState
from aquamend.decision.branches import Branches, branches_of
from aquamend.decision.steps import Decision, Escalate, RollBack, Step
from aquamend.decision.terminal import best_value, price
from aquamend.planning.bounds import Bounds


@runtime_checkable
class Policy(Protocol):
    """Any object with ``next_step`` is a policy; it sees the information state and nothing else."""

    def next_step(self, state: InformationState) -> Step:
        """Return what to do now: a legal probe, or a decision that ends the recovery."""


@dataclass(frozen=True, slots=True)
class Committed:
    """A policy that ends the recovery at once, in a given way."""

    decision: Decision

    def next_step(self, state: InformationState) -> Step:
        """Return that ending."""
        return self.decision


@runtime_checkable
class CertifyingPolicy(Policy, Protocol):
    """A policy that also bounds what the best possible policy would lose."""

    def bounds(self, state: InformationState) -> Bounds:
        """Return bounds on the optimal expected remaining loss at this state."""


@dataclass(frozen=True, slots=True)
class Description:
    """What a policy says of itself, for help texts, explanations, tables and drawings: its ``description``."""

    title: str
    """Its name for people."""
    summary: str
    """What it does, in one sentence."""
    colour: str
    """In drawings, as ``#rrggbb``."""
    marker: str
    """In drawings, in matplotlib's letters."""
    reference: str = ""
    """Where it comes from, and what it is called there."""
    plans_ahead: bool = False
    """Whether it weighs plans of several probes."""
    one_step: bool = False
    """Whether it takes the step of least expected loss one probe ahead, among those it evaluates."""
    probes: bool = True
    """Whether it ever probes."""


@runtime_checkable
class DescribedPolicy(Policy, Protocol):
    """A policy that says what it is."""

    @property
    def description(self) -> Description:
        """What to call it, how to draw it, what it does."""


@runtime_checkable
class NotingPolicy(Policy, Protocol):
    """A policy that says why it takes a step which the numbers one probe ahead do not explain."""

    def note(self, state: InformationState) -> str:
        """Return a sentence or two, or nothing."""


@dataclass(frozen=True, slots=True)
class Considered:
    """How much a policy looked at for one decision."""

    legal: int
    """Probes that may run."""
    evaluated: int
    screened: int
    """Legal probes that a screen left out."""
    branches: int
    """Possible answers of the probes evaluated, readings counted by the intervals in which decisions differ."""

    @classmethod
    def of(cls, state: InformationState, evaluated: Sequence[str], branches: Branches) -> Considered:
        """Return the counts where these legal probes are evaluated and the others screened out."""
        possible = int(np.count_nonzero(branches.likelihood @ state.posterior > 0.0))
        return cls(len(state.legal), len(evaluated), len(state.legal) - len(evaluated), possible)


@runtime_checkable
class ConsideringPolicy(Policy, Protocol):
    """A policy that counts what it looks at."""

    def considered(self, state: InformationState) -> Considered:
        """Return how much it looks at for its decision at this state."""


def considered_by(policy: Policy, state: InformationState) -> Considered:
    """Return how much any policy looks at: by its own count, else all legal probes, or none if it never probes."""
    if isinstance(policy, ConsideringPolicy):
        return policy.considered(state)
    if isinstance(policy, DescribedPolicy) and not policy.description.probes:
        return Considered(len(state.legal), 0, 0, 0)
    return Considered.of(state, state.legal_probes, branches_of(state, state.legal_probes))


def correctable(state: InformationState, beliefs: Iterable[str]) -> list[str]:
    """Return those of the beliefs that can be corrected now: they need no new value, or have one to declare."""
    index = state.problem.graph.belief_index
    return [name for name in dict.fromkeys(beliefs) if best_value(state, index[name]) is not None]


def hand_over(state: InformationState) -> Decision:
    """Return what is left where a policy's own ending is inadmissible: a person, or where none is, a last resort."""
    if state.problem.escalate is not None:
        return Escalate()
    plans = [RollBack(p.correct, p.undo, plan=p.name) for p in state.problem.plans if p.last_resort]
    return min(plans, key=lambda plan: price(state, plan).loss, default=Escalate())
