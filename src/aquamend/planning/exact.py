"""Exact planning by dynamic programming over the evidence lattice, complete or to a limited depth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from aquamend.arrays import Bools, Floats
from aquamend.belief import InformationState, Observation
from aquamend.belief.state import BUDGET_TOLERANCE, TINY
from aquamend.belief.support import spoken, spoken_by
from aquamend.deadline import check_deadline
from aquamend.decision.endings import endings_of
from aquamend.planning.bounds import informed_losses, settles
from aquamend.planning.lattice import Lattice, halved, lattice, n_digit_states
from aquamend.problem.model.kernels import Outcomes

MOST_CELLS = 2_000_000
"""Evidence states that are still enumerated; beyond it the anytime search takes over."""

MOST_SUMS = 6e7
"""Numbers that pricing all of them may take: half a gigabyte."""


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
        spent = state.spent + shape.spread(paid)
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
