"""Readings as normal distributions and mixtures of them, with glitches told apart: expectation–maximisation.

Every group of readings has its own mixture, and all groups share one small part of glitches, a broad Cauchy
distribution, as the kernels of a problem have it. What was thought before counts as ``strength`` readings in all, a
part of weight w as ``strength · w``; so a part that no reading belongs to stays as it was thought.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from aquamend.arrays import Floats
from aquamend.learning.estimates import STRENGTH, Estimate, normal, normal_law, rate, shares

OUTLIER_SHARE, OUTLIER_STRENGTH = 0.01, 20.0
"""Share of glitches thought of before any reading, and how many readings that is worth."""
MOST_OUTLIERS = 0.5
ROUNDS = 200
REACH_SD = 7.5


class Part(NamedTuple):
    """One normal distribution of a mixture."""

    weight: float
    mean: float
    sd: float


@dataclass(frozen=True, slots=True)
class PartEstimate:
    """One normal distribution of a mixture, as it was learned."""

    weight: Estimate
    mean: Estimate
    sd: Estimate


def mixtures(
    groups: Sequence[Floats],
    prior: Sequence[Sequence[Part]],
    *,
    start: Sequence[Sequence[Part]] | None = None,
    strength: float = STRENGTH,
) -> tuple[list[list[PartEstimate]], Estimate]:
    """Return the mixture of every group of readings, with as many parts as it was thought to have, and the glitches.

    ``start`` is where the search begins; without it, single parts begin at the median of their readings, and mixtures
    as they were thought to be. The share of glitches has a Beta prior of 1 % worth 20 readings.
    """
    count = sum(len(group) for group in groups)
    low = min(part.mean - REACH_SD * part.sd for parts in prior for part in parts)
    high = max(part.mean + REACH_SD * part.sd for parts in prior for part in parts)
    glitch = _Glitches(OUTLIER_SHARE, 0.5 * (low + high), max(0.5 * (high - low), 1e-12))
    now = [list(parts) for parts in start] if start else list(map(_robust, groups, prior))
    belongs = [_belongs(group, parts, glitch) for group, parts in zip(groups, now, strict=True)]
    for _ in range(ROUNDS):
        now = [_fitted(group, parts, own, strength) for group, parts, own in zip(groups, prior, belongs, strict=True)]
        glitches = sum(float((1.0 - own.sum(axis=0)).sum()) for own in belongs)
        share = (glitches + OUTLIER_STRENGTH * OUTLIER_SHARE) / (count + OUTLIER_STRENGTH)
        before, glitch = belongs, glitch._replace(share=min(share, MOST_OUTLIERS))
        belongs = [_belongs(group, parts, glitch) for group, parts in zip(groups, now, strict=True)]
        if all(np.allclose(a, b, rtol=0.0, atol=1e-9) for a, b in zip(before, belongs, strict=True)):
            break
    found = [_estimates(*each, strength) for each in zip(groups, prior, belongs, strict=True)]
    glitches = min(sum(float((1.0 - own.sum(axis=0)).sum()) for own in belongs), MOST_OUTLIERS * count)
    return found, rate(glitches, count, OUTLIER_SHARE, strength=OUTLIER_STRENGTH)


def in_two(readings: Floats, thought: Part) -> list[Part]:
    """Return two parts to begin with: the readings below and above the gap that splits them best (two means)."""
    y = np.sort(readings)
    sums, n = np.cumsum(y), len(y)
    below = np.arange(1, n)
    between = (sums[:-1] / below - (sums[-1] - sums[:-1]) / (n - below)) ** 2 * below * (n - below)
    cut = int(between.argmax()) + 1
    return [
        Part(len(own) / n, float(own.mean()), float(own.std()) if len(own) > 1 and own.std() > 0 else thought.sd)
        for own in (y[:cut], y[cut:])
    ]


class _Glitches(NamedTuple):
    share: float
    centre: float
    width: float


def _belongs(readings: Floats, parts: Sequence[Part], glitch: _Glitches) -> Floats:
    """Return how probably each reading belongs to each part, ``(n_parts, n_readings)``; the rest is a glitch."""
    weight, mean, sd = (np.array(column)[:, None] for column in zip(*parts, strict=True))
    z, far = (readings - mean) / sd, (readings - glitch.centre) / glitch.width
    own = (1.0 - glitch.share) * weight * np.exp(-0.5 * z * z) / (sd * math.sqrt(2.0 * math.pi))
    outlying = glitch.share / (math.pi * glitch.width) / (1.0 + far * far)
    return np.asarray(own / np.maximum(own.sum(axis=0) + outlying, 1e-300))


def _fitted(readings: Floats, prior: Sequence[Part], belongs: Floats, strength: float) -> list[Part]:
    counts = belongs.sum(axis=1)
    total = float(counts.sum()) + strength
    found = []
    for part, own, n in zip(prior, belongs, counts, strict=True):
        law = normal_law(readings, part.mean, part.sd, weights=own, strength=strength * part.weight)
        found.append(Part((float(n) + strength * part.weight) / total, law.mean, law.sd))
    return found


def _estimates(readings: Floats, prior: Sequence[Part], belongs: Floats, strength: float) -> list[PartEstimate]:
    weights = shares(belongs.sum(axis=1), [part.weight for part in prior], strength=strength)
    found = []
    for part, weight, own in zip(prior, weights, belongs, strict=True):
        law = normal(readings, part.mean, part.sd, weights=own, strength=strength * part.weight)
        found.append(PartEstimate(weight, law.mean, law.sd))
    return found


def _robust(readings: Floats, parts: Sequence[Part]) -> list[Part]:
    """Return where to begin: the readings' median and median distance from it, which glitches hardly move."""
    if len(parts) > 1 or len(readings) < 3:
        return list(parts)
    (part,) = parts
    centre = float(np.median(readings))
    distance = 1.4826 * float(np.median(np.abs(readings - centre))) if len(readings) >= 5 else 0.0
    return [Part(1.0, centre, distance if distance > 0.0 else part.sd)]
