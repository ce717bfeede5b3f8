"""Residual rollback risk: what it would cost to roll back exactly what failed, and three ways of estimating it.

    U(x) = Σ_S Pr(S | x) B(S)                                                            (Section 3.3 of the paper)

S is the set of failed beliefs and B(S) the cost of the minimal upper closure of S, shared operations charged once;
infinite where that closure holds an irreversible action. U prices a fixed rule, "roll back whatever failed": it is
neither V_stop, which may leave a cheap failure uncorrected, nor a measure of what a probe is worth, because sensing
that moves no cost leaves its expectation as it is, E[U(x') | x, m] = U(x).
"""

from __future__ import annotations

import math

import numpy as np

from aquamend.arrays import Bools, Floats, Indices
from aquamend.belief import InformationState
from aquamend.problem.graph import RecoveryGraph

CORRELATED = 1e-9
"""Covariance of two failures above which they share a correlation edge."""


def exact_rollback_risk(state: InformationState) -> float:
    """Return U(x) = Σ_S Pr(S | x) B(S), over the distinct failure sets of positive probability.

    Once evidence contradicts the model every belief counts as failed, and U is the cost of rolling all of them back.
    """
    failed, mass = _failure_sets(state)
    return _expected(mass, _closure_costs(state.problem.graph, failed))


def independent_rollback_risk(state: InformationState) -> float:
    """Return Ũ(x) = Σ_i q_i B_i, with B_i the closure cost of belief i alone.

    Equal to U where no two beliefs that may fail charge the same operation (correlated or not: expectation is linear).
    Otherwise an upper bound on U, because shared operations are charged once per belief. It bounds no policy's loss.
    """
    graph = state.problem.graph
    costs = np.array([graph.charged(mask) for mask in graph.belief_charges])
    return _expected(state.failure_probabilities, costs)


def beam_rollback_risk(state: InformationState, *, width: int = 32) -> float:
    """Return Σ_{S in beam} Pr(S) B(S) / Σ_{S in beam} Pr(S), over at most ``width`` failure sets.

    The beam starts from the empty set and the likeliest one. A set is expanded by flipping one belief, or two whose
    failures are correlated; every round keeps the likeliest distinct sets found, until none is new. If that leaves
    room, it starts again from the likeliest set not found. The weight kept is normalised, our choice where the paper
    is silent: a truncated sum would shrink with the weight dropped.
    Where the sets of positive probability number at most ``width``, they are all kept and this is U. Otherwise it is
    biased towards the likely sets, in either direction: no bound.
    """
    if width < 1:
        raise ValueError(f"beam width {width} keeps nothing; give at least 1")
    failed, mass = _failure_sets(state)
    kept = np.arange(len(mass)) if len(mass) <= width else _beam(failed, mass, width)
    return _expected(mass[kept] / mass[kept].sum(), _closure_costs(state.problem.graph, failed[kept]))


def monte_carlo_rollback_risk(state: InformationState, *, rng: np.random.Generator, samples: int = 1000) -> float:
    """Return (1/N) Σ_n B(S_n) with S_n drawn from the posterior by the generator given.

    Unbiased where U is finite; its error falls with the square root of N. A rare irreversible failure that is not
    drawn leaves the estimate finite where U is infinite.
    """
    if samples < 1:
        raise ValueError(f"{samples} samples estimate nothing; give at least 1")
    failed, mass = _failure_sets(state)
    counts = rng.multinomial(samples, mass)
    return _expected(counts / samples, _closure_costs(state.problem.graph, failed))


def _failure_sets(state: InformationState) -> tuple[Bools, Floats]:
    """Return the distinct failure sets of positive probability, shape ``(n_sets, n_beliefs)``, and their mass."""
    n = len(state.problem.graph.beliefs)
    if state.contradiction is not None:
        return np.ones((1, n), dtype=bool), np.ones(1)
    possible = state.posterior > 0
    sets, which = np.unique(state.problem.failed[possible] > 0, axis=0, return_inverse=True)
    mass = np.zeros(len(sets))
    np.add.at(mass, which.ravel(), state.posterior[possible])
    return sets, mass / mass.sum()


def _closure_costs(graph: RecoveryGraph, failed: Bools) -> Floats:
    """Return B(S) of every row of failures: the union of the beliefs' charges, each paid once."""
    masks = graph.belief_charges
    costs = {}
    unions = []
    for row in failed:
        union = 0
        for i in np.flatnonzero(row).tolist():
            union |= masks[i]
        unions.append(union)
        if union not in costs:
            costs[union] = graph.charged(union)
    return np.array([costs[union] for union in unions])


def _expected(mass: Floats, costs: Floats) -> float:
    """Return Σ mass · cost where an infinite cost of mass zero counts nothing."""
    return math.fsum(float(m) * float(c) for m, c in zip(mass, costs, strict=True) if m > 0)


def _beam(failed: Bools, mass: Floats, width: int) -> Indices:
    """Return the positions of the failure sets a beam of this width ends with, likeliest first."""
    edges = _correlation_edges(failed, mass)
    seen: Bools = np.logical_not(np.any(failed, axis=1))
    seen[mass.argmax()] = True
    beam = fresh = _likeliest(np.flatnonzero(seen), mass, width)
    while True:
        new = [int(j) for k in fresh for j in np.flatnonzero(_one_move_away(failed, failed[k], edges) & ~seen)]
        if not new and len(beam) < width and not seen.all():
            new = [int(np.where(seen, -1.0, mass).argmax())]
        if not new:
            return beam
        seen[new] = True
        beam = _likeliest(np.union1d(beam, new), mass, width)
        fresh = np.intersect1d(beam, new)


def _likeliest(sets: Indices, mass: Floats, width: int) -> Indices:
    return sets[np.argsort(-mass[sets], kind="stable")[:width]]


def _one_move_away(failed: Bools, origin: Bools, edges: Bools) -> Bools:
    """Return which failure sets differ from one by a single belief, or by two with a correlation edge."""
    flipped = failed ^ origin
    count = flipped.sum(axis=1)
    joined = ((flipped.astype(float) @ edges) * flipped).any(axis=1)
    return np.asarray((count == 1) | ((count == 2) & joined))


def _correlation_edges(failed: Bools, mass: Floats) -> Bools:
    """Return which pairs of beliefs have correlated failures, shape ``(n_beliefs, n_beliefs)``."""
    rows = failed.astype(float)
    q = mass @ rows
    edges = np.abs((rows * mass[:, None]).T @ rows - np.outer(q, q)) > CORRELATED
    return np.asarray(edges & ~np.eye(len(q), dtype=bool))
