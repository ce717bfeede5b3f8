"""Plan until the certificate is tight enough, without tabulating every evidence state."""

from __future__ import annotations

import math
from dataclasses import dataclass

from aquamend.decision.steps import Reprobe, Step
from aquamend.decision.terminal import best_terminal
from aquamend.inference import InformationState
from aquamend.planning.anytime import CertifiedPlan, plan_anytime
from aquamend.planning.bounds import Bounds


@dataclass(frozen=True, slots=True)
class Certified:
    """Search until upper and lower bound on the optimum differ by at most ``gap``; then take the plan's first step.

    The search also ends at a deadline, if there is one, and where it has grown to its limit; the bounds say how far it
    came. Without a deadline the answer depends on the state alone, and so does the time it takes.
    """

    gap: float = 0.01
    deadline_s: float = math.inf

    def next_step(self, state: InformationState) -> Step:
        """Return the first step of the best plan found."""
        probe = self._plan(state).probe
        return best_terminal(state).decision if probe is None else Reprobe(probe)

    def bounds(self, state: InformationState) -> Bounds:
        """Return bounds on the optimal expected remaining loss, at most the gap apart unless the search ended early."""
        return self._plan(state).bounds

    def _plan(self, state: InformationState) -> CertifiedPlan:
        key = f"certified plan, gap {self.gap!r}, {self.deadline_s!r} s"
        if key not in state.computed:
            state.computed[key] = plan_anytime(state, gap=self.gap, deadline_s=self.deadline_s)
        plan: CertifiedPlan = state.computed[key]
        return plan
