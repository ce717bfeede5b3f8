"""Upper bounds: the exact expected loss of following a relaxed plan's policy on the true evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.terminal_table import TerminalTable
from aquamend.planning.digits import RelaxedDigit
from aquamend.planning.lattice import Digit, digit, n_digit_states
from aquamend.planning.relaxed_plan import STOP, RelaxedPlan

Floats = NDArray[np.float64]

MOST_LOCAL_STATES = 256
"""Evidence states one probe may pass through; the policy stops using a probe beyond them."""

MOST_STATES = 400_000
"""Evidence states visited in all; the least probable ones beyond it stop where they are."""

SETTLED = -1
"""Seen as a label that leaves nothing open."""

NEGLIGIBLE = 1e-10
"""States less probable than this stop where they are: a policy may, and the bound stays valid."""


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


def track(plan: RelaxedPlan, index: int, kernel: Floats, uses: float, cost: float) -> ProbeTrack:
    """Return a probe's evidence states; ``kernel`` is ``(n_hypotheses, n_outcomes)`` as the policy will see it."""
    relaxed = plan.digits[index]
    n_outcomes = kernel.shape[1]
    limit = int(uses) if relaxed.counted else int(min(uses, 16))
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
    return ProbeTrack(states, likelihood, seen_as, scale, states.counts.sum(axis=1) * cost)


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
    posterior: Floats,
    terminal: TerminalTable,
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
        mass, stop, choice = _look(posterior, terminal, plan, tracks, at)
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
    posterior: Floats,
    terminal: TerminalTable,
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
    unseen = np.flatnonzero(np.isnan(scale))
    for low in range(0, len(unseen), 4096):
        rows = unseen[low : low + 4096]
        weights = np.repeat(posterior[None, :], len(rows), axis=0)
        for m, t in enumerate(tracks):
            weights *= t.likelihood[at[rows, m]]
        sums = weights @ terminal.features
        mass[rows], stop[rows] = sums[:, 0], terminal.values(sums)
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
