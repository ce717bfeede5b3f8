"""Lower bounds from planning over relaxed evidence, by value iteration on one dense tensor.

With one axis a probe, using probe m is a small matrix applied along axis m, so a sweep over millions of evidence
states is a handful of matrix products.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.terminal_table import ROWS_AT_ONCE, TerminalTable
from aquamend.planning.digits import RelaxedDigit
from aquamend.planning.lattice import outer_product

Floats = NDArray[np.float64]

STOP = -1


@dataclass(frozen=True, eq=False)
class RelaxedPlan:
    """Optimal losses over relaxed evidence: a lower bound, and a policy worth trying."""

    digits: tuple[RelaxedDigit, ...]
    strides: tuple[int, ...]
    mass: Floats
    """Shape ``(n_cells,)``; joint weight of every evidence state."""
    stop: Floats
    """Shape ``(n_cells,)``; V_stop, joint."""
    value: Floats
    """Shape ``(n_cells,)``; lower bound on the optimal loss, joint."""
    choice: NDArray[np.int16]
    """Shape ``(n_cells,)``; the digit to use next, or ``STOP``."""

    @property
    def lower(self) -> float:
        """Lower bound on the optimal expected loss at the root."""
        return float(self.value[0])


def relaxed_plan(
    posterior: Floats,
    terminal: TerminalTable,
    clairvoyant: Floats,
    digits: Sequence[RelaxedDigit],
    cost: Floats,
    *,
    left_out_cost: float = math.inf,
    tolerance: float = 1e-7,
    deadline: float = math.inf,
) -> RelaxedPlan:
    """Return the plan after value iteration from below, which certifies whenever it is stopped.

    ``left_out_cost`` is the cheapest probe without a digit; using one is taken to reveal everything. ``deadline`` is a
    reading of ``time.perf_counter``.
    """
    mass, stop, informed = _linear(posterior, terminal, clairvoyant, digits)
    shapes = _axis_shapes(digits)
    using = [_using(posterior * clairvoyant, digits, m, shapes[m], mass, cost[m]) for m in range(len(digits))]
    floor = np.minimum(stop, informed + left_out_cost * mass) if left_out_cost < math.inf else stop
    value = np.minimum(floor, informed + min(float(cost.min(initial=math.inf)), left_out_cost) * mass)
    while True:
        swept = np.maximum(_sweep(value, floor, using, digits, shapes), value)
        change = float(np.abs(swept - value).max(initial=0.0))
        value = swept
        if change <= tolerance or time.perf_counter() > deadline:
            break
    choice = np.full(len(mass), STOP, dtype=np.int16)
    _sweep(value, floor, using, digits, shapes, choice)
    strides = tuple(post for _, _, post in shapes)
    return RelaxedPlan(tuple(digits), strides, mass, stop, value, choice)


def _axis_shapes(digits: Sequence[RelaxedDigit]) -> list[tuple[int, int, int]]:
    sizes = [len(d.vectors) for d in digits]
    return [(math.prod(sizes[:m]), sizes[m], math.prod(sizes[m + 1 :])) for m in range(len(sizes))]


def _sweep(
    value: Floats,
    floor: Floats,
    using: Sequence[Floats],
    digits: Sequence[RelaxedDigit],
    shapes: Sequence[tuple[int, int, int]],
    choice: NDArray[np.int16] | None = None,
) -> Floats:
    """Return min(floor, best probe) everywhere; with ``choice``, note which probe beats what came before it."""
    best = floor.copy()
    for m, (d, shape) in enumerate(zip(digits, shapes, strict=True)):
        live = np.s_[:, : d.n_live, :]
        losses = np.matmul(d.transition, value.reshape(shape))
        losses += using[m]
        so_far = best.reshape(shape)[live]
        if choice is not None:
            choice.reshape(shape)[live][losses < so_far - 1e-12] = m
        np.minimum(so_far, losses, out=so_far)
    return best


def _using(
    informed: Floats, digits: Sequence[RelaxedDigit], m: int, shape: tuple[int, int, int], mass: Floats, cost: float
) -> Floats:
    """Return what using probe m costs at once: its price, and the loss of the labels that settle everything."""
    d = digits[m]
    losses = cost * mass.reshape(shape)[:, : d.n_live, :]
    if d.settled.any():
        before, after = _outer(digits[:m], len(informed)), _outer(digits[m + 1 :], len(informed))
        for state, row in enumerate(d.settled[:, d.labels.of]):
            losses[:, state, :] += (before * (informed * row)) @ after.T
    return losses


def _linear(
    posterior: Floats, terminal: TerminalTable, clairvoyant: Floats, digits: Sequence[RelaxedDigit]
) -> tuple[Floats, Floats, Floats]:
    """Return every cell's joint mass, V_stop and clairvoyant loss."""
    half = len(digits) // 2
    slow, fast = _outer(digits[:half], len(posterior)), _outer(digits[half:], len(posterior))
    weighted = (posterior[:, None] * np.hstack([terminal.features, clairvoyant[:, None]])).T
    mass = np.empty((len(slow), len(fast)))
    stop, informed = np.empty_like(mass), np.empty_like(mass)
    step = max(1, ROWS_AT_ONCE // len(fast))
    for low in range(0, len(slow), step):
        rows = slice(low, low + step)
        sums = np.matmul(slow[rows][None, :, :] * weighted[:, None, :], fast.T)
        mass[rows], informed[rows] = sums[0], sums[-1]
        stop[rows] = terminal.values(sums[:-1].reshape(len(weighted) - 1, -1).T).reshape(mass[rows].shape)
    return mass.ravel(), stop.ravel(), informed.ravel()


def _outer(digits: Sequence[RelaxedDigit], n_hypotheses: int) -> Floats:
    return outer_product([d.likelihood for d in digits], n_hypotheses)
