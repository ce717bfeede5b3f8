"""Project selection: the sets of profitable nodes whose shared requirements are worth paying, by minimum cuts.

Choosing which beliefs to correct pays once for every operation in the union of their closures and saves the residual
risk of every corrected belief. That is a maximum-weight closure problem, and one s–t minimum cut solves it (Picard,
Management Science 22(11), 1976). Observation branches ask for the same closures at other weights, so many are solved in
one call.

Weights are rounded to whole numbers first, always against selecting, so that a tie selects nothing. From there on all
is exact, and the smallest best set is unique: the compiled kernel (`min_cut.c`) and SciPy's maximum flow, which takes
over where the kernel was not built, return the very same sets.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Bools, Floats, Indices

Whole = NDArray[np.int64]
Nodes = NDArray[np.int32]

DIGITS = 48
"""Binary digits of the sum of all gains: nearly those of a float, and few enough for two rounds of ``FLOW_DIGITS``."""
FLOW_DIGITS = 30
"""Binary digits of what SciPy is asked to send along an edge: it counts in 32 bits, both ways together."""
SPARE = 24
"""Binary digits of how many gains there may be at most."""
AT_ONCE = 1 << 18
"""Nodes and edges times branches that are worked on together: two megabytes."""
SIFTED = 3
"""Times that hopeless nodes are looked for before a maximum flow."""


@dataclass(frozen=True, eq=False)
class Requirements:
    """Who needs what: selecting ``source[k]`` requires selecting ``target[k]``."""

    n_nodes: int
    source: Nodes
    target: Nodes
    _copies: dict[object, Copies] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def lists(self) -> tuple[Nodes, Nodes, Nodes, Nodes, Nodes]:
        """What each node requires and what requires it: first entries, then nodes; last the edge of each of the latter.

        Edges are numbered by source.
        """
        order = np.lexsort((self.target, self.source))
        source, target = self.source[order], self.target[order]
        back = np.argsort(target, kind="stable")
        first = [np.searchsorted(own, np.arange(self.n_nodes + 1)) for own in (source, target[back])]
        every = (first[0], target, first[1], source[back], back)
        a, b, c, d, e = (np.ascontiguousarray(own, dtype=np.int32) for own in every)
        return a, b, c, d, e

    def closed(self, chosen: Bools) -> Bools:
        """Return sets, rows of ``(n_rows, n_nodes)``, with all that their members require."""
        chosen = chosen.astype(float)
        for _ in range(self.depth):
            chosen = np.maximum(chosen, chosen @ self.matrix > 0.0)
        return np.asarray(chosen > 0.0)

    @cached_property
    def matrix(self) -> Any:
        """Shape ``(n_nodes, n_nodes)``, sparse; one where the row requires the column."""
        from scipy.sparse import csr_array

        ones = np.ones(len(self.source))
        return csr_array((ones, (self.source, self.target)), shape=(self.n_nodes, self.n_nodes))

    @cached_property
    def depth(self) -> int:
        """How long a chain of requirements is at most."""
        depth, below = np.zeros(self.n_nodes, dtype=np.intp), np.zeros(self.n_nodes, dtype=np.intp)
        for longest in range(self.n_nodes + 1):
            np.maximum.at(below, self.target, depth[self.source] + 1)
            if (below == depth).all():
                return longest
            depth = below.copy()
        return self.n_nodes

    def copies(self, n_rows: int, gainers: Bools, payers: Bools) -> Copies:
        """Return a network of so many copies, with these nodes at the source and the sink; the last one is kept."""
        asked = n_rows, gainers.tobytes(), payers.tobytes()
        if asked not in self._copies:
            self._copies.clear()
            self._copies[asked] = Copies.of(self, n_rows, np.flatnonzero(gainers), np.flatnonzero(payers))
        return self._copies[asked]


def best_closures(weight: Floats, needs: Requirements, *, tie: float = 0.0) -> Bools:
    """Return, for each row of weights, the smallest closed set of greatest total weight, ``(n_rows, n_nodes)``.

    ``weight`` is the gain (positive) or cost (negative) of every node, finite. A set is closed if it contains all that
    its members require. Rounding costs a set at most ``tie``; where rounding decides, nothing is selected.
    """
    chosen = np.zeros(weight.shape, dtype=bool)
    worthwhile = np.flatnonzero((weight > 0.0).any(axis=1))
    step = max(1, AT_ONCE // max(1, needs.n_nodes + len(needs.source)))
    for low in range(0, len(worthwhile), step):
        rows = worthwhile[low : low + step]
        chosen[rows] = solver()(whole_numbers(weight[rows], tie), needs)
    return chosen


def whole_numbers(weight: Floats, tie: float = 0.0) -> Whole:
    """Return each row in whole multiples of a power of two, rounded down: gains get smaller, costs greater.

    That power is as small as the sum of gains allows, but no smaller than keeps the sum of all rounding below ``tie``.
    """
    smaller = np.ldexp(np.maximum(weight, 0.0), -SPARE).sum(axis=1)  # a sum of the largest numbers has to be one
    exponent = np.frexp(smaller)[1] + SPARE - DIGITS
    if tie > 0.0:
        exponent = np.maximum(exponent, int(np.floor(np.log2(tie / max(1, weight.shape[1])))))
    with np.errstate(over="ignore"):  # a cost above all gains is only too costly, whatever it is
        whole = np.floor(np.ldexp(weight, -exponent[:, None]))
    return np.asarray(np.maximum(whole, -(2.0 ** (DIGITS + 1))), dtype=np.int64)


@cache
def solver() -> Callable[[Whole, Requirements], Bools]:
    """Return the compiled kernel where it was built, else the one that asks SciPy."""
    return kernel() or by_maximum_flow


def kernel() -> Callable[[Whole, Requirements], Bools] | None:
    """Return the compiled kernel; None where it was not built."""
    try:
        function = ctypes.CDLL(os.path.join(os.path.dirname(__file__), "min_cut.kernel")).aquamend_closures
    except (OSError, AttributeError):  # it was not built, or for another machine
        return None
    function.restype = None
    function.argtypes = [ctypes.c_int64, ctypes.c_int32, ctypes.c_int32, *[ctypes.c_void_p] * 9]

    def compiled(weight: Whole, needs: Requirements) -> Bools:
        n, n_edges, weight = needs.n_nodes, len(needs.source), np.ascontiguousarray(weight)
        chosen = np.empty(weight.shape, dtype=bool)
        wide, narrow = np.empty(n_edges + 2 * n, dtype=np.int64), np.empty(4 * n, dtype=np.int32)
        arrays = [own.ctypes.data for own in (*needs.lists, weight, chosen, wide, narrow)]
        function(len(weight), n, n_edges, *arrays)
        return chosen

    return compiled


def by_maximum_flow(weight: Whole, needs: Requirements) -> Bools:
    """Return the sets by SciPy's maximum flow through one network that holds a copy of the graph for every row.

    Most rows are settled before: where all that could pay for something does not, it is left, with all that needs it.
    """
    chosen = np.zeros(weight.shape, dtype=bool)
    weight = _without_hopeless(weight, needs)
    rows = np.flatnonzero((weight > 0).any(axis=1))
    if len(rows):
        chosen[rows] = _by_flow(weight[rows], needs)
    return chosen


def _without_hopeless(weight: Whole, needs: Requirements) -> Whole:
    """Return the weights without the gains of nodes that no set of positive weight contains."""
    gain, matrix = np.maximum(weight, 0), needs.matrix
    for _ in range(SIFTED):
        paying = gain.astype(float)
        for _ in range(needs.depth):
            paying = gain + paying @ matrix  # at least what all that needs a node may gain
        hopeless = (paying + np.minimum(weight, 0) <= 0.0).astype(float)
        for _ in range(needs.depth):
            hopeless = np.maximum(hopeless, hopeless @ matrix.T > 0.0)
        gone = (hopeless > 0.0) & (gain > 0)
        if not gone.any():
            break
        gain = np.where(gone, 0, gain)
    return np.where(weight > 0, gain, weight)


def _by_flow(weight: Whole, needs: Requirements) -> Bools:
    """Return the sets from what a maximum flow has left of every edge.

    SciPy counts in 32 bits: flow is sent in rounds, each in units so large that what is left to send fits, until the
    unit is one. A round leaves at most one unit on each edge of a cut, so two or three are enough.
    """
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    gainers, payers = np.asarray((weight > 0).any(axis=0)), np.asarray((weight < 0).any(axis=0))
    copies = needs.copies(len(weight), gainers, payers)
    network, source, to_send = copies.loaded(weight), weight.size, np.maximum(weight, 0).sum(axis=1)
    while True:
        digits = np.maximum(np.frexp(to_send)[1] - FLOW_DIGITS, 0).astype(np.int64)
        shift = digits[copies.row]
        units = network.copy()
        units.data = (np.minimum(network.data, to_send[copies.row]) >> shift).astype(np.int32)
        network.data -= maximum_flow(units, source, source + 1).flow.data.astype(np.int64) << shift
        if not digits.any():
            break
        to_send = np.minimum(to_send, (len(needs.source) + needs.n_nodes) << digits)
    network.eliminate_zeros()
    reached = np.zeros(source + 2, dtype=bool)
    reached[breadth_first_order(network, source, return_predecessors=False)] = True
    return reached[:source].reshape(weight.shape)


@dataclass(frozen=True, eq=False)
class Copies:
    """A network of some copies of the graph between one source and one sink, every edge beside its opposite."""

    pattern: Any
    """The network; each entry says what it is: 0 without limit, 1 the opposite of another, above: which node's."""
    row: Indices
    """The copy that each entry is of."""

    @classmethod
    def of(cls, needs: Requirements, n_rows: int, gainers: Indices, payers: Indices) -> Copies:
        """Return so many copies, with these nodes at the source and these at the sink."""
        from scipy.sparse import csr_array

        n = needs.n_nodes
        above, source, sink = np.arange(n_rows)[:, None] * n, n_rows * n, n_rows * n + 1
        fed, drained = (above + gainers).ravel(), (above + payers).ravel()
        tails = np.concatenate([(above + needs.source).ravel(), np.full(len(fed), source), drained])
        heads = np.concatenate([(above + needs.target).ravel(), fed, np.full(len(drained), sink)])
        marks = np.concatenate([np.zeros(n_rows * len(needs.source), dtype=np.int64), 2 + fed, 2 + source + drained])
        ends = np.concatenate([tails, heads]), np.concatenate([heads, tails])
        marks = np.concatenate([marks, np.ones(len(tails), dtype=np.int64)])
        pattern = csr_array((marks, ends), shape=(sink + 1, sink + 1))
        pattern.sort_indices()
        # Indices of 32 bits: the maximum flow of SciPy 1.11 takes no others.
        pattern.indices, pattern.indptr = pattern.indices.astype(np.int32), pattern.indptr.astype(np.int32)
        row = np.repeat(np.arange(sink + 1), np.diff(pattern.indptr))
        return cls(pattern, np.where(row < source, row, pattern.indices) // max(n, 1))

    def loaded(self, weight: Whole) -> Any:
        """Return the network for these weights: gains from the source, costs to the sink."""
        flat, network = weight.ravel(), self.pattern.copy()
        unlimited = np.array([np.iinfo(np.int64).max // 4, 0])
        network.data = np.concatenate([unlimited, np.maximum(flat, 0), np.maximum(-flat, 0)])[self.pattern.data]
        return network
