"""Probes that read numbers, as two discrete ones: one that tells less than the reading, and one that tells more.

Both cut the readings into intervals. Knowing only the interval of a reading is knowing less, so a plan made with it can
be followed: its loss is an upper bound. For a lower bound, take an interval with readings y, a position θ(y) in it that
runs from 0 to 1, and a reference density g(y). If for every label (every different row of the kernel)

    k(y | label) ≥ g(y) ( (1 − θ(y)) u_0(label) + θ(y) u_1(label) )      for all y in the interval,

then a reading y may be thought of as a lottery: with the weight on the right it says just "u_0" or "u_1", and with what
is left over it tells the whole truth. The outcome of the lottery is at least as informative as y, and so its optimum is
a lower bound: the loss is concave in the posterior. The ratio k/g is almost a straight line on a short interval, so
what is left over shrinks with the square of its width. Neighbouring intervals share the answer at their common cut, the
smaller of the two, so n cuts make n answers.

A worked example: two labels, normal with standard deviation 1 around 0 and 1, equally likely. Cut at −1, 0.5 and 2,
the better informed channel says "about −1", "about 0.5" or "about 2" in 77 % of all cases and the truth in the others;
with cuts a quarter apart from −3 to 4 it tells the truth in 0.6 %.

All this needs a loss that is concave in the posterior: with rules of support it is priced with those left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.model.kernels import Readings

Floats = NDArray[np.float64]

FINE = 24
"""Small parts of an interval on which the densities are bounded from below."""
RARE = 1e-6
"""Readings less probable than this on either side are taken to tell the truth."""
COARSE = 8
"""Intervals to begin with."""
SECANTS = ((0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (6, 0), (8, 0), (11, 0), (3, -4), (3, 4), (3, -8), (3, 8))
"""Slopes to try for a line below the ratio: half the width of the secant and its middle's distance from the centre."""


@dataclass(frozen=True, eq=False)
class Informed:
    """A channel that tells more than the readings it stands for."""

    answers: Floats
    """Shape ``(n_labels, n_cuts)``; the probability of being told "about that cut"."""
    told: Floats
    """Shape ``(n_labels,)``; the probability of being told the whole truth."""
    left_over: Floats
    """Shape ``(n_cuts - 1,)``; how much of that comes from each interval, at the posterior it was made for."""


def garbled(channel: Readings, cuts: Floats) -> Floats:
    """Return the probability of every interval under every hypothesis, ``(n_hypotheses, n_cuts + 1)``."""
    return np.asarray(channel.intervals(cuts)[channel.of])


def informed(channel: Readings, cuts: Floats, prior: Floats) -> Informed:
    """Return a better informed channel with an answer at each cut; ``prior`` are the probabilities of the labels."""
    edges = cuts[:-1, None] + np.diff(cuts)[:, None] * (np.arange(FINE + 1) / FINE)
    least = channel.least(edges.ravel())
    least = np.append(least, np.zeros((1, least.shape[1])), axis=0).reshape(*edges.shape, -1)[:, :-1]
    theta = (np.arange(FINE) + 0.5) / FINE
    # Any positive function serves as reference: here what is to be expected, taken where it is bounded, too.
    reference = least @ prior + 1e-3 * least.mean(axis=2) + 1e-300
    weight = reference * np.diff(edges, axis=1)
    low, high = _below(least / reference[:, :, None], theta, weight)
    ends = np.zeros((2, len(cuts), least.shape[2]))
    ends[0, :-1], ends[1, 1:] = low, high
    shared = np.minimum(ends[0], ends[1])
    shared[0], shared[-1] = ends[0, 0], ends[1, -1]
    heard = np.zeros(len(cuts))
    heard[:-1] += (weight * (1.0 - theta)).sum(axis=1)
    heard[1:] += (weight * theta).sum(axis=1)
    answers = heard[:, None] * shared
    told = np.maximum(1.0 - answers.sum(axis=0), 0.0)
    inside = channel.intervals(cuts)[:, 1:-1].T
    used = (weight * (1.0 - theta)).sum(axis=1)[:, None] * shared[:-1] + (weight * theta).sum(axis=1)[:, None] * shared[
        1:
    ]
    return Informed(answers.T, told, np.maximum(inside - used, 0.0) @ prior)


def _below(ratio: Floats, theta: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return straight lines below the ratios by their values at 0 and 1, neither negative: the best of some slopes.

    ``ratio`` is ``(n_intervals, n_parts, n_labels)`` at the positions ``theta``; ``weight`` says where it matters.
    """
    centre = ((weight * theta).sum(axis=1) / weight.sum(axis=1))[:, None]
    best = np.full(ratio[:, 0].shape, -math.inf)
    low, high = np.zeros_like(best), np.zeros_like(best)
    last, middle = len(theta) - 1, len(theta) // 2
    for half, shift in SECANTS:
        a, b = max(0, middle + shift - half), min(last, middle + shift + half)
        slope = (ratio[:, b] - ratio[:, a]) / (theta[b] - theta[a]) if b > a else np.zeros_like(best)
        offset = (ratio - slope[:, None, :] * theta[None, :, None]).min(axis=1)
        value = np.where((offset >= 0.0) & (offset + slope >= 0.0), offset + slope * centre, -math.inf)
        better = value > best
        best = np.where(better, value, best)
        low, high = np.where(better, offset, low), np.where(better, offset + slope, high)
    return low, high


def refined_cuts(channel: Readings, prior: Floats, n: int, given: Floats) -> Floats:
    """Return at least n cuts: the given ones, and intervals halved for as long as they leave most over."""
    levels = np.concatenate([[RARE, 1e-3], np.arange(1, COARSE) / COARSE, [1.0 - 1e-3, 1.0 - RARE]])
    below = np.cumsum(prior @ channel.cells)[:-1]
    cuts = np.union1d(np.interp(levels, below, channel.sampled[0]), given)
    while len(cuts) < n:
        left_over = informed(channel, cuts, prior).left_over
        worst = np.argsort(-left_over, kind="stable")[: max(1, min(len(cuts) // 2, n - len(cuts)))]
        cuts = np.union1d(cuts, 0.5 * (cuts[worst] + cuts[worst + 1]))
    return np.asarray(cuts)
