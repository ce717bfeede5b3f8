"""The probes of a state as a search sees them: finitely many answers each, at one or several levels of detail.

A probe with outcomes has one level, and what it tells is what it tells. A probe that reads numbers has several, each
with twice the cuts of the one before, and at each level two channels: one that tells less than the reading, for upper
bounds, and one that tells more, for lower bounds (see ``readings``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.branches import decision_cuts
from aquamend.inference import InformationState, ProbeView
from aquamend.model.kernels import Outcomes, Readings
from aquamend.planning.readings import garbled, informed, refined_cuts

Floats = NDArray[np.float64]

FIRST_CUTS = 12
LEVELS = 5
"""Cuts of the first level, and how many levels there are, each with twice as many as the one before."""

MOST_LABELS = 12
"""Labels of a probe up to which the truth that is told now and then is its label, and not everything."""


@dataclass(frozen=True, eq=False)
class Level:
    """A probe's answers, at one level of detail."""

    below: Floats
    """Shape ``(n_hypotheses, n_answers)``; those of a channel that tells at least as much."""
    above: Floats
    """Shape ``(n_hypotheses, n_answers)``; those of a channel that tells at most as much."""
    told: Floats
    """Shape ``(n_hypotheses,)``; the probability that the first one tells the whole truth instead."""
    exact: bool
    """Whether both are the probe itself."""


class Sensor:
    """A legal probe; its levels are worked out when they are asked for."""

    def __init__(self, state: InformationState, view: ProbeView) -> None:
        self.state, self.view = state, view
        self._levels: list[Level] = []

    @property
    def n_levels(self) -> int:
        """How many levels of detail there are."""
        return 1 if isinstance(self.view.channel, Outcomes) else LEVELS

    def width(self, k: int) -> int:
        """Return about how many answers a level has in its two channels, without working them out."""
        if k < len(self._levels) or self.n_levels == 1:
            own = self.level(k)
            return int(own.below.shape[1] + own.above.shape[1])
        return 2 * FIRST_CUTS << k

    @cached_property
    def _decision_cuts(self) -> Floats:
        found = decision_cuts(self.state, [self.view])[0]
        return np.zeros(0) if found is None else found

    def level(self, k: int) -> Level:
        """Return the answers at a level of detail."""
        while len(self._levels) <= k:
            self._levels.append(self._made(len(self._levels)))
        return self._levels[k]

    def _made(self, k: int) -> Level:
        channel, possible = self.view.channel, self.state.posterior > 0.0
        nothing = np.zeros(len(possible))
        if isinstance(channel, Outcomes):
            table = _happening(channel.table, possible)
            return Level(table, table, nothing, exact=True)
        channel = cast(Readings, channel)  # there are no other channels
        prior = channel.alike @ self.state.posterior
        if channel.n_labels == 1:
            table = np.ones((len(possible), 1))
            return Level(table, table, nothing, exact=True)
        cuts = refined_cuts(channel, prior, FIRST_CUTS << k, self._decision_cuts)
        told = informed(channel, cuts, prior)
        below, above = told.answers[channel.of], _happening(garbled(channel, cuts), possible)
        if channel.n_labels > MOST_LABELS:
            return Level(_happening(below, possible), above, told.told[channel.of], exact=False)
        labels = channel.alike.T * told.told  # told by its label only: what else is true stays open
        return Level(_happening(np.hstack([below, labels]), possible), above, nothing, exact=False)


def _happening(table: Floats, possible: NDArray[np.bool_]) -> Floats:
    """Return the columns of answers that may come, or one that does not where there are none."""
    kept = table[:, (table[possible] > 0.0).any(axis=0)]
    return kept if kept.shape[1] else np.zeros((len(table), 1))
