"""Planning over relaxed evidence: a lower bound on every policy, and a policy whose true loss is an upper bound.

With one axis for each probe, using probe m is a small matrix applied along axis m, so a sweep over millions of evidence
states is a handful of matrix products. Stopping is priced without the rules of support and with every answer that may
still come, which can only lower it. The policy found is then followed on the true evidence, at its true price.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.endings import ROWS_AT_ONCE, Bools, Endings, endings_of
from aquamend.inference import InformationState, ProbeView
from aquamend.planning.digits import RelaxedDigit
from aquamend.planning.lattice import Digit, digit, n_digit_states, outer_product

Floats = NDArray[np.float64]

STOP = -1
MOST_LOCAL_STATES = 256
"""Evidence states one probe may pass through; the policy stops using a probe beyond them."""

MOST_STATES = 400_000
"""Evidence states visited in all; the least probable ones beyond it stop where they are."""

SETTLED = -1
"""Seen as a label that leaves nothing open."""

NEGLIGIBLE = 1e-10
"""States less probable than this stop where they are: a policy may, and the bound stays valid."""


@dataclass(frozen=True, eq=False)
class RelaxedPlan:
    """Optimal losses over relaxed evidence: a lower bound, and a policy worth trying."""

    digits: tuple[RelaxedDigit, ...]
    strides: tuple[int, ...]
    mass: Floats
    """Shape ``(n_cells,)``; joint weight of every evidence state."""
    stop: Floats
    """Shape ``(n_cells,)``; V_stop, joint, support aside."""
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
    endings: Endings,
    answered: Bools,
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
    mass, stop, informed = _linear(posterior, endings, answered, clairvoyant, digits)
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
    posterior: Floats, endings: Endings, answered: Bools, clairvoyant: Floats, digits: Sequence[RelaxedDigit]
) -> tuple[Floats, Floats, Floats]:
    """Return every cell's joint mass, V_stop and clairvoyant loss."""
    half = len(digits) // 2
    slow, fast = _outer(digits[:half], len(posterior)), _outer(digits[half:], len(posterior))
    weighted = (posterior[:, None] * np.hstack([endings.features, clairvoyant[:, None]])).T
    mass = np.empty((len(slow), len(fast)))
    stop, informed = np.empty_like(mass), np.empty_like(mass)
    step = max(1, ROWS_AT_ONCE // len(fast))
    for low in range(0, len(slow), step):
        rows = slice(low, low + step)
        sums = np.matmul(slow[rows][None, :, :] * weighted[:, None, :], fast.T)
        mass[rows], informed[rows] = sums[0], sums[-1]
        flat = sums[:-1].reshape(len(weighted) - 1, -1).T
        stop[rows] = endings.values(flat, answered, relaxed=True).reshape(mass[rows].shape)
    return mass.ravel(), stop.ravel(), informed.ravel()


def _outer(digits: Sequence[RelaxedDigit], n_hypotheses: int) -> Floats:
    return outer_product([d.likelihood for d in digits], n_hypotheses)


@dataclass(frozen=True, eq=False)
class ProbeTrack:
    """The true evidence of one probe, state by state, and how the relaxed plan sees each state."""

    states: Digit
    likelihood: Floats
    """Shape ``(n_states, n_hypotheses)``."""
    seen_as: NDArray[np.intp]
    """Shape ``(n_states,)``; the relaxed state; where none matches, the likeliest label revealed, or ``SETTLED``."""
    scale: Floats
    """Shape ``(n_states,)``; joint weight relative to the relaxed state; NaN where none matches."""
    spent: Floats
    """Shape ``(n_states,)``; sensing cost so far."""
    index: int
    """The probe's position in the graph."""


def track(plan: RelaxedPlan, index: int, kernel: Floats, view: ProbeView) -> ProbeTrack:
    """Return a probe's evidence states; ``kernel`` is ``(n_hypotheses, n_outcomes)`` as the policy will see it."""
    relaxed = plan.digits[index]
    n_outcomes = kernel.shape[1]
    limit = int(min(view.uses_left, 16)) if not relaxed.counted else int(view.uses_left)
    while limit > 1 and not relaxed.counted and n_digit_states(n_outcomes, limit) > MOST_LOCAL_STATES:
        limit -= 1
    states = digit(n_outcomes, limit)
    likelihood = states.likelihood(kernel)
    by_label = np.zeros((len(likelihood), len(relaxed.labels.prior)))
    by_label[:, relaxed.labels.of] = likelihood  # constant within a label
    seen_as, scale = np.zeros(len(likelihood), dtype=np.intp), np.full(len(likelihood), np.nan)
    for i, vector in enumerate(by_label):
        found = (i, 1.0) if relaxed.counted else relaxed.locate(vector) if vector.max() > 0 else None
        if found is None:
            seen_as[i] = _likeliest(relaxed, vector)
        else:
            seen_as[i], scale[i] = found
    return ProbeTrack(states, likelihood, seen_as, scale, states.counts.sum(axis=1) * view.cost, view.index)


def _likeliest(relaxed: RelaxedDigit, vector: Floats) -> int:
    """Return the state the plan takes instead: one that resembles it, else the likeliest label revealed.

    SETTLED if that label settles everything.
    """
    resembling = relaxed.resembling(vector)
    if resembling is not None:
        return resembling
    best = int(np.argmax(vector * relaxed.labels.prior))
    if relaxed.labels.closed[best]:
        return SETTLED
    return relaxed.n_kept + int(np.count_nonzero(~relaxed.labels.closed[:best]))


def fits(tracks: Sequence[ProbeTrack]) -> bool:
    """Whether evidence states can be numbered in 63 bits."""
    return sum(math.log2(len(t.scale)) for t in tracks) < 62


def policy_loss(
    state: InformationState,
    plan: RelaxedPlan,
    tracks: Sequence[ProbeTrack],
    cost: Floats,
    *,
    budget: float = math.inf,
    negligible: float = NEGLIGIBLE,
) -> float:
    """Return the expected loss of following the plan's choices from the root on, layer by layer.

    An evidence state reached by several orders of answers is visited once and carries how many there are.
    """
    sizes = [len(t.scale) for t in tracks]
    strides = [math.prod(sizes[m + 1 :]) for m in range(len(sizes))]
    codes, orders = np.zeros(1, dtype=np.int64), np.ones(1)
    total = 0.0
    while len(codes):
        at = np.column_stack([codes // stride % size for stride, size in zip(strides, sizes, strict=True)])
        mass, stop, choice = _look(state, plan, tracks, at)
        choice = _allowed(choice, tracks, at, cost, budget)
        probability = orders * mass
        choice[probability < negligible] = STOP
        if len(codes) > MOST_STATES:
            choice[np.argsort(probability)[: len(codes) - MOST_STATES]] = STOP
        stopped = choice == STOP
        total += float((orders * stop)[stopped].sum())
        reached: list[NDArray[np.int64]] = []
        weights: list[Floats] = []
        for m, t in enumerate(tracks):
            here = np.flatnonzero(choice == m)
            if len(here):
                total += cost[m] * float(probability[here].sum())
                own = at[here, m]
                reached.append((codes[here, None] + (t.states.child[own] - own[:, None]) * strides[m]).ravel())
                weights.append(np.repeat(orders[here], t.states.child.shape[1]))
        if not reached:
            break
        codes, inverse = np.unique(np.concatenate(reached), return_inverse=True)
        orders = np.bincount(inverse, weights=np.concatenate(weights)).astype(float)
    return float(total)


def _look(
    state: InformationState,
    plan: RelaxedPlan,
    tracks: Sequence[ProbeTrack],
    at: NDArray[np.int64],
) -> tuple[Floats, Floats, NDArray[np.int16]]:
    """Return each state's joint mass and V_stop, and what the plan does where it sees the state as."""
    cell = np.zeros(len(at), dtype=np.intp)
    scale = np.ones(len(at))
    settled = np.zeros(len(at), dtype=bool)
    for m, t in enumerate(tracks):
        seen_as = t.seen_as[at[:, m]]
        settled |= seen_as == SETTLED
        cell += np.maximum(seen_as, 0) * plan.strides[m]
        scale *= t.scale[at[:, m]]
    mass, stop = scale * plan.mass[cell], scale * plan.stop[cell]
    endings = endings_of(state.problem)
    unseen = np.flatnonzero(np.isnan(scale) | (not endings.plain))  # the plan's own stop may be too cheap
    for low in range(0, len(unseen), 4096):
        rows = unseen[low : low + 4096]
        weights = np.repeat(state.posterior[None, :], len(rows), axis=0)
        answered = np.repeat(state.answered[None, :], len(rows), axis=0)
        for m, t in enumerate(tracks):
            weights *= t.likelihood[at[rows, m]]
            answered[:, t.index] |= at[rows, m] > 0
        sums = weights @ endings.features
        mass[rows], stop[rows] = sums[:, 0], endings.values(sums, answered)
    return mass, stop, np.where(settled, STOP, plan.choice[cell]).astype(np.int16)


def _allowed(
    choice: NDArray[np.int16], tracks: Sequence[ProbeTrack], at: NDArray[np.int64], cost: Floats, budget: float
) -> NDArray[np.int16]:
    """Return the choices with probes that are used up or unaffordable replaced by stopping."""
    for m, t in enumerate(tracks):
        choice[(choice == m) & (t.states.child[at[:, m], 0] < 0)] = STOP
    if math.isfinite(budget):
        spent = np.sum([t.spent[at[:, m]] for m, t in enumerate(tracks)], axis=0)
        price = np.where(choice == STOP, 0.0, cost[choice])
        choice[spent + price > budget] = STOP
    return choice
