"""The textbook's troubleshooter, which takes it for granted that one thing has failed at most."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aquamend.arrays import Bools, Floats, Indices
from aquamend.belief import InformationState
from aquamend.caching import computed_once
from aquamend.decision.endings import TIE, Endings, endings_of
from aquamend.decision.steps import Decision, Step
from aquamend.decision.terminal import best_terminal, correction
from aquamend.policies.observe_or_repair import call_service, expected_joint, observation, service_losses, spoken_at
from aquamend.policies.policy import Description, correctable
from aquamend.problem import Problem
from aquamend.problem.graph import RecoveryGraph


@dataclass(frozen=True, eq=False)
class _Faults:
    """The single faults of a problem: beliefs whose failure nothing else explains."""

    alone: Bools
    """Shape ``(n_hypotheses,)``; where there is at most one fault."""
    beliefs: tuple[int, ...]
    """The belief that each fault is, those without any hypothesis left out."""
    which: Floats
    """Shape ``(n_hypotheses, n_faults)``; one where the hypothesis is that fault and no other."""
    repairs: tuple[tuple[int, ...], ...]
    """For each fault, its belief and those derived from it."""
    left: Floats
    """Shape ``(n_hypotheses,)``; the loss of leaving all that has failed; infinite where going on is no ending."""


@computed_once
def _faults(problem: Problem) -> _Faults:
    graph, failed = problem.graph, problem.failed > 0
    derived = _derived(graph)
    explained = np.zeros_like(failed)
    for i, own in enumerate(derived):
        explained[:, list(own)] |= failed[:, [i]]
    roots = failed & ~explained
    alone = roots.sum(axis=1) <= 1
    which = (roots & alone[:, None]).astype(float)
    beliefs = tuple(int(i) for i in np.flatnonzero(which.any(axis=0)))
    loss = [belief.residual if belief.may_keep else math.inf for belief in graph.beliefs]
    left = np.where(failed, loss, 0.0).sum(axis=1) if problem.corrections else np.full(len(failed), math.inf)
    repairs = tuple((i, *derived[i]) for i in beliefs)
    return _Faults(alone, beliefs, which[:, list(beliefs)], repairs, left)


def _derived(graph: RecoveryGraph) -> list[tuple[int, ...]]:
    """Return, for every belief, the beliefs that can be reached from it."""
    reached: dict[str, set[int]] = {}
    for name in reversed(graph.topological_order):
        found: set[int] = set()
        for target in graph.successors[name]:
            if target in graph.belief_index:
                found |= {graph.belief_index[target], *reached[target]}
        reached[name] = found
    return [tuple(sorted(reached[belief.name])) for belief in graph.beliefs]


@dataclass(frozen=True, eq=False)
class _Sequences:
    """The repairs of every branch in order of probability over cost, and what following them is expected to cost."""

    order: Indices
    """Shape ``(n_branches, n_faults)``."""
    expected: Floats
    """Shape ``(n_branches, n_faults + 1)``; joint expected cost of repair if so many repairs are tried."""
    service: Floats
    """Shape ``(n_branches,)``; joint loss of the service call."""

    @property
    def tried(self) -> Indices:
        """How many repairs each branch tries: the fewest of least expected cost."""
        least = self.expected.min(axis=1, keepdims=True)
        return np.asarray(np.argmax(self.expected <= least + TIE, axis=1), dtype=np.intp)


def _sequences(problem: Problem, weights: Floats, speaks: Bools) -> _Sequences:
    """Return the repair sequences under the single-fault weights of every branch."""
    faults, endings = _faults(problem), endings_of(problem)
    mass = np.where(weights.sum(axis=1) > 0.0, weights.sum(axis=1), 1.0)[:, None]
    p = weights @ faults.which
    cost = _repair_costs(problem, endings, weights, speaks) / mass
    left = np.column_stack([expected_joint(weights * column, faults.left) for column in faults.which.T] or [mass * 0.0])
    left = left[:, : len(faults.beliefs)]
    service = service_losses(endings, weights)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        order = np.argsort(-np.where((p > 0.0) & np.isfinite(cost), p / cost, 0.0), axis=1, kind="stable")
    p, cost, left = (np.take_along_axis(a, order, axis=1) for a in (p, cost, left))
    # The first repair is paid for whatever is true; the next ones only if something is still wrong.
    still = np.hstack([weights.sum(axis=1, keepdims=True), p[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]])
    paid = _scaled(still[:, : p.shape[1]], cost).cumsum(axis=1)
    rest = np.hstack([left[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:], np.zeros((len(p), 1))])[:, : p.shape[1]]
    nothing = np.minimum(expected_joint(weights, faults.left), service)[:, None]
    return _Sequences(order, np.hstack([nothing, paid + rest]), service)


def _scaled(probability: Floats, loss: Floats) -> Floats:
    """Return p · ℓ with 0 · ∞ = 0."""
    loss = np.broadcast_to(loss, probability.shape)
    return probability * np.where(probability > 0.0, loss, 0.0)


def _repair_costs(problem: Problem, endings: Endings, weights: Floats, speaks: Bools) -> Floats:
    """Return the joint cost of each repair, ``(n_branches, n_faults)``: its closure, and what its new values leave."""
    graph, faults = problem.graph, _faults(problem)
    if not problem.corrections:
        return np.full((len(weights), len(faults.beliefs)), math.inf)
    correct = endings.by_belief(weights @ endings.features, speaks).correct
    at = {int(belief): k for k, belief in enumerate(endings.losses.beliefs)}
    costs = np.empty((len(weights), len(faults.beliefs)))
    for f, (belief, repaired) in enumerate(zip(faults.beliefs, faults.repairs, strict=True)):
        left = correct[[at[i] for i in repaired if i in at]].sum(axis=0)
        costs[:, f] = _scaled(weights.sum(axis=1), np.array(graph.charged(graph.belief_charges[belief]))) + left
    return costs


@dataclass(frozen=True, slots=True)
class SingleFaultTroubleshooting:
    """Repair in order of probability over cost under the assumption of a single fault; observe first where it pays.

    A fault is a failed belief that no other failed belief explains, and the posterior is conditioned on at most one.
    The expected cost of repair is that of trying repairs one after the other, with a check after each, and of leaving
    what then remains, or else of calling service at once. It observes if an observation and the expected cost of repair
    after it are cheaper. One decision ends a recovery here, so it then commits to all the repairs that it would try.
    """

    description: ClassVar[Description] = Description(
        "Troubleshooting, single fault",
        "Assume a single fault; repair in order of probability over cost, after one observation where that pays.",
        "#d9a3bd",
        "P",
        "Heckerman, Breese and Rommelse, Communications of the ACM 38(3), 1995",
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the observation that lowers the expected cost of repair most, else the repairs of the sequence."""
        problem = state.problem
        weight = state.posterior * _faults(problem).alone
        if state.contradiction is not None or not weight.sum() > 0.0:
            return best_terminal(state).decision

        def expected_cost(weights: Floats, speaks: Bools) -> Floats:
            return np.asarray(_sequences(problem, weights, speaks).expected.min(axis=1))

        return observation(state, expected_cost, weight) or self._commit(state, weight / weight.sum())

    def _commit(self, state: InformationState, weight: Floats) -> Decision:
        """Return the correction of what the sequence repairs; the service call if that is cheaper than leaving all."""
        faults = _faults(state.problem)
        plan = _sequences(state.problem, weight[None, :], spoken_at(state)[None, :])
        tried = plan.order[0, : plan.tried[0]]
        if not len(tried) and plan.service[0] < float(expected_joint(weight[None, :], faults.left)[0]) - TIE:
            return call_service(state)
        graph = state.problem.graph
        repaired = {i for fault in tried for i in faults.repairs[fault] if state.failure_probabilities[i] > 0.0}
        stop = correction(state, correctable(state, [graph.beliefs[i].name for i in repaired]))
        return call_service(state) if math.isinf(stop.loss) else stop.decision


POLICIES = {"troubleshooting-single-fault": SingleFaultTroubleshooting}
