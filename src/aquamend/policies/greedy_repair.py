"""AquaMend with a repair plan that is built greedily."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aquamend.arrays import Bools, Floats
from aquamend.belief import InformationState
from aquamend.decision.endings import TIE, endings_of
from aquamend.decision.steps import Decision, Step
from aquamend.decision.terminal import best_terminal, correction
from aquamend.policies.policy import Description
from aquamend.policies.troubleshooting import call_service, observation, service_losses, spoken_at
from aquamend.problem import Problem
from aquamend.problem.graph import RecoveryGraph


@dataclass(frozen=True, slots=True)
class GreedyRepair:
    """AquaMend with a repair plan that is built greedily, belief by belief, instead of the best correction set.

    Next comes the belief that saves most per added cost, operations already in the plan being free, for as long as one
    saves more than it adds. A plan of the problem's own, a restart or an escalation replaces it where cheaper.
    """

    description: ClassVar[Description] = Description(
        "Greedy repair",
        "AquaMend with a repair plan built belief by belief, the largest saving per added cost first.",
        "#b05a86",
        "d",
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the observation that lowers the expected loss of the repair plan most, else the repair plan."""
        if state.contradiction is not None:
            return best_terminal(state).decision
        problem, endings = state.problem, endings_of(state.problem)

        def loss(weights: Floats, speaks: Bools) -> Floats:
            plans = [loss for loss, _ in _greedy_plans(problem, weights, speaks)]
            return np.minimum(plans, service_losses(endings, weights))

        return observation(state, loss, state.posterior) or self._commit(state)

    def _commit(self, state: InformationState) -> Decision:
        ((loss, repaired),) = _greedy_plans(state.problem, state.posterior[None, :], spoken_at(state)[None, :])
        other = service_losses(endings_of(state.problem), state.posterior[None, :])[0]
        if math.isinf(loss) or other < loss - TIE:
            return call_service(state)
        return correction(state, repaired).decision


def _greedy_plans(problem: Problem, weights: Floats, speaks: Bools) -> list[tuple[float, list[str]]]:
    """Return the joint loss of repairing greedily in every branch, and the beliefs repaired."""
    if not problem.corrections:
        return [(math.inf, [])] * len(weights)
    endings = endings_of(problem)
    local = endings.by_belief(weights @ endings.features, speaks)
    return [
        _greedy_plan(problem.graph, endings.losses.beliefs.tolist(), float(mass), own_keep, own_correct)
        for mass, own_keep, own_correct in zip(weights.sum(axis=1), local.keep.T, local.correct.T, strict=True)
    ]


def _greedy_plan(
    graph: RecoveryGraph, beliefs: Sequence[int], mass: float, keep: Floats, correct: Floats
) -> tuple[float, list[str]]:
    """Return the joint loss of repairing greedily in one branch, and the beliefs repaired."""
    saving = np.where(np.isinf(correct), 0.0, keep - np.where(np.isinf(correct), 0.0, correct))
    open_, repaired, paid = {k for k in range(len(beliefs)) if saving[k] > 0.0}, list[int](), 0
    while True:
        added = {k: mass * graph.charged(graph.belief_charges[beliefs[k]] & ~paid) for k in sorted(open_)}
        worth = {k: cost for k, cost in added.items() if math.isfinite(cost) and saving[k] - cost > TIE * mass}
        if not worth:
            break
        best = max(worth, key=lambda k: _ratio(float(saving[k]), worth[k]))
        open_.remove(best)
        repaired.append(best)
        paid |= graph.belief_charges[beliefs[best]]
    left = [float(correct[k] if k in repaired else keep[k]) for k in range(len(beliefs))]
    undo = mass * graph.charged(paid) if mass > 0.0 else 0.0
    return undo + math.fsum(left), [graph.beliefs[beliefs[k]].name for k in repaired]


def _ratio(saving: float, cost: float) -> float:
    """Return the saving per cost, infinite where that is too large to tell."""
    return saving / cost if cost > 1e-300 * saving else math.inf


POLICIES = {"greedy-repair": GreedyRepair}
