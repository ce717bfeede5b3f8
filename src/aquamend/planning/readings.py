"""Probes that read numbers, as two discrete ones: one that tells less than the reading, and one that tells more.

Both cut the readings into intervals. Knowing only the interval of a reading is knowing less, so a plan made with it can
be followed: its loss is an upper bound. For a lower bound, take an interval with readings y, a position θ(y) in it that
runs from 0 to 1, and a reference density g(y). If for every label (every different row of the kernel)

    k(y | label) ≥ g(y) ( (1 − θ(y)) u_0(label) + θ(y) u_1(label) )      for all y in the interval,

then a reading y may be thought of as a lottery: with the weight on the right it says just "u_0" or "u_1", and with what
is left over it tells the whole truth. The outcome of the lottery is at least as informative as y, and so its optimum is
a lower bound: the loss is concave in the posterior. The ratio k/g is almost a straight line on a short interval, so
what is left over shrinks with the square of its width. Densities and g are bounded by chords between close edges, so
the inequality is checked at those edges alone, with what a chord may be above its curve taken off. Neighbouring
intervals share the answer at their common cut, the smaller of the two, so n cuts make n answers.

A worked example: two labels, normal with standard deviation 1 around 0 and 1, equally likely. Cut at −1, 0.5 and 2,
the better informed channel says "about −1", "about 0.5" or "about 2" in 79 % of all cases and the truth in the others;
with cuts a quarter apart from −3 to 4 it tells the truth in 0.2 %.

The lower bound needs a loss that is concave in the posterior: the conditions of support are left out there. The upper
one holds a policy to them by the evidence that it goes by, the interval; so where there are such rules, the optimum
that is bounded is that over policies which may round what they read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.model.kernels import Readings

Floats = NDArray[np.float64]

FINE = 16
"""Parts of an interval, between whose edges densities are bounded by straight lines."""
THETA = np.arange(FINE + 1) / FINE
RARE = 1e-6
"""Readings less probable than this on either side are taken to tell the truth."""
SURE = 0.9
"""How much less it matters to be told the likeliest label than another."""
RARE_LABEL = 1e-3
"""The least that a label counts where cuts are placed, beside the most probable one."""
SECANTS = ((0, 16), (4, 12), (7, 9), (2, 6), (10, 14), (0, 2), (14, 16), (0, 8), (8, 16))
"""Edges through which lines are tried, each lowered until it is below the ratio everywhere."""


@dataclass(frozen=True, eq=False)
class Informed:
    """A channel that tells more than the readings it stands for."""

    answers: Floats
    """Shape ``(n_labels, n_cuts)``; the probability of being told "about that cut"."""
    told: Floats
    """Shape ``(n_labels,)``; the probability of being told the whole truth."""
    left_over: Floats
    """Shape ``(n_cuts - 1,)``; how much of that comes from each interval, at the posterior it was made for, and counts:
    to be told what is all but certain anyway is worth little."""


def garbled(channel: Readings, cuts: Floats) -> Floats:
    """Return the probability of every interval under every hypothesis, ``(n_hypotheses, n_cuts + 1)``."""
    return np.asarray(channel.intervals(cuts)[channel.of])


def informed(channel: Readings, cuts: Floats, prior: Floats) -> Informed:
    """Return a better informed channel with an answer at each cut; ``prior`` are the probabilities of the labels."""
    edges = cuts[:-1, None] + np.diff(cuts)[:, None] * THETA
    beneath = channel.beneath(edges)  # straight between edges, and so is the reference: what is to be expected
    reference = beneath @ prior + 1e-3 * beneath.mean(axis=2) + 1e-300
    at_low, at_high = _heard(reference, np.diff(edges, axis=1))
    low, high = _lines(beneath, reference, at_low, at_high)
    ends = np.zeros((2, len(cuts), beneath.shape[2]))
    ends[0, :-1], ends[1, 1:] = low, high
    shared = np.minimum(ends[0], ends[1])
    shared[0], shared[-1] = ends[0, 0], ends[1, -1]
    answers = (np.append(at_low, 0.0) + np.append(0.0, at_high))[:, None] * shared
    told = np.maximum(1.0 - answers.sum(axis=0), 0.0)
    inside = channel.intervals(cuts)[:, 1:-1].T
    said = at_low[:, None] * shared[:-1] + at_high[:, None] * shared[1:]
    left_over = np.maximum(inside - said, 0.0) * prior
    return Informed(answers.T, told, left_over.sum(axis=1) - SURE * left_over.max(axis=1))


def _heard(reference: Floats, width: Floats) -> tuple[Floats, Floats]:
    """Return the integrals of g (1 − θ) and of g θ over each interval; both factors are straight between edges."""
    low, high = reference[:, :-1], reference[:, 1:]
    start, end = THETA[:-1], THETA[1:]
    rising = width * ((low * start + high * end) / 3.0 + (low * end + high * start) / 6.0)
    return (width * (low + high) / 2.0 - rising).sum(axis=1), rising.sum(axis=1)


def _lines(beneath: Floats, reference: Floats, at_low: Floats, at_high: Floats) -> tuple[Floats, Floats]:
    """Return lines u with g u nowhere above the density, by their values at 0 and 1: the best of some for each label.

    Between two edges g u is a parabola, above its chord by at most a quarter of −Δg Δu where that is positive.
    """
    ratio = beneath / reference[:, :, None]
    step = np.abs(np.diff(reference, axis=1))
    rises = np.diff(reference, axis=1) > 0.0
    best = np.zeros(ratio[:, 0].shape)
    low, high = np.zeros_like(best), np.zeros_like(best)
    for a, b in SECANTS:
        slope = (ratio[:, b] - ratio[:, a]) / (THETA[b] - THETA[a])
        start = ratio[:, a] - slope * THETA[a]
        line = np.maximum(start[:, None] + slope[:, None] * THETA[:, None], 0.0)
        against = np.where(rises[:, :, None] == (slope < 0.0)[:, None], step[:, :, None], 0.0)
        over = against * np.abs(slope)[:, None] / (4.0 * FINE)
        product = line * reference[:, :, None]
        product[:, :-1] += over
        product[:, 1:] += over
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(product > 0.0, beneath / product, 1.0).min(axis=1)
        share = np.where((start >= 0.0) & (start + slope >= 0.0), np.minimum(share, 1.0), 0.0)
        value = share * (at_low[:, None] * start + at_high[:, None] * (start + slope))
        better = value > best
        best = np.where(better, value, best)
        low, high = np.where(better, share * start, low), np.where(better, share * (start + slope), high)
    return low, high


def telling_cuts(channel: Readings, prior: Floats, n: int) -> Floats:
    """Return at most n cuts among the sampled readings, each where it tells most of the label, given those before.

    What a cut tells is the mutual information of label and interval; a label that is hardly possible counts a little.
    """
    weight = np.maximum(prior, RARE_LABEL * prior.max())[:, None]
    below = np.concatenate([np.zeros((len(prior), 1)), np.cumsum(weight * channel.cells, axis=1)], axis=1)
    edges = [0, below.shape[1] - 1]
    found = {(edges[0], edges[1]): _best_cut(below, *edges)}
    while len(edges) - 2 < n:
        (low, high), (gain, cut) = max(found.items(), key=lambda item: item[1][0])
        if gain <= 0.0:
            break
        del found[low, high]
        found[low, cut], found[cut, high] = _best_cut(below, low, cut), _best_cut(below, cut, high)
        edges.append(cut)
    return np.asarray(channel.sampled[0][np.sort(edges)[1:-1] - 1])


def _best_cut(below: Floats, low: int, high: int) -> tuple[float, int]:
    """Return what the most telling cut between two edges tells, and which it is."""
    if high - low < 2:
        return 0.0, low
    start, middle, end = below[:, [low]], below[:, low + 1 : high], below[:, [high]]
    gain = _order(middle - start) + _order(end - middle) - _order(end - start)
    best = int(gain.argmax())
    return float(gain[best]), low + 1 + best


def _order(weight: Floats) -> Floats:
    """Return Σ w log(w / Σ w) over labels, the more the surer the label is; ``(n,)`` for weights ``(n_labels, n)``."""
    total = weight.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(weight > 0.0, weight * np.log(weight / total), 0.0).sum(axis=0))


def refined_cuts(channel: Readings, prior: Floats, n: int) -> Floats:
    """Return at least n cuts: some telling ones, the ends, and intervals halved for as long as they leave most over."""
    below = np.cumsum(prior @ channel.cells)[:-1]
    ends = np.interp([RARE, 1.0 - RARE], below, channel.sampled[0])
    cuts = np.union1d(ends, telling_cuts(channel, prior, max(2, n // 2)))
    while len(cuts) < n:
        left_over = informed(channel, cuts, prior).left_over
        worst = np.argsort(-left_over, kind="stable")[: max(1, min(len(cuts) // 2, n - len(cuts)))]
        cuts = np.union1d(cuts, 0.5 * (cuts[worst] + cuts[worst + 1]))
    return np.asarray(cuts)
