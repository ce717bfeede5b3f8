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

import numpy as np
from numpy.typing import NDArray

from aquamend.planning.lattice import digit

Floats = NDArray[np.float64]


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
    _, first, of = np.unique(np.round(likelihood, 12), axis=0, return_index=True, return_inverse=True)
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

    def locate(self, vector: Floats) -> tuple[int, float] | None:
        """Return the kept state with this likelihood of the labels, and the scale between them, or None."""
        return _locate(self.vectors[: self.n_kept], vector)


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
    moves = np.zeros((len(kept), len(kept) + len(labels.prior)))
    for state, vector in enumerate(kept):
        for outcome in range(labels.kernel.shape[1]):
            _move(moves[state], kept, vector * labels.kernel[:, outcome], labels.prior)
    return _revealing(labels, kept, moves)


def revealing_digit(labels: Labels) -> RelaxedDigit:
    """Return the digit whose first use reveals the label: the coarsest, valid for any kernel."""
    n_labels = len(labels.prior)
    return _revealing(labels, np.ones((1, n_labels)), np.concatenate([[0.0], np.ones(n_labels)])[None, :])


def _revealing(labels: Labels, kept: Floats, moves: Floats) -> RelaxedDigit:
    """Return a digit from its moves to kept states and labels; closed labels become sums instead of states."""
    n_kept, n_labels = len(kept), len(labels.prior)
    vectors = np.vstack([kept, np.eye(n_labels)[~labels.closed]])
    transition = np.hstack([moves[:, :n_kept], moves[:, n_kept:][:, ~labels.closed]])
    return RelaxedDigit(labels, vectors, n_kept, n_kept, transition, False, moves[:, n_kept:] * labels.closed)


def _move(row: Floats, kept: Floats, target: Floats, prior: Floats) -> None:
    """Add where an answer leads: its state if kept, else the lottery that reveals least."""
    if target.max() <= 0.0:
        return
    found = _locate(kept, target)
    if found is not None:
        row[found[0]] += found[1]
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(kept > 0, target / kept, math.inf).min(axis=1)
    stay = int(np.argmax(share * (kept @ prior)))
    row[stay] += share[stay]
    row[len(kept) :] += np.maximum(target - share[stay] * kept[stay], 0.0)


def _locate(kept: Floats, vector: Floats) -> tuple[int, float] | None:
    shape = vector / vector.max()
    shapes = kept / kept.max(axis=1, keepdims=True)
    same = np.flatnonzero(np.isclose(shapes, shape, rtol=1e-9, atol=1e-14).all(axis=1))
    return (int(same[0]), float(vector.max() / kept[same[0]].max())) if len(same) else None


def useful_states(labels: Labels, vector: Floats, kept: Floats) -> Iterator[tuple[float, Floats]]:
    """Yield the evidence states one answer beyond a state that are not kept yet, with how much keeping each helps.

    The score is the probability of getting there by this probe alone times the uncertainty about the label left
    there, in nats: what a lottery would otherwise give away.
    """
    for outcome in range(labels.kernel.shape[1]):
        target = vector * labels.kernel[:, outcome]
        if target.max() > 0.0 and _locate(kept, target) is None:
            joint = target * labels.prior
            posterior = joint[joint > 0] / joint.sum() if joint.sum() > 0 else np.ones(1)
            yield float(joint.sum() * -(posterior * np.log(posterior)).sum()), target
