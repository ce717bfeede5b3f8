"""A world drawn from a problem's own model: one hypothesis is true, and probes answer by its kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

import numpy as np

from aquamend.decision.steps import Continue, Decision, Escalate, Reprobe, Restart, RollBack
from aquamend.execution import Charge, Ledger, Outcome
from aquamend.inference import InformationState, Observation
from aquamend.model.kernels import NormalTable, OutcomeTable


@dataclass(eq=False)
class ModelWorld:
    """One hypothesis of the problem is true; what a probe answers depends on it and on the seed alone.

    The n-th use of a probe gives the same answer whoever asks and whatever was asked before (common random numbers),
    so policies can be compared pair by pair.
    """

    start: InformationState
    """Public evidence at the alarm."""
    truth: int
    """Position of the hypothesis that is true. For the world alone."""
    seed: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        self._problem = self.start.problem
        self._ledger = Ledger(self._problem.graph)

    def alarm(self) -> InformationState:
        """Return the public evidence."""
        return self.start

    def measure(self, step: Reprobe) -> Observation:
        """Run a probe: draw its answer under the true hypothesis, and pay for it."""
        return Observation(step.probe, self._answer(step.probe, (*self.seed, *self._ledger.run_probe(step.probe))))

    def _answer(self, probe: str, seed: tuple[int, ...]) -> str | float:
        match self._problem.model.tables[probe]:
            case OutcomeTable() as table:
                row = table.likelihood[self.truth]
                if row.max() == 1.0:  # certain: nothing to draw
                    return table.outcomes[int(row.argmax())]
                draw = np.random.default_rng(seed).random()
                return table.outcomes[min(int(np.searchsorted(row.cumsum(), draw, side="right")), len(row) - 1)]
            case NormalTable() as table:
                return float(np.random.default_rng(seed).normal(table.mean[self.truth], table.sd[self.truth]))

    def commit(self, decision: Decision) -> Outcome:
        """Carry out the decision, pay for it, and own up to what was left wrong."""
        problem, graph, ledger = self._problem, self._problem.graph, self._ledger
        failed = [b.name for b, z in zip(graph.beliefs, problem.failed[self.truth], strict=True) if z]
        match decision:
            case Escalate():
                return ledger.handed_over(problem.escalate_loss, failed)
            case Restart():
                ledger.pay(Charge.RECOVERY, "restart", problem.restart_loss)
                return ledger.ended(tuple(action.name for action in graph.executed), ())
            case Continue():
                return ledger.ended((), failed)
            case RollBack(plan=None):
                undone = ledger.undo({*graph.closure(decision.correct), *decision.undo})
                return ledger.ended(undone, [name for name in failed if name not in decision.correct])
            case RollBack():
                # A plan that the problem prices itself, residual included; it corrects what the problem says.
                plan = problem.plan_named(str(decision.plan))
                ledger.pay(Charge.RECOVERY, plan.name, float(plan.loss[self.truth]))
                return ledger.settled(plan.undo, tuple(name for name in failed if name not in plan.correct))
            case _:
                assert_never(decision)
