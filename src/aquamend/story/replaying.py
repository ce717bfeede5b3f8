"""What another policy would have done with the same answers: a session followed again, as far as its record goes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import Any

from aquamend.belief import InformationState, Observation
from aquamend.codec import json_number
from aquamend.decision.step_words import Wording
from aquamend.decision.steps import Continue, Decision, Reprobe, Step, step_to_data
from aquamend.decision.terminal import expected_loss, price
from aquamend.policies.policy import Policy
from aquamend.recovery.events import Ending
from aquamend.recovery.history import Recovery
from aquamend.text import quantity, shown


@dataclass(frozen=True, eq=False)
class Replayed:
    """How a policy would have decided, one step after another."""

    steps: tuple[Step, ...]
    evidence: tuple[Observation, ...]
    """What it would have heard."""
    state: InformationState
    """What it would have known then."""
    unanswered: str | None
    """The probe at which the record ends: nobody ran it so often. None where the policy came to its decision."""
    sensing: float
    """What it would have spent on probes so far."""
    expected: float | None
    """What carrying its decision out costs in expectation, going by all that the session measured; None without one."""

    @property
    def decision(self) -> Decision | None:
        """What it would have decided in the end; None where the record ends before."""
        last = self.steps[-1]
        return None if isinstance(last, Reprobe) else last

    @property
    def loss(self) -> float | None:
        """The expected loss of all it would have done; None where the record ends before."""
        return None if self.expected is None else self.sensing + self.expected


def replayed(session: Recovery, policy: Policy) -> Replayed:
    """Follow a policy from a session's alarm, and give it the recorded answers, each probe's in their order.

    Neither what failed on the way nor who was asked is part of it: only what was measured.
    """
    waiting: dict[str, list[Observation]] = {}
    for observation in session.evidence:
        waiting.setdefault(observation.probe, []).append(observation)
    state, steps = session.start, list[Step]()
    while isinstance(step := policy.next_step(state), Reprobe) and waiting.get(step.probe):
        steps.append(step)
        state = state.after_hearing(waiting[step.probe].pop(0))
    return Replayed(
        steps=(*steps, step),
        evidence=state.evidence[len(session.start.evidence) :],
        state=state,
        unanswered=step.probe if isinstance(step, Reprobe) else None,
        sensing=state.spent - session.start.spent,
        expected=None if isinstance(step, Reprobe) else price(_known(session), step).loss,
    )


def expected_loss_of(session: Recovery) -> float:
    """Return what a session has cost, and what it is expected to have left wrong; a person leaves nothing."""
    if session.ending is Ending.HANDED_OVER:
        return session.cost
    if session.followed is not None:
        plan = session.start.problem.followed(session.followed)
        if plan is None or math.isinf(plan.price):  # what nobody has priced, nobody can say more about
            return session.cost
        return session.cost + expected_loss(session.state, plan.loss) - plan.price
    return session.cost + price(session.state, Continue()).loss


def _known(session: Recovery) -> InformationState:
    """Return the state at the alarm with all that was measured since, and nothing done."""
    return reduce(InformationState.after_hearing, session.evidence, session.start)


def replayed_data(happened: Recovery, other: Replayed, policy: str) -> dict[str, Any]:
    """Return how a policy would have decided, beside what happened, as plain data."""
    return {
        "session": happened.session,
        "policy": policy,
        "steps": [step_to_data(step) for step in other.steps],
        "evidence": [{"probe": o.probe, "outcome": o.outcome} for o in other.evidence],
        "unanswered": other.unanswered,
        "sensing": json_number(other.sensing),
        "expected_loss": json_number(other.loss),
        "happened": {
            "policy": happened.policy,
            "ended": happened.ending is not None,
            "cost": json_number(happened.cost),
            "expected_loss": None if happened.ending is None else json_number(expected_loss_of(happened)),
        },
    }


def replayed_text(happened: Recovery, other: Replayed, policy: str) -> str:
    """Return how a policy would have decided, step by step, and what that would have cost beside what happened."""
    unit, words = happened.start.problem.unit, Wording(other.state)
    answers = [*(f": {observation.short}" for observation in other.evidence), ""]  # the last step is not answered
    lines = [f"{shown(policy)}, given the answers of this session:"]
    lines += [f"  {i + 1}. {words.full(step)}{answers[i]}" for i, step in enumerate(other.steps)]
    probes = f"Its probes would have cost {quantity(other.sensing, unit)}"
    if other.unanswered is not None:
        end = f"The record ends there: nobody ran {shown(other.unanswered)} that often. {probes} up to then."
    else:
        end = (
            f"{probes}, its decision {quantity(other.expected or 0.0, unit)}, in expectation and going by all that "
            f"was measured: {quantity(other.loss or 0.0, unit)}."
        )
    if happened.ending is None:
        spent = f"{quantity(happened.cost, unit)} so far"
    else:
        spent = f"{quantity(expected_loss_of(happened), unit)}, with what it is expected to have left wrong"
    return "\n".join([*lines, "", end, f"{shown(happened.policy)} has cost {spent}."])
