"""Where along one belief's failure probability the best one-step alternative changes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.one_step import Alternatives
from aquamend.decision.terminal import TIE

Floats = NDArray[np.float64]

MOST_WORK = 3_000_000
"""Branches times decisions times beliefs for which thresholds are computed; beyond it, the least certain beliefs."""


@dataclass(frozen=True, slots=True)
class BeliefThreshold:
    """Where the best one-step alternative stops being the step, as one belief's failure probability moves.

    q(belief) moves by Jeffrey's rule: the posterior given that the belief failed, and that given that it holds, stay
    as they are. None where the step stays best all the way. This is one line through the simplex: the nearest flip in
    any direction is ``Robustness.distance``.
    """

    belief: str
    now: float
    below: float | None
    above: float | None
    below_step: str | None
    above_step: str | None


def belief_thresholds(options: Alternatives) -> tuple[BeliefThreshold, ...]:
    """Return the thresholds of every belief that may have failed and may hold, in graph order.

    Along p(θ) = θ p(·|failed) + (1 − θ) p(·|holds) every alternative is a concave piecewise linear function of θ. All
    corners of all of them are found, so that between neighbouring corners every crossing is that of two lines: exact.
    Limits: a Gaussian probe keeps the intervals that are optimal now, and where not every terminal decision is listed
    a nearer change may go unseen.
    """
    if options.decision is not None and options.barred[options.decision, options.posterior > 0].any():
        return ()  # nothing admissible is left: the step is a last resort of infinite loss
    graph, failed = options.state.problem.graph, options.state.problem.failed[options.inside]
    q = options.posterior @ failed
    moving = np.flatnonzero((q > 0) & ((options.posterior > 0) @ (1.0 - failed) > 0))
    work = (1 + sum(len(probe.kernel) for probe in options.probes)) * len(options.losses)
    most = max(1, MOST_WORK // max(1, work))
    if len(moving) > most:
        moving = np.sort(moving[np.argsort(np.abs(q[moving] - 0.5), kind="stable")[:most]])
    found = []
    for i in moving:
        line = _Line.through(options, failed[:, i])
        (below, below_step), (above, above_step) = line.change(-1), line.change(1)
        found.append(BeliefThreshold(graph.beliefs[int(i)].name, line.now, below, above, below_step, above_step))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Line:
    """All alternatives along one belief's probability θ: the best other decision, then the probes."""

    options: Alternatives
    now: float
    holds: Floats
    fails: Floats
    at_0: Floats
    """Loss of every terminal decision at θ = 0, the step's own infinite."""
    at_1: Floats
    corners: Floats
    """Values of θ between which every alternative is linear."""
    losses: Floats
    """Shape ``(1 + n_probes, n_corners)``; the step's own infinite."""
    step: Floats
    """Shape ``(n_corners,)``; the step's loss."""

    @classmethod
    def through(cls, options: Alternatives, failed: Floats) -> _Line:
        """Return the line on which the belief with these failures moves."""
        x, n = options.posterior, len(options.posterior)
        now = float(x @ failed)
        holds, fails = x * (1.0 - failed) / (1.0 - now), x * failed / now
        kernel = np.vstack([np.ones((1, n)), *(probe.kernel for probe in options.probes)])
        at_0, at_1 = (options.branch_losses(kernel, y, x > 0) for y in (holds, fails))
        own, lines = options.decision, (at_0[0].copy(), at_1[0].copy())
        if own is not None:
            same = (options.barred == options.barred[own]) & (np.abs(options.finite - options.finite[own]) <= TIE)
            at_0[0, same.all(axis=1)] = math.inf
        start, theta, branch, jump = _lower_envelopes(at_0, at_1)
        corners = np.unique(np.concatenate([[0.0, now, 1.0], theta]))
        first = np.cumsum([0, 1, *(len(probe.kernel) for probe in options.probes)])
        owner = np.searchsorted(first, branch, side="right") - 1
        base = np.add.reduceat(start, first[:-1], axis=0)
        base[1:, 0] += [probe.cost for probe in options.probes]
        losses = base[:, :1] + base[:, 1:] * corners
        for k in range(len(losses)):
            mine = np.flatnonzero(owner == k)
            mine = mine[np.argsort(theta[mine], kind="stable")]
            bend = np.append(0.0, np.cumsum(jump[mine]))
            offset = np.append(0.0, np.cumsum(jump[mine] * theta[mine]))
            passed = np.searchsorted(theta[mine], corners)
            losses[k] += bend[passed] * corners - offset[passed]
        if own is not None:
            step = lines[0][own] + (lines[1][own] - lines[0][own]) * corners
        else:
            step = losses[1 + (options.probe or 0)].copy()
            losses[1 + (options.probe or 0)] = math.inf
        return cls(options, now, holds, fails, at_0[0], at_1[0], corners, losses, step)

    def change(self, sign: int) -> tuple[float | None, str | None]:
        """Return the nearest θ below (-1) or above (+1) now at which the step stops being best, and what then is."""
        at = int(np.searchsorted(self.corners, self.now))
        path = slice(at, None) if sign > 0 else slice(at, None, -1)
        theta, lead = self.corners[path], (self.losses - self.step)[:, path]
        # A tie commits: a probe gives way to a decision as good, a decision only to something better.
        allowed = np.where((np.arange(len(lead)) == 0) & (self.options.decision is None), TIE, -TIE)
        gone = lead[:, 1:] <= allowed[:, None]
        if not gone.any():
            return self._end(sign)
        cell = int(np.flatnonzero(gone.any(axis=0))[0])
        inner, outer = lead[gone[:, cell], cell], lead[gone[:, cell], cell + 1]
        share = float(np.clip(inner / np.maximum(inner - outer, 1e-300), 0.0, 1.0).min())
        found = float(theta[cell] + share * (theta[cell + 1] - theta[cell]))
        past = found + 1e-3 * float(theta[cell + 1] - found)
        along = [np.interp(past, self.corners, row) if np.isfinite(row[0]) else math.inf for row in self.losses]
        best = int(np.argmin(along))
        if best > 0:
            return found, f"re-probe {self.options.probes[best - 1].name}"
        barred = np.isinf(self.at_0) | np.isinf(self.at_1)  # whichever end bars it, the line between does too
        mixed = (1.0 - past) * np.where(barred, 0.0, self.at_0) + past * np.where(barred, 0.0, self.at_1)
        decision = int(np.argmin(np.where(barred, math.inf, mixed)))
        return found, self.options.name(decision, past * self.fails + (1 - past) * self.holds)

    def _end(self, sign: int) -> tuple[float | None, str | None]:
        """Return the end of the line if what certainty makes admissible is better there."""
        x = self.fails if sign > 0 else self.holds
        options = self.options
        if not options.any_barred:
            return None, None
        decisions = options.branch_losses(np.ones((1, len(x))), x, x > 0)[0]
        probes = [p.cost + options.branch_losses(p.kernel, x, x > 0).min(axis=1).sum() for p in options.probes]
        step = decisions[options.decision] if options.decision is not None else probes[options.probe or 0]
        best = int(np.argmin([*decisions, *probes]))
        if not step - min([*decisions, *probes]) > TIE:
            return None, None
        n = len(decisions)
        return float(sign > 0), options.name(best, x) if best < n else f"re-probe {options.probes[best - n].name}"


def _lower_envelopes(at_0: Floats, at_1: Floats) -> tuple[Floats, Floats, NDArray[np.intp], Floats]:
    """Return min_u (a_u + θ (b_u − a_u)) on [0, 1] for every branch: the first line, then where it bends and how much.

    Inputs have shape ``(n_branches, n_decisions)``. The first result has shape ``(n_branches, 2)``, value and slope at
    θ = 0; the others list the corners of all branches: θ, branch, change of slope.
    """
    slope = np.where(np.isinf(at_0), 0.0, at_1 - np.where(np.isinf(at_0), 0.0, at_0))
    rows = np.arange(len(at_0))
    least = at_0.min(axis=1, keepdims=True)
    line = np.where(at_0 <= least, slope, math.inf).argmin(axis=1)
    start = np.column_stack([least[:, 0], slope[rows, line]])
    theta, branch, jump = [np.zeros(0)], [rows[:0]], [np.zeros(0)]
    for _ in range(at_0.shape[1]):
        fall = slope[rows, line][:, None] - slope[rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            meet = np.where(fall > 0, (at_0[rows] - at_0[rows, line][:, None]) / fall, math.inf)
        nearest = np.nanmin(meet, axis=1, initial=math.inf)
        crossing = nearest < 1.0
        rows, line, fall, meet, nearest = (z[crossing] for z in (rows, line, fall, meet, nearest))
        if len(rows) == 0:
            break
        line = np.where(meet <= nearest[:, None], fall, -math.inf).argmax(axis=1)
        theta.append(np.maximum(nearest, 0.0))
        branch.append(rows)
        jump.append(-fall[np.arange(len(rows)), line])
    return start, np.concatenate(theta), np.concatenate(branch), np.concatenate(jump)
