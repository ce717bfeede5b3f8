"""The recovery loop: a policy meets a world until it commits."""

from __future__ import annotations

from dataclasses import dataclass

from aquamend.decision.steps import Decision, Reprobe
from aquamend.execution.receipts import charged
from aquamend.execution.world import Outcome, World
from aquamend.inference import Observation
from aquamend.policies.policy import Policy


@dataclass(frozen=True, slots=True)
class Episode:
    """One recovery from the alarm to its end."""

    evidence: tuple[Observation, ...]
    """Answers to the probes the policy ran, in order."""
    decision: Decision
    outcome: Outcome

    @property
    def loss(self) -> float:
        """The complete loss: sensing, recovery, escalation and residual."""
        return charged(self.outcome.receipts)


def recover(policy: Policy, world: World) -> Episode:
    """Let a policy recover in a world, and return what happened."""
    state = world.alarm()
    heard = len(state.evidence)
    while isinstance(step := policy.next_step(state), Reprobe):
        state = state.after(world.measure(step))
    return Episode(state.evidence[heard:], step, world.commit(step))
