"""The exact distribution of a sum of ranks, each counted or not by a fair coin."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Floats

MOST_UPDATES = 200_000_000
"""Additions the plain recursion may take (a few tenths of a second); beyond it the transform is quicker."""

NEGLIGIBLE = 50.0
"""What is below e^-50 of the whole (2e-22) is left out by the transform."""

CELLS = 2_000_000
"""Complex numbers held at once while the characteristic function is evaluated."""


def lower_tail(ranks: NDArray[np.int64], bound: int) -> float:
    """Return P(sum <= bound) where every rank counts with probability one half; the bound is at most half the total.

    By dynamic programming where that is affordable. Where it is not (more than about a thousand ranks), the same
    distribution comes from its characteristic function, tilted so that small tails keep their digits. Both are exact
    up to rounding: they agree to a relative error of 1e-12.
    """
    if ranks.size == 0:
        return 1.0
    divisor = int(np.gcd.reduce(ranks))  # without ties, doubled ranks are all even
    ranks, bound = np.sort(ranks) // divisor, bound // divisor
    updates = int(np.minimum(np.cumsum(ranks), bound).sum())
    return tail_by_recursion(ranks, bound) if updates <= MOST_UPDATES else tail_by_transform(ranks, bound)


def tail_by_recursion(ranks: NDArray[np.int64], bound: int) -> float:
    """Return P(sum <= bound) by adding one rank after the other: P'(w) = (P(w) + P(w - rank)) / 2.

    Only the masses up to the bound are kept, and halved as they go, so nothing overflows. A result below about 1e-300
    may come out as 0.
    """
    small = np.sort(ranks[ranks <= bound])
    mass = np.zeros(bound + 1)
    mass[0] = 1.0
    top = 0
    for rank in small.tolist():
        top = min(top + rank, bound)
        mass[: top + 1] *= 0.5
        mass[rank : top + 1] += mass[: top + 1 - rank]
    # A rank above the bound must not count, and does not with probability one half.
    return math.ldexp(float(mass.sum()), small.size - ranks.size)


def tail_by_transform(ranks: NDArray[np.int64], bound: int) -> float:
    """Return P(sum <= bound) from the characteristic function, for a bound of at most half the sum of all ranks.

    The coins are tilted until the mean is the bound (Esscher 1932): P(w) = tilted(w) exp(K - tilt w), where
    K = sum log((1 + exp(tilt rank)) / 2). The tilted sum lies in a window around the bound but for e^-50 (Hoeffding
    1963), so its distribution is recovered on that window from its Fourier coefficients, of which few matter.
    """
    values, counts = np.unique(ranks, return_counts=True)
    tilt = _tilt_to(values, counts, bound)
    heads = np.exp(-np.logaddexp(0.0, -tilt * values))
    reach = math.sqrt(NEGLIGIBLE / 2.0 * float(counts @ (values * values)))
    period = 1 << math.ceil(math.log2(min(2.0 * reach + 2.0, float(counts @ values) + 1.0)))
    tilted = np.fft.irfft(_coefficients(values, counts, heads, period), period)
    below = np.arange(min(bound, period // 2) + 1)
    sum_below = float(tilted[(bound - below) % period] @ np.exp(tilt * below))
    exponent = float(counts @ (np.logaddexp(0.0, tilt * values) - math.log(2.0))) - tilt * bound
    return max(0.0, sum_below) * math.exp(exponent)


def _tilt_to(values: NDArray[np.int64], counts: NDArray[np.int64], mean: int) -> float:
    """Return the tilt at which the expected sum is ``mean``, by bisection; never positive."""

    def expected(tilt: float) -> float:
        return float((counts * values) @ np.exp(-np.logaddexp(0.0, -tilt * values)))

    low, high = -1.0 / float(values[-1]), 0.0
    while expected(low) > mean:
        low, high = 2.0 * low, low
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (low, middle) if expected(middle) > mean else (middle, high)
    return high


def _coefficients(
    values: NDArray[np.int64], counts: NDArray[np.int64], heads: Floats, period: int
) -> NDArray[np.complex128]:
    """Return E[exp(-2 pi i k sum / period)] for k = 0 … period / 2; those that are certainly negligible are zero.

    One factor has squared modulus 1 - 2 h (1 - h) (1 - cos(2 pi k rank / period)), which 1 - x <= e^-x bounds; all
    the bounds together are one transform of the weights 2 h (1 - h).
    """
    weights = np.zeros(period)
    np.add.at(weights, values % period, counts * 2.0 * heads * (1.0 - heads))
    decay = weights.sum() - np.fft.rfft(weights).real
    kept = np.flatnonzero(decay < 2.0 * NEGLIGIBLE)
    coefficients = np.zeros(period // 2 + 1, dtype=np.complex128)
    rows = max(1, CELLS // values.size)
    for start in range(0, kept.size, rows):
        some = kept[start : start + rows]
        turns = (some[:, None] * values % period) / period  # reduced as whole numbers, so that no digit is lost
        factors = 1.0 - heads + heads * np.exp(-2j * np.pi * turns)
        coefficients[some] = np.prod(factors**counts, axis=1)
    return coefficients
