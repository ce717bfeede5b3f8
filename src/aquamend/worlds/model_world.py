"""A world drawn from a problem's own model: one hypothesis is true, and probes answer by its kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import assert_never

import numpy as np

from aquamend.decision.steps import Continue, Decision, Escalate, Reprobe, Restart, RollBack
from aquamend.errors import UnknownName
from aquamend.execution import Charge, Outcome, Receipt, charged, undo
from aquamend.inference import InformationState, Observation
from aquamend.model.kernels import NormalTable, OutcomeTable
from aquamend.problem import Problem


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
    _ledger: list[Receipt] = field(default_factory=list, init=False)
    _uses: dict[str, int] = field(default_factory=dict, init=False)

    @property
    def _problem(self) -> Problem:
        return self.start.problem

    def alarm(self) -> InformationState:
        """Return the public evidence."""
        return self.start

    def measure(self, step: Reprobe) -> Observation:
        """Run a probe: draw its answer under the true hypothesis, and pay for it."""
        graph = self._problem.graph
        if step.probe not in graph.probe_index:
            raise UnknownName("probe", step.probe, graph.probe_index)
        index = graph.probe_index[step.probe]
        use = self._uses[step.probe] = self._uses.get(step.probe, 0) + 1
        self._ledger.append(Receipt(Charge.SENSING, step.probe, graph.probes[index].cost))
        return Observation(step.probe, self._answer(step.probe, (*self.seed, index, use)))

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
        problem, graph = self._problem, self._problem.graph
        failed = [b.name for b, z in zip(graph.beliefs, problem.failed[self.truth], strict=True) if z]
        match decision:
            case Escalate():
                self._ledger.append(Receipt(Charge.ESCALATION, "a person takes over", problem.escalate_loss))
                return self._outcome(undone=(), left=failed, handed_over=True)
            case Restart():
                self._ledger.append(Receipt(Charge.RECOVERY, "restart", problem.restart_loss))
                return self._outcome(undone=tuple(a.name for a in graph.executed), left=[])
            case Continue():
                return self._outcome(undone=(), left=failed)
            case RollBack(plan=None):
                left = [name for name in failed if name not in decision.correct]
                undone, receipts = undo(graph, {*graph.closure(decision.correct), *decision.undo})
                self._ledger += receipts
                return self._outcome(undone=undone, left=left)
            case RollBack():
                return self._follow(str(decision.plan), failed)
            case _:
                assert_never(decision)

    def _follow(self, name: str, failed: list[str]) -> Outcome:
        """Follow a plan that the problem prices itself, residual included; it corrects what the problem says."""
        plan = self._problem.plan_named(name)
        left = tuple(belief for belief in failed if belief not in plan.correct)
        self._ledger.append(Receipt(Charge.RECOVERY, plan.name, float(plan.loss[self.truth])))
        return Outcome(tuple(self._ledger), plan.undo, left, success=not left)

    def _outcome(self, *, undone: tuple[str, ...], left: list[str], handed_over: bool = False) -> Outcome:
        if not handed_over:  # a person sees to what is wrong; the flat loss of calling one is all that is paid
            beliefs = {belief.name: belief for belief in self._problem.graph.beliefs}
            for name in left:
                loss = beliefs[name].residual if beliefs[name].may_keep else math.inf
                self._ledger.append(Receipt(Charge.RESIDUAL, name, loss))
        done = math.isfinite(charged(self._ledger))  # what cannot be undone was not
        return Outcome(tuple(self._ledger), undone, tuple(left), success=not left and not handed_over and done)
