"""Percentile bootstrap intervals of a mean (of pairs, or within strata) and of a ratio of means."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from aquamend.arrays import Floats
from aquamend.learning.estimates import require_same_length, sample

LOW, HIGH = 50.0 * (1.0 - 0.95), 50.0 * (1.0 + 0.95)
"""The percentiles between which an interval lies."""
RESAMPLES, SEED = 2000, 20260923
STRATIFIED_RESAMPLES, STRATIFIED_SEED = 10_000, 20260919
DRAWS_AT_ONCE = 2_000_000
"""Indices held at once; the draws are the same whatever the size of the pieces."""


class Interval(NamedTuple):
    """A range of plausible values."""

    low: float
    high: float


def paired_bootstrap(
    differences: Sequence[float] | Floats, *, resamples: int = RESAMPLES, seed: int = SEED
) -> Interval:
    """Return the 95 % percentile bootstrap interval of the mean of paired differences, zeros among them.

    Each resample draws as many pairs as there are, with replacement, by NumPy's PCG64; endpoints are interpolated
    linearly. Equal lengths and seeds draw equal indices, so methods on the same scenarios share their resamples.
    Where some differences are infinite, endpoints are not interpolated but taken outwards.

    References: Efron & Tibshirani (1993), "An Introduction to the Bootstrap", ch. 13; the paper's appendix, "Paired
    inference".
    """
    values = _checked("differences", differences)
    if resamples < 1:
        raise ValueError(f"resamples is {resamples}; give at least 1, better 1000 and more")
    return _interval(_resampled_sums(values, resamples, _generator(seed)) / values.size)


def stratified_bootstrap(values: Sequence[float] | Floats, strata: Sequence[Hashable]) -> Interval:
    """Return the 95 % percentile bootstrap interval of a mean, as many values drawn within each stratum as it has.

    ``strata`` says which stratum each value belongs to; strata are drawn in order of first appearance.

    References: Davison & Hinkley (1997), "Bootstrap Methods and their Application", sec. 3.2; the paper's appendix,
    "Paired inference", on the mean-loss intervals.
    """
    array = _checked("values", values)
    require_same_length("values", array.size, "strata", len(strata))
    members: dict[Hashable, list[int]] = {}
    for index, stratum in enumerate(strata):
        members.setdefault(stratum, []).append(index)
    generator = _generator(STRATIFIED_SEED)
    sums = np.zeros(STRATIFIED_RESAMPLES)
    for indices in members.values():
        sums += _resampled_sums(array[indices], STRATIFIED_RESAMPLES, generator)
    return _interval(sums / array.size)


def ratio_bootstrap(numerators: Sequence[float] | Floats, denominators: Sequence[float] | Floats) -> Interval | None:
    """Return the 95 % percentile bootstrap interval of a ratio of means, numerator and denominator drawn together.

    It draws the same indices as ``paired_bootstrap``. None where a resample has no ratio: its denominators add up to
    zero, or to infinity together with its numerators.

    Reference: Davison & Hinkley (1997), "Bootstrap Methods and their Application", sec. 2.1 and 5.2.
    """
    above, below = _checked("numerators", numerators), _checked("denominators", denominators)
    require_same_length("numerators", above.size, "denominators", below.size)
    tops, bottoms = (_resampled_sums(values, RESAMPLES, _generator(SEED)) for values in (above, below))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = tops / bottoms
    return None if np.isnan(ratios).any() or (bottoms == 0.0).any() else _interval(ratios)


def _generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def _checked(name: str, values: Sequence[float] | Floats) -> Floats:
    array = sample(name, values)
    if array.size == 0:
        raise ValueError(f"{name} is empty; an interval needs at least one value")
    if array.min() == -np.inf and array.max() == np.inf:
        raise ValueError(f"{name} holds both infinities, so their mean is undefined; compare finite values")
    return array


def _resampled_sums(values: Floats, resamples: int, generator: np.random.Generator) -> Floats:
    """Return the sum of each resample, shape ``(resamples,)``."""
    sums = np.empty(resamples)
    rows = max(1, DRAWS_AT_ONCE // values.size)
    for start in range(0, resamples, rows):
        stop = min(start + rows, resamples)
        drawn = generator.integers(values.size, size=(stop - start, values.size))
        sums[start:stop] = values[drawn].sum(axis=1)
    return sums


def _interval(means: Floats) -> Interval:
    # Between a finite mean and an infinite one there is nothing to interpolate.
    finite = np.isfinite(means).all()
    low = np.percentile(means, LOW, method="linear" if finite else "lower")
    return Interval(float(low), float(np.percentile(means, HIGH, method="linear" if finite else "higher")))
