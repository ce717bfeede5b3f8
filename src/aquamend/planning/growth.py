"""Which evidence to keep apart: every probe as the anytime planner sees it, and how its digit grows."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from aquamend.inference import InformationState
from aquamend.model.kernels import NormalTable, OutcomeTable
from aquamend.planning.bounds import settles
from aquamend.planning.digits import (
    Labels,
    RelaxedDigit,
    counted_digit,
    endless_digit,
    labels_of,
    reading_digit,
    revealing_digit,
    state_key,
    useful_states,
)
from aquamend.planning.lattice import n_digit_states
from aquamend.planning.quantisation import planning_likelihood, predictive_quantiles

Floats = NDArray[np.float64]

MOST_KEPT = 200
"""Evidence states one endless probe keeps; by then what is left over hardly matters."""

MOST_MOVES = 5e7
"""Numbers that working out where each kept state leads may touch: about a second."""

MOST_READINGS = 64
"""Readings of a Gaussian probe that are kept apart."""


@dataclass(eq=False)
class Candidate:
    """A legal probe, with the evidence states kept so far."""

    name: str
    cost: float
    uses: float
    labels: Labels
    kernel: Floats
    """Shape ``(n_hypotheses, n_outcomes)``, as a policy sees it; a Gaussian probe's is cut into intervals."""
    gaussian: bool
    counted: bool = False
    """Whether all its evidence states are kept, uses counted."""
    n_readings: int = 0
    """How many readings of a Gaussian probe are kept."""
    states: list[Floats] = field(default_factory=list)
    _beyond: list[tuple[float, int, Floats]] = field(default_factory=list)
    """Heap of states one answer beyond the kept ones, most useful first."""
    _known: set[bytes] = field(default_factory=set)
    """Keys of the states kept or on offer."""

    def __post_init__(self) -> None:
        self._keep(np.ones(len(self.labels.prior)))

    @property
    def size(self) -> int:
        """How many states its digit has."""
        if self.counted:
            return int(self.counted_size)
        return len(self.states) + self.n_readings + int((~self.labels.closed).sum())

    @property
    def counted_size(self) -> float:
        """How many states its digit would have with everything counted."""
        return math.inf if self.gaussian else n_digit_states(self.kernel.shape[1], self.uses)

    def digit(self) -> RelaxedDigit:
        """Return the digit as it stands."""
        if self.counted:
            return counted_digit(self.labels, int(self.uses))
        if not self.gaussian:
            return endless_digit(self.labels, self.states)
        if self.n_readings == 0:
            return revealing_digit(self.labels)
        mean, sd = self.labels.kernel.T
        levels = (np.arange(self.n_readings) + 0.5) / self.n_readings
        readings = predictive_quantiles(mean, sd, self.labels.prior, levels)
        return reading_digit(self.labels, readings, again=self.uses > 1)

    @property
    def can_grow(self) -> bool:
        """Whether more cells would let it keep more evidence apart."""
        return self.offer() > 0.0 or (self.gaussian and self.n_readings < MOST_READINGS - 2)

    def offer(self) -> float:
        """Return how useful the best state not yet kept would be; zero if there is none worth keeping."""
        moves = len(self.states) ** 2 * self.labels.kernel.size
        fixed = self.counted or self.gaussian or len(self.states) >= MOST_KEPT or moves > MOST_MOVES
        return 0.0 if fixed or not self._beyond else -self._beyond[0][0]

    def accept(self) -> None:
        """Keep the state on offer."""
        self._keep(heapq.heappop(self._beyond)[2])

    def _keep(self, state: Floats) -> None:
        self.states.append(state)
        if self.gaussian:
            return
        self._known.add(state_key(state))
        for score, vector in useful_states(self.labels, state, self._known):
            heapq.heappush(self._beyond, (-score, len(self._known), vector))
            self._known.add(state_key(vector))


def candidates_at(state: InformationState) -> list[Candidate]:
    """Return every legal probe as the planner sees it."""
    return [_candidate(state, name) for name in state.legal_probes]


def _candidate(state: InformationState, name: str) -> Candidate:
    graph = state.problem.graph
    spec = graph.probes[graph.probe_index[name]]
    table = state.problem.model.tables[name]
    match table:
        case OutcomeTable():
            kernel, rows = table.likelihood, table.likelihood
        case NormalTable():
            kernel, rows = planning_likelihood(state, name).T, np.column_stack([table.mean, table.sd])
    return Candidate(
        name=name,
        cost=spec.cost,
        uses=spec.max_uses - state.uses.get(name, 0),
        labels=_with_closed(state, labels_of(rows, state.posterior)),
        kernel=kernel,
        gaussian=isinstance(table, NormalTable),
    )


def _with_closed(state: InformationState, labels: Labels) -> Labels:
    """Return the labels with those marked that leave one terminal decision best whatever else is true."""
    if labels.of.size * len(labels.prior) > MOST_MOVES:
        return labels
    allowed = labels.of[None, :] == np.arange(len(labels.prior))[:, None]
    return replace(labels, closed=settles(state, allowed))


def grow(candidates: Sequence[Candidate], limit: int) -> tuple[list[Candidate], list[Candidate]]:
    """Keep as much evidence apart as fits ``limit`` cells; return the probes that fit, and those left out.

    Probes that can be counted out within an even share of the cells are; the others keep their most useful states.
    """
    kept: list[Candidate] = []
    left_out: list[Candidate] = []
    cells = 1
    for c in sorted(candidates, key=lambda c: c.size):
        (kept if cells * c.size <= limit else left_out).append(c)
        cells *= c.size if cells * c.size <= limit else 1
    fair_share = limit ** (1.0 / len(kept)) if kept else 0.0
    for c in sorted(kept, key=lambda c: c.counted_size):
        if not c.counted and c.counted_size <= fair_share and cells // c.size * c.counted_size <= limit:
            cells = cells // c.size * int(c.counted_size)
            c.counted = True
    for c in kept:
        room = int(min(fair_share, MOST_READINGS)) - c.size + c.n_readings
        if c.gaussian and room > c.n_readings and cells // c.size * (c.size - c.n_readings + room) <= limit:
            cells = cells // c.size * (c.size - c.n_readings + room)
            c.n_readings = room
    kept.sort(key=candidates.index)
    while True:
        fitting = [c for c in kept if c.offer() > 0.0 and cells // c.size * (c.size + 1) <= limit]
        if not fitting:
            return kept, left_out
        best = max(fitting, key=lambda c: c.offer() / math.log1p(1 / c.size))
        cells = cells // best.size * (best.size + 1)
        best.accept()
