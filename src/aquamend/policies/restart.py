"""Full restart."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aquamend.decision.steps import Escalate, Restart, RollBack, Step
from aquamend.inference import InformationState


@dataclass(frozen=True, slots=True)
class AlwaysRestart:
    """Start over, whatever happened."""

    def next_step(self, state: InformationState) -> Step:
        """Return a restart, or the world's own plan of that name; escalate where neither is possible."""
        if math.isfinite(state.problem.restart_loss):
            return Restart()
        own = [plan for plan in state.problem.plans if plan.name == "restart" and np.isfinite(plan.loss).any()]
        return RollBack(own[0].correct, own[0].undo, plan=own[0].name) if own else Escalate()
