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
from numpy.typing import NDArray

from aquamend.decision.endings import endings_of
from aquamend.graph.recovery_graph import bits, unions
from aquamend.inference import InformationState
from aquamend.planning.bounds import Bounds
from aquamend.planning.parts import Automaton, Part, own_costs

Floats = NDArray[np.float64]

MOST_CELLS = 40_000_000
MOST_SHARED_SETS = 512
"""Cells, and sets of shared charges, up to which parts are planned together."""
BYTES_PER_CELL = 32.0
SECONDS_PER_SUM = 1e-8
"""Rough, for telling beforehand whether there is time for pricing all cells and for one sweep."""


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
            slab = self._shaped(axis)
            live, losses = self._losses(axis, m)
            slab[:, live] = np.minimum(slab[:, live], losses)
            yield

    def check(self) -> None:
        """Work out how far a cell would still fall."""
        self.change = 0.0
        for axis, m in self._probes():
            live, losses = self._losses(axis, m)
            self.change = max(self.change, float((self._shaped(axis)[:, live] - losses).max(initial=0.0)))

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

    def _losses(self, axis: int, m: int) -> tuple[NDArray[np.intp], Floats]:
        own = self.automata[axis]
        live = np.flatnonzero(np.isfinite(own.cost[m]))
        return live, np.matmul(own.move[m, live], self._shaped(axis)) + own.cost[m, live, None]


def parts_plan(
    state: InformationState,
    parts: Sequence[Part],
    automata: Sequence[Automaton],
    *,
    within_s: float = math.inf,
    memory: float = math.inf,
) -> PartsPlan | None:
    """Return the plan before its first sweep: stopping everywhere; None where that is too much."""
    sets = shared_sets(state)
    cells = math.prod(len(a.posterior) for a in automata)
    if sets is None or cells > MOST_CELLS or BYTES_PER_CELL * cells > memory:
        return None
    if (len(sets) + len(parts)) * cells * SECONDS_PER_SUM > within_s:
        return None
    if any(not view.cost > 0.0 for part in parts for view in part.probes):
        return None  # without a price, what still falls bounds nothing
    value = stop_values(state, parts, automata, sets)
    if not np.isfinite(value).all():
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
    state: InformationState, parts: Sequence[Part], automata: Sequence[Automaton], sets: Sequence[int]
) -> Floats:
    """Return V_stop at every combination of the parts' states."""
    graph, endings = state.problem.graph, endings_of(state.problem)
    residual, own = own_costs(state)
    half = len(parts) // 2
    value = np.full(tuple(len(a.posterior) for a in automata), endings.others.flat)
    shape = value.shape
    value = value.reshape(math.prod(shape[:half]), math.prod(shape[half:]))
    for paid in sets:
        per_part = []
        for part, automaton in zip(parts, automata, strict=True):
            total = np.zeros(len(automaton.posterior))
            for i, q in zip(part.beliefs, (automaton.posterior @ part.failed).T, strict=True):
                keep = np.where(q > 0.0, residual[i] if math.isinf(residual[i]) else residual[i] * q, 0.0)
                others = graph.belief_charges[i] & ~paid
                covered = all(_own(state, c, i) for c in bits(others))
                total += np.minimum(keep, own[i]) if covered else keep
            per_part.append(total)
        cost = sum(graph.charges[c].cost for c in bits(paid))
        np.minimum(value, cost + _sum(per_part[:half])[:, None] + _sum(per_part[half:]), out=value)
    return value.reshape(shape)


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
