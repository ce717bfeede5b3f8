"""What a policy is: anything that maps an information state to the next step."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from aquamend.decision.steps import Step
from aquamend.inference import InformationState
from aquamend.planning.bounds import Bounds


@runtime_checkable
class Policy(Protocol):
    """Any object with ``next_step`` is a policy; it sees the information state and nothing else."""

    def next_step(self, state: InformationState) -> Step:
        """Return what to do now: a legal probe, or a decision that ends the recovery."""


@runtime_checkable
class CertifyingPolicy(Policy, Protocol):
    """A policy that also bounds what the best possible policy would lose."""

    def bounds(self, state: InformationState) -> Bounds:
        """Return bounds on the optimal expected remaining loss at this state."""
