"""Policies that never look again: stop now, roll back everything suspected, or start over."""

from __future__ import annotations

import math
from dataclasses import dataclass

from aquamend.decision.steps import Escalate, Restart, Step
from aquamend.decision.terminal import best_terminal, stop_after_correcting
from aquamend.inference import InformationState


@dataclass(frozen=True, slots=True)
class NoReprobe:
    """Commit at once to the best terminal decision."""

    def next_step(self, state: InformationState) -> Step:
        """Return the best terminal decision."""
        return best_terminal(state).decision


@dataclass(frozen=True, slots=True)
class RollbackOnly:
    """Undo everything that rests on a suspected belief, without looking (dependency-directed rollback)."""

    def next_step(self, state: InformationState) -> Step:
        """Return the rollback of all suspects' closures; escalate where that is infeasible."""
        stop = stop_after_correcting(state, set(state.suspects))
        return Escalate() if math.isinf(stop.loss) else stop.decision


@dataclass(frozen=True, slots=True)
class AlwaysRestart:
    """Start over, whatever happened."""

    def next_step(self, state: InformationState) -> Step:
        """Return a restart; escalate where none is given or an irreversible action stands in the way."""
        return Escalate() if math.isinf(state.problem.restart_loss) else Restart()
