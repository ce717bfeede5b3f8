"""Planning for independent parts: all combinations of their evidence states, as the cells of one array.

With one axis for each part, using a probe is a small stochastic matrix applied along its part's axis, so a sweep over
millions of evidence states is a handful of matrix products. Values start at V_stop and fall,

    U(x) ← min( U(x),  c_m + Σ_y P(y | x) U(x, y) ),

so at any time they are those of a policy: an upper bound. The lower bound comes with it: if no cell would still fall by
more than δ, then (1 − κ) U with κ = δ / (c + δ), c the cheapest probe, is at most V_stop and at most what any probe
promises with it, and so at most the optimum. V_stop is a minimum over the sets of shared charges that are paid: given
such a set, each belief pays its own charges or its residual, whichever is less, and the sum runs over parts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aquamend import deadline
from aquamend.arrays import Floats, Indices
from aquamend.belief import InformationState
from aquamend.deadline import check_deadline, seconds_left
from aquamend.decision.endings import endings_of
from aquamend.planning.bounds import Bounds
from aquamend.planning.parts import Automaton, Portion, own_costs
from aquamend.problem.graph.recovery_graph import bits, unions

MOST_CELLS = 40_000_000
MOST_SHARED_SETS = 512
"""Cells, and sets of shared charges, up to which parts are planned together."""
BYTES_PER_CELL = 32.0
CELLS_AT_ONCE = 500_000
"""So many are worked on before it is asked whether there is time for more."""
ENOUGH = 0.5
"""Pricing all cells may take this part of the time that is left; then a few sweeps are possible."""


@dataclass(eq=False)
class PartsPlan:
    """Values at every combination of the parts' evidence states."""

    automata: Sequence[Automaton]
    value: Floats
    """Shape ``(n_states of the first part, …)``."""
    names: tuple[tuple[str, ...], ...]
    change: float = math.inf
    """The most that a cell still fell by in a whole sweep in which nothing was written."""

    @property
    def bounds(self) -> Bounds:
        """Bounds on the optimal expected loss."""
        upper = float(self.value[(0,) * self.value.ndim])
        cheapest = min((float(a.cost.min(initial=math.inf)) for a in self.automata), default=math.inf)
        if math.isinf(self.change):
            return Bounds(0.0, upper)
        share = self.change / (cheapest + self.change) if self.change > 0.0 and cheapest < math.inf else 0.0
        return Bounds((1.0 - share) * upper, upper)

    def sweep(self) -> Iterator[None]:
        """Let every probe improve every cell once, in place, and yield after each."""
        self.change = math.inf
        for axis, m in self._probes():
            for slab in self._blocks(axis):
                live, losses = self._losses(axis, m, slab)
                slab[:, live] = np.minimum(slab[:, live], losses)
            yield

    def check(self) -> None:
        """Work out how far a cell would still fall."""
        change = 0.0
        for axis, m in self._probes():
            for slab in self._blocks(axis):
                live, losses = self._losses(axis, m, slab)
                change = max(change, float((slab[:, live] - losses).max(initial=0.0)))
        self.change = change

    def probe_losses(self) -> dict[str, float]:
        """Return what each probe first costs at most."""
        found = {}
        for axis, m in self._probes():
            own = self.automata[axis]
            line = self._shaped(axis)[0, :, 0]
            found[self.names[axis][m]] = float(own.cost[m, 0] + own.move[m, 0] @ line)
        return found

    def _probes(self) -> Iterator[tuple[int, int]]:
        for axis, own in enumerate(self.automata):
            for m in range(len(own.cost)):
                if np.isfinite(own.cost[m]).any():
                    yield axis, m

    def _shaped(self, axis: int) -> Floats:
        sizes = self.value.shape
        return self.value.reshape(math.prod(sizes[:axis]), sizes[axis], -1)

    def _blocks(self, axis: int) -> Iterator[Floats]:
        """Yield the cells piece by piece, as ``_shaped`` has them, and ask in between whether there is time."""
        cells = self._shaped(axis)
        before, size, after = cells.shape
        wide = max(1, CELLS_AT_ONCE // size)
        long = max(1, CELLS_AT_ONCE // (size * min(wide, after)))
        for low in range(0, before, long):
            for left in range(0, after, wide):
                check_deadline()
                yield cells[low : low + long, :, left : left + wide]

    def _losses(self, axis: int, m: int, slab: Floats) -> tuple[Indices, Floats]:
        own = self.automata[axis]
        live = np.flatnonzero(np.isfinite(own.cost[m]))
        return live, np.matmul(own.move[m, live], slab) + own.cost[m, live, None]


def parts_plan(
    state: InformationState,
    parts: Sequence[Portion],
    automata: Sequence[Automaton],
    *,
    memory: float = math.inf,
) -> PartsPlan | None:
    """Return the plan before its first sweep: stopping everywhere; None where that is too much, or takes too long."""
    sets = shared_sets(state)
    cells = math.prod(len(a.posterior) for a in automata)
    if sets is None or cells > MOST_CELLS or BYTES_PER_CELL * cells > memory:
        return None
    if any(not view.cost > 0.0 for part in parts for view in part.probes):
        return None  # without a price, what still falls bounds nothing
    value = stop_values(state, parts, automata, sets)
    if value is None or not np.isfinite(value).all():
        return None  # sums with probabilities of zero would be undefined
    names = tuple(tuple(view.name for view in part.probes) for part in parts)
    return PartsPlan(automata, value, names)


def shared_sets(state: InformationState) -> list[int] | None:
    """Return every set of shared charges that some correction set pays, as masks; None if they are too many."""
    graph, priced = state.problem.graph, endings_of(state.problem).losses.beliefs
    masks = [graph.belief_charges[i] for i in priced]
    shared = 0
    for i, j in itertools.combinations(range(len(masks)), 2):
        shared |= masks[i] & masks[j]
    possible = [mask & shared for mask in masks if not any(math.isinf(graph.charges[c].cost) for c in bits(mask))]
    return unions(possible, MOST_SHARED_SETS)


def stop_values(
    state: InformationState, parts: Sequence[Portion], automata: Sequence[Automaton], sets: Sequence[int]
) -> Floats | None:
    """Return V_stop at every combination of the parts' states; None where the first ones show it to take too long."""
    half, shape = len(parts) // 2, tuple(len(a.posterior) for a in automata)
    first, second, costs = _halves(state, parts, automata, sets, half)
    value = np.empty((first.shape[1], second.shape[1]))
    step, started, least = (
        max(1, CELLS_AT_ONCE // second.shape[1]),
        deadline.clock(),
        endings_of(state.problem).others.flat,
    )
    for low in range(0, len(value), step):
        check_deadline()
        if low == step and (deadline.clock() - started) * len(value) / step > ENOUGH * seconds_left():
            return None
        block = value[low : low + step]
        block[:] = least
        for slow, fast, cost in zip(first, second, costs, strict=True):
            np.minimum(block, cost + slow[low : low + step, None] + fast, out=block)
    return value.reshape(shape)


def _halves(
    state: InformationState, parts: Sequence[Portion], automata: Sequence[Automaton], sets: Sequence[int], half: int
) -> tuple[Floats, Floats, list[float]]:
    """Return, for each set of shared charges, what the parts of either half cost in their states, and what it costs."""
    graph, (residual, own) = state.problem.graph, own_costs(state)
    first, second, costs = [], [], []
    for paid in sets:
        check_deadline()
        per_part = []
        for part, automaton in zip(parts, automata, strict=True):
            total = np.zeros(len(automaton.posterior))
            for i, q in zip(part.beliefs, (automaton.posterior @ part.failed).T, strict=True):
                keep = np.where(q > 0.0, residual[i] if math.isinf(residual[i]) else residual[i] * q, 0.0)
                others = graph.belief_charges[i] & ~paid
                covered = all(_own(state, c, i) for c in bits(others))
                total += np.minimum(keep, own[i]) if covered else keep
            per_part.append(total)
        costs.append(float(sum(graph.charges[c].cost for c in bits(paid))))
        first.append(_sum(per_part[:half]))
        second.append(_sum(per_part[half:]))
    return np.array(first), np.array(second), costs


def _own(state: InformationState, charge: int, belief: int) -> bool:
    """Whether only this belief's closure charges it."""
    graph = state.problem.graph
    return not any(
        graph.belief_charges[i] >> charge & 1 for i in endings_of(state.problem).losses.beliefs if i != belief
    )


def _sum(rows: Sequence[Floats]) -> Floats:
    """Return the sums of all combinations, one entry from each row, the last one fastest."""
    total = np.zeros(1)
    for row in rows:
        total = (total[:, None] + row).ravel()
    return total
