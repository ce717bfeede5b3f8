"""Decision-theoretic troubleshooting: observe or repair, one observation ahead, with a repair plan of one's own.

Heckerman, Breese and Rommelse, *Decision-theoretic troubleshooting*, Communications of the ACM 38(3), 1995, and Breese
and Heckerman, UAI 1996. How their devices are read into recovery problems is written down in docs/policies.md.

A plan is priced in every branch at once; ``joint`` losses are times the branch's probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from aquamend.arrays import Bools, Floats, Indices
from aquamend.belief import InformationState
from aquamend.belief.support import spoken
from aquamend.caching import computed_once
from aquamend.decision.branches import branches_of
from aquamend.decision.endings import TIE, BeliefPrices, Endings, endings_of
from aquamend.decision.probe_value import best_probe
from aquamend.decision.steps import Decision, Reprobe, Step
from aquamend.decision.terminal import best_terminal, correction, price
from aquamend.policies.policy import Description, correctable
from aquamend.problem import Problem
from aquamend.problem.graph import RecoveryGraph
from aquamend.problem.graph.recovery_graph import bits

Priced = Callable[[Floats, Bools], Floats]
"""From branch weights, ``(n_branches, n_hypotheses)``, and who speaks for what, to each branch's joint loss."""

CELLS_AT_ONCE = 4_000_000
"""Branches times hypotheses that are planned for at once: some tens of megabytes."""
SAME = 1.0 - 1e-12
"""Two ratios this close are equal, and the order of the graph decides."""


def spoken_at(state: InformationState) -> Bools:
    """Return who speaks for what now, ``(n_pairs,)``."""
    return spoken(endings_of(state.problem).support, state)


def observation(state: InformationState, loss: Priced, weight: Floats) -> Reprobe | None:
    """Return the first observation of least cost plus expected loss after it, if that beats the loss now."""
    if not state.legal:
        return None
    branches = branches_of(state, state.legal_probes)
    endings, mass = endings_of(state.problem), float(weight.sum())
    now = float(_at_worst(endings, loss, weight[None, :], spoken_at(state)[None, :])[0]) / mass
    after = _at_worst(endings, loss, branches.likelihood * weight, branches.speaks)
    best = best_probe(branches.cost + np.add.reduceat(after, branches.first) / mass, now)
    return None if best is None else Reprobe(branches.probes[best])


def _at_worst(endings: Endings, loss: Priced, weights: Floats, speaks: Bools) -> Floats:
    """Return each branch's joint loss; that of a last resort where nothing else is admissible."""
    own = loss(weights, speaks)
    if not endings.others.last_resorts or not np.isinf(own).any():
        return own
    last = np.min([expected_joint(weights, ending.loss) for ending in endings.others.last_resorts], axis=0)
    return np.where(np.isinf(own), last, own)


def expected_joint(weights: Floats, loss: Floats) -> Floats:
    """Return Σ_s w(s) ℓ(s) of every branch, with 0 · ∞ = 0."""
    endless = np.isinf(loss)
    finite = weights @ np.where(endless, 0.0, loss)
    return np.where(weights @ endless > 0.0, math.inf, finite) if endless.any() else np.asarray(finite)


def service_losses(endings: Endings, weights: Floats) -> Floats:
    """Return the joint loss of the best plan, restart or escalation in every branch; infinite where there is none."""
    least = np.full(len(weights), math.inf)
    for ending in endings.others.usual:
        least = np.minimum(least, expected_joint(weights, ending.loss))
    return least


def call_service(state: InformationState) -> Decision:
    """Return the cheapest plan, restart or escalation here, else whatever ending is best."""
    stops = [price(state, ending.decision) for ending in endings_of(state.problem).others.usual]
    best = min(stops, key=lambda stop: stop.loss, default=None)
    return best_terminal(state).decision if best is None or math.isinf(best.loss) else best.decision


@dataclass(frozen=True, slots=True)
class Troubleshooting:
    """Repair in order of probability over cost, with a check after each repair; observe first where that pays.

    A repair corrects one belief; work that an earlier repair has paid for is free. After each repair a check is
    expected to tell whether anything is still wrong, so a later one counts as far as something is. It observes if one
    observation and the expected cost of repair after it are cheaper than repairing now. One decision ends a recovery
    here, so it then commits to all the repairs that it would try.
    """

    most_observations: float = math.inf
    """How often it observes in one recovery."""

    @property
    def description(self) -> Description:
        """What to call it: by how often it may observe."""
        often = "" if math.isinf(self.most_observations) else f", at most {self.most_observations:g}"
        return Description(
            f"Troubleshooting (DTT{often})",
            "Repair in order of probability over cost, with a check after each; after one observation where that pays"
            + (f"; observe {self.most_observations:g} times at most." if often else "."),
            "#8c3f68" if often else "#cc6699",
            "P",
            "Heckerman, Breese and Rommelse, Communications of the ACM 38(3), 1995; the paper's DTT",
        )

    def next_step(self, state: InformationState) -> Step:
        """Return the observation that lowers the expected cost of repair most, else the repairs of the sequence."""
        if state.contradiction is not None:
            return best_terminal(state).decision
        if sum(state.uses.values()) < self.most_observations:
            look = observation(state, lambda weights, speaks: _least(state.problem, weights, speaks), state.posterior)
            if look is not None:
                return look
        return self._commit(state)

    def _commit(self, state: InformationState) -> Decision:
        """Return the correction of what the sequence repairs; the service call if that is cheaper."""
        problem, weights = state.problem, state.posterior[None, :]
        sequence = _sequences(problem, weights, spoken_at(state)[None, :])
        if service_losses(endings_of(problem), weights)[0] < sequence.expected[0].min() - TIE:
            return call_service(state)
        beliefs = endings_of(problem).losses.beliefs
        repaired = sequence.order[0, : sequence.tried[0]]
        stop = correction(state, [problem.graph.beliefs[beliefs[i]].name for i in repaired])
        return call_service(state) if math.isinf(stop.loss) else stop.decision


@dataclass(frozen=True, eq=False)
class _Sequences:
    """The repairs of every branch in order of probability over cost, and what following them is expected to cost."""

    order: Indices
    """Shape ``(n_branches, n_steps)``; positions of parts, -1 where nothing is left to repair."""
    expected: Floats
    """Shape ``(n_branches, n_steps + 1)``; joint expected loss if so many repairs are tried and the rest is left."""

    @property
    def tried(self) -> Indices:
        """How many repairs each branch tries: the fewest of least expected cost."""
        least = self.expected.min(axis=1, keepdims=True)
        return np.asarray(np.argmax(self.expected <= least + TIE, axis=1), dtype=np.intp)


def _least(problem: Problem, weights: Floats, speaks: Bools) -> Floats:
    """Return each branch's joint expected cost of repair, or of the service call where that is cheaper."""
    rows = max(1, CELLS_AT_ONCE // weights.shape[1])
    parts = [
        _sequences(problem, weights[low : low + rows], speaks[low : low + rows]).expected.min(axis=1)
        for low in range(0, len(weights), rows)
    ]
    return np.asarray(np.minimum(np.concatenate(parts), service_losses(endings_of(problem), weights)))


def _sequences(problem: Problem, weights: Floats, speaks: Bools) -> _Sequences:
    """Return the repair sequences of every branch: the next repair is the one of largest probability over cost then.

    The first repair is paid for whatever is true. The next ones are paid for only under those hypotheses, ``still``,
    under which a belief has failed that is still waiting for its repair.
    """
    endings, n = endings_of(problem), len(weights)
    if not problem.corrections:
        return _Sequences(np.zeros((n, 0), dtype=np.intp), np.full((n, 1), math.inf))
    repairs, local, each = _repairs(problem), endings.by_belief(weights @ endings.features, speaks), np.arange(n)
    p, left, still, paid = (weights @ repairs.failed).T, local.keep.copy(), weights, np.zeros(n)
    open_ = np.isfinite(local.correct) & repairs.possible[:, None] & (p > 0.0)
    waiting, done = np.ones(left.shape, dtype=bool), np.zeros((repairs.charges.shape[1], n), dtype=bool)
    order, expected = list[Indices](), [left.sum(axis=0)]
    while (open_ & (paid <= np.min(expected, axis=0))).any():
        cost = repairs.work(~done) * still.sum(axis=1) + _left_wrong(endings, still, local)
        best, there = _next_repair(p, cost, open_, np.isinf(left)), open_.any(axis=0)
        paid = paid + np.where(there, cost[best, each], 0.0)
        left[best, each] = np.where(there, 0.0, left[best, each])
        waiting[best, each] &= ~there
        open_[best, each] = False
        done |= repairs.charges.T[:, best] & there
        still = weights * repairs.failing(waiting)
        order.append(np.where(there, best, -1))
        expected.append(paid + left.sum(axis=0))
    return _Sequences(np.array(order, dtype=np.intp).reshape(len(order), n).T, np.array(expected).T)


def _next_repair(p: Floats, cost: Floats, open_: Bools, must: Bools) -> Indices:
    """Return the open repair of largest probability over cost in every branch; first come those that must be made."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(cost > 0.0, p / cost, math.inf)
    urgent = open_ & must
    ratio = np.where(np.where(urgent.any(axis=0), urgent, open_), ratio, -1.0)
    return np.asarray(np.argmax(ratio >= SAME * ratio.max(axis=0), axis=0), dtype=np.intp)


def _left_wrong(endings: Endings, weights: Floats, local: BeliefPrices) -> Floats:
    """Return what the repair of each belief leaves, ``(n_priced, n_branches)``: the loss of its best value now."""
    own = endings.losses
    left = np.zeros(local.keep.shape)
    if not len(own.valued):
        return left
    columns = endings.columns.options
    new = own.priced((weights @ endings.features[:, columns]).T)[len(own.beliefs) :]
    for i, belief in enumerate(own.valued):
        values = own.values_of(i)
        if values.stop > values.start:
            left[belief] = new[values.start + local.new[values].argmin(axis=0), np.arange(len(weights))]
    return left


@dataclass(frozen=True, eq=False)
class _Repairs:
    """The priced beliefs as parts that may be repaired."""

    failed: Floats
    """Shape ``(n_hypotheses, n_priced)``."""
    charges: Bools
    """Shape ``(n_priced, n_charges)``; what undoing for each belief pays."""
    price: Floats
    """Shape ``(n_charges,)``; zero for what cannot be done."""
    possible: Bools
    """Shape ``(n_priced,)``; whether all that it takes can be done."""
    patterns: Floats
    """Shape ``(n_patterns, n_priced)``; the different sets of failures that cost something."""
    pattern: Indices
    """Shape ``(n_hypotheses,)``."""

    def work(self, unpaid: Bools) -> Floats:
        """Return what each repair costs where these charges are not paid yet, ``(n_priced, n_branches)``."""
        return np.asarray((self.charges * self.price) @ unpaid)

    def failing(self, waiting: Bools) -> Bools:
        """Return under which hypotheses one of the waiting beliefs has failed, ``(n_branches, n_hypotheses)``."""
        return np.asarray((self.patterns @ waiting > 0.0).T[:, self.pattern])


@computed_once
def _repairs(problem: Problem) -> _Repairs:
    graph, own = problem.graph, endings_of(problem).losses
    masks = [graph.belief_charges[b] for b in own.beliefs]
    charges = np.zeros((len(masks), len(graph.charges)), dtype=bool)
    for i, mask in enumerate(masks):
        charges[i, list(bits(mask))] = True
    price = np.array([charge.cost for charge in graph.charges])
    endless = np.isinf(price)
    failed = problem.failed[:, own.beliefs]
    patterns, pattern = np.unique(failed * ((own.residual > 0.0) | own.hard), axis=0, return_inverse=True)
    possible = ~(charges & endless).any(axis=1)
    return _Repairs(failed, charges, np.where(endless, 0.0, price), possible, patterns, pattern.ravel())


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


def _single_sequences(problem: Problem, weights: Floats, speaks: Bools) -> _Sequences:
    """Return the repair sequences under the single-fault weights of every branch."""
    faults, endings = _faults(problem), endings_of(problem)
    mass = np.where(weights.sum(axis=1) > 0.0, weights.sum(axis=1), 1.0)[:, None]
    p = weights @ faults.which
    cost = _repair_costs(problem, endings, weights, speaks) / mass
    left = np.column_stack([expected_joint(weights * column, faults.left) for column in faults.which.T] or [mass * 0.0])
    left = left[:, : len(faults.beliefs)]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        order = np.argsort(-np.where((p > 0.0) & np.isfinite(cost), p / cost, 0.0), axis=1, kind="stable")
    p, cost, left = (np.take_along_axis(a, order, axis=1) for a in (p, cost, left))
    # The first repair is paid for whatever is true; the next ones only if something is still wrong.
    still = np.hstack([weights.sum(axis=1, keepdims=True), p[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]])
    paid = _scaled(still[:, : p.shape[1]], cost).cumsum(axis=1)
    rest = np.hstack([left[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:], np.zeros((len(p), 1))])[:, : p.shape[1]]
    nothing = np.minimum(expected_joint(weights, faults.left), service_losses(endings, weights))[:, None]
    return _Sequences(order, np.hstack([nothing, paid + rest]))


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
            return np.asarray(_single_sequences(problem, weights, speaks).expected.min(axis=1))

        return observation(state, expected_cost, weight) or self._commit(state, weight / weight.sum())

    def _commit(self, state: InformationState, weight: Floats) -> Decision:
        """Return the correction of what the sequence repairs; the service call if that is cheaper than leaving all."""
        faults, weights = _faults(state.problem), weight[None, :]
        plan = _single_sequences(state.problem, weights, spoken_at(state)[None, :])
        tried = plan.order[0, : plan.tried[0]]
        service = service_losses(endings_of(state.problem), weights)[0]
        if not len(tried) and service < expected_joint(weights, faults.left)[0] - TIE:
            return call_service(state)
        graph = state.problem.graph
        repaired = {i for fault in tried for i in faults.repairs[fault] if state.failure_probabilities[i] > 0.0}
        stop = correction(state, correctable(state, [graph.beliefs[i].name for i in repaired]))
        return call_service(state) if math.isinf(stop.loss) else stop.decision


POLICIES = {
    "troubleshooting-single-fault": SingleFaultTroubleshooting,
    "troubleshooting": Troubleshooting,
    "troubleshooting-1": partial(Troubleshooting, most_observations=1),
}
