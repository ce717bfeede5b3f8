"""How well stated probabilities match what happened."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aquamend.analysis.statistics.samples import probability_sample, require_same_length


def brier(probabilities: Sequence[float], outcomes: Sequence[bool | float]) -> float | None:
    """Return the Brier score, the mean of (probability - outcome) squared; None if there is nothing to score.

    Zero is perfect. Where an event never happens, stating zero always scores zero: no proof of detecting anything.

    Reference: Brier (1950), "Verification of forecasts expressed in terms of probability".
    """
    stated, happened = _paired(probabilities, outcomes)
    return float(np.mean((stated - happened) ** 2)) if stated.size else None


def expected_calibration_error(
    probabilities: Sequence[float], outcomes: Sequence[bool | float], *, bins: int = 10
) -> float | None:
    """Return the calibration error over fixed bins of equal width; None if there is nothing to score.

    It is the mean, weighted by how many probabilities fall into each bin, of |mean outcome - mean probability| there.
    A bin holds its lower edge but not its upper one; the last holds 1 too. Empty bins weigh nothing.

    References: Naeini, Cooper & Hauskrecht (2015), "Obtaining well calibrated probabilities using Bayesian binning";
    the paper's appendix on calibration (ten fixed bins).
    """
    if bins < 1:
        raise ValueError(f"bins is {bins}; give at least 1")
    stated, happened = _paired(probabilities, outcomes)
    if not stated.size:
        return None
    edges = np.arange(1, bins) / bins
    place = np.searchsorted(edges, stated, side="right")
    gaps = np.bincount(place, weights=happened - stated, minlength=bins)  # count times the difference of the means
    return float(np.abs(gaps).sum() / stated.size)


def _paired(
    probabilities: Sequence[float], outcomes: Sequence[bool | float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    stated = probability_sample("probabilities", probabilities)
    happened = probability_sample("outcomes", outcomes)
    require_same_length("probabilities", stated.size, "outcomes", happened.size)
    return stated, happened
