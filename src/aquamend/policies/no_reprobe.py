"""Never look again: the best terminal decision at once."""

from __future__ import annotations

from dataclasses import dataclass

from aquamend.decision.steps import Step
from aquamend.decision.terminal import best_terminal
from aquamend.inference import InformationState


@dataclass(frozen=True, slots=True)
class NoReprobe:
    """Commit at once to the best terminal decision."""

    def next_step(self, state: InformationState) -> Step:
        """Return the best terminal decision."""
        return best_terminal(state).decision
