"""Decision-theoretic troubleshooting, after Breese and Heckerman (UAI 1996)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.probe_value import branches_of
from aquamend.decision.steps import Decision, Escalate, Reprobe, Restart, RollBack, Step
from aquamend.decision.terminal import TIE, best_terminal, stop_after_correcting
from aquamend.graph.recovery_graph import bits
from aquamend.inference import InformationState
from aquamend.planning.exact import best_probe
from aquamend.problem import Problem


@dataclass(frozen=True, slots=True)
class Troubleshooting:
    """Repair in order of benefit per cost; observe first where one observation pays for itself.

    The repair plan is built greedily: the next belief is the one whose expected residual per added cost is largest,
    shared operations already in the plan being free, for as long as the expected residual exceeds the added cost.
    Observations are chosen one ahead against that plan, not against the optimal correction set.
    """

    def next_step(self, state: InformationState) -> Step:
        """Return the observation that lowers the expected cost of the repair plan most, else the repair plan."""
        if state.contradiction is not None:
            return best_terminal(state).decision
        loss, decision = _repair(state.problem, state.posterior)
        branches = branches_of(state, state.legal_probes)
        expected = []
        for i, probe in enumerate(branches.probes):
            after = 0.0
            for likelihood in branches.likelihood[branches.of(probe)]:
                joint = state.posterior * likelihood
                mass = joint.sum()
                after += mass * _repair(state.problem, joint / mass)[0] if mass > 0 else 0.0
            expected.append(branches.cost[i] + after)
        best = best_probe(np.array(expected), loss)
        if best is not None:
            return Reprobe(branches.probes[best])
        return stop_after_correcting(state, decision).decision if isinstance(decision, set) else decision


def _repair(problem: Problem, posterior: NDArray[np.float64]) -> tuple[float, set[str] | Decision]:
    """Return what is done without observing, and its expected loss: the repair plan, or another decision if cheaper."""
    options: list[tuple[float, set[str] | Decision]] = [_greedy_plan(problem, posterior)] if problem.corrections else []
    for plan in problem.plans:
        possible = posterior > 0.0
        loss = float(posterior[possible] @ plan.loss[possible])
        options.append((loss, RollBack(plan.correct, plan.undo, plan=plan.name)))
    options += [(problem.restart_loss, Restart()), (problem.escalate_loss, Escalate())]
    least = min(loss for loss, _ in options)
    if math.isinf(least):
        return least, Escalate()
    return next(option for option in options if option[0] <= least + TIE)


def _greedy_plan(problem: Problem, posterior: NDArray[np.float64]) -> tuple[float, set[str]]:
    """Return the expected loss of repairing greedily, and the beliefs repaired."""
    graph = problem.graph
    risk = np.array(
        [
            (math.inf if q > 0.0 else 0.0) if not b.may_keep or math.isinf(b.residual) else q * b.residual
            for b, q in zip(graph.beliefs, posterior @ problem.failed, strict=True)
        ]
    )
    planned, paid, cost = set[int](), 0, 0.0
    while True:
        added = {
            i: math.fsum(graph.charges[c].cost for c in bits(graph.belief_charges[i] & ~paid))
            for i in np.flatnonzero(risk > TIE).tolist()
            if i not in planned
        }
        worth = {i: a for i, a in added.items() if math.isfinite(a) and risk[i] - a > TIE}
        if not worth:
            left = sum(float(risk[i]) for i in range(len(risk)) if i not in planned)
            return cost + left, {graph.beliefs[i].name for i in planned}
        best = max(worth, key=lambda i: risk[i] / worth[i] if worth[i] > 0 else math.inf)
        planned.add(best)
        paid |= graph.belief_charges[best]
        cost += worth[best]
