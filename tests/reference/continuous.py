"""Integrals over the answer of a continuous probe, by adaptive quadrature between the places where it changes."""

import itertools
import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ndtr

Curve = Callable[[np.ndarray], np.ndarray]
"""A function of many answers at once: from shape ``(m,)`` to shape ``(m,)``."""

REACH = 10
"""How many deviations out an integral goes; beyond lies less than 1e-22."""

_FEW, _MANY = np.polynomial.legendre.leggauss(8), np.polynomial.legendre.leggauss(16)


def points(mean: np.ndarray, sd: np.ndarray, *, per_deviation: float) -> np.ndarray:
    """Return sorted answers that resolve every normal component."""
    most = int(REACH * per_deviation)
    return np.unique((mean[:, None] + sd[:, None] * np.arange(-most, most + 1) / per_deviation).ravel())


def crossings(curve: Curve, grid: np.ndarray) -> list[float]:
    """Return where the curve crosses zero, also where it only dips through zero between two points of the grid."""

    def at(y: float) -> float:
        return float(curve(np.array([y]))[0])

    heights = curve(grid)
    found = dict(zip(grid.tolist(), heights.tolist(), strict=True))
    bent = np.where(heights >= 0, 1.0, -1.0) * heights
    for i in range(1, len(grid) - 1):
        if 0 < bent[i - 1] >= bent[i] < bent[i + 1] and bent[i] < 0.1:
            sign = 1 if heights[i] >= 0 else -1
            ends = (grid[i - 1], grid[i + 1])
            y = minimize_scalar(lambda y, s=sign: s * at(y), bounds=ends, method="bounded", options={"xatol": 1e-12}).x
            found[float(y)] = at(float(y))
    pairs = itertools.pairwise(sorted(found.items()))
    return [brentq(at, a, b, xtol=1e-14) for (a, left), (b, right) in pairs if (left >= 0) != (right >= 0)]


def integral(curve: Curve, low: float, high: float, *, depth: int = 0) -> float:
    """Return the integral of a smooth curve: two rules that agree, or that of both halves."""
    middle, half = (low + high) / 2, (high - low) / 2
    few, many = (half * float(weights @ curve(middle + half * nodes)) for nodes, weights in (_FEW, _MANY))
    if abs(few - many) <= 1e-12 * max(1.0, abs(many)) or depth > 30:
        return many
    return integral(curve, low, middle, depth=depth + 1) + integral(curve, middle, high, depth=depth + 1)


def integral_of_least(
    table: np.ndarray, joint: Callable[[np.ndarray], np.ndarray], cuts: np.ndarray, grid: np.ndarray
) -> float:
    """Return the integral of the least row of ``table @ joint(y)`` from the first to the last cut.

    It is cut also where the least row changes: a rule can overlook a kink.
    """

    def gap(y: float, one: int, other: int) -> float:
        here = joint(np.array([y]))
        return float(((table[one] - table[other]) @ here)[0])

    pieces = set(cuts.tolist())
    best = (table @ joint(grid)).argmin(axis=0)
    for i in np.flatnonzero(best[1:] != best[:-1]):
        low, high, one, other = grid[i], grid[i + 1], int(best[i]), int(best[i + 1])
        if gap(low, one, other) * gap(high, one, other) < 0:
            pieces.add(brentq(gap, low, high, args=(one, other), xtol=1e-14))

    def least(y: np.ndarray) -> np.ndarray:
        return (table @ joint(y)).min(axis=0)

    return math.fsum(integral(least, low, high) for low, high in itertools.pairwise(sorted(pieces)))


def share_above(curve: Curve, mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Return, for every normal component, its probability of an answer at which the curve is not below zero."""
    grid = points(mean, sd, per_deviation=6)
    edges = [-math.inf, *crossings(curve, grid), math.inf]
    inside = bool(curve(grid[:1])[0] >= 0)
    total = np.zeros(len(mean))
    for low, high in itertools.pairwise(edges):
        if inside:
            total += ndtr((high - mean) / sd) - ndtr((low - mean) / sd)
        inside = not inside
    return total
