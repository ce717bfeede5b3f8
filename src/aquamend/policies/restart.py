"""Full restart."""

from __future__ import annotations

import math
from dataclasses import dataclass

from aquamend.decision.steps import Escalate, Restart, Step
from aquamend.inference import InformationState


@dataclass(frozen=True, slots=True)
class AlwaysRestart:
    """Start over, whatever happened."""

    def next_step(self, state: InformationState) -> Step:
        """Return a restart; escalate where none is given or an irreversible action stands in the way."""
        return Escalate() if math.isinf(state.problem.restart_loss) else Restart()
