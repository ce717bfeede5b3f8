"""The exact Wilcoxon signed-rank test, conditional on zeros and ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Floats
from aquamend.learning.samples import rounded, sample
from aquamend_lab.analysis.statistics.sign_flips import lower_tail


@dataclass(frozen=True, slots=True)
class SignedRank:
    """A two-sided signed-rank test of paired differences."""

    n: int
    """Non-zero differences, which alone are ranked."""
    zeros: int
    positive: float
    """W+, the sum of the ranks of positive differences."""
    negative: float
    """W-, the sum of the ranks of negative differences; the larger of the two says where the ranks point."""
    p_value: float
    """1 where nothing differs; 0 where it is below what a float can hold (about 1e-300)."""

    @property
    def statistic(self) -> float:
        """W = min(W+, W-)."""
        return min(self.positive, self.negative)


def signed_rank(differences: Sequence[float] | Floats) -> SignedRank:
    """Return the exact two-sided Wilcoxon signed-rank test of paired differences.

    Differences are rounded to nine decimals, zeros left out, tied magnitudes given their average rank. Then
    p = min(1, 2 P(W <= w)) under all 2^n equally likely sign flips of the ranks at hand: no normal approximation, no
    continuity correction. An infinite difference ranks above every finite one.

    References: Wilcoxon (1945), "Individual comparisons by ranking methods"; Pratt & Gibbons (1981), "Concepts of
    Nonparametric Theory", on zeros and ties; the paper's appendix, "Paired inference".
    """
    values = rounded(sample("differences", differences))
    nonzero = values[values != 0.0]
    doubled = doubled_ranks(np.abs(nonzero))
    positive = int(doubled[nonzero > 0.0].sum())
    negative = int(doubled.sum()) - positive
    return SignedRank(
        n=nonzero.size,
        zeros=values.size - nonzero.size,
        positive=positive / 2.0,
        negative=negative / 2.0,
        p_value=min(1.0, 2.0 * lower_tail(doubled, min(positive, negative))),
    )


def doubled_ranks(magnitudes: Floats) -> NDArray[np.int64]:
    """Return twice the rank of each magnitude, ties averaged: whole numbers, as average ranks may end in a half."""
    _, place, counts = np.unique(magnitudes, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    # Ranks last - count + 1 to last have the average (2 last - count + 1) / 2.
    ranks: NDArray[np.int64] = (2 * last - counts + 1)[place].astype(np.int64)
    return ranks
