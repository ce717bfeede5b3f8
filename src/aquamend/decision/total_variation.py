"""The nearest distribution, in total variation, at which linear inequalities hold.

Moving probability t from p to p' costs TV(p, p') = t. One inequality Σ_s p'_s δ_s ≤ 0 is met soonest by taking from the
largest δ and giving to the smallest: a closed form. Several at once are a linear program,

    min Σ out   subject to   0 ≤ out ≤ p,   in ≥ 0,   Σ in = Σ out,   Σ_s (p + in − out)_s δ_js ≤ 0 for every j,

whose start out = in = 0 is dual feasible: a dual simplex method adds one violated inequality at a time. NumPy only,
because importing an optimiser takes longer than the decision this explains.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Oracle = Callable[[Floats, NDArray[np.bool_]], Floats | None]
"""Maps a distribution and the hypotheses that may be possible to the rule that is best there; None if there is none."""

MOST_ROUNDS = 30
MOST_STEPS = 12
MOST_KNOWN = 12
MOST_PIVOTS = 400
MOST_HYPOTHESES = 300
"""Rounds, steps of a walk, earlier rules, pivots and hypotheses beyond which a program is bracketed, not solved."""
EPSILON = 1e-11


@dataclass(frozen=True, slots=True, eq=False)
class Shift:
    """How far the nearest solution is: between ``lower`` and ``upper``, which ``witness`` attains."""

    lower: float
    upper: float
    """Infinite where no solution was found."""
    witness: Floats | None


def flip_distances(p: Floats, delta: Floats, floor: float) -> Floats:
    """Return, for every row δ, min TV(p, p') subject to Σ_s p'_s δ_s ≤ 0; infinite where no p' meets it.

    ``delta`` has shape ``(n_rows, n)``. +∞ forbids a hypothesis: its mass has to move. −∞ meets the inequality with
    any mass at all, however small. A row whose smallest entry is above ``floor`` counts as never met.
    """
    least = delta.min(axis=1)
    forbidden = np.isposinf(delta)
    forced = forbidden @ p
    bottom = np.where(np.isfinite(least), np.minimum(least, 0.0), 0.0)
    finite = np.where(np.isfinite(delta), delta, bottom[:, None])
    mass = np.where(forbidden, 0.0, p)
    excess = finite - bottom[:, None]
    due = (mass * finite).sum(axis=1) + forced * bottom
    order = np.argsort(-excess, axis=1)
    excess, mass = np.take_along_axis(excess, order, axis=1), np.take_along_axis(mass, order, axis=1)
    gain = np.cumsum(mass * excess, axis=1)
    at = np.minimum((gain < due[:, None]).sum(axis=1), delta.shape[1] - 1)
    rows = np.arange(len(delta))
    before = np.where(at > 0, gain[rows, at - 1], 0.0)
    moved = np.where(at > 0, np.cumsum(mass, axis=1)[rows, at - 1], 0.0)
    part = np.clip((due - before) / np.maximum(excess[rows, at], 1e-300), 0.0, mass[rows, at])
    distance = np.where(due <= 0.0, forced, forced + moved + part)
    return np.where(np.isneginf(least), forced, np.where(least > floor, math.inf, distance))


def shifted(p: Floats, delta: Floats, floor: float) -> Shift:
    """Return the nearest distribution that meets one inequality (see ``flip_distances``), exactly."""
    distance = float(flip_distances(p, delta[None, :], floor)[0])
    if math.isinf(distance):
        return Shift(math.inf, math.inf, None)
    order = np.argsort(-delta, kind="stable")
    taken = np.minimum(np.diff(np.minimum(np.cumsum(p[order]), distance), prepend=0.0), p[order])
    witness = p.copy()
    witness[order] -= taken
    witness[order[-1]] += taken.sum()
    return Shift(distance, distance, witness)


def nearest_over_cuts(p: Floats, rule: Floats, oracle: Oracle, cuts: list[Floats], *, below: float) -> Shift:
    """Return the nearest p' with Σ p' r_a ≤ Σ p' r_d for every rule r_d that the oracle may answer.

    Each round solves the program over the rules met so far, walks from its solution to a point known to be feasible,
    and adds the rules that were violated at the start and at the edge (to ``cuts`` too, for later calls). The lower
    bound is the Lagrangian dual Σ_s p_s min(w_s, min w + 1) with w = Σ_j λ_j δ_j, valid for any λ ≥ 0 whatever the
    simplex method did; the upper one is a feasible point. Gives up where the distance is at least ``below``.
    """
    usable = np.isfinite(rule)
    best = Shift(0.0, math.inf, None)
    if not usable.any():
        return Shift(math.inf, math.inf, None)
    inside = _feasible_corner(p, rule, usable, oracle)
    if usable.sum() > MOST_HYPOTHESES:
        return best if inside is None else _at(p, _walk(np.where(usable, p, 0.0), inside, rule, usable, oracle)[0], 0.0)
    program = _DualSimplex(p[usable], float(p[~usable].sum()))
    for cut in cuts[-MOST_KNOWN:]:
        if np.isfinite(cut[usable]).all():
            program.add(rule[usable] - cut[usable])
    for _ in range(MOST_ROUNDS):
        if not program.solve():
            return Shift(math.inf, math.inf, None) if program.infeasible else best
        x = np.zeros(len(p))
        x[usable] = program.solution()
        lower = max(best.lower, program.dual_bound())
        best = Shift(min(lower, best.upper), best.upper, best.witness)
        if lower >= min(below, best.upper - 1e-10):
            return best
        edge, violated = _walk(x, inside, rule, usable, oracle)
        if edge is not None:
            inside, found = edge, _at(p, edge, lower)
            best = found if found.upper < best.upper else best
        if not violated:
            return best
        for cut in violated[:: max(1, len(violated) - 1)]:
            cuts.append(cut)
            program.add(rule[usable] - cut[usable])
    return best


def _at(p: Floats, x: Floats | None, lower: float) -> Shift:
    distance = math.inf if x is None else 0.5 * float(np.abs(x - p).sum())
    return Shift(min(lower, distance), distance, x)


def _violation(rule: Floats, cut: Floats, x: Floats, usable: NDArray[np.bool_]) -> float:
    """Return by how much r_a loses to r_d at x, zero where that is rounding."""
    delta = rule[usable] - cut[usable]
    amount = float(delta @ x[usable])
    return amount if amount > 1e-11 * max(1.0, float(np.abs(delta).max())) else 0.0


def _feasible_corner(p: Floats, rule: Floats, usable: NDArray[np.bool_], oracle: Oracle) -> Floats | None:
    """Return a single hypothesis that meets every inequality, if one of those that favour r_a most does."""
    own = oracle(p, usable)
    lead = np.where(usable, rule - (0.0 if own is None else np.where(usable, own, 0.0)), math.inf)
    for corner in np.argsort(lead, kind="stable")[:3]:
        x = np.zeros(len(p))
        x[corner] = 1.0
        cut = oracle(x, usable)
        if usable[corner] and (cut is None or not _violation(rule, cut, x, usable)):
            return x
    return None


def _walk(
    x: Floats, inside: Floats | None, rule: Floats, usable: NDArray[np.bool_], oracle: Oracle
) -> tuple[Floats | None, list[Floats]]:
    """Return where feasibility begins on the way from x to a feasible point, and the rules violated before it.

    Along the way the violation is convex, so that Newton's method from x reaches the edge without passing it.
    """
    x = x + (1.0 - x.sum()) * (np.zeros(len(x)) if inside is None else inside)
    violated: list[Floats] = []
    for _ in range(MOST_STEPS):
        cut = oracle(x, usable)
        amount = 0.0 if cut is None else _violation(rule, cut, x, usable)
        if cut is None or amount == 0.0:
            return x, violated
        violated.append(cut)
        if inside is None:
            return None, violated
        slope = amount - float((rule[usable] - cut[usable]) @ inside[usable])
        x = x + min(1.0, amount / max(slope, 1e-300)) * (inside - x)
    return None, violated


class _DualSimplex:
    """The linear program above as a condensed tableau: a row a basic variable, a column a nonbasic one.

    Variables are numbered out, in, then one slack a row: n caps, two balances, the inequalities in order of arrival.
    """

    def __init__(self, p: Floats, forced: float) -> None:
        n = len(p)
        self.p, self.forced, self.infeasible = p, forced, False
        self.rows = list(range(2 * n, 3 * n + 2))
        self.columns = list(range(2 * n))
        balance = np.concatenate([-np.ones(n), np.ones(n)])
        self.table = np.zeros((n + 3, 2 * n + 1))
        self.table[0, :n] = 1.0
        self.table[1 : n + 1, :n] = np.eye(n)
        self.table[1 : n + 1, -1] = p
        self.table[n + 1, :-1], self.table[n + 1, -1] = balance, forced
        self.table[n + 2, :-1], self.table[n + 2, -1] = -balance, -forced
        self.inequalities: list[Floats] = []

    def add(self, delta: Floats) -> None:
        """Add Σ_s p'_s δ_s ≤ 0, written in the variables now nonbasic."""
        n, delta = len(self.p), delta / max(float(np.abs(delta).max()), 1e-300)
        coefficient = np.concatenate([-delta, delta])
        row = np.zeros(self.table.shape[1])
        row[-1] = -float(self.p @ delta)
        for j, variable in enumerate(self.columns):
            row[j] = coefficient[variable] if variable < 2 * n else 0.0
        basic = [(i, coefficient[v]) for i, v in enumerate(self.rows, start=1) if v < 2 * n]
        row -= np.array([c for _, c in basic]) @ self.table[[i for i, _ in basic]] if basic else 0.0
        self.rows.append(3 * n + 2 + len(self.inequalities))
        self.table = np.vstack([self.table, row])
        self.inequalities.append(delta)

    def solve(self) -> bool:
        """Pivot until the basis is feasible; False if it never is, or not within the limit."""
        for _ in range(MOST_PIVOTS):
            i = 1 + int(self.table[1:, -1].argmin())
            if self.table[i, -1] >= -EPSILON:
                return True
            row = self.table[i, :-1]
            falling = row < -EPSILON
            if not falling.any():
                self.infeasible = True
                return False
            ratio = np.where(falling, np.maximum(self.table[0, :-1], 0.0) / np.where(falling, -row, 1.0), math.inf)
            tied = ratio <= ratio.min() + 1e-14
            self._pivot(i, int(np.where(tied, row, math.inf).argmin()))
        return False

    def _pivot(self, i: int, j: int) -> None:
        pivot = self.table[i, j]
        column = self.table[:, j].copy()
        row = self.table[i] / pivot
        column[i] = 0.0
        self.table -= column[:, None] * row
        self.table[i] = row
        self.table[:, j] = -column / pivot
        self.table[i, j] = 1.0 / pivot
        self.rows[i - 1], self.columns[j] = self.columns[j], self.rows[i - 1]

    def solution(self) -> Floats:
        """Return p', cleaned of rounding."""
        n = len(self.p)
        value = np.zeros(2 * n)
        for i, variable in enumerate(self.rows, start=1):
            if variable < 2 * n:
                value[variable] = max(0.0, self.table[i, -1])
        x = np.maximum(self.p - value[:n] + value[n:], 0.0)
        return np.asarray(x / x.sum())

    def dual_bound(self) -> float:
        """Return the Lagrangian bound for the multipliers of the current basis."""
        n = len(self.p)
        weight = np.zeros(n)
        for j, variable in enumerate(self.columns):
            if variable >= 3 * n + 2:
                weight += max(0.0, float(self.table[0, j])) * self.inequalities[variable - 3 * n - 2]
        reach = float(weight.min()) + 1.0
        return float(self.p @ np.minimum(weight, reach)) + self.forced * reach
