"""How well stated probabilities match what happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aquamend.arrays import Floats
from aquamend.learning.estimates import probability_sample, require_same_length


@dataclass(frozen=True, slots=True)
class ProbabilityQuality:
    """Stated probabilities of an event against whether it was so."""

    queries: int
    """How many were scored."""
    unknown: int
    """How many were not, because what was so is not known."""
    rate: float | None
    """Share in which it was so; None, as all that follows, where nothing could be scored."""
    mean: float | None
    """Mean stated probability."""
    brier: float | None
    calibration_error: float | None
    """Expected calibration error over ten bins."""


def probability_quality(probabilities: Sequence[float], outcomes: Sequence[bool | float | None]) -> ProbabilityQuality:
    """Return how well probabilities match what was so; those without a truth are counted and left out, never guessed.

    Reference: the paper's appendix, "Post-hoc probability evaluation".
    """
    require_same_length("probabilities", len(probabilities), "outcomes", len(outcomes))
    known = [(q, float(z)) for q, z in zip(probabilities, outcomes, strict=True) if z is not None]
    stated, happened = [q for q, _ in known], [z for _, z in known]
    n = len(known)
    return ProbabilityQuality(
        queries=n,
        unknown=len(outcomes) - n,
        rate=sum(happened) / n if n else None,
        mean=sum(stated) / n if n else None,
        brier=brier(stated, happened),
        calibration_error=expected_calibration_error(stated, happened),
    )


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


def _paired(probabilities: Sequence[float], outcomes: Sequence[bool | float]) -> tuple[Floats, Floats]:
    stated = probability_sample("probabilities", probabilities)
    happened = probability_sample("outcomes", outcomes)
    require_same_length("probabilities", stated.size, "outcomes", happened.size)
    return stated, happened
