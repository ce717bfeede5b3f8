"""How a probe answers under every hypothesis: a table of outcomes, or a normal distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = Mapping[str, Sequence[float]] | NDArray[np.float64]
"""One row a hypothesis: by hypothesis name, or as an array in hypothesis order."""

IMPOSSIBLE_SD = 8.0
"""A reading farther than this many standard deviations from every possible hypothesis is impossible evidence.

A normal density never reaches zero, but beyond eight standard deviations (tail 1e-15) it says that the model lacks
the true hypothesis, not which of the modelled ones is nearest.
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

    def log_density(self, reading: float) -> NDArray[np.float64]:
        """Return the log density of a reading under every hypothesis."""
        z = (reading - self.mean) / self.sd
        return np.asarray(-0.5 * z * z - np.log(self.sd) - 0.5 * np.log(2.0 * np.pi))

    def is_impossible(self, reading: float, possible: NDArray[np.bool_]) -> bool:
        """Whether a reading lies out of reach of every hypothesis still possible."""
        z = np.abs(reading - self.mean[possible]) / self.sd[possible]
        return bool(z.min(initial=np.inf) > IMPOSSIBLE_SD)
