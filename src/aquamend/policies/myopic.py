"""AquaMend's own policy: one probe ahead, else the best stop (Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass

from aquamend.decision.probe_value import ProbeValues, probe_values
from aquamend.decision.screening import Screen
from aquamend.decision.steps import Reprobe, Step
from aquamend.decision.terminal import best_terminal
from aquamend.errors import NotStructured
from aquamend.inference import InformationState
from aquamend.planning.bounds import Bounds, quick_bounds
from aquamend.planning.exact import best_probe
from aquamend.policies.structured import Structured


@dataclass(frozen=True, slots=True)
class AquaMend:
    """Run the probe with the largest positive net benefit; if there is none, commit to the best terminal decision.

    No global optimality is claimed: it looks one probe ahead. ``bounds`` says how far from optimal it can be.
    """

    screen: Screen | None = None
    """Narrows the probes evaluated, where it covers the state."""
    use_structured_branch: bool = False
    """Decide by the closed form of Proposition 1 wherever its assumptions hold (the optional branch of Algorithm 1)."""

    def next_step(self, state: InformationState) -> Step:
        """Return the probe with the largest positive net benefit, else the best stop; a tie commits."""
        if self.use_structured_branch and state.contradiction is None:
            try:
                return Structured().next_step(state)
            except NotStructured:
                pass
        values = probe_values(state, self.candidates(state))
        best = best_probe(values.expected_loss, values.stop_loss)
        return best_terminal(state).decision if best is None else Reprobe(values.branches.probes[best])

    def candidates(self, state: InformationState) -> tuple[str, ...]:
        """Return the legal probes this policy evaluates at the state."""
        if self.screen is not None and self.screen.covers(state):
            return self.screen.keep(state)
        return state.legal_probes

    def bounds(self, state: InformationState, values: ProbeValues | None = None) -> Bounds:
        """Return bounds on the optimal expected remaining loss at this state."""
        return quick_bounds(state, values)
