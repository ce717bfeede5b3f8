"""The recovery loop: a policy meets a world until it commits."""

from __future__ import annotations

from dataclasses import dataclass

from aquamend.decision.steps import Continue, Decision, Escalate, Reprobe, Restart, RollBack
from aquamend.errors import BadStep
from aquamend.execution.receipts import charged
from aquamend.execution.world import Outcome, World
from aquamend.inference import InformationState, Observation
from aquamend.policies.evaluation import MOST_PROBES
from aquamend.policies.policy import Policy


@dataclass(frozen=True, slots=True)
class Episode:
    """One recovery from the alarm to its end."""

    evidence: tuple[Observation, ...]
    """Answers to the probes the policy ran, in order."""
    state: InformationState
    """All that was known when the policy decided."""
    decision: Decision
    outcome: Outcome

    @property
    def loss(self) -> float:
        """The complete loss: sensing, recovery, escalation and residual."""
        return charged(self.outcome.receipts)


def recover(policy: Policy, world: World) -> Episode:
    """Let a policy recover in a world, and return what happened; ``BadStep`` if it does not end or makes no sense."""
    state = world.alarm()
    heard = len(state.evidence)
    while isinstance(step := policy.next_step(state), Reprobe):
        if len(state.evidence) - heard >= MOST_PROBES:
            raise BadStep(f"the policy has run {MOST_PROBES:,} probes and wants another, {step.probe!r}; let it end")
        state = state.after(world.measure(step))
    if not isinstance(step, RollBack | Continue | Restart | Escalate):
        raise BadStep(f"the policy returned {step!r}, which is not a step; return one of the five in aquamend.decision")
    return Episode(state.evidence[heard:], state, step, world.commit(step))
