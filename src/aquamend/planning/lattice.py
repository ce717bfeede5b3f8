"""The evidence lattice: every combination of answers still possible, as the cells of one array.

Answers are independent given the hypothesis, so an evidence state is how often each probe gave each outcome, and its
index is a mixed-radix number with one digit a probe. Values stay unnormalised (joint with the evidence), which makes
every quantity of a state a linear function of it and lets one matrix product compute them all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from aquamend.arrays import Floats, Indices
from aquamend.deadline import check_deadline

PRODUCTS_AT_ONCE = 3e7
"""Numbers multiplied before it is asked whether there is time for more."""
MOST_COUNTED_USES = 10_000
MOST_DIGIT_STATES = 100_000
"""Evidence states of one probe beyond which listing them would take longer than searching."""


@dataclass(frozen=True, eq=False)
class Digit:
    """The evidence states of one probe: counts of its open outcomes, at most ``uses`` in all."""

    counts: Indices
    """Shape ``(n_states, n_open)``; state 0 is no use at all."""
    child: Indices
    """Shape ``(n_states, n_open)``; the state after one more such outcome, or -1 if no use is left."""

    def likelihood(self, open_outcomes: Floats) -> Floats:
        """Return the likelihood of every state, shape ``(n_states, n_hypotheses)``, from ``(n_hypotheses, n_open)``."""
        found, total = np.ones((len(self.counts), len(open_outcomes))), self.counts.sum(axis=1)
        before = np.zeros(self.child.shape, dtype=np.intp)  # the state with one such outcome less
        for outcome, after in enumerate(self.child.T):
            before[after[after >= 0], outcome] = np.flatnonzero(after >= 0)
        for n in range(1, int(total.max(initial=0)) + 1):
            check_deadline()
            own = np.flatnonzero(total == n)
            outcome = (self.counts[own] > 0).argmax(axis=1)
            found[own] = found[before[own, outcome]] * open_outcomes.T[outcome]
        return found


@lru_cache(maxsize=256)
def digit(n_open: int, uses: int) -> Digit:
    """Return the states of a probe with so many open outcomes and uses left."""
    counts = [(0,) * n_open]
    position = {counts[0]: 0}
    child = []
    for state in counts:  # grows while it is walked, breadth first
        row = [-1] * n_open
        if sum(state) < uses:
            for outcome in range(n_open):
                grown = (*state[:outcome], state[outcome] + 1, *state[outcome + 1 :])
                row[outcome] = position.setdefault(grown, len(counts))
                if row[outcome] == len(counts):
                    counts.append(grown)
        child.append(row)
    shape = (len(counts), n_open)
    return Digit(np.array(counts, dtype=np.intp).reshape(shape), np.array(child, dtype=np.intp).reshape(shape))


def n_digit_states(n_open: int, uses: float) -> float:
    """Return how many states a probe has, without listing them; infinity beyond what could ever be listed."""
    if n_open == 0 or uses <= 0:
        return 1.0
    if uses > MOST_COUNTED_USES:
        return math.inf
    states = math.comb(int(uses) + n_open, n_open)
    return float(states) if states <= MOST_DIGIT_STATES else math.inf


@dataclass(frozen=True, eq=False)
class Layer:
    """The evidence states with one total number of uses."""

    cells: Indices
    children: Indices
    """Shape ``(n_cells, n_columns)``; cell of every child. Two more cells than there are stand for "not legal", if the
    probe has no use left (worth infinity), and "done", if all of its outcomes end the sensing (worth zero)."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """The shape of an evidence lattice; says nothing about probabilities or costs."""

    digits: tuple[Digit, ...]
    strides: tuple[int, ...]
    n_cells: int
    layers: tuple[Layer, ...]
    first: Indices
    """Shape ``(n_probes,)``; where each probe's columns start in ``Layer.children``."""

    def spread(self, per_digit: Sequence[Floats]) -> Floats:
        """Return for every cell the sum of its digits' numbers, shape ``(n_cells,)``."""
        total = np.zeros(1)
        for values in per_digit:
            total = (total[:, None] + values[None, :]).ravel()
        return total

    def linear(self, root: Floats, likelihoods: Sequence[Floats], functionals: Floats) -> Floats:
        """Return linear functionals of every cell's joint weights, shape ``(n_functionals, n_cells)``.

        The cells form a product, so half of the digits meet the other half in one batched matrix product, and no
        array of cells times hypotheses is ever built.
        """
        half = halved([len(own) for own in likelihoods])
        slow, fast = outer_product(likelihoods[:half], len(root)), outer_product(likelihoods[half:], len(root))
        weighted = (root[:, None] * functionals).T
        at_once = max(1, int(PRODUCTS_AT_ONCE / (slow.size * len(fast))))
        sums = np.empty((len(weighted), len(slow), len(fast)))
        for low in range(0, len(weighted), at_once):
            check_deadline()
            own = slice(low, low + at_once)
            np.matmul(slow[None, :, :] * weighted[own, None, :], fast.T, out=sums[own])
        return sums.reshape(functionals.shape[1], self.n_cells)


def halved(sizes: Sequence[int]) -> int:
    """Return how many of the digits, with so many states each, are the half that meets the others in a product."""
    half, size, cells = 0, 1, math.prod(sizes)
    while half < len(sizes) and size * size < cells:
        size *= sizes[half]
        half += 1
    return half


def outer_product(likelihoods: Sequence[Floats], n_hypotheses: int) -> Floats:
    """Return the likelihood of every combination of states, ``(n_combinations, n_hypotheses)``, last one fastest."""
    product = np.ones((1, n_hypotheses))
    for likelihood in likelihoods:
        check_deadline()
        product = (product[:, None, :] * likelihood[None, :, :]).reshape(-1, n_hypotheses)
    return product


@lru_cache(maxsize=16)
def lattice(open_counts: tuple[int, ...], uses: tuple[int, ...], depth: int) -> Lattice:
    """Return the lattice of probes with so many open outcomes and uses each, down to ``depth`` uses in all."""
    digits = tuple(digit(n, u) for n, u in zip(open_counts, uses, strict=True))
    radices = [len(d.counts) for d in digits]
    strides = [math.prod(radices[i + 1 :]) for i in range(len(radices))]
    n_cells = math.prod(radices)
    total = np.zeros(1, dtype=np.intp)
    for d in digits:
        total = (total[:, None] + d.counts.sum(axis=1)[None, :]).ravel()
    order = np.argsort(total, kind="stable")
    bounds = np.searchsorted(total[order], np.arange(min(depth, int(total.max())) + 2))
    layers = []
    for low, high in pairwise(bounds):
        check_deadline()
        cells = order[low:high]
        columns = [
            _children(cells, d, s, r, n_cells, u) for d, s, r, u in zip(digits, strides, radices, uses, strict=True)
        ]
        children = np.hstack(columns) if columns else np.zeros((len(cells), 0), dtype=np.intp)
        layers.append(Layer(cells, children))
    widths = [max(1, n) for n in open_counts]
    first = np.cumsum([0, *widths[:-1]]).astype(np.intp) if widths else np.zeros(0, dtype=np.intp)
    return Lattice(digits, tuple(strides), n_cells, tuple(layers), first)


def _children(cells: Indices, d: Digit, stride: int, radix: int, n_cells: int, uses: int) -> Indices:
    no_use, done = n_cells, n_cells + 1
    if d.child.shape[1] == 0:
        return np.full((len(cells), 1), done if uses > 0 else no_use, dtype=np.intp)
    own = cells // stride % radix
    child = d.child[own]
    return np.where(child < 0, no_use, cells[:, None] + (child - own[:, None]) * stride)
