"""Ground truth of a scenario: what failed, what correcting it takes, what looking would have sufficed."""

from __future__ import annotations

import itertools
from typing import Any

from aquamend.benchmarks.scenario import Scenario
from aquamend.decision.steps import Reprobe
from aquamend.decision.terminal import TIE, best_terminal
from aquamend.execution import charged
from aquamend.graph import RecoveryGraph
from aquamend.inference import InformationState
from aquamend.worlds import ModelWorld

MOST_PROBES = 12
"""Up to here every set of probes is tried; beyond, the minimal set is not annotated."""


def annotate(scenario: Scenario, state: InformationState) -> dict[str, Any]:
    """Return the annotation record of a scenario, with one entry for every hidden realisation."""
    problem = scenario.problem
    views = {"fine": problem.graph, "linear-chain": problem.graph.linear_chain()}
    return scenario.label | {
        "features": scenario.features,
        "restart_cost": problem.restart_loss,
        "truths": [_truth(scenario, state, views, truth.hypothesis) for truth in scenario.truths],
    }


def _truth(
    scenario: Scenario, state: InformationState, views: dict[str, RecoveryGraph], hypothesis: int
) -> dict[str, Any]:
    true = state.problem.model.hypotheses[hypothesis]
    rollback = {name: view.closure(true.failed) for name, view in views.items()}
    return {
        "failed": true.failed,
        "rollback": rollback,
        "rollback_cost": {name: state.problem.graph.rollback_cost(undo) for name, undo in rollback.items()},
        "minimal_reprobe": minimal_reprobe(state, hypothesis, scenario.stream),
        "attribution": str(true.cause),
    }


def minimal_reprobe(state: InformationState, hypothesis: int, seed: tuple[int, ...] = (0,)) -> tuple[str, ...] | None:
    """Return P*: the cheapest set of probes whose true answers lead to the decision that is best under the truth.

    By enumeration, each probe once; of equally dear sets the smaller, then the first in graph order. The empty set
    where the best decision now is right already. None if no set does it, or there are too many to try.
    """
    graph = state.problem.graph
    if len(graph.probes) > MOST_PROBES:
        return None
    best = _loss_of_stopping(_certain(state, hypothesis), hypothesis)
    names = [probe.name for probe in graph.probes]
    cost = {probe.name: probe.cost for probe in graph.probes}
    sets = [s for k in range(len(names) + 1) for s in itertools.combinations(names, k)]
    for chosen in sorted(sets, key=lambda s: sum(cost[name] for name in s)):
        after = _answered(ModelWorld(state, hypothesis, seed), chosen)
        if after is not None and _loss_of_stopping(after, hypothesis) <= best + TIE:
            return chosen
    return None


def _certain(state: InformationState, hypothesis: int) -> InformationState:
    mass = state.posterior * 0.0
    mass[hypothesis] = 1.0
    return InformationState(state.problem, mass, declarations=state.declarations)


def _loss_of_stopping(state: InformationState, hypothesis: int) -> float:
    """Return what the best stop at this state really loses under the truth."""
    world = ModelWorld(state, hypothesis)
    return charged(world.commit(best_terminal(state).decision).receipts)


def _answered(world: ModelWorld, probes: tuple[str, ...]) -> InformationState | None:
    """Return the state after these probes answered in the world; None where they may not all run."""
    state = world.alarm()
    for name in probes:
        if state.why_illegal(name):
            return None
        state = state.after(world.measure(Reprobe(name)))
    return state
