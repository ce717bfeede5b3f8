"""What following a policy to the end costs, exactly: every outcome of every probe it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.steps import Continue, Decision, Escalate, Reprobe, Restart, RollBack
from aquamend.decision.terminal import best_terminal, stop_after_correcting
from aquamend.errors import NotDiscrete, TooLarge, UnknownName
from aquamend.inference import InformationState, Observation
from aquamend.model.kernels import OutcomeTable
from aquamend.policies.exact import Exact
from aquamend.policies.policy import Policy

MOST_STATES = 1_000_000

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
    Endless probing is cut where a state's probability has fallen below 1e-14: it then takes its best terminal decision.
    """
    if isinstance(policy, Exact) and not policy.completes(state):
        _refuse(policy, state)
    total = np.zeros(4)
    layer = {_key(state): (state, 1.0)}
    visited = 0
    while layer:
        visited += len(layer)
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
        layer = following
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
    undone = set(ending.undo)
    if ending.plan is None:  # a policy may undo more than the closure, at its ordinary cost
        undone.update(graph.closure(ending.correct))
    kept = np.array([belief.name not in ending.correct for belief in graph.beliefs], dtype=bool)
    left = problem.failed[:, kept].any(axis=1)
    bad, good = float(state.posterior[left].sum()), float(state.posterior[~left].sum())
    if ending.plan is not None:
        plans = {plan.name: plan for plan in problem.plans}
        if ending.plan not in plans:
            raise UnknownName("plan", ending.plan, plans)
        losses = plans[ending.plan].loss
        possible = state.posterior > 0.0
        loss = float(np.dot(state.posterior[possible], losses[possible]))
    else:
        loss = graph.rollback_cost(undone) + stop_after_correcting(state, set(ending.correct)).residual
    return np.array([loss, 0.0, len(undone), good / (good + bad)])
