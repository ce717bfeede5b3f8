"""How a step reads at a state, from a short instruction to all that it undoes and declares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from aquamend.belief import InformationState
from aquamend.decision.steps import Continue, Escalate, NewDeclaration, Reprobe, Restart, RollBack, Step
from aquamend.text import MOST_NAMES, listed, quantity, shown, value_text


@dataclass(frozen=True, slots=True)
class Wording:
    """How steps read at one state: beliefs with the likeliest culprit first."""

    state: InformationState

    def brief(self, step: Step, *, most: int = MOST_NAMES) -> str:
        """Return a step as a short instruction: ``run probe weigh_A``, ``roll back target``."""
        match step:
            case Reprobe(probe):
                return f"run probe {shown(probe)}"
            case RollBack(plan=None):
                return f"roll back {listed(self.culprits(step.correct), most=most)}"
            case RollBack(plan=plan):
                return f"follow plan {shown(plan)}"
            case Continue():
                return "continue as is"
            case Restart():
                return "restart from the beginning"
            case Escalate():
                return "escalate to a person"
            case _:
                assert_never(step)

    def scope(self, step: Step, *, most: int = MOST_NAMES) -> str:
        """Return what a step undoes and declares: ``undo pour; declare target: B``; empty if neither."""
        if not isinstance(step, RollBack):
            return ""
        parts = [f"undo {listed(step.undo, most=most)}"] if step.undo else []
        if step.declare:
            parts.append(f"declare {self.declared(step.declare, most=most)}")
        return "; ".join(parts)

    def full(self, step: Step, *, most: int = MOST_NAMES) -> str:
        """Return a step with what it undoes and declares in parentheses."""
        scope = self.scope(step, most=most)
        return f"{self.brief(step, most=most)} ({scope})" if scope else self.brief(step, most=most)

    def side_by_side(self, steps: Sequence[Step]) -> list[tuple[str, str]]:
        """Return each of several alternatives in short, and its scope: long corrections by how they differ."""
        best = next((step for step in steps if isinstance(step, RollBack)), None)
        return [(self._like(step, best), self.scope(step)) for step in steps]

    def _like(self, step: Step, best: RollBack | None) -> str:
        """Return a step in short, a long list of corrections by how it differs from the best one."""
        if not isinstance(step, RollBack) or best is None or step == best or len(step.correct) <= MOST_NAMES + 1:
            return self.brief(step)
        kept = [name for name in best.correct if name not in step.correct]
        added = [name for name in step.correct if name not in best.correct]
        if not kept + added or len(kept) + len(added) > MOST_NAMES:
            return self.brief(step)
        parts = [f"but not {listed(kept)}"] if kept else []
        parts += [f"and {listed(added)}"] if added else []
        return f"roll back the same, {' '.join(parts)}"

    def declared(self, new: Sequence[NewDeclaration], *, most: int = MOST_NAMES) -> str:
        """Return new values in words: ``level_A: 45, target: B``."""
        by_name = {one.belief: one for one in new}
        return listed([self.value_of(by_name[name]) for name in self.culprits(list(by_name))], most=most)

    def value_of(self, new: NewDeclaration) -> str:
        """Return one new value in words."""
        return f"{new.belief}: {value_text(new.value)}"

    def culprits(self, beliefs: Sequence[str]) -> list[str]:
        """Return beliefs with the likeliest to have failed first."""
        index, q = self.state.problem.graph.belief_index, self.state.failure_probabilities
        return sorted(beliefs, key=lambda name: -round(float(q[index[name]]), 9))

    def cost(self, value: float) -> str:
        """Return a loss with the problem's unit."""
        return quantity(value, self.state.problem.unit)
