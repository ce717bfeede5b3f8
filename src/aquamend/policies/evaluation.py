"""What following a policy to the end costs, exactly: every outcome of every probe it runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.steps import Continue, Decision, Escalate, Reprobe, Restart, RollBack
from aquamend.decision.terminal import best_terminal, stop_after_correcting
from aquamend.errors import NotDiscrete, TooLarge
from aquamend.inference import InformationState, Observation
from aquamend.model.kernels import OutcomeTable
from aquamend.policies.exact import Exact
from aquamend.policies.policy import Policy

MOST_STATES = 1_000_000

MOST_PROBES = 2_000
CERTAIN_ENOUGH = 1e-6
"""A policy that still probes after so many, with more than this probability, is taken to have no end."""

NEGLIGIBLE = 1e-14
"""Probability below which a state no longer probes: it changes no expectation that a float can show."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Expectations over the posterior and all outcomes, from one state on."""

    expected_loss: float
    """Sensing, recovery and residual together."""
    expected_probes: float
    expected_undone: float
    """Executed actions undone; a restart undoes all of them."""
    success: float
    """Probability that nothing failed is left uncorrected and nothing was escalated."""


def evaluate(policy: Policy, state: InformationState) -> Evaluation:
    """Return the exact expectation of following the policy from this state to the end.

    States are visited once per multiset of evidence, so a policy must depend on what was observed and not on the order.
    A state whose probability has fallen below 1e-14 takes its best terminal decision, so that probing which may go on
    for ever still has a value. Probing that goes on with certainty is refused.
    """
    if isinstance(policy, Exact) and not policy.completes(state):
        _refuse(policy, state)
    total = np.zeros(4)
    layer = {_key(state): (state, 1.0)}
    visited = probes = 0
    while layer:
        visited += len(layer)
        if probes > MOST_PROBES and math.fsum(p for _, p in layer.values()) > CERTAIN_ENOUGH:
            raise TooLarge(f"the policy still goes on after {MOST_PROBES} probes; evaluate one that ends")
        if visited > MOST_STATES:
            raise TooLarge(f"the policy reaches over {MOST_STATES} evidence states; evaluate a smaller problem")
        following: dict[tuple[tuple[str, str], ...], tuple[InformationState, float]] = {}
        for here, probability in layer.values():
            step = policy.next_step(here) if probability >= NEGLIGIBLE else best_terminal(here).decision
            if not isinstance(step, Reprobe):
                total += probability * _terminal(here, step)
                continue
            graph = state.problem.graph
            total += probability * np.array([graph.probes[graph.probe_index[step.probe]].cost, 1.0, 0.0, 0.0])
            for p, child in _children(here, step.probe):
                key = _key(child)
                known = following.get(key, (child, 0.0))
                following[key] = known[0], known[1] + probability * p
        layer, probes = following, probes + 1
    return Evaluation(*(float(x) for x in total))


def _refuse(policy: Exact, state: InformationState) -> NoReturn:
    """Say why following a plan that is only the best found so far has no exact value worth waiting for."""
    gaussian = [p for p in state.legal_probes if not isinstance(state.problem.model.tables[p], OutcomeTable)]
    if gaussian:
        raise NotDiscrete("evaluating exact", gaussian)
    bounds = policy.bounds(state)
    raise TooLarge(
        f"the complete adaptive tree is too large to tabulate; its value lies between {bounds.lower:.6g} and "
        f"{bounds.upper:.6g}; ask `decide --policy exact` for the next step, or evaluate another policy",
        lower=bounds.lower,
        upper=bounds.upper,
    )


def _key(state: InformationState) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((o.probe, str(o.outcome)) for o in state.evidence))


def _children(state: InformationState, probe: str) -> list[tuple[float, InformationState]]:
    table = state.problem.model.tables[probe]
    if not isinstance(table, OutcomeTable):
        raise NotDiscrete("evaluate", [probe])
    probability = state.posterior @ table.likelihood
    return [
        (float(p), state.after(Observation(probe, outcome)))
        for outcome, p in zip(table.outcomes, probability, strict=True)
        if p > 0.0
    ]


def _terminal(state: InformationState, decision: Decision) -> NDArray[np.float64]:
    problem, graph = state.problem, state.problem.graph
    match decision:
        case Escalate():
            return np.array([problem.escalate_loss, 0.0, 0.0, 0.0])
        case Restart():
            return np.array([problem.restart_loss, 0.0, len(graph.executed), 1.0])
        case Continue():
            ending = RollBack(())
        case RollBack():
            ending = decision
    if ending.plan is not None:
        plan = problem.plan_named(ending.plan)
        possible = state.posterior > 0.0
        loss = float(np.dot(state.posterior[possible], plan.loss[possible]))
        return np.array([loss, 0.0, len(set(plan.undo)), _nothing_left(state, plan.correct)])
    undone = {*graph.closure(ending.correct), *ending.undo}  # more than the closure may be undone, at ordinary cost
    loss = graph.rollback_cost(undone) + stop_after_correcting(state, set(ending.correct)).residual
    return np.array([loss, 0.0, len(undone), _nothing_left(state, ending.correct)])


def _nothing_left(state: InformationState, correct: Sequence[str]) -> float:
    """Return the probability that correcting these beliefs leaves nothing failed."""
    kept = np.array([belief.name not in correct for belief in state.problem.graph.beliefs], dtype=bool)
    left = state.problem.failed[:, kept].any(axis=1)
    bad, good = float(state.posterior[left].sum()), float(state.posterior[~left].sum())
    return good / (good + bad)
