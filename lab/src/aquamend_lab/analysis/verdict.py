"""What a comparison establishes: one classification for every report."""

from __future__ import annotations

import math
from enum import Enum
from typing import Literal, NamedTuple

from aquamend_lab.analysis.comparison import Comparison
from aquamend_lab.analysis.statistics import DECIMALS

SIGNIFICANT = 0.05
"""The ranks are told apart where the p-value, adjusted by Holm's method, is below this."""


class Conclusion(Enum):
    """What can be said of two sides, on average and scenario by scenario (by the signed ranks)."""

    NO_PAIRS = "no scenario has a number of both"
    TIE = "no scenario tells them apart"
    BOTH_INFINITE = "each is infinite where the other is not"
    INFINITE = "one is infinite where the other is not"
    EXACT = "one has less, exactly"
    CLEAR = "one has less, on average and scenario by scenario"
    MEAN_ONLY = "one has less on average; scenario by scenario nothing is established"
    RANKS_ONLY = "one has less scenario by scenario; on average nothing is established"
    OPPOSED = "one has less on average, the other scenario by scenario"
    OPEN = "nothing is established"


Sided = Literal["first", "second"]


class ComparisonVerdict(NamedTuple):
    """A finding and whom it favours: in the mean, but for ``RANKS_ONLY``, where it is by the ranks."""

    finding: Conclusion
    better: Sided | None = None


def verdict_of(found: Comparison) -> ComparisonVerdict:
    """Return what a comparison establishes.

    The mean has a side where its 95 % interval leaves zero out, the ranks where the adjusted p-value is below 0.05.
    """
    if not found.pairs:
        return ComparisonVerdict(Conclusion.NO_PAIRS)
    if found.ties == found.pairs:
        return ComparisonVerdict(Conclusion.TIE)
    if found.exact and math.isfinite(found.mean_difference or 0.0):
        return ComparisonVerdict(Conclusion.EXACT, mean_side(found))
    if found.mean_difference is None:
        return ComparisonVerdict(Conclusion.BOTH_INFINITE)
    if math.isinf(found.mean_difference):
        return ComparisonVerdict(Conclusion.INFINITE, mean_side(found))
    match _established_mean(found), _established_ranks(found):
        case None, None:
            return ComparisonVerdict(Conclusion.OPEN)
        case mean, None:
            return ComparisonVerdict(Conclusion.MEAN_ONLY, mean)
        case None, ranks:
            return ComparisonVerdict(Conclusion.RANKS_ONLY, ranks)
        case mean, ranks:
            return ComparisonVerdict(Conclusion.CLEAR if mean == ranks else Conclusion.OPPOSED, mean)


def mean_side(found: Comparison) -> Sided | None:
    """Return who has less on average, established or not; None where the means are equal."""
    return _lower(found.mean_difference or 0.0)


def _established_mean(found: Comparison) -> Sided | None:
    if found.interval is None:
        return None
    low, high = map(_lower, found.interval)
    return low if low == high else None


def _established_ranks(found: Comparison) -> Sided | None:
    if found.rank_sums is None or found.p_holm is None or found.p_holm >= SIGNIFICANT:
        return None
    positive, negative = found.rank_sums
    return _lower(positive - negative)


def _lower(difference: float) -> Sided | None:
    """Return the side that a difference (first minus second) says has less."""
    size = round(difference, DECIMALS) if math.isfinite(difference) else difference
    return "first" if size < 0.0 else "second" if size > 0.0 else None
