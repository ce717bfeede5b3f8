"""Rollback without looking (VeriTrace in the paper's tables)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from aquamend.decision.steps import Escalate, Step
from aquamend.decision.terminal import best_terminal, stop_after_correcting
from aquamend.inference import InformationState


@dataclass(frozen=True, slots=True)
class RollbackOnly:
    """Undo everything that rests on a suspected belief, without looking (dependency-directed rollback)."""

    def next_step(self, state: InformationState) -> Step:
        """Return the rollback of all suspects' closures; escalate where that is infeasible, the best plan where only
        a world's own plans end the recovery."""
        if not state.problem.corrections:
            return best_terminal(state).decision
        stop = stop_after_correcting(state, set(state.suspects))
        return Escalate() if math.isinf(stop.loss) else stop.decision
