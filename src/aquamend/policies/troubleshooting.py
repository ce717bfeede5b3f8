"""Decision-theoretic troubleshooting with the joint posterior: observe or repair, one observation ahead.

Heckerman, Breese and Rommelse, *Decision-theoretic troubleshooting*, Communications of the ACM 38(3), 1995, and Breese
and Heckerman, UAI 1996. How their devices are read into recovery problems is written down in docs/policies.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from aquamend.arrays import Bools, Floats, Indices
from aquamend.belief import InformationState
from aquamend.caching import computed_once
from aquamend.decision.endings import TIE, BeliefPrices, Endings, endings_of
from aquamend.decision.steps import Decision, Step
from aquamend.decision.terminal import best_terminal, correction
from aquamend.policies.observe_or_repair import call_service, observation, service_losses, spoken_at
from aquamend.policies.policy import Description
from aquamend.problem import Problem
from aquamend.problem.graph.recovery_graph import bits

CELLS_AT_ONCE = 4_000_000
"""Branches times hypotheses that are planned for at once: some tens of megabytes."""
SAME = 1.0 - 1e-12
"""Two ratios this close are equal, and the order of the graph decides."""


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
    """Shape ``(n_branches, n_steps)``; positions among the priced beliefs, -1 where nothing is left to repair."""
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


POLICIES = {
    "troubleshooting": Troubleshooting,
    "troubleshooting-1": partial(Troubleshooting, most_observations=1),
}
