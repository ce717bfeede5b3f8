"""Exact planning by dynamic programming over the evidence lattice, complete or to a limited depth.

The lattice is every combination of answers still possible, as the cells of one array. Answers are independent given the
hypothesis, so an evidence state is how often each probe gave each outcome, and its index is a mixed-radix number with
one digit a probe. Values stay unnormalised (joint with the evidence), which makes every quantity of a state a linear
function of it and lets one matrix product compute them all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from aquamend.arrays import Bools, Floats, Indices, sums_of_all
from aquamend.belief import InformationState, Observation
from aquamend.belief.state import BUDGET_TOLERANCE, TINY
from aquamend.belief.support import spoken, spoken_by
from aquamend.deadline import check_deadline
from aquamend.decision.endings import endings_of
from aquamend.planning.bounds import informed_losses, settles
from aquamend.problem.model.kernels import Outcomes

PRODUCTS_AT_ONCE = 3e7
"""Numbers multiplied before it is asked whether there is time for more."""
MOST_COUNTED_USES = 10_000
MOST_DIGIT_STATES = 100_000
"""Evidence states of one probe beyond which listing them would take longer than searching."""
MOST_CELLS = 2_000_000
"""Evidence states that are still enumerated; beyond it the anytime search takes over."""
MOST_SUMS = 6e7
"""Numbers that pricing all of them may take: half a gigabyte."""


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
    total = sums_of_all(d.counts.sum(axis=1) for d in digits)
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


@dataclass(frozen=True, eq=False)
class Sensing:
    """The probes worth planning with at a state, and which of their outcomes leave anything open.

    An outcome is closed if one terminal decision is best under every hypothesis it allows: nothing that follows could
    change the decision, so no plan goes on after it.
    """

    probes: tuple[str, ...]
    index: tuple[int, ...]
    """Their positions in the graph."""
    cost: Floats
    """Shape ``(n_probes,)``."""
    uses: tuple[int, ...]
    outcomes: tuple[tuple[str, ...], ...]
    """Names of the open outcomes of every probe."""
    open_likelihood: tuple[Floats, ...]
    """One ``(n_hypotheses, n_open)`` a probe."""
    closed_loss: Floats
    """Shape ``(n_hypotheses, n_probes)``; expected terminal loss of the closed outcomes, joint with them."""


def n_cells(sensing: Sensing) -> float:
    """Return how many evidence states the lattice of these probes has."""
    return math.prod(
        n_digit_states(len(names), uses) for names, uses in zip(sensing.outcomes, sensing.uses, strict=True)
    )


def sensing_at(state: InformationState, *, depth: float = math.inf) -> Sensing | None:
    """Return the legal probes as planning sees them; None if one reads numbers or may be used without end."""
    left = [min(view.most_runs, depth) for view in state.legal]
    channels = [view.channel for view in state.legal if isinstance(view.channel, Outcomes)]
    if any(math.isinf(n) for n in left) or len(channels) < len(state.legal):
        return None
    possible = (state.posterior > 0).astype(float)
    closed = _closed_outcomes(state, channels)
    clairvoyant = informed_losses(state)
    names, likelihoods, closed_loss = [], [], []
    for channel, is_closed in zip(channels, closed, strict=True):
        happens = possible @ channel.table > 0
        is_open = ~is_closed & happens
        names.append(tuple(o for o, keep in zip(channel.outcomes, is_open, strict=True) if keep))
        likelihoods.append(channel.table[:, is_open])
        closed_loss.append(channel.table[:, is_closed].sum(axis=1) * clairvoyant)
    return Sensing(
        probes=state.legal_probes,
        index=tuple(view.index for view in state.legal),
        cost=np.array([view.cost for view in state.legal]),
        uses=tuple(int(n) for n in left),
        outcomes=tuple(names),
        open_likelihood=tuple(likelihoods),
        closed_loss=np.column_stack(closed_loss) if closed_loss else np.zeros((len(possible), 0)),
    )


def _closed_outcomes(state: InformationState, channels: Sequence[Outcomes]) -> list[Bools]:
    """Return, for every probe, which outcomes leave one decision best under all hypotheses they allow."""
    if not channels:
        return []
    allowed = np.hstack([channel.table for channel in channels]).T > 0
    return np.split(settles(state, allowed), np.cumsum([len(channel.outcomes) for channel in channels])[:-1])


def _widest(sensing: Sensing) -> int:
    """Return how many combinations of states one half of the digits has, each with a number for every hypothesis."""
    pairs = zip(sensing.outcomes, sensing.uses, strict=True)
    sizes = [int(n_digit_states(len(names), uses)) for names, uses in pairs]
    half = halved(sizes)
    return max(math.prod(sizes[:half]), math.prod(sizes[half:]))


@dataclass(frozen=True, eq=False)
class PlanTable:
    """Optimal expected losses at every evidence state from a root on, joint with the evidence."""

    root: InformationState
    sensing: Sensing
    shape: Lattice
    stop: Floats
    """Shape ``(n_cells,)``."""
    mass: Floats
    closed: Floats
    """Shape ``(n_probes, n_cells)``."""
    value: Floats
    """Shape ``(n_cells + 2,)``; the last two stand for "not legal" and "done"."""
    spent: Floats | None
    """Shape ``(n_cells,)``; sensing cost on the way, where a budget binds."""
    depth: int

    @property
    def loss(self) -> float:
        """Optimal expected remaining loss at the root."""
        return float(self.value[0])

    def probe_losses(self, cell: int = 0) -> Floats:
        """Return the optimal expected loss of running each probe first, shape ``(n_probes,)``, normalised."""
        layer, row = self._find(cell)
        if layer is None or not self.mass[cell] > 0:
            return np.full(len(self.sensing.probes), math.inf)
        losses = _probe_losses(self, layer, slice(row, row + 1))[0]
        return np.asarray(losses / self.mass[cell])

    def _find(self, cell: int) -> tuple[int | None, int]:
        for k, layer in enumerate(self.shape.layers[: self.depth]):
            row = int(np.searchsorted(layer.cells, cell))
            if row < len(layer.cells) and layer.cells[row] == cell:
                return k, row
        return None, 0

    def cell_after(self, evidence: Iterable[Observation]) -> int | None:
        """Return the cell of a descendant of the root, or None once a closed outcome has ended the sensing."""
        counts = [[0] * len(names) for names in self.sensing.outcomes]
        for observation in evidence:
            probe = self.sensing.probes.index(observation.probe)
            if observation.outcome not in self.sensing.outcomes[probe]:
                return None
            counts[probe][self.sensing.outcomes[probe].index(str(observation.outcome))] += 1
        cell = 0
        for own, d, stride in zip(counts, self.shape.digits, self.shape.strides, strict=True):
            at = 0
            for outcome, n in enumerate(own):
                for _ in range(n):
                    at = int(d.child[at, outcome])
            cell += at * stride
        return cell


def solve(
    state: InformationState, *, depth: float = math.inf, most_cells: float = MOST_CELLS, most_sums: float = MOST_SUMS
) -> PlanTable | None:
    """Return the optimal plan of at most ``depth`` further probes; None if its lattice is too large or endless."""
    sensing, endings = sensing_at(state, depth=depth), endings_of(state.problem)
    if sensing is None:
        return None
    functionals = np.hstack([endings.features, sensing.closed_loss])
    most = min(MOST_CELLS, most_cells, min(MOST_SUMS, most_sums) / functionals.shape[1])
    if n_cells(sensing) > most or _widest(sensing) * len(state.posterior) > MOST_SUMS:
        return None
    limit = int(min(depth, sum(sensing.uses)))
    shape = lattice(tuple(len(names) for names in sensing.outcomes), sensing.uses, limit)
    likelihoods = [d.likelihood(rows) for d, rows in zip(shape.digits, sensing.open_likelihood, strict=True)]
    linear = shape.linear(state.posterior, likelihoods, functionals)
    n_features, own = endings.features.shape[1], endings.exact_zeros
    if len(own):  # what is improbable must not become impossible
        pairs = zip(shape.digits, sensing.open_likelihood, strict=True)
        possible = [d.likelihood((rows > 0.0).astype(float)) for d, rows in pairs]
        failed = (endings.features[:, own] > 0.0).astype(float)
        can_be = shape.linear((state.posterior > 0.0).astype(float), possible, failed)
        linear[own] = np.where(can_be > 0.0, np.maximum(linear[own], TINY), 0.0)
    stop = endings.values(linear[:n_features].T, _speaks(state, sensing, shape, likelihoods))
    spent = None
    if math.isfinite(state.problem.sensing_budget):
        paid = [d.counts.sum(axis=1) * c for d, c in zip(shape.digits, sensing.cost, strict=True)]
        spent = state.spent + sums_of_all(paid)
    value = np.concatenate([stop, [math.inf, 0.0]])
    plan = PlanTable(state, sensing, shape, stop, linear[0], linear[n_features:], value, spent, limit)
    if len(sensing.probes):
        for k in range(min(limit, len(shape.layers)) - 1, -1, -1):
            check_deadline()
            cells = shape.layers[k].cells
            best = _probe_losses(plan, k, slice(None)).min(axis=1)
            value[cells] = np.minimum(stop[cells], best)
    return plan


def _speaks(state: InformationState, sensing: Sensing, shape: Lattice, likelihoods: Sequence[Floats]) -> Bools:
    """Return who speaks for what at every cell, ``(n_cells, n_pairs)``; without rules of support, nobody need."""
    support = endings_of(state.problem).support
    if not len(support):
        return spoken(support, state)
    speaks, cells = np.repeat(spoken(support, state)[None, :], shape.n_cells, axis=0), np.arange(shape.n_cells)
    for probe, stride, said in zip(sensing.index, shape.strides, likelihoods, strict=True):
        own, at = support.pairs_of(probe), cells // stride % len(said)
        if len(own):
            by_digit = spoken_by(support, state, probe, said)
            by_digit[0] = speaks[0, own]  # where it has not been asked again
            speaks[:, own] = by_digit[at]
    return speaks


def _probe_losses(plan: PlanTable, layer: int, rows: slice) -> Floats:
    """Return each probe's optimal joint loss at some cells of a layer, shape ``(n_rows, n_probes)``."""
    cells = plan.shape.layers[layer].cells[rows]
    after = np.add.reduceat(plan.value[plan.shape.layers[layer].children[rows]], plan.shape.first, axis=1)
    losses = after + plan.closed.T[cells] + plan.mass[cells, None] * plan.sensing.cost
    if plan.spent is not None:
        over = plan.spent[cells, None] + plan.sensing.cost > plan.root.problem.sensing_budget + BUDGET_TOLERANCE
        losses = np.where(over, math.inf, losses)
    return np.asarray(losses)
