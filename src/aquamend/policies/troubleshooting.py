"""Troubleshooting: observe or repair, one observation ahead (Breese and Heckerman, UAI 1996), and a relative of it.

Both price a repair plan in every branch at once; ``joint`` losses are times the branch's probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.branches import branches_of
from aquamend.decision.endings import TIE, Endings, endings_of
from aquamend.decision.probe_value import best_probe
from aquamend.decision.steps import Decision, Reprobe, Step
from aquamend.decision.support import spoken
from aquamend.decision.terminal import best_terminal, correction, price
from aquamend.graph import RecoveryGraph
from aquamend.inference import InformationState
from aquamend.policies.policy import Description, correctable
from aquamend.problem import Problem
from aquamend.remembering import remembered

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Priced = Callable[[Floats, Bools], Floats]
"""From branch weights, ``(n_branches, n_hypotheses)``, and who speaks for what, to each branch's joint loss."""


def _spoken(state: InformationState) -> Bools:
    return spoken(endings_of(state.problem).support, state)


def _observation(state: InformationState, loss: Priced, weight: Floats) -> Reprobe | None:
    """Return the first observation of least cost plus expected loss after it, if that beats the loss now."""
    if not state.legal:
        return None
    branches = branches_of(state, state.legal_probes)
    mass = float(weight.sum())
    now = float(loss(weight[None, :], _spoken(state)[None, :])[0]) / mass
    after = loss(branches.likelihood * weight, branches.speaks)
    best = best_probe(branches.cost + np.add.reduceat(after, branches.first) / mass, now)
    return None if best is None else Reprobe(branches.probes[best])


def _expected(weights: Floats, loss: Floats) -> Floats:
    """Return Σ_s w(s) ℓ(s) of every branch, with 0 · ∞ = 0."""
    endless = np.isinf(loss)
    finite = weights @ np.where(endless, 0.0, loss)
    return np.where(weights @ endless > 0.0, math.inf, finite) if endless.any() else np.asarray(finite)


def _others(endings: Endings, weights: Floats) -> Floats:
    """Return the joint loss of the best plan, restart or escalation in every branch; infinite where there is none."""
    least = np.full(len(weights), math.inf)
    for ending in endings.others.usual:
        least = np.minimum(least, _expected(weights, ending.loss))
    return least


def _best_other(state: InformationState) -> Decision:
    """Return the cheapest plan, restart or escalation here, else whatever ending is best."""
    stops = [price(state, ending.decision) for ending in endings_of(state.problem).others.usual]
    best = min(stops, key=lambda stop: stop.loss, default=None)
    return best_terminal(state).decision if best is None or math.isinf(best.loss) else best.decision


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


@remembered
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

    order: NDArray[np.intp]
    """Shape ``(n_branches, n_faults)``."""
    expected: Floats
    """Shape ``(n_branches, n_faults + 1)``; joint expected cost of repair if so many repairs are tried."""
    service: Floats
    """Shape ``(n_branches,)``; joint loss of the service call."""

    @property
    def tried(self) -> NDArray[np.intp]:
        """How many repairs each branch tries: the fewest of least expected cost."""
        least = self.expected.min(axis=1, keepdims=True)
        return np.asarray(np.argmax(self.expected <= least + TIE, axis=1), dtype=np.intp)


def _sequences(problem: Problem, weights: Floats, speaks: Bools) -> _Sequences:
    """Return the repair sequences under the single-fault weights of every branch."""
    faults, endings = _faults(problem), endings_of(problem)
    mass = np.where(weights.sum(axis=1) > 0.0, weights.sum(axis=1), 1.0)[:, None]
    p = weights @ faults.which
    cost = _repair_costs(problem, endings, weights, speaks) / mass
    left = np.column_stack([_expected(weights * column, faults.left) for column in faults.which.T] or [mass * 0.0])
    left = left[:, : len(faults.beliefs)]
    service = _others(endings, weights)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        order = np.argsort(-np.where((p > 0.0) & np.isfinite(cost), p / cost, 0.0), axis=1, kind="stable")
    p, cost, left = (np.take_along_axis(a, order, axis=1) for a in (p, cost, left))
    # The first repair is paid for whatever is true; the next ones only if something is still wrong.
    still = np.hstack([weights.sum(axis=1, keepdims=True), p[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]])
    paid = _scaled(still[:, : p.shape[1]], cost).cumsum(axis=1)
    rest = np.hstack([left[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:], np.zeros((len(p), 1))])[:, : p.shape[1]]
    nothing = np.minimum(_expected(weights, faults.left), service)[:, None]
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
    correct = endings.locally(weights @ endings.features, speaks).correct
    at = {int(belief): k for k, belief in enumerate(endings.losses.beliefs)}
    costs = np.empty((len(weights), len(faults.beliefs)))
    for f, (belief, repaired) in enumerate(zip(faults.beliefs, faults.repairs, strict=True)):
        left = correct[[at[i] for i in repaired if i in at]].sum(axis=0)
        costs[:, f] = _scaled(weights.sum(axis=1), np.array(graph.charged(graph.belief_charges[belief]))) + left
    return costs


@dataclass(frozen=True, slots=True)
class Troubleshooting:
    """Repair in order of probability over cost under the assumption of a single fault; observe first where it pays.

    A fault is a failed belief that no other failed belief explains, and the posterior is conditioned on at most one.
    The expected cost of repair is that of trying repairs one after the other, with a check after each, and of leaving
    what then remains, or else of calling service at once. It observes if an observation and the expected cost of repair
    after it are cheaper. One decision ends a recovery here, so it then commits to all the repairs that it would try.
    """

    description: ClassVar[Description] = Description(
        "Troubleshooting (DTT)",
        "Assume a single fault; repair in order of probability over cost, after one observation where that pays.",
        "#cc6699",
        "P",
        "Breese and Heckerman, UAI 1996; the paper's DTT",
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the observation that lowers the expected cost of repair most, else the repairs of the sequence."""
        problem = state.problem
        weight = state.posterior * _faults(problem).alone
        if state.contradiction is not None or not weight.sum() > 0.0:
            return best_terminal(state).decision

        def expected_cost(weights: Floats, speaks: Bools) -> Floats:
            return np.asarray(_sequences(problem, weights, speaks).expected.min(axis=1))

        return _observation(state, expected_cost, weight) or self._commit(state, weight / weight.sum())

    def _commit(self, state: InformationState, weight: Floats) -> Decision:
        """Return the correction of what the sequence repairs; the service call if that is cheaper than leaving all."""
        faults = _faults(state.problem)
        plan = _sequences(state.problem, weight[None, :], _spoken(state)[None, :])
        tried = plan.order[0, : plan.tried[0]]
        if not len(tried) and plan.service[0] < float(_expected(weight[None, :], faults.left)[0]) - TIE:
            return _best_other(state)
        graph = state.problem.graph
        repaired = {i for fault in tried for i in faults.repairs[fault] if state.failure_probabilities[i] > 0.0}
        stop = correction(state, correctable(state, [graph.beliefs[i].name for i in repaired]))
        return _best_other(state) if math.isinf(stop.loss) else stop.decision


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
            return np.minimum(plans, _others(endings, weights))

        return _observation(state, loss, state.posterior) or self._commit(state)

    def _commit(self, state: InformationState) -> Decision:
        ((loss, repaired),) = _greedy_plans(state.problem, state.posterior[None, :], _spoken(state)[None, :])
        other = _others(endings_of(state.problem), state.posterior[None, :])[0]
        if math.isinf(loss) or other < loss - TIE:
            return _best_other(state)
        return correction(state, repaired).decision


def _greedy_plans(problem: Problem, weights: Floats, speaks: Bools) -> list[tuple[float, list[str]]]:
    """Return the joint loss of repairing greedily in every branch, and the beliefs repaired."""
    if not problem.corrections:
        return [(math.inf, [])] * len(weights)
    endings = endings_of(problem)
    local = endings.locally(weights @ endings.features, speaks)
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
