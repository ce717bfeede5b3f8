"""Small pure functions: paired comparisons, intervals, calibration, attribution, rates; each names its reference."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Floats
from aquamend.learning.estimates import probability_sample, require_same_length, rounded, sample

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


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return the adjusted p-value of every test of one family, in the order given.

    With p sorted upwards, the adjusted value of the i-th is the largest of (m - j + 1) p_j over j <= i, at most 1. It
    bounds the chance of any false claim in the family, however the tests depend on each other.

    References: Holm (1979), "A simple sequentially rejective multiple test procedure"; the paper's appendix, "Paired
    inference".
    """
    for name, p in p_values.items():
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"the p-value of {name!r} is {p}; give probabilities, from 0 to 1")
    upwards = sorted(p_values, key=p_values.__getitem__)
    weighed = (min(1.0, (len(p_values) - position) * p_values[name]) for position, name in enumerate(upwards))
    adjusted = dict(zip(upwards, itertools.accumulate(weighed, max), strict=True))
    return {name: adjusted[name] for name in p_values}


def smallest_detectable_difference(
    differences: Sequence[float] | Floats, *, level: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the true mean difference that so many pairs, as scattered as these, show with the given power.

    It is (t_{1 - level/2} + t_{power}) s / √n with n - 1 degrees of freedom: what a two-sided test of the mean at this
    level finds with this probability. A mean that is found and smaller was luck; where nothing is found, what is
    larger than this can be ruled out, and what is smaller cannot. It speaks of the mean, as the bootstrap interval
    does; a signed-rank test weighs pairs by rank and may see other things.

    None with fewer than two pairs, or where some difference is infinite: then there is no spread to go by.

    Reference: Bloom (1995), "Minimum detectable effects: a simple way to report the statistical power of experimental
    designs".
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level is {level}; give a share between 0 and 1, such as 0.05")
    if not 0.5 <= power < 1.0:
        raise ValueError(f"power is {power}; give a share from 0.5 to below 1, such as 0.8")
    values = sample("differences", differences)
    if values.size < 2 or not np.isfinite(values).all():
        return None
    from scipy.special import stdtrit

    multiple = float(stdtrit(values.size - 1, 1.0 - level / 2.0) + stdtrit(values.size - 1, power))
    return multiple * float(values.std(ddof=1)) / math.sqrt(values.size)


def operational_saving(costs: Sequence[float], restart_costs: Sequence[float]) -> float | None:
    """Return Save_C = 1 - sum C / sum C_restart over the same scenarios: a ratio of sums, not a mean of ratios.

    C is what was spent on sensing, undoing and going on, by the robot or a person; residual losses and decision time
    are not in it. None where the ratio does not exist: no scenarios, or restarting costs nothing, or both sums are
    infinite.

    Reference: the paper, "Metrics", and its appendix on operational saving.
    """
    spent, restarting = sample("costs", costs), sample("restart_costs", restart_costs)
    require_same_length("costs", spent.size, "restart_costs", restarting.size)
    total, whole = float(spent.sum()), float(restarting.sum())
    if whole == 0.0 or (math.isinf(total) and math.isinf(whole)):
        return None
    return 1.0 - total / whole


def zero_rollback_rate(undone: Sequence[float], false_alarm: Sequence[bool | None]) -> float | None:
    """Return the share of false alarms on which nothing was undone; None where there is no false alarm.

    A scenario whose ``false_alarm`` is None (unknown, or several truths in one) counts on neither side.

    Reference: the paper, "Metrics" (ZRR).
    """
    return zero_rollback_and_success_rate(undone, false_alarm, [1.0] * len(undone))


def zero_rollback_and_success_rate(
    undone: Sequence[float], false_alarm: Sequence[bool | None], success: Sequence[float]
) -> float | None:
    """Return the share of false alarms that ended in success with nothing undone; None where there is none.

    It has the same denominator as ``zero_rollback_rate``; a success between 0 and 1 counts as that share.

    Reference: the paper, "Metrics" (ZRR and success).
    """
    succeeded, counts = probability_sample("success", success), sample("undone", undone)
    require_same_length("success", succeeded.size, "undone", counts.size)
    require_same_length("undone", counts.size, "false_alarm", len(false_alarm))
    chosen = np.array([alarm is True for alarm in false_alarm], dtype=bool)
    return float(np.mean((counts[chosen] == 0.0) * succeeded[chosen])) if chosen.any() else None


@dataclass(frozen=True, slots=True)
class AttributionScores:
    """Macro averages of precision and recall over labels."""

    precision: float
    """Over the labels that occur among the truths."""
    recall: float
    precision_strict: float
    """Over all labels, one that never occurs among the truths counting as zero."""
    recall_strict: float


def attribution_scores(
    truths: Sequence[str], attributed: Sequence[str | None], *, labels: Sequence[str]
) -> AttributionScores | None:
    """Return macro precision and recall of the attributed labels; None if there is nothing to score.

    The precision of a label is the share of its attributions that are right, and its recall the share of its truths
    that were attributed to it. A label that occurs but was never attributed has no precision; it counts as zero, so
    that never saying it earns nothing. Attributing a label that never occurs lowers the recall of the true one, and
    nothing else: the strict averages count such a label as zero anyway. So does attributing nothing, which is None.

    Reference: the paper's appendix on physics-grounded diagnostics (both averages).
    """
    require_same_length("truths", len(truths), "attributed", len(attributed))
    strange = [label for label in (*truths, *attributed) if label not in (None, *labels)]
    if strange:
        raise ValueError(f"{strange[0]!r} is no label; give some of {', '.join(labels)}")
    if not truths:
        return None
    support, said = Counter(truths), Counter(attributed)
    right = Counter(truth for truth, label in zip(truths, attributed, strict=True) if truth == label)
    known = [label for label in labels if support[label]]
    precision = sum(right[label] / said[label] for label in known if said[label])
    recall = sum(right[label] / support[label] for label in known)
    return AttributionScores(precision / len(known), recall / len(known), precision / len(labels), recall / len(labels))
