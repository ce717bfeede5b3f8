"""Which evidence to keep apart: every probe as the anytime planner sees it, and how its digit grows."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.branches import planning_likelihood, predictive_quantiles
from aquamend.decision.probe_value import could_answer
from aquamend.inference import InformationState, ProbeView
from aquamend.model.kernels import Outcomes, Readings
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

    view: ProbeView
    labels: Labels
    kernel: Floats
    """Shape ``(n_hypotheses, n_outcomes)``, as a policy sees it; readings are cut into intervals."""
    quantiles: Floats | None = None
    """Readings at even levels of the predictive distribution, of a probe that reads numbers."""
    counted: bool = False
    """Whether all its evidence states are kept, uses counted."""
    n_readings: int = 0
    """How many readings are kept, of a probe that reads numbers."""
    states: list[Floats] = field(default_factory=list)
    _beyond: list[tuple[float, int, Floats]] = field(default_factory=list)
    """Heap of states one answer beyond the kept ones, most useful first."""
    _known: set[bytes] = field(default_factory=set)
    """Keys of the states kept or on offer."""

    def __post_init__(self) -> None:
        self._keep(np.ones(len(self.labels.prior)))

    @property
    def name(self) -> str:
        """The probe's name."""
        return self.view.name

    @property
    def cost(self) -> float:
        """What a use costs."""
        return self.view.cost

    @property
    def uses(self) -> float:
        """How many uses are left."""
        return self.view.uses_left

    @property
    def reads(self) -> Readings | None:
        """The channel of a probe that reads numbers."""
        return self.view.channel if isinstance(self.view.channel, Readings) else None

    @property
    def size(self) -> int:
        """How many states its digit has."""
        if self.counted:
            return int(self.counted_size)
        return len(self.states) + self.n_readings + int((~self.labels.closed).sum())

    @property
    def counted_size(self) -> float:
        """How many states its digit would have with everything counted."""
        return math.inf if self.reads else n_digit_states(self.kernel.shape[1], self.uses)

    def digit(self) -> RelaxedDigit:
        """Return the digit as it stands."""
        if self.counted:
            return counted_digit(self.labels, int(self.uses))
        if self.reads is None or self.quantiles is None:
            return endless_digit(self.labels, self.states)
        if self.n_readings == 0:
            return revealing_digit(self.labels)
        levels = (np.arange(self.n_readings) + 0.5) / self.n_readings
        readings = np.interp(levels, np.linspace(0.0, 1.0, len(self.quantiles)), self.quantiles)
        return reading_digit(self.labels, self.reads, readings, again=self.uses > 1)

    @property
    def can_grow(self) -> bool:
        """Whether more cells would let it keep more evidence apart."""
        return self.offer() > 0.0 or (self.reads is not None and self.n_readings < MOST_READINGS - 2)

    def offer(self) -> float:
        """Return how useful the best state not yet kept would be; zero if there is none worth keeping."""
        moves = len(self.states) ** 2 * self.labels.kernel.size
        fixed = self.counted or self.reads is not None or len(self.states) >= MOST_KEPT or moves > MOST_MOVES
        return 0.0 if fixed or not self._beyond else -self._beyond[0][0]

    def accept(self) -> None:
        """Keep the state on offer."""
        self._keep(heapq.heappop(self._beyond)[2])

    def _keep(self, state: Floats) -> None:
        self.states.append(state)
        if self.reads is not None:
            return
        self._known.add(state_key(state))
        for score, vector in useful_states(self.labels, state, self._known):
            heapq.heappush(self._beyond, (-score, len(self._known), vector))
            self._known.add(state_key(vector))


def candidates_at(state: InformationState) -> list[Candidate]:
    """Return every legal probe with as little evidence kept apart as possible."""
    return [_candidate(state, view) for view in state.legal]


def _candidate(state: InformationState, view: ProbeView) -> Candidate:
    kernel = planning_likelihood(state, view).T
    channel = view.channel
    if isinstance(channel, Outcomes):
        return Candidate(view, _with_closed(state, labels_of(kernel, state.posterior)), kernel)
    mass = np.bincount(channel.of, weights=state.posterior, minlength=channel.n_labels).astype(float)
    labels = Labels(channel.of, np.zeros((channel.n_labels, 0)), mass, np.zeros(channel.n_labels, dtype=bool))
    levels = np.linspace(0.0, 1.0, 4 * MOST_READINGS + 1)
    return Candidate(
        view, _with_closed(state, labels), kernel, predictive_quantiles(state, cast(Readings, channel), levels)
    )


def _with_closed(state: InformationState, labels: Labels) -> Labels:
    """Return the labels with those marked that leave one terminal decision best whatever else is true.

    Support aside: what a revealed label costs need only be a lower bound.
    """
    if labels.of.size * len(labels.prior) > MOST_MOVES:
        return labels
    allowed = labels.of[None, :] == np.arange(len(labels.prior))[:, None]
    return replace(labels, closed=settles(state, allowed, could_answer(state), relaxed=True))


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
        if c.reads is not None and room > c.n_readings and cells // c.size * (c.size - c.n_readings + room) <= limit:
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
