"""Project selection: the set of profitable nodes whose shared requirements are worth paying, by minimum cut.

Choosing which beliefs to correct pays once for every operation in the union of their closures and saves the residual
risk of every corrected belief. That is a maximum-weight closure problem, and one s–t minimum cut solves it (Picard,
Management Science 22(11), 1976). SciPy's maximum flow takes 32-bit integers, so the real weights are rounded twice,
once against selecting and once in its favour: closures grow with the gains and shrink with the costs, so the true
optimum lies between the two answers, and only the nodes on which they differ are solved again at a finer scale; near
ties that nothing narrows are settled by pushing flow at ever finer scales.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

INT32_MAX = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Requirements:
    """Who needs what: selecting ``source[k]`` requires selecting ``target[k]``."""

    n_nodes: int
    source: NDArray[np.int32]
    target: NDArray[np.int32]


def best_closure(weight: NDArray[np.float64], needs: Requirements) -> NDArray[np.bool_]:
    """Return the smallest closed set of greatest total weight, shape ``(n_nodes,)``.

    ``weight`` is the gain (positive) or cost (negative) of every node, finite. A set is closed if it contains all that
    its members require.
    """
    selected = np.zeros(needs.n_nodes, dtype=bool)
    open_nodes = np.ones(needs.n_nodes, dtype=bool)
    while True:
        inside = np.flatnonzero(open_nodes)
        position = np.full(needs.n_nodes, -1, dtype=np.int32)
        position[inside] = np.arange(len(inside), dtype=np.int32)
        # Requirements already selected are paid for; those given up took their dependants with them.
        kept = open_nodes[needs.source] & open_nodes[needs.target]
        local = Requirements(len(inside), position[needs.source[kept]], position[needs.target[kept]])
        surely, possibly = _sandwich(weight[inside], local)
        selected[inside[surely]] = True
        still_open = inside[possibly & ~surely]
        if len(still_open) == 0:
            return selected
        if len(still_open) == len(inside):
            selected[inside[_refined(weight[inside], local)]] = True
            return selected
        open_nodes[:] = False
        open_nodes[still_open] = True


def _refined(weight: NDArray[np.float64], needs: Requirements) -> NDArray[np.bool_]:
    """Return the smallest best closure where gains and costs nearly balance, by pushing flow at ever finer scales.

    Each round sends a maximum integer flow through what capacity is left and keeps the real remainder; what can still
    flow is then at most one unit an edge, so the next scale may be that much finer. Three rounds reach the precision of
    a float, and what is left over below it is a tie.
    """
    n = needs.n_nodes
    gain, cost = np.maximum(weight, 0.0), np.maximum(-weight, 0.0)
    capacity = _network(gain, cost, needs, unlimited=2.0 * float(gain.sum()))
    remaining = float(gain.sum())
    for _ in range(3):
        scale = (INT32_MAX / 4) / remaining
        whole = capacity.copy()
        whole.data = np.floor(np.minimum(whole.data, remaining) * scale).astype(np.int32)
        flow = _maximum_flow(whole, n)
        capacity = capacity - flow.astype(float) / scale
        capacity.data = np.maximum(capacity.data, 0.0)
        remaining = min(remaining, (len(needs.source) + n) / scale)
    left = capacity.copy()
    left.data = np.where(left.data > 1e-12 * (1.0 + np.abs(weight).max()), 1, 0).astype(np.int32)
    left.eliminate_zeros()
    return _reached(left, n)[:n]


def _sandwich(weight: NDArray[np.float64], needs: Requirements) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return a closure inside the optimum and one around it."""
    gain, cost = np.maximum(weight, 0.0), np.maximum(-weight, 0.0)
    total = gain.sum()
    if total <= 0.0:
        nothing = np.zeros(needs.n_nodes, dtype=bool)
        return nothing, nothing
    scale = (INT32_MAX - 2 * needs.n_nodes - 2) / total
    gain, cost = gain * scale, np.minimum(cost * scale, float(INT32_MAX - 1))
    against = _minimal_side(np.floor(gain), np.ceil(cost), needs)
    in_favour = _maximal_side(np.ceil(gain), np.floor(cost), needs)
    return against, in_favour


def _minimal_side(gain: NDArray[np.float64], cost: NDArray[np.float64], needs: Requirements) -> NDArray[np.bool_]:
    source, residual = _residual(gain, cost, needs)
    return _reached(residual, source)[: needs.n_nodes]


def _maximal_side(gain: NDArray[np.float64], cost: NDArray[np.float64], needs: Requirements) -> NDArray[np.bool_]:
    source, residual = _residual(gain, cost, needs)
    return ~_reached(residual.T.tocsr(), source + 1)[: needs.n_nodes]


def _residual(gain: NDArray[np.float64], cost: NDArray[np.float64], needs: Requirements) -> tuple[int, Any]:
    """Return the source's index and the residual network after a maximum flow; the sink follows the source."""
    network = _network(gain, cost, needs, unlimited=INT32_MAX).astype(np.int32)
    # The difference fits 32 bits: flow never exceeds capacity, nor runs against an unlimited edge.
    residual = network - _maximum_flow(network, needs.n_nodes)
    residual.eliminate_zeros()
    return needs.n_nodes, residual


def _network(gain: NDArray[np.float64], cost: NDArray[np.float64], needs: Requirements, *, unlimited: float) -> Any:
    """Return the capacities: source to gains, along requirements, costs to sink."""
    from scipy.sparse import csr_array

    n = needs.n_nodes
    gainers, payers = np.flatnonzero(gain > 0), np.flatnonzero(cost > 0)
    # Indices of 32 bits: the maximum flow of SciPy 1.11 takes no others.
    rows = np.concatenate([np.full(len(gainers), n), needs.source, payers]).astype(np.int32)
    columns = np.concatenate([gainers, needs.target, np.full(len(payers), n + 1)]).astype(np.int32)
    capacity = np.concatenate([gain[gainers], np.full(len(needs.source), float(unlimited)), cost[payers]])
    network = csr_array((capacity, (rows, columns)), shape=(n + 2, n + 2))
    network.indices, network.indptr = network.indices.astype(np.int32), network.indptr.astype(np.int32)
    return network


def _maximum_flow(network: Any, source: int) -> Any:
    from scipy.sparse.csgraph import maximum_flow

    return maximum_flow(network, source, source + 1).flow


def _reached(network: Any, start: int) -> NDArray[np.bool_]:
    from scipy.sparse.csgraph import breadth_first_order

    reached = np.zeros(network.shape[0], dtype=bool)
    reached[breadth_first_order(network, start, return_predecessors=False)] = True
    return reached
