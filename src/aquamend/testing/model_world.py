"""A robot drawn from a problem's own model: one hypothesis is true, and probes answer by its kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from aquamend.belief import InformationState
from aquamend.recovery import (
    Act,
    Charge,
    Declare,
    Ending,
    Follow,
    Measure,
    Receipt,
    Recovery,
    Verdict,
    charged,
    check_known,
    residuals,
)
from aquamend.recovery.situation import wrong_under


@dataclass(eq=False)
class ModelWorld:
    """One hypothesis of the problem is true; what a probe answers depends on it and on the seed alone.

    The n-th use of a probe gives the same answer to every policy, whatever was asked before (common random numbers),
    so policies can be compared pair by pair. Likewise a belief's new value is wrong, and undoing an action leaves what
    was wrong, as often as the problem says; nobody sees that at the time. Every act is done, at its price.
    """

    start: InformationState
    """Public evidence at the alarm."""
    truth: int
    """Position of the hypothesis that is true. For the judge alone."""
    seed: tuple[int, ...] = (0,)
    _uses: dict[str, int] = field(default_factory=dict, init=False, repr=False)

    def alarm(self) -> InformationState:
        """Return the public evidence."""
        return self.start

    def measure(self, step: Measure) -> Receipt:
        """Run a probe: draw its answer under the true hypothesis."""
        index = self.start.probe(step.probe).index
        use = self._uses[step.probe] = self._uses.get(step.probe, 0) + 1
        rng = np.random.default_rng((*self.seed, index, use))
        return step.done(self.start.problem.model.channels[step.probe].sample(self.truth, rng))

    def perform(self, act: Act) -> Receipt:
        """Do one thing at its price; a plan that is none is infinitely costly."""
        if isinstance(act, Follow):
            return act.done(cost=math.inf if self.start.problem.followed(act.plan) is None else act.cost)
        check_known(self.start.problem, act)
        return act.done()

    def judge(self, recovery: Recovery) -> Verdict:
        """Own up to what was left wrong."""
        problem = self.start.problem
        failed = [b.name for b, z in zip(problem.graph.beliefs, problem.failed[self.truth], strict=True) if z]
        if recovery.ending is not Ending.FINISHED:
            return Verdict(tuple(failed), (), success=False)
        kept = [name for name in failed if name not in recovery.corrected]
        declared = [new.belief for new in recovery.declared.values() if self._is_wrong(new)]
        left = (*kept, *declared)
        costs = residuals(problem, kept, declared) if recovery.followed is None else self._left_by(recovery.followed)
        return Verdict(left, costs, success=not left and math.isfinite(recovery.cost + charged(costs)))

    def _left_by(self, name: str) -> tuple[Receipt, ...]:
        """Return the receipt for what a plan costs under the truth beyond its price."""
        plan = self.start.problem.followed(name)
        if plan is None or plan.loss[self.truth] == plan.price:
            return ()
        return (Receipt(Charge.RESIDUAL, name, float(plan.loss[self.truth]) - plan.price),)

    def _is_wrong(self, new: Declare) -> bool:
        problem, graph = self.start.problem, self.start.problem.graph
        i, kind = graph.belief_index[new.belief], len(graph.probes)
        wrong = wrong_under(problem, new) if self._undone(new.belief) else problem.failed[:, i]
        return bool(self._draw(kind, i) < wrong[self.truth])

    def _undone(self, belief: str) -> bool:
        """Whether undoing all that rests on a belief leaves nothing of it."""
        graph, kind = self.start.problem.graph, len(self.start.problem.graph.probes) + 1
        below = graph.downstream(belief)
        return all(self._draw(kind, i) < a.undo_succeeds for i, a in enumerate(graph.executed) if a.name in below)

    def _draw(self, kind: int, which: int) -> float:
        return float(np.random.default_rng((*self.seed, kind, which)).random())
