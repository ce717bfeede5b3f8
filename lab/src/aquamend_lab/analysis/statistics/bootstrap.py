"""Percentile bootstrap intervals of a mean (of pairs, or within strata) and of a ratio of means."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from aquamend.arrays import Floats
from aquamend.learning.estimates import require_same_length, sample

DRAWS_AT_ONCE = 2_000_000
"""Indices held at once; the draws are the same whatever the size of the pieces."""


class Interval(NamedTuple):
    """A range of plausible values."""

    low: float
    high: float


def paired_bootstrap(
    differences: Sequence[float] | Floats,
    *,
    resamples: int = 2000,
    seed: int = 20260923,
    level: float = 0.95,
) -> Interval:
    """Return the percentile bootstrap interval of the mean of paired differences; zeros are kept, nothing is rounded.

    Each resample draws as many pairs as there are, with replacement, by NumPy's PCG64; endpoints are interpolated
    linearly. Equal lengths and seeds draw equal indices, so methods on the same scenarios share their resamples.
    Where some differences are infinite, endpoints are not interpolated but taken outwards.

    References: Efron & Tibshirani (1993), "An Introduction to the Bootstrap", ch. 13; the paper's appendix, "Paired
    inference".
    """
    values = _checked("differences", differences, resamples=resamples, level=level)
    generator = np.random.Generator(np.random.PCG64(seed))
    return _interval(_resampled_sums(values, resamples, generator) / values.size, level)


def stratified_bootstrap(
    values: Sequence[float] | Floats,
    strata: Sequence[Hashable],
    *,
    resamples: int = 10_000,
    seed: int = 20260919,
    level: float = 0.95,
) -> Interval:
    """Return the percentile bootstrap interval of a mean, as many values drawn within each stratum as it has.

    ``strata`` says which stratum each value belongs to; strata are drawn in order of first appearance.

    References: Davison & Hinkley (1997), "Bootstrap Methods and their Application", sec. 3.2; the paper's appendix,
    "Paired inference", on the mean-loss intervals.
    """
    array = _checked("values", values, resamples=resamples, level=level)
    require_same_length("values", array.size, "strata", len(strata))
    members: dict[Hashable, list[int]] = {}
    for index, stratum in enumerate(strata):
        members.setdefault(stratum, []).append(index)
    generator = np.random.Generator(np.random.PCG64(seed))
    sums = np.zeros(resamples)
    for indices in members.values():
        sums += _resampled_sums(array[indices], resamples, generator)
    return _interval(sums / array.size, level)


def ratio_bootstrap(
    numerators: Sequence[float] | Floats,
    denominators: Sequence[float] | Floats,
    *,
    resamples: int = 2000,
    seed: int = 20260923,
    level: float = 0.95,
) -> Interval | None:
    """Return the percentile bootstrap interval of a ratio of means, numerator and denominator drawn together.

    It draws the same indices as ``paired_bootstrap``. None where a resample has no ratio: its denominators add up to
    zero, or to infinity together with its numerators.

    Reference: Davison & Hinkley (1997), "Bootstrap Methods and their Application", sec. 2.1 and 5.2.
    """
    above = _checked("numerators", numerators, resamples=resamples, level=level)
    below = _checked("denominators", denominators, resamples=resamples, level=level)
    require_same_length("numerators", above.size, "denominators", below.size)
    tops, bottoms = (
        _resampled_sums(values, resamples, np.random.Generator(np.random.PCG64(seed))) for values in (above, below)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = tops / bottoms
    return None if np.isnan(ratios).any() or (bottoms == 0.0).any() else _interval(ratios, level)


def _checked(name: str, values: Sequence[float] | Floats, *, resamples: int, level: float) -> Floats:
    array = sample(name, values)
    if array.size == 0:
        raise ValueError(f"{name} is empty; an interval needs at least one value")
    if array.min() == -np.inf and array.max() == np.inf:
        raise ValueError(f"{name} holds both infinities, so their mean is undefined; compare finite values")
    if resamples < 1:
        raise ValueError(f"resamples is {resamples}; give at least 1, better 1000 and more")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level is {level}; give a share between 0 and 1, such as 0.95")
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


def _interval(means: Floats, level: float) -> Interval:
    low, high = 50.0 * (1.0 - level), 50.0 * (1.0 + level)
    if np.isfinite(means).all():
        return Interval(float(np.percentile(means, low)), float(np.percentile(means, high)))
    # Between a finite mean and an infinite one there is nothing to interpolate.
    return Interval(
        float(np.percentile(means, low, method="lower")), float(np.percentile(means, high, method="higher"))
    )
