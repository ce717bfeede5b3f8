"""Relaxed evidence of one probe: few states, chosen so that leaving them can only reveal too much.

What a probe can ever tell is its *label*: which row of its kernel holds. A relaxed digit keeps some of the posteriors
over labels that repeated answers lead to, plus one state per label for "revealed". An answer that would lead outside
is replaced by a lottery over the states kept, whose average is the true posterior over labels. The optimal loss is
concave in the posterior, so the lottery can only lower it: plans over relaxed digits bound the optimum from below.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from aquamend.model.kernels import Readings
from aquamend.planning.lattice import digit

Floats = NDArray[np.float64]

FINE_READINGS = 1500
"""Small intervals into which readings are cut to bound how much of them is told."""


@dataclass(frozen=True, eq=False)
class Labels:
    """The distinct rows of a probe's kernel and which hypothesis has which."""

    of: NDArray[np.intp]
    """Shape ``(n_hypotheses,)``."""
    kernel: Floats
    """Shape ``(n_labels, n_outcomes)``."""
    prior: Floats
    """Shape ``(n_labels,)``."""
    closed: NDArray[np.bool_]
    """Shape ``(n_labels,)``; True where knowing the label settles the terminal decision, so nothing more is open."""


def labels_of(likelihood: Floats, prior: Floats) -> Labels:
    """Return the labels of a kernel, shape ``(n_hypotheses, n_outcomes)``, among the hypotheses still possible."""
    _, first, of = np.unique(likelihood, axis=0, return_index=True, return_inverse=True)
    of = of.ravel()
    mass = np.bincount(of, weights=prior, minlength=len(first)).astype(float)
    return Labels(of, likelihood[first], mass, np.zeros(len(first), dtype=bool))


@dataclass(frozen=True, eq=False)
class RelaxedDigit:
    """States of one probe's evidence, and where one more use leads from each."""

    labels: Labels
    vectors: Floats
    """Shape ``(n_states, n_labels)``; each state's likelihood of every label, up to scale."""
    n_live: int
    """The first so many states allow another use; the rest are exhausted or revealed."""
    n_kept: int
    """The first so many states are evidence; the rest are revealed labels that leave something open."""
    transition: Floats
    """Shape ``(n_live, n_states)``; joint weight that one use moves to each state."""
    counted: bool
    """Whether all evidence states are there, uses counted, so that nothing is relaxed."""
    settled: Floats
    """Shape ``(n_live, n_labels)``; joint weight that one use moves to closed labels, which need no state."""

    @property
    def likelihood(self) -> Floats:
        """Shape ``(n_states, n_hypotheses)``."""
        return self.vectors[:, self.labels.of]

    @cached_property
    def _position(self) -> dict[bytes, int]:
        return {state_key(vector): i for i, vector in enumerate(self.vectors[: self.n_kept])}

    def locate(self, vector: Floats) -> tuple[int, float] | None:
        """Return the kept state with this likelihood of the labels, and the scale between them, or None."""
        i = self._position.get(state_key(vector))
        return None if i is None else (i, float(vector.max() / self.vectors[i].max()))

    def resembling(self, vector: Floats) -> int | None:
        """Return the kept state that makes up nearly all of this likelihood of the labels, or None."""
        kept = self.vectors[: self.n_kept]
        share = _shares(kept, vector) * (kept @ self.labels.prior)
        best = int(np.argmax(share))
        return best if share[best] > 0.7 * float(vector @ self.labels.prior) else None


def counted_digit(labels: Labels, uses: int) -> RelaxedDigit:
    """Return the exact digit: all evidence states of a probe with so many uses left."""
    exact = digit(labels.kernel.shape[1], uses)
    powers = labels.kernel.T[None, :, :] ** exact.counts[:, :, None]
    vectors = powers.prod(axis=1)
    live = np.flatnonzero(exact.child[:, 0] >= 0)  # breadth-first, so the live states come first
    transition = np.zeros((len(live), len(vectors)))
    for state in live:
        for child in exact.child[state]:
            transition[state, child] += 1.0
    nothing = np.zeros((len(live), len(labels.prior)))
    return RelaxedDigit(labels, vectors, len(live), len(vectors), transition, True, nothing)


def endless_digit(labels: Labels, states: list[Floats]) -> RelaxedDigit:
    """Return the digit of a probe taken to be usable without end, with these evidence states kept."""
    kept = np.array(states)
    position = {state_key(vector): i for i, vector in enumerate(kept)}
    moves = np.zeros((len(kept), len(kept) + len(labels.prior)))
    for row, vector in zip(moves, kept, strict=True):
        for target in (vector * labels.kernel.T)[(vector * labels.kernel.T).any(axis=1)]:
            at = position.get(state_key(target))
            if at is not None:
                row[at] += target.max() / kept[at].max()
            else:
                _draw(row, kept, target, labels.prior)
    return _revealing(labels, kept, moves)


def revealing_digit(labels: Labels) -> RelaxedDigit:
    """Return the digit whose first use reveals the label: the coarsest, valid for any kernel."""
    n_labels = len(labels.prior)
    return _revealing(labels, np.ones((1, n_labels)), np.concatenate([[0.0], np.ones(n_labels)])[None, :])


def reading_digit(labels: Labels, channel: Readings, readings: Floats, *, again: bool) -> RelaxedDigit:
    """Return the digit of a probe whose reading is told as one of some kept ones, or reveals its label.

    On a small interval of readings each label's density is at least so much, and so the interval holds at least that
    share of any kept reading's shape; the rest is revealed. With ``again``, a further use reveals the label.
    """
    n_labels = len(labels.prior)
    kept = np.vstack([np.ones(n_labels), channel.density(readings)])
    kept = kept[np.append(True, (kept[1:] > 0).any(axis=1))]  # none in gaps that no label explains
    if len(kept) == 1:
        return revealing_digit(labels)
    coarse = channel.sampled[0]
    edges = np.interp(np.linspace(0, len(coarse) - 1, FINE_READINGS), np.arange(len(coarse)), coarse)
    least = channel.least(edges) * np.diff(edges)[:, None]
    probability = channel.intervals(edges).T
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(kept[1:] > 0, least[:, None, :] / kept[1:], math.inf).min(axis=2)
    told = np.argmax(share * (kept[1:] @ labels.prior), axis=1)
    share = share[np.arange(len(told)), told]
    moves = np.zeros((len(kept), len(kept) + n_labels))
    moves[0, 1 : len(kept)] = np.bincount(told, weights=share, minlength=len(kept) - 1)
    left_over = np.maximum(probability[1:-1] - share[:, None] * kept[1 + told], 0.0).sum(axis=0)
    moves[0, len(kept) :] = left_over + probability[0] + probability[-1]
    moves[1:, len(kept) :] = kept[1:]
    return _revealing(labels, kept, moves, n_live=len(kept) if again else 1)


def _revealing(labels: Labels, kept: Floats, moves: Floats, *, n_live: int | None = None) -> RelaxedDigit:
    """Return a digit from its moves to kept states and labels; closed labels become sums instead of states."""
    n_kept, n_labels = len(kept), len(labels.prior)
    n_live = n_kept if n_live is None else n_live
    vectors = np.vstack([kept, np.eye(n_labels)[~labels.closed]])
    transition = np.hstack([moves[:, :n_kept], moves[:, n_kept:][:, ~labels.closed]])[:n_live]
    return RelaxedDigit(labels, vectors, n_live, n_kept, transition, False, moves[:n_live, n_kept:] * labels.closed)


def _draw(row: Floats, kept: Floats, target: Floats, prior: Floats) -> None:
    """Add the lottery that stands for an answer leading to no kept state: the one that reveals least."""
    share = _shares(kept, target)
    stay = int(np.argmax(share * (kept @ prior)))
    row[stay] += share[stay]
    row[len(kept) :] += np.maximum(target - share[stay] * kept[stay], 0.0)


def _shares(kept: Floats, target: Floats) -> Floats:
    """Return how much of each kept state fits into the target, so that what is left over is not negative."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(np.where(kept > 0, target / kept, math.inf).min(axis=1))


def state_key(vector: Floats) -> bytes:
    """Return what likelihoods of the labels have in common that differ in scale only, to nine digits."""
    possible = vector > 0.0
    log = np.log(np.where(possible, vector / vector.max(), 1.0)) if possible.any() else np.zeros_like(vector)
    return possible.tobytes() + (np.round(log, 9) + 0.0).tobytes()  # no negative zero


def useful_states(labels: Labels, vector: Floats, known: set[bytes]) -> Iterator[tuple[float, Floats]]:
    """Yield the evidence states one answer beyond a state that are not known yet, with how much keeping each helps.

    The score is the probability of getting there by this probe alone times the uncertainty about the label left
    there, in nats: what a lottery would otherwise give away.
    """
    for outcome in range(labels.kernel.shape[1]):
        target = vector * labels.kernel[:, outcome]
        if target.max() > 0.0 and state_key(target) not in known:
            joint = target * labels.prior
            posterior = joint[joint > 0] / joint.sum() if joint.sum() > 0 else np.ones(1)
            yield float(joint.sum() * -(posterior * np.log(posterior)).sum()), target
