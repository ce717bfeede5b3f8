"""Ground truth of a scenario: what failed, what correcting it takes, what looking would have sufficed."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from aquamend.belief import InformationState, Observation
from aquamend.decision.endings import TIE
from aquamend.decision.steps import Decision
from aquamend.decision.terminal import best_terminal
from aquamend.policies.policy import Committed
from aquamend.problem import Problem
from aquamend.problem.graph import RecoveryGraph
from aquamend.recovery import Measure, Robot, recovered
from aquamend_lab.benchmarks.scenario import Scenario, Truth

MOST_PROBES = 12
"""Up to here every set of probes is tried; beyond, the minimal set is not annotated."""


def annotate(scenario: Scenario) -> dict[str, Any]:
    """Return the annotation record of a scenario, with one entry for every hidden realisation."""
    problem = scenario.state.problem
    views = {"fine": problem.graph, "linear-chain": problem.graph.linear_chain()}
    return scenario.label | {
        "features": scenario.features,
        "restart_cost": _restart_cost(problem),
        "truths": [_truth(scenario.state, views, truth) for truth in scenario.truths],
    }


def _restart_cost(problem: Problem) -> float:
    """Return what starting over costs, what it leaves wrong apart; infinite where it is impossible."""
    return math.inf if problem.restart_plan is None else float(np.min(problem.restart_plan.loss))


def _truth(state: InformationState, views: dict[str, RecoveryGraph], truth: Truth) -> dict[str, Any]:
    rollback = {name: view.closure(truth.failed) for name, view in views.items()}
    return {
        "failed": truth.failed,
        "rollback": rollback,
        "rollback_cost": {name: state.problem.graph.rollback_cost(undo) for name, undo in rollback.items()},
        "minimal_reprobe": minimal_reprobe(state, truth) if truth.hypothesis is not None else None,
        "attribution": str(truth.cause),
    }


def minimal_reprobe(state: InformationState, truth: Truth) -> tuple[str, ...] | None:
    """Return P*: the cheapest set of probes whose true answers lead to the decision that is best under the truth.

    By enumeration, each probe once; of equally costly sets the smaller, then the first in graph order. The empty set
    where the best decision now is right already. None if no set does it, or there are too many to try.
    """
    graph = state.problem.graph
    if len(graph.probes) > MOST_PROBES:
        return None
    losses: dict[Decision, float] = {}

    def loss_of_stopping(state: InformationState) -> float:
        """Return what the best stop at this state really loses under the truth, what was spent on probes apart."""
        decision = best_terminal(state).decision
        if decision not in losses:
            losses[decision] = recovered(Committed(decision), truth.enter()).loss
        return losses[decision]

    best = loss_of_stopping(_certain(state, truth))
    names = [probe.name for probe in graph.probes]
    cost = {probe.name: probe.cost for probe in graph.probes}
    sets = [s for k in range(len(names) + 1) for s in itertools.combinations(names, k)]
    for chosen in sorted(sets, key=lambda s: sum(cost[name] for name in s)):
        after = _answered(truth.enter(), chosen)
        if after is not None and loss_of_stopping(after) <= best + TIE:
            return chosen
    return None


def _certain(state: InformationState, truth: Truth) -> InformationState:
    mass = np.zeros_like(state.posterior)
    mass[truth.hypothesis] = 1.0
    return InformationState(state.problem, mass)


def _answered(robot: Robot, probes: tuple[str, ...]) -> InformationState | None:
    """Return the state after these probes answered; None where they may not all run."""
    state = robot.alarm()
    for name in probes:
        if state.why_illegal(name):
            return None
        state = state.after(Observation(name, robot.measure(Measure(name)).finding))  # type: ignore[arg-type]
    return state
