"""How a probe answers under every hypothesis: a table of outcomes, or a normal distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = Mapping[str, Sequence[float]] | Sequence[Sequence[float]] | NDArray[np.float64]
"""One row a hypothesis: by hypothesis name, or as an array in hypothesis order."""

IMPOSSIBLE_SD = 8.0
"""A normal distribution is cut off at this many standard deviations: a reading beyond has probability zero.

The tail cut off weighs 1e-15. Without an end, a scale could never rule a hypothesis out, however far its reading, and
a reading far from all of them would speak for the nearest instead of against the model.
"""


@dataclass(frozen=True, eq=False)
class Discrete:
    """A probe with finitely many outcomes."""

    outcomes: Sequence[str]
    likelihood: Rows
    """Probability of every outcome; a row a hypothesis, each summing to one."""


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A probe whose reading is normally distributed."""

    mean_sd: Rows
    """Mean and standard deviation; a row a hypothesis."""


Kernel = Discrete | Gaussian


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """A discrete kernel in hypothesis order."""

    outcomes: tuple[str, ...]
    likelihood: NDArray[np.float64]
    """Shape ``(n_hypotheses, n_outcomes)``; rows sum to one; read-only."""


@dataclass(frozen=True, eq=False)
class NormalTable:
    """A Gaussian kernel in hypothesis order."""

    mean: NDArray[np.float64]
    """Shape ``(n_hypotheses,)``; read-only."""
    sd: NDArray[np.float64]
    """Shape ``(n_hypotheses,)``; positive; read-only."""

    def log_density(self, reading: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Return the log density of readings under every hypothesis, ``(…, n_hypotheses)``; -inf where impossible."""
        z = np.abs((np.asarray(reading)[..., None] - self.mean) / self.sd)
        density = -0.5 * np.minimum(z, IMPOSSIBLE_SD) ** 2 - np.log(self.sd) - 0.5 * np.log(2.0 * np.pi)
        return np.where(z <= IMPOSSIBLE_SD, density, -np.inf)

    def ends(self, possible: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the readings beyond which some possible hypothesis is ruled out, sorted."""
        mean, reach = self.mean[possible], IMPOSSIBLE_SD * self.sd[possible]
        return np.unique(np.concatenate([mean - reach, mean + reach]))
