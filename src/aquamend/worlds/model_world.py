"""A world drawn from a problem's own model: one hypothesis is true, and probes answer by its kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import assert_never

import numpy as np

from aquamend.decision.steps import Continue, Decision, Escalate, NewDeclaration, Reprobe, Restart, RollBack
from aquamend.decision.terminal import new_declarations
from aquamend.execution import Charge, Ledger, Outcome
from aquamend.graph import Correction
from aquamend.inference import InformationState, Observation
from aquamend.problem import Plan


@dataclass(eq=False)
class ModelWorld:
    """One hypothesis of the problem is true; what a probe answers depends on it and on the seed alone.

    The n-th use of a probe gives the same answer whoever asks and whatever was asked before (common random numbers),
    so policies can be compared pair by pair. Likewise a belief's new value is wrong as often as the problem says.
    """

    start: InformationState
    """Public evidence at the alarm."""
    truth: int
    """Position of the hypothesis that is true. For the world alone."""
    seed: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        self._problem = self.start.problem
        self._ledger = Ledger(self._problem.graph)
        self._heard: list[Observation] = []

    def alarm(self) -> InformationState:
        """Return the public evidence."""
        return self.start

    def measure(self, step: Reprobe) -> Observation:
        """Run a probe: draw its answer under the true hypothesis, and pay for it."""
        rng = np.random.default_rng((*self.seed, *self._ledger.run_probe(step.probe)))
        self._heard.append(Observation(step.probe, self._problem.model.channels[step.probe].sample(self.truth, rng)))
        return self._heard[-1]

    def commit(self, decision: Decision) -> Outcome:
        """Carry out the decision, pay for it, and own up to what was left wrong."""
        problem, graph, ledger = self._problem, self._problem.graph, self._ledger
        failed = [b.name for b, z in zip(graph.beliefs, problem.failed[self.truth], strict=True) if z]
        match decision:
            case Escalate():
                return ledger.handed_over(problem.escalate_loss, failed)
            case Restart():
                # One that is not possible is infinitely dear.
                nowhere = Plan("restart", np.full(len(problem.failed), math.inf))
                return self._follow(problem.restart_plan or nowhere, failed)
            case Continue():
                return ledger.ended((), failed)
            case RollBack(plan=None):
                undone = ledger.undo({*graph.closure(decision.correct), *decision.undo})
                kept = [name for name in failed if name not in decision.correct]
                return ledger.ended(undone, kept, self._wrongly_declared(decision))
            case RollBack():
                return self._follow(problem.plan_named(str(decision.plan)), failed)
            case _:
                assert_never(decision)

    def _follow(self, plan: Plan, failed: list[str]) -> Outcome:
        """Pay what the plan costs under the truth, residual included; it corrects what the problem says."""
        self._ledger.pay(Charge.RECOVERY, plan.name, float(plan.loss[self.truth]))
        return self._ledger.settled(plan.undo, tuple(name for name in failed if name not in plan.correct))

    def _wrongly_declared(self, decision: RollBack) -> list[str]:
        """Return the corrected beliefs whose new value is wrong too; where none is said, the best one is declared."""
        graph, said = self._problem.graph, {new.belief for new in decision.declare}
        supported = {belief.name for belief in graph.beliefs if belief.correction == Correction.SUPPORTED}
        declared = list(decision.declare)
        if unsaid := [name for name in decision.correct if name in supported - said]:
            declared += new_declarations(reduce(InformationState.after, self._heard, self.start), unsaid)
        return [new.belief for new in declared if self._is_wrong(new)]

    def _is_wrong(self, new: NewDeclaration) -> bool:
        graph = self._problem.graph
        belief, reader = graph.belief_index[new.belief], None if new.read_by is None else graph.probe_index[new.read_by]
        wrong = [
            float(value.wrong[self.truth])
            for value in self._problem.values_of(belief)
            if value.probe == reader and (reader is not None or value.value == new.value)
        ]
        draw = np.random.default_rng((*self.seed, len(graph.probes), belief)).random()
        return bool(draw < (wrong[0] if wrong else 1.0))
