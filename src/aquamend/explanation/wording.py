"""How steps read in a terminal."""

from __future__ import annotations

from typing import assert_never

from aquamend.decision.steps import Continue, Escalate, Reprobe, Restart, RollBack, Step
from aquamend.text.words import MOST_NAMES, listed, shown


def brief(step: Step, *, most: int = MOST_NAMES) -> str:
    """Return a step as a short instruction: ``run probe weigh_A``, ``roll back target``."""
    match step:
        case Reprobe(probe):
            return f"run probe {shown(probe)}"
        case RollBack(correct, _, plan):
            return f"roll back {listed(correct, most=most)}" if plan is None else f"follow plan {shown(plan)}"
        case Continue():
            return "continue as is"
        case Restart():
            return "restart from the beginning"
        case Escalate():
            return "escalate to a person"
        case _:
            assert_never(step)


def like(step: Step, best: RollBack | None) -> str:
    """Return a step in short, a long list of corrections by how it differs from the best one."""
    if not isinstance(step, RollBack) or best is None or step == best or len(step.correct) <= MOST_NAMES + 1:
        return brief(step)
    kept = [name for name in best.correct if name not in step.correct]
    added = [name for name in step.correct if name not in best.correct]
    if len(kept) + len(added) > MOST_NAMES:
        return brief(step)
    parts = [f"but not {listed(kept)}"] if kept else []
    parts += [f"and {listed(added)}"] if added else []
    return f"roll back the same, {' '.join(parts)}" if parts else brief(step)
