"""The closed form of Proposition 1, where it applies."""

from __future__ import annotations

from dataclasses import dataclass

from aquamend.decision.steps import Reprobe, Step
from aquamend.decision.structured import local_costs, violations
from aquamend.decision.terminal import TIE, best_terminal, stop_after_correcting
from aquamend.errors import NotStructured
from aquamend.inference import InformationState


@dataclass(frozen=True, slots=True)
class Structured:
    """Decide belief by belief: keep, roll back or re-probe, whichever is least (Eq. 4).

    Optimal under Assumptions 1–3 and finite rollback costs; refuses, naming what breaks them, anywhere else.
    """

    def next_step(self, state: InformationState) -> Step:
        """Return the first re-probe that a belief's three-way comparison prefers, else all local decisions at once."""
        if state.contradiction is not None:
            return best_terminal(state).decision
        broken = violations(state)
        if broken:
            raise NotStructured(broken)
        correct = set()
        for local in local_costs(state):
            stop = min(local.keep, local.rollback)
            if local.probe is not None and stop - local.reprobe > TIE:
                return Reprobe(local.probe)
            if local.keep - local.rollback > TIE:
                correct.add(local.belief)
        return stop_after_correcting(state, correct).decision
