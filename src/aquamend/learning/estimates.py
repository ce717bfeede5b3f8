"""Estimates with their uncertainty, from arrays: shares, rates, normal readings, costs; and scores of probabilities.

Every estimate but ``moments`` is the mean of a posterior whose prior is stated: what was thought before, worth
``strength`` records. A world's own fitting code may call these; nothing here knows of files or problems.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from aquamend.arrays import Floats

STRENGTH = 2.0
"""How many records what was thought before is worth, unless said otherwise."""
DECIMALS = 9
"""Differences are rounded this far before zeros and ties are looked for; floating point leaves less than that."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number, its 95 % credible interval, and how many records it rests on."""

    value: float
    low: float
    high: float
    records: int


def shares(counts: ArrayLike, prior: ArrayLike, *, strength: float = STRENGTH) -> list[Estimate]:
    """Return probabilities that sum to one: the Dirichlet posterior of counts, prior ``strength`` times ``prior``.

    mean_k = (n_k + strength · prior_k) / (n + strength); intervals are those of each share alone.
    """
    from scipy.stats import beta

    n, expected = np.asarray(counts, dtype=float), np.asarray(prior, dtype=float)
    a = n + strength * expected / expected.sum()
    b = a.sum() - a
    inside = (a > 0) & (b > 0)
    low = np.where(inside, beta.ppf(0.025, np.where(inside, a, 1.0), np.where(inside, b, 1.0)), a / a.sum())
    high = np.where(inside, beta.ppf(0.975, np.where(inside, a, 1.0), np.where(inside, b, 1.0)), a / a.sum())
    total = round(float(n.sum()))
    return [Estimate(float(m), float(lo), float(hi), total) for m, lo, hi in zip(a / a.sum(), low, high, strict=True)]


def rate(successes: float, trials: float, prior: float, *, strength: float = STRENGTH) -> Estimate:
    """Return a probability: the Beta posterior of successes among trials."""
    return shares([successes, trials - successes], [prior, 1.0 - prior], strength=strength)[0]


@dataclass(frozen=True, slots=True)
class NormalEstimate:
    """A normal distribution of readings."""

    mean: Estimate
    sd: Estimate


def normal(
    readings: ArrayLike, prior_mean: float, prior_sd: float, *, weights: ArrayLike | None = None,
    strength: float = STRENGTH,
) -> NormalEstimate:  # fmt: skip
    """Return mean and sd: the normal-inverse-gamma posterior, prior ``strength`` readings like (prior_mean, prior_sd).

    The sd is that of the predictive distribution, so it covers what is not known of the mean. ``weights`` say how much
    each reading counts: the probability that it is no glitch.
    """
    from scipy.stats import invgamma
    from scipy.stats import t as student

    y = np.asarray(readings, dtype=float)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    law = normal_law(y, prior_mean, prior_sd, weights=w, strength=strength)
    spread = math.sqrt(law.b / law.a / law.k) * float(student.ppf(0.975, 2.0 * law.a))
    low, high = (math.sqrt(float(invgamma.ppf(q, law.a, scale=law.b))) for q in (0.025, 0.975))
    n = len(y) if weights is None else round(float(w.sum()))
    return NormalEstimate(Estimate(law.mean, law.mean - spread, law.mean + spread, n), Estimate(law.sd, low, high, n))


def moments(values: ArrayLike, *, about: float | None = None) -> NormalEstimate:
    """Return mean and standard deviation as the values alone have them: where nothing was thought before.

    sd² = Σ (x − centre)² / n, with the mean for centre, or ``about``: errors of an instrument about 0 count its bias
    too. Intervals are those of a normal distribution (Student, chi-square). ``ValueError`` without values.
    """
    from scipy.stats import chi2
    from scipy.stats import t as student

    x = np.asarray(values, dtype=float)
    n, mean = len(x), float(np.mean(x)) if len(x) else math.nan
    if n == 0:
        raise ValueError("there are no values; without any there is neither a mean nor a spread")
    squares = float(np.mean(np.square(x - (mean if about is None else about))))
    free = n - 1 if about is None else n
    if free == 0:
        return NormalEstimate(Estimate(mean, -math.inf, math.inf, n), Estimate(0.0, 0.0, math.inf, n))
    away = float(student.ppf(0.975, n - 1)) * float(x.std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf
    low, high = (math.sqrt(n * squares / float(chi2.ppf(q, free))) for q in (0.975, 0.025))
    return NormalEstimate(Estimate(mean, mean - away, mean + away, n), Estimate(math.sqrt(squares), low, high, n))


class NormalLaw(NamedTuple):
    """The posterior of a normal distribution: mean, predictive sd, and the parameters its intervals need."""

    mean: float
    sd: float
    k: float
    a: float
    b: float


def normal_law(y: Floats, prior_mean: float, prior_sd: float, *, weights: Floats, strength: float) -> NormalLaw:
    """Return what `normal` says, without the intervals, which take longer than all the rest."""
    n = float(weights.sum())
    centre = float(weights @ y / n) if n > 0 else prior_mean
    k, a = strength + n, 0.5 * (strength + n) + 1.0
    mean = (strength * prior_mean + n * centre) / k
    squares = float(weights @ (y - centre) ** 2) + strength * n / k * (centre - prior_mean) ** 2
    b = 0.5 * strength * prior_sd**2 + 0.5 * squares + prior_sd**2  # at n = 0, b / a is the prior's variance
    unsure = min(n, 1.0) / k  # without a reading, what was thought of the sd is all there is
    return NormalLaw(mean, math.sqrt(b / a * (1.0 + unsure)), k, a, b)


def cost(amounts: ArrayLike, prior: float, *, strength: float = STRENGTH) -> Estimate:
    """Return a mean cost; the prior counts as ``strength`` records whose scatter is that of the records."""
    from scipy.stats import t as student

    y = np.asarray(amounts, dtype=float)
    n = len(y)
    mean = (strength * prior + float(y.sum())) / (strength + n)
    if n < 2:
        return Estimate(mean, 0.0, math.inf, n)
    spread = float(student.ppf(0.975, n - 1)) * float(y.std(ddof=1)) / math.sqrt(n)
    return Estimate(mean, max(0.0, mean - spread), mean + spread, n)


def sample(name: str, values: Sequence[float] | Floats) -> Floats:
    """Return the values as an array of shape ``(n,)``; infinities may be among them, NaN may not."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; give one number a pair, in one dimension")
    missing = np.flatnonzero(np.isnan(array))
    if missing.size:
        raise ValueError(f"{name}[{missing[0]}] is NaN; leave out what is unavailable before comparing")
    return array


def probability_sample(name: str, values: Sequence[float] | Floats) -> Floats:
    """Return the values as an array of shape ``(n,)``, all in [0, 1]."""
    array = sample(name, values)
    outside = np.flatnonzero((array < 0.0) | (array > 1.0))
    if outside.size:
        raise ValueError(f"{name}[{outside[0]}] is {array[outside[0]]}; give numbers from 0 to 1")
    return array


def require_same_length(first: str, count: int, second: str, other: int) -> None:
    """Raise ``ValueError`` unless two samples pair up."""
    if count != other:
        raise ValueError(f"{first} has {count} values but {second} has {other}; give one of each a scenario")


def difference(left: Floats, right: Floats) -> Floats:
    """Return left minus right, not rounded; two infinities of one sign are equal, NaN stays NaN."""
    result = np.zeros_like(left)
    np.subtract(left, right, out=result, where=left != right)
    return result


def rounded(differences: Floats) -> Floats:
    """Return differences with what floating point leaves taken away: those that are zero now are ties."""
    return np.round(differences, DECIMALS)


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
