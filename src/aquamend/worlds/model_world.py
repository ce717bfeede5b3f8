"""A robot drawn from a problem's own model: one hypothesis is true, and probes answer by its kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from aquamend.inference import InformationState
from aquamend.recovery import Act, Declare, Ending, Follow, Measure, Receipt, Recovery, Verdict, check_known, residuals
from aquamend.recovery.acts import RESTART
from aquamend.recovery.situation import wrong_under


@dataclass(eq=False)
class ModelWorld:
    """One hypothesis of the problem is true; what a probe answers depends on it and on the seed alone.

    The n-th use of a probe gives the same answer whoever asks and whatever was asked before (common random numbers),
    so policies can be compared pair by pair. Likewise a belief's new value is wrong as often as the problem says.
    Every act succeeds, at its price.
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
        """Do one thing at its price; a plan costs what it does under the truth, what it leaves wrong included."""
        if isinstance(act, Follow):
            return act.done(cost=self._loss_of(act.plan))
        check_known(self.start.problem, act)
        return act.done()

    def _loss_of(self, name: str) -> float:
        """Return what a plan costs; one that is not possible is infinitely dear."""
        problem = self.start.problem
        own = next((plan for plan in problem.plans if plan.name == name), None)
        plan = problem.restart_plan if name == RESTART else own
        return math.inf if plan is None else float(plan.loss[self.truth])

    def judge(self, recovery: Recovery) -> Verdict:
        """Own up to what was left wrong."""
        problem = self.start.problem
        failed = [b.name for b, z in zip(problem.graph.beliefs, problem.failed[self.truth], strict=True) if z]
        if recovery.ending is not Ending.FINISHED:
            return Verdict(tuple(failed), (), success=False)
        kept = [name for name in failed if name not in recovery.corrected]
        declared = [new.belief for new in recovery.declared.values() if self._is_wrong(new)]
        left = (*kept, *declared)
        costs = residuals(problem, kept, declared) if recovery.followed is None else ()
        return Verdict(left, costs, success=not left and math.isfinite(recovery.cost))

    def _is_wrong(self, new: Declare) -> bool:
        graph = self.start.problem.graph
        draw = np.random.default_rng((*self.seed, len(graph.probes), graph.belief_index[new.belief])).random()
        return bool(draw < wrong_under(self.start.problem, new)[self.truth])
