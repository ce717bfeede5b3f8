"""How a probe that reads numbers is learned: as a normal distribution, a mixture or samples, and which suits it best.

The file's own law counts as ``strength`` readings, whichever kind it has and whichever is learned. The best kind is the
simplest (normal, then mixture, then samples) that no later one beats on readings held back: by more than one standard
error in the mean log density, over four folds in which each reading is held back once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import NormalDist
from typing import Any

import numpy as np

from aquamend.arrays import Floats
from aquamend.codec import FaultReport
from aquamend.files.format import KERNEL
from aquamend.learning.estimates import Estimate, normal
from aquamend.learning.mixtures import Part, in_two, mixtures
from aquamend.problem.model.kernels.normal_mixture import Readings, silverman

FOLDS = 4
FEWEST_TO_CHOOSE = 20
"""Readings below which the kind of kernel stays what the file says."""
FEWEST_TO_SPLIT = 10
"""Readings below which a normal distribution is not made a mixture of two."""
MOST_SAMPLES = 60
"""Samples kept under each rule, at even quantiles of all; more would only slow decisions down."""
DIGITS = 8


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

    @property
    def kind(self) -> str:
        """The kind of kernel."""
        return next(iter(self.kernel))


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


def _gaussian(kernel: Mapping[str, Any], readings: Mapping[str, Floats], strength: float) -> LearnedReadings:
    prior = {rule: [_as_one(parts)] for rule, parts in parts_of(kernel).items()}
    found, outliers = mixtures(list(readings.values()), list(prior.values()), strength=strength)
    notes: dict[str, Estimate] = {}
    for rule, (part,) in zip(prior, found, strict=True):
        notes |= {f"gaussian.{rule}[0]": part.mean, f"gaussian.{rule}[1]": part.sd}
    rows = {rule: [_written(part.mean), _written(part.sd)] for rule, (part,) in zip(prior, found, strict=True)}
    return _with_outliers({"gaussian": rows}, notes, kernel, readings, outliers)


def _mixture(kernel: Mapping[str, Any], readings: Mapping[str, Floats], strength: float) -> LearnedReadings:
    """Learn the parts that the file has; of a file that has none, two where there are readings enough."""
    prior, start = parts_of(kernel), None
    if "mixture" not in kernel:
        prior, start = _split(prior, readings)
    groups = list(readings.values())
    found, outliers = mixtures(groups, list(prior.values()), start=start, strength=strength)
    rows, notes = {}, dict[str, Estimate]()
    for rule, parts in zip(prior, found, strict=True):
        rows[rule] = [[_written(p.weight), _written(p.mean), _written(p.sd)] for p in parts]
        for i, part in enumerate(parts):
            own = {0: part.weight, 1: part.mean, 2: part.sd}
            notes |= {f"mixture.{rule}[{i}][{j}]": estimate for j, estimate in own.items()}
    return _with_outliers({"mixture": rows}, notes, kernel, readings, outliers)


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
    width = {"bandwidth": float(kernel["bandwidth"])} if "bandwidth" in kernel else {}
    outliers = {"outliers": float(kernel["outliers"])} if "outliers" in kernel else {}
    return LearnedReadings({"samples": rows, **width, **outliers}, notes)


_FITS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Floats], float], LearnedReadings]] = {
    "gaussian": _gaussian,
    "mixture": _mixture,
    "samples": _samples,
}
"""The kinds, the simplest first."""


def _with_outliers(
    rows: dict[str, Any],
    notes: dict[str, Estimate],
    kernel: Mapping[str, Any],
    readings: Mapping[str, Floats],
    outliers: Estimate,
) -> LearnedReadings:
    """Return the kernel with its share of glitches, which without any reading stays what the file says."""
    if any(map(len, readings.values())):
        return LearnedReadings({**rows, "outliers": _written(outliers)}, {**notes, "outliers": outliers})
    glitches = {"outliers": float(kernel["outliers"])} if "outliers" in kernel else {}
    return LearnedReadings({**rows, **glitches}, notes)


def _written(estimate: Estimate) -> float:
    return float(f"{estimate.value:.{DIGITS}g}")
