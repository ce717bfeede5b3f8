"""How a probe that reads numbers is learned: as a normal distribution, a mixture or samples, and which suits it best.

The file's own law counts as ``strength`` readings, whichever kind it has and whichever is learned. The best kind is the
simplest (normal, then mixture, then samples) that no later one beats on readings held back: by more than one standard
error in the mean log density, over four folds in which each reading is held back once.

In mixtures, every group of readings has its own, and all groups share one small part of glitches, a broad Cauchy
distribution, as the kernels of a problem have it. What was thought before counts as ``strength`` readings in all, a
part of weight w as ``strength · w``; so a part that no reading belongs to stays as it was thought.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from aquamend.arrays import Floats
from aquamend.codec import FaultReport
from aquamend.files.format import KERNEL
from aquamend.learning.estimates import STRENGTH, Estimate, normal, normal_law, rate, shares
from aquamend.problem.model.kernels.normal_mixture import Readings, silverman
from aquamend.text import counted, shown

FOLDS = 4
FEWEST_TO_CHOOSE = 20
"""Readings below which the kind of kernel stays what the file says."""
FEWEST_TO_SPLIT = 10
"""Readings below which a normal distribution is not made a mixture of two."""
MOST_SAMPLES = 60
"""Samples kept under each rule, at even quantiles of all; more would only slow decisions down."""
DIGITS = 8
OUTLIER_SHARE, OUTLIER_STRENGTH = 0.01, 20.0
"""Share of glitches thought of before any reading, and how many readings that is worth."""
MOST_OUTLIERS = 0.5
ROUNDS = 200
REACH_SD = 7.5
FACTORS = {
    1000.0: "kilograms and grams, or the like",
    1e6: "milligrams and kilograms, or the like",
    100.0: "centimetres and metres, or shares and percent",
    60.0: "minutes and seconds, or the like",
    3600.0: "hours and seconds",
    25.4: "inches and millimetres",
    57.29578: "degrees and radians",
    28.349523: "ounces and grams",
    453.59237: "pounds and grams",
}
"""What two heaps of readings may differ by, and what that is likely to be."""
FEWEST, SMALLEST_SHARE = 2, 0.02
NEAR = 0.12
"""How near to a factor the medians must be, as a share of it."""
TIGHTEST = 3.0
"""How many times the gap between two heaps must exceed how far the readings of each lie apart, in logarithms."""


class Law(StrEnum):
    """As what the readings of a probe are learned."""

    AS_WRITTEN = "as-written"
    """The kind that the file has."""
    GAUSSIAN = "gaussian"
    MIXTURE = "mixture"
    SAMPLES = "samples"
    BEST = "best"
    """The simplest kind that none beats on readings held back."""


@dataclass(frozen=True, slots=True)
class LearnedReadings:
    """A kernel as a file has it, with what it rests on."""

    kernel: dict[str, Any]
    estimates: dict[str, Estimate]
    """By place within the kernel."""
    scores: dict[str, float] = field(default_factory=dict)
    """Mean log density of readings held back, by kind, where the kind was chosen by it."""


def learned_readings(
    kernel: Mapping[str, Any], readings: Mapping[str, Floats], *, law: Law, strength: float
) -> LearnedReadings:
    """Return the kernel that readings, by rule, make of the one that a file has."""
    written = _kind_of(kernel)
    if law is not Law.BEST:
        return _FITS[written if law is Law.AS_WRITTEN else law.value](kernel, readings, strength)
    if sum(map(len, readings.values())) < FEWEST_TO_CHOOSE:
        return _FITS[written](kernel, readings, strength)
    held = {kind: _held_back(kernel, readings, kind, strength) for kind in _FITS}
    best = next(iter(held))
    for kind, densities in held.items():
        gain = densities - held[best]
        if gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)):
            best = kind
    found = _FITS[best](kernel, readings, strength)
    return LearnedReadings(found.kernel, found.estimates, {kind: float(own.mean()) for kind, own in held.items()})


def _held_back(kernel: Mapping[str, Any], readings: Mapping[str, Floats], kind: str, strength: float) -> Floats:
    """Return the log density of every reading under a kernel learned from the other folds."""
    found = []
    for fold in range(FOLDS):
        used = {rule: own[np.arange(len(own)) % FOLDS != fold] for rule, own in readings.items()}
        law = _FITS[kind](kernel, used, strength).kernel
        channel = channel_of(law, list(readings))
        for i, own in enumerate(readings.values()):
            density = channel.density(own[np.arange(len(own)) % FOLDS == fold])[:, channel.of[i]]
            found.append(np.log(np.maximum(density, 1e-300)))
    return np.concatenate(found)


def channel_of(kernel: Mapping[str, Any], rules: Sequence[str]) -> Readings:
    """Return the channel of a kernel's data, its rules standing for hypotheses."""
    channel = KERNEL.read(kernel, "kernel", FaultReport()).channel(rules)
    if not isinstance(channel, Readings):
        raise TypeError(f"a kernel with {', '.join(kernel)} reads no numbers")
    return channel


def _kind_of(kernel: Mapping[str, Any]) -> str:
    return next(kind for kind in _FITS if kind in kernel)


def parts_of(kernel: Mapping[str, Any]) -> dict[str, list[Part]]:
    """Return what the file says of every rule, as a mixture."""
    rows: dict[str, list[Part]] = {}
    for rule, row in kernel[_kind_of(kernel)].items():
        if "gaussian" in kernel:
            rows[rule] = [Part(1.0, float(row[0]), float(row[1]))]
        elif "mixture" in kernel:
            rows[rule] = [Part(*map(float, part)) for part in row]
        else:
            width = kernel.get("bandwidth") or silverman(np.array(row, dtype=float))
            rows[rule] = [Part(1.0 / len(row), float(y), float(width)) for y in row]
    return rows


def _as_one(parts: Sequence[Part]) -> Part:
    """Return the normal distribution with a mixture's mean and standard deviation."""
    mean = sum(p.weight * p.mean for p in parts)
    return Part(1.0, mean, float(np.sqrt(sum(p.weight * (p.sd**2 + (p.mean - mean) ** 2) for p in parts))))


def _normals(kind: str, kernel: Mapping[str, Any], readings: Mapping[str, Floats], strength: float) -> LearnedReadings:
    """Learn normal distributions: one under each rule, or the parts of mixtures.

    Those are the parts that the file has; of a file that has none, two where there are readings enough. The share of
    glitches stays what the file says where there is no reading at all.
    """
    prior, start = parts_of(kernel), None
    if kind == "gaussian":
        prior = {rule: [_as_one(parts)] for rule, parts in prior.items()}
    elif kind not in kernel:
        prior, start = _split(prior, readings)
    found, outliers = mixtures(list(readings.values()), list(prior.values()), start=start, strength=strength)
    rows, notes = {}, dict[str, Estimate]()
    for rule, parts in zip(prior, found, strict=True):
        numbers = {f"[{i}]": [part.weight, part.mean, part.sd] for i, part in enumerate(parts)}
        if kind == "gaussian":
            numbers = {"": [parts[0].mean, parts[0].sd]}
        for at, own in numbers.items():
            notes |= {f"{kind}.{rule}{at}[{j}]": estimate for j, estimate in enumerate(own)}
        row = [[_written(estimate) for estimate in own] for own in numbers.values()]
        rows[rule] = row[0] if kind == "gaussian" else row
    if any(map(len, readings.values())):
        return LearnedReadings({kind: rows, "outliers": _written(outliers)}, {**notes, "outliers": outliers})
    return LearnedReadings({kind: rows, **_as_said(kernel, "outliers")}, notes)


def _split(
    thought: Mapping[str, Sequence[Part]], readings: Mapping[str, Floats]
) -> tuple[dict[str, list[Part]], list[list[Part]]]:
    prior, start = {}, []
    for rule, parts in thought.items():
        one = _as_one(parts)
        enough = len(readings[rule]) >= FEWEST_TO_SPLIT and len(np.unique(readings[rule])) > 1
        prior[rule] = [one._replace(weight=0.5)] * 2 if enough else [one]
        start.append(in_two(readings[rule], one) if enough else [one])
    return prior, start


def _samples(kernel: Mapping[str, Any], readings: Mapping[str, Floats], strength: float) -> LearnedReadings:
    """Keep the readings themselves, beside as many of the file's law as its strength says, and at least two."""
    rows, notes, few = {}, {}, max(2, round(strength))
    for rule, parts in parts_of(kernel).items():
        one, own = _as_one(parts), readings[rule]
        even = (np.arange(few) + 0.5) / few
        if "samples" in kernel:
            thought = np.quantile(np.array(kernel["samples"][rule], dtype=float), even)
        else:
            thought = np.array([NormalDist(one.mean, one.sd).inv_cdf(q) for q in even])
        kept = np.sort(np.concatenate([thought, own]))
        if len(kept) > MOST_SAMPLES:
            kept = np.quantile(kept, (np.arange(MOST_SAMPLES) + 0.5) / MOST_SAMPLES)
        rows[rule] = [float(f"{y:.{DIGITS}g}") for y in kept]
        if len(set(rows[rule])) < 2 and "bandwidth" not in kernel:  # nothing tells how far readings scatter
            rows[rule] = [one.mean - one.sd, *rows[rule], one.mean + one.sd]
        notes[f"samples.{rule}"] = normal(own, one.mean, one.sd, strength=strength).mean
    return LearnedReadings({"samples": rows, **_as_said(kernel, "bandwidth", "outliers")}, notes)


_FITS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Floats], float], LearnedReadings]] = {
    "gaussian": partial(_normals, "gaussian"),
    "mixture": partial(_normals, "mixture"),
    "samples": _samples,
}
"""The kinds, the simplest first."""


def _as_said(kernel: Mapping[str, Any], *keys: str) -> dict[str, float]:
    """Return what a file says under these keys, as far as it has them."""
    return {key: float(kernel[key]) for key in keys if key in kernel}


def _written(estimate: Estimate) -> float:
    return float(f"{estimate.value:.{DIGITS}g}")


# Readings as normal distributions and mixtures of them, with glitches told apart: expectation–maximisation.


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
    found = [_estimated_parts(*each, strength) for each in zip(groups, prior, belongs, strict=True)]
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


def _estimated_parts(readings: Floats, prior: Sequence[Part], belongs: Floats, strength: float) -> list[PartEstimate]:
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


# Whether readings are in one unit: kilograms among grams make two heaps, one a round factor times the other.


def mixed_units(
    probe: str, readings: Floats, places: Sequence[str], thought: float | None, *, heaps_are_known: bool = False
) -> str | None:
    """Return a question about the units of a probe's readings under one rule; None where they seem to be in one.

    Without two heaps, all of them may be in another unit than the file's mean ``thought``. Where the file has several
    heaps itself, two are no surprise.
    """
    size = np.abs(readings)
    known = size > 0
    if int(known.sum()) < 2 * FEWEST + 1:
        return None
    log = np.log(size[known])
    order = np.argsort(log, kind="stable")
    low, high = _heaps(log[order])
    if low is not None and high is not None and not heaps_are_known:
        few_high = len(high) <= len(low)
        few = high if few_high else low
        factor = _named_factor(float(np.exp(np.median(high) - np.median(low))))
        if factor is not None and len(few) >= max(FEWEST, SMALLEST_SHARE * len(log)):
            at = np.flatnonzero(known)[order]
            rows = [places[i] for i in np.sort(at[len(low) :] if few_high else at[: len(low)])]
            ratio = f"{factor:,g} times" if few_high else f"1/{factor:,g} of"
            return (
                f"{_share(len(few), len(log))} of {shown(probe)!r} ({len(few)} of {len(log)}: {', '.join(rows[:5])}"
                f"{', …' if len(rows) > 5 else ''}) is {ratio} the rest: {FACTORS[factor]}? "
                "It stays as it was; bring all of them to one unit"
            )
    if thought and len(log) >= 5:
        return _all_of_them(probe, float(np.median(readings[known])), thought, log)
    return None


def _all_of_them(probe: str, median: float, thought: float, log: Floats) -> str | None:
    ratio = abs(median / thought)
    factor = _named_factor(ratio if ratio > 1.0 else 1.0 / ratio)
    if factor is None or factor < 100.0 or float(np.median(np.abs(log - np.median(log)))) > 0.5:
        return None
    said = f"{factor:,g} times" if ratio > 1.0 else f"1/{factor:,g} of"
    return (
        f"all {counted(len(log), 'reading')} of {shown(probe)!r} are about {said} what the file says ({median:.4g} "
        f"beside {thought:.4g}): {FACTORS[factor]}? It stays as it was; write readings and file in one unit"
    )


def _heaps(log: Floats) -> tuple[Floats, Floats] | tuple[None, None]:
    """Return sorted logarithms as two heaps, cut at the largest gap; nothing where they are not clearly apart."""
    gaps = np.diff(log)
    inner = gaps[FEWEST - 1 : len(gaps) - FEWEST + 1]
    if not len(inner):
        return None, None
    cut = FEWEST + int(inner.argmax())
    low, high = log[:cut], log[cut:]
    apart = float(np.median(high) - np.median(low))
    spread = max(_scatter(low), _scatter(high))
    return (low, high) if gaps[cut - 1] > TIGHTEST * spread and apart > 0.8 else (None, None)


def _scatter(log: Floats) -> float:
    return 1.4826 * float(np.median(np.abs(log - np.median(log))))


def _named_factor(ratio: float) -> float | None:
    near = min(FACTORS, key=lambda factor: abs(np.log(ratio / factor)))
    return near if abs(np.log(ratio / near)) < NEAR else None


def _share(few: int, n: int) -> str:
    for share, said in ((0.5, "half"), (1 / 3, "a third"), (0.25, "a quarter"), (0.2, "a fifth"), (0.1, "a tenth")):
        if abs(few / n - share) < 0.04:
            return said
    return f"{few / n:.0%}"
