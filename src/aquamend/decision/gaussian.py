"""Cutting a Gaussian probe's readings into the intervals on which the decision stays the same.

Within an interval the best terminal decision (and every declaration's verdict) is constant, so the interval's
probability under each hypothesis, a difference of two normal distribution functions, prices it exactly: the probe
becomes a discrete one with no loss of precision beyond where the cuts are put.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from aquamend.model.kernels import IMPOSSIBLE_SD, NormalTable

Signature = Callable[[NDArray[np.float64]], NDArray[np.int64]]
"""Maps likelihoods, shape ``(n_readings, n_hypotheses)``, to what is decided there, shape ``(n_readings, k)``."""

Margins = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Maps likelihoods likewise to smooth numbers whose signs are verdicts, shape ``(n_readings, n_margins)``."""

POINTS_PER_COMPONENT = 65
MOST_POINTS = 4096
BISECTIONS = 34
"""Halvings of a grid interval that place a cut: to ten digits of it, which no probability could tell from more."""
THIRDINGS = 22
"""Steps of the search for a turning point: it is flat there, so a ten-thousandth of a grid interval is near enough."""


def decision_intervals(
    table: NormalTable,
    possible: NDArray[np.bool_],
    signature: Signature,
    margins: Margins,
    *,
    most_points: int = MOST_POINTS,
) -> NDArray[np.float64]:
    """Return the readings at which the signature changes, sorted.

    The signature is sampled on a grid and bisected where it changes; where a margin comes close to zero and turns back
    between grid points, its turning point joins the grid, so that no narrow interval is stepped over.
    """
    grid = _grid(table, possible, most_points)
    grid = np.union1d(grid, _turning_points(table, possible, grid, margins))
    left, right = grid[:-1], grid[1:]
    marks = signature(_likelihood(table, possible, grid))
    changed = (marks[:-1] != marks[1:]).any(axis=1)
    left, right, left_marks, right_marks = left[changed], right[changed], marks[:-1][changed], marks[1:][changed]
    for _ in range(BISECTIONS):
        if len(left) == 0:
            break
        middle = 0.5 * (left + right)
        marks = signature(_likelihood(table, possible, middle))
        differs_left = (left_marks != marks).any(axis=1)
        differs_right = (marks != right_marks).any(axis=1)
        left = np.concatenate([left[differs_left], middle[differs_right]])
        right = np.concatenate([middle[differs_left], right[differs_right]])
        left_marks = np.concatenate([left_marks[differs_left], marks[differs_right]])
        right_marks = np.concatenate([marks[differs_left], right_marks[differs_right]])
    return np.unique(0.5 * (left + right))


def interval_likelihood(table: NormalTable, cuts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of every interval under every hypothesis, shape ``(n_hypotheses, n_cuts + 1)``."""
    ends = np.full((len(table.mean), 1), IMPOSSIBLE_SD)
    z = np.clip((cuts[None, :] - table.mean[:, None]) / table.sd[:, None], -IMPOSSIBLE_SD, IMPOSSIBLE_SD)
    below = normal_cdf(np.hstack([-ends, z, ends]))
    # Upper-tail differences keep their digits where the lower-tail ones are all close to one.
    above = normal_cdf(np.hstack([ends, -z, -ends]))
    likelihood = np.where(below[:, 1:] < 0.5, np.diff(below, axis=1), -np.diff(above, axis=1))
    likelihood = np.where(likelihood > 1e-18, likelihood, 0.0)  # a cut off its true place by a rounding error
    return np.asarray(likelihood / likelihood.sum(axis=1, keepdims=True))


def normal_cdf(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard normal distribution function; loads SciPy only where the array is worth its import."""
    if z.size > 20_000:
        from scipy.special import ndtr

        return np.asarray(ndtr(z))
    root = math.sqrt(2.0)
    return np.array([0.5 * math.erfc(-x / root) for x in z.ravel()]).reshape(z.shape)


def _likelihood(table: NormalTable, possible: NDArray[np.bool_], readings: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return likelihoods, shape ``(n_readings, n_hypotheses)``, the largest at a reading one, or all zero."""
    log = np.where(possible, table.log_density(readings), -np.inf)
    largest = log.max(axis=1, keepdims=True)
    return np.asarray(np.exp(log - np.where(np.isfinite(largest), largest, 0.0)))


def _turning_points(
    table: NormalTable, possible: NDArray[np.bool_], grid: NDArray[np.float64], margins: Margins
) -> NDArray[np.float64]:
    """Return, for every margin, where it turns back, towards zero or past it, between grid points of one sign."""
    values = margins(_likelihood(table, possible, grid))
    size = np.abs(values)
    one_sign = (np.sign(values[:-2]) == np.sign(values[1:-1])) & (np.sign(values[1:-1]) == np.sign(values[2:]))
    row, margin = np.nonzero(one_sign & (size[1:-1] <= size[:-2]) & (size[1:-1] <= size[2:]) & (size[1:-1] < 0.4))
    left, right, sign = grid[row], grid[row + 2], np.sign(values[row, margin])
    for _ in range(THIRDINGS if len(row) else 0):  # ternary search; the margin is smooth and turns once in here
        a, b = left + (right - left) / 3, right - (right - left) / 3
        at_a = sign * margins(_likelihood(table, possible, a))[np.arange(len(row)), margin]
        at_b = sign * margins(_likelihood(table, possible, b))[np.arange(len(row)), margin]
        left, right = np.where(at_a > at_b, a, left), np.where(at_a > at_b, right, b)
    return np.asarray(0.5 * (left + right))


def _grid(table: NormalTable, possible: NDArray[np.bool_], most_points: int) -> NDArray[np.float64]:
    shapes = np.unique(np.column_stack([table.mean[possible], table.sd[possible]]), axis=0)
    points = max(5, min(POINTS_PER_COMPONENT, most_points // len(shapes)))
    z = np.linspace(-IMPOSSIBLE_SD, IMPOSSIBLE_SD, points)
    grid = np.unique((shapes[:, :1] + shapes[:, 1:] * z).ravel())
    return grid[:: max(1, len(grid) // most_points)]
