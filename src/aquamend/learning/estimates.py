"""Estimates with their uncertainty, from arrays: shares, rates, normal readings with outliers, costs.

Every estimate is the mean of a posterior whose prior is stated: what was thought before, worth ``strength`` records. A
world's own fitting code may call these; nothing here knows of files or problems.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
STRENGTH = 2.0
"""How many records what was thought before is worth, unless said otherwise."""
OUTLIER_SHARE, OUTLIER_STRENGTH = 0.01, 20.0
"""Share of glitches thought of before any reading, and how many readings that is worth."""
MOST_OUTLIERS = 0.5
ROUNDS = 50


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
    n = float(w.sum())
    centre = float(w @ y / n) if n > 0 else prior_mean
    k, a = strength + n, 0.5 * (strength + n) + 1.0
    mean = (strength * prior_mean + n * centre) / k
    squares = float(w @ (y - centre) ** 2) + strength * n / k * (centre - prior_mean) ** 2
    b = 0.5 * strength * prior_sd**2 + 0.5 * squares + prior_sd**2  # at n = 0, b / a is the prior's variance
    scale = math.sqrt(b / a * (1.0 + 1.0 / k))
    spread = math.sqrt(b / a / k) * float(student.ppf(0.975, 2.0 * a))
    low, high = (math.sqrt(float(invgamma.ppf(q, a, scale=b))) for q in (0.025, 0.975))
    return NormalEstimate(
        Estimate(mean, mean - spread, mean + spread, len(y)), Estimate(scale if n else prior_sd, low, high, len(y))
    )


def with_outliers(
    groups: list[Floats], prior: list[tuple[float, float]], *, strength: float = STRENGTH
) -> tuple[list[NormalEstimate], Estimate]:
    """Return one normal for every group of readings, and the share of glitches that all of them have in common.

    Expectation–maximisation of (1 − ε) normal + ε Cauchy, the Cauchy as wide as all groups together reach, as the
    kernels of a problem have it; ε has a Beta prior of 1 % worth 20 readings.
    """
    everything = np.concatenate([np.asarray(g, dtype=float) for g in groups]) if groups else np.zeros(0)
    low = min(m - 7.5 * s for m, s in prior)
    high = max(m + 7.5 * s for m, s in prior)
    centre, width = 0.5 * (low + high), max(0.5 * (high - low), 1e-12)
    share = OUTLIER_SHARE
    start = [
        (float(np.median(g)) if len(g) > 2 else m, _robust_sd(g, s)) for g, (m, s) in zip(groups, prior, strict=True)
    ]
    sound = [_sound(g, m, s, share, centre, width) for g, (m, s) in zip(groups, start, strict=True)]
    found: list[NormalEstimate] = []
    for _ in range(ROUNDS):
        found = [
            normal(g, m, s, weights=w, strength=strength) for g, (m, s), w in zip(groups, prior, sound, strict=True)
        ]
        glitches = float(sum((1.0 - w).sum() for w in sound))
        new = rate(glitches, len(everything), OUTLIER_SHARE, strength=OUTLIER_STRENGTH).value
        share, before = min(new, MOST_OUTLIERS), share
        sound = [_sound(g, f.mean.value, f.sd.value, share, centre, width) for g, f in zip(groups, found, strict=True)]
        if abs(share - before) < 1e-9:
            break
    glitches = float(sum((1.0 - w).sum() for w in sound))
    return found, rate(
        min(glitches, MOST_OUTLIERS * len(everything)), len(everything), OUTLIER_SHARE, strength=OUTLIER_STRENGTH
    )


def _robust_sd(readings: Floats, instead: float) -> float:
    """Return 1.4826 times the median distance from the median: glitches hardly move it."""
    if len(readings) < 5:
        return instead
    distance = float(np.median(np.abs(readings - np.median(readings))))
    return 1.4826 * distance if distance > 0.0 else instead


def _sound(readings: Floats, mean: float, sd: float, share: float, centre: float, width: float) -> Floats:
    """Return the probability that each reading is no glitch."""
    z, far = (readings - mean) / sd, (readings - centre) / width
    own = (1.0 - share) * np.exp(-0.5 * z * z) / (sd * math.sqrt(2.0 * math.pi))
    glitch = share / (math.pi * width) / (1.0 + far * far)
    return np.asarray(own / np.maximum(own + glitch, 1e-300))


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
