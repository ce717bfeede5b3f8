"""Parts of a problem that are independent of one another: their beliefs, their probes, and their evidence states.

If the posterior factorises into parts and every probe tells of one part only, the parts meet in shared recovery costs
alone. The evidence of a part is then an automaton of its own, and a small one, because probing a part ends soon:

    Let part i have label l with probability p_l, F_l its beliefs that failed. Acting as if l_0 were true regrets, under
    the label l, at most   Σ_{F_0 \\ F_l} min(L, B) + Σ_{F_l \\ F_0} (L − min(L, own)),
    with L the residual of a belief, B what its closure costs, and "own" what nobody else's closure charges.

(With l_0 one corrects too much, which costs B at most, and keeps what has failed, which costs L, where knowing better
would still have cost the smaller of L and own; or nothing, where the best ending costs the same whatever failed, so own
counts nothing where such an ending is cheaper than correcting everything.) To know the label of the part saves
at most Σ_l p_l times that, for the best l_0. Where this is no more than the part's cheapest probe, none of its probes
is worth its price, whatever is known of the other parts: the state is closed.

A worked example: a residual of 6, undoing that costs 2 by itself and 1 shared with others, a probe for 0.4 that is
right in nine of ten cases. The part is closed below q = 0.4 / (6 − 2) = 0.1 and above q = 1 − 0.4 / 3 = 0.87. Each
answer multiplies the odds by nine, so from q = 0.3 on there are four states: closed after one "no" (0.045), open at 0.3
and after a "yes" (0.79), closed after two (0.97).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aquamend import deadline
from aquamend.arrays import Bools, Floats, Indices, sums_of_all
from aquamend.belief import InformationState, ProbeView, joint
from aquamend.deadline import check_deadline, seconds_left
from aquamend.decision.endings import endings_of
from aquamend.decision.structured import independent
from aquamend.planning.bounds import Bounds
from aquamend.problem.graph.recovery_graph import bits, unions
from aquamend.problem.model.kernels import Outcomes
from aquamend.problem.model.kernels.kernel import labels_of

SAME = 1e-11
"""Differences of probabilities that are rounding: relative ones, as what is hardly possible may cost everything."""
MOST_PAIR_WORK = 5e7
"""Joint probabilities that comparing all pairs of beliefs and probes may touch."""
MOST_STATES = 400
"""Evidence states of one part."""
DIGITS = 9
"""Digits of logarithms by which posteriors are told apart."""
MOST_CELLS = 40_000_000
MOST_SHARED_SETS = 512
"""Cells, and sets of shared charges, up to which parts are planned together."""
BYTES_PER_CELL = 32.0
CELLS_AT_ONCE = 500_000
"""So many are worked on before it is asked whether there is time for more."""
ENOUGH = 0.5
"""Pricing all cells may take this part of the time that is left; then a few sweeps are possible."""


@dataclass(frozen=True, eq=False)
class Portion:
    """Beliefs and probes that may depend on one another, and on nothing else."""

    beliefs: tuple[int, ...]
    """Positions in the graph."""
    probes: tuple[ProbeView, ...]
    label: Indices
    """Shape ``(n_hypotheses,)``; which of the part's own hypotheses each one holds."""
    prior: Floats
    """Shape ``(n_labels,)``."""
    failed: Floats
    """Shape ``(n_labels, n_beliefs)``; which of its beliefs each of those makes fail."""
    tables: tuple[Floats, ...]
    """One ``(n_labels, n_outcomes)`` for each probe."""


def independent_parts(state: InformationState) -> list[Portion]:
    """Return the parts the posterior factorises into; none where it does not, or where more than shared costs joins."""
    problem, posterior = state.problem, state.posterior
    tables = [view.channel.table for view in state.legal if isinstance(view.channel, Outcomes)]
    endings = endings_of(problem)
    others = endings.others
    apart = endings.plain and not others.varying and not others.last_resorts and problem.corrections
    if not apart or len(tables) < len(state.legal):
        return []
    concerned = [int(i) for i in np.flatnonzero(state.failure_probabilities > 0)]
    if (len(concerned) + len(tables)) ** 2 * len(posterior) > MOST_PAIR_WORK:
        return []
    labels = []
    for rows in (*(problem.failed[:, [i]] for i in concerned), *tables):
        check_deadline()
        labels.append(labels_of(rows)[0])
    group = list(range(len(labels)))
    for i in range(len(labels)):
        check_deadline()
        for j in range(i):
            if group[i] != group[j] and not _independent(posterior, labels[i], labels[j]):
                group = [group[j] if g == group[i] else g for g in group]
    members = [[i for i, g in enumerate(group) if g == own] for own in dict.fromkeys(group)]
    together = [labels_of(np.column_stack([labels[i] for i in part]))[0] for part in members]
    if not together or not independent(posterior, np.column_stack(together), within=SAME):
        return []
    return [_part(state, concerned, part, label) for part, label in zip(members, together, strict=True)]


def _part(state: InformationState, concerned: list[int], members: list[int], label: Indices) -> Portion:
    beliefs = tuple(concerned[i] for i in members if i < len(concerned))
    probes = tuple(state.legal[i - len(concerned)] for i in members if i >= len(concerned))
    _, first = np.unique(label, return_index=True)
    tables = tuple(view.channel.table[first] for view in probes if isinstance(view.channel, Outcomes))
    prior = np.bincount(label, weights=state.posterior).astype(float)
    return Portion(beliefs, probes, label, prior, state.problem.failed[first][:, list(beliefs)], tables)


def _independent(posterior: Floats, a: Indices, b: Indices) -> bool:
    joint = np.zeros((int(a.max()) + 1, int(b.max()) + 1))
    np.add.at(joint, (a, b), posterior)
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return bool((np.abs(joint - product) <= SAME * product).all())


@dataclass(frozen=True, eq=False)
class Automaton:
    """The evidence states of one part, the first one as it stands now, and where each probe leads from them."""

    posterior: Floats
    """Shape ``(n_states, n_labels)``."""
    move: Floats
    """Shape ``(n_probes, n_states, n_states)``; the probability that one use leads from a state to another."""
    cost: Floats
    """Shape ``(n_probes, n_states)``; infinite where a probe has no use left or none is worth its price."""


def automaton(state: InformationState, part: Portion) -> Automaton | None:
    """Return all evidence states in which probing the part may be worth while, and those it leads to; None if many."""
    regrets = _regrets(state, part)
    counted = np.array([math.isfinite(view.uses_left) for view in part.probes], dtype=bool)
    states: list[tuple[Floats, tuple[int, ...]]] = [(part.prior, (0,) * len(part.probes))]
    position = {_key(*states[0], counted): 0}
    moves: list[tuple[int, int, int, float]] = []
    allowed: list[tuple[int, int]] = []
    for here, (posterior, used) in enumerate(states):  # grows while it is walked
        check_deadline()
        if _saved(posterior, regrets) <= min((view.cost for view in part.probes), default=math.inf):
            continue
        for m, (view, table) in enumerate(zip(part.probes, part.tables, strict=True)):
            if used[m] >= view.uses_left:
                continue
            allowed.append((m, here))
            grown = (*used[:m], used[m] + 1, *used[m + 1 :])
            answers = joint(posterior, table.T)
            for weights in answers[answers.any(axis=1)]:
                key = _key(weights, grown, counted)
                if position.setdefault(key, len(states)) == len(states):
                    if len(states) >= MOST_STATES:
                        return None
                    states.append((weights / weights.sum(), grown))
                moves.append((m, here, position[key], float(weights.sum())))
    move = np.zeros((len(part.probes), len(states), len(states)))
    for m, here, there, probability in moves:
        move[m, here, there] += probability
    cost = np.full(move.shape[:2], math.inf)
    for m, here in allowed:
        cost[m, here] = part.probes[m].cost
    return Automaton(np.array([posterior for posterior, _ in states]), move, cost)


def _key(weights: Floats, used: tuple[int, ...], counted: Bools) -> bytes:
    possible = weights > 0.0
    log = np.log(np.where(possible, weights / weights.max(), 1.0))
    return possible.tobytes() + (np.round(log, DIGITS) + 0.0).tobytes() + (np.array(used) * counted).tobytes()


def _saved(posterior: Floats, regrets: Floats) -> float:
    """Return the most that knowing the label could save."""
    possible = posterior > 0.0
    return float((regrets[:, possible] @ posterior[possible]).min())


def _regrets(state: InformationState, part: Portion) -> Floats:
    """Return what acting as if one label were true regrets at most under another, ``(n_labels, n_labels)``."""
    graph, (residual, own) = state.problem.graph, own_costs(state)
    closure = np.array([graph.charged(graph.belief_charges[i]) for i in part.beliefs])
    every = 0
    endings = endings_of(state.problem)
    for i in endings.losses.beliefs:
        every |= graph.belief_charges[i]
    if endings.others.flat < graph.charged(every):
        own = np.zeros_like(own)  # restarting, say, may be the best ending, and costs the same whatever failed
    own, residual = own[list(part.beliefs)], residual[list(part.beliefs)]
    correct = np.minimum(residual, closure)
    with np.errstate(invalid="ignore"):
        keep = np.where(np.isinf(residual), math.inf, residual - np.minimum(residual, own))
    total = np.zeros((len(part.prior), len(part.prior)))
    for as_if in range(len(part.prior)):
        check_deadline()
        for label in range(len(part.prior)):
            too_much = (part.failed[as_if] > 0) & (part.failed[label] == 0)
            too_little = (part.failed[label] > 0) & (part.failed[as_if] == 0)
            total[as_if, label] = correct[too_much].sum() + keep[too_little].sum()
    return total


def own_costs(state: InformationState) -> tuple[Floats, Floats]:
    """Return each belief's residual, infinite where it may not be kept, and what only its own closure charges."""
    graph, losses = state.problem.graph, endings_of(state.problem).losses
    residual = np.zeros(len(graph.beliefs))
    residual[losses.beliefs] = np.where(losses.hard, math.inf, losses.residual)
    own, shared = np.zeros(len(graph.beliefs)), shared_charges(state)
    for i in losses.beliefs:
        own[i] = sum(graph.charges[c].cost for c in bits(graph.belief_charges[i] & ~shared))
    return residual, own


def shared_charges(state: InformationState) -> int:
    """Return what the closures of two or more beliefs charge, as a mask."""
    once = shared = 0
    for i in endings_of(state.problem).losses.beliefs:
        charges = state.problem.graph.belief_charges[i]
        once, shared = once | charges, shared | (once & charges)
    return shared


@dataclass(eq=False)
class PartsPlan:
    """Values at every combination of the parts' evidence states, as the cells of one array.

    With one axis for each part, using a probe is a small stochastic matrix applied along its part's axis, so a sweep
    over millions of evidence states is a handful of matrix products. Values start at V_stop and fall,

        U(x) ← min( U(x),  c_m + Σ_y P(y | x) U(x, y) ),

    so at any time they are those of a policy: an upper bound. The lower bound comes with it: if no cell would still
    fall by more than δ, then (1 − κ) U with κ = δ / (c + δ), c the cheapest probe, is at most V_stop and at most what
    any probe promises with it, and so at most the optimum. V_stop is a minimum over the sets of shared charges that are
    paid: given such a set, each belief pays its own charges or its residual, whichever is less, and the sum runs over
    parts.
    """

    automata: Sequence[Automaton]
    value: Floats
    """Shape ``(n_states of the first part, …)``."""
    names: tuple[tuple[str, ...], ...]
    change: float = math.inf
    """The most that a cell still fell by in a whole sweep in which nothing was written."""

    @property
    def bounds(self) -> Bounds:
        """Bounds on the optimal expected loss."""
        upper = float(self.value[(0,) * self.value.ndim])
        cheapest = min((float(a.cost.min(initial=math.inf)) for a in self.automata), default=math.inf)
        if math.isinf(self.change):
            return Bounds(0.0, upper)
        share = self.change / (cheapest + self.change) if self.change > 0.0 and cheapest < math.inf else 0.0
        return Bounds((1.0 - share) * upper, upper)

    def sweep(self) -> Iterator[None]:
        """Let every probe improve every cell once, in place, and yield after each."""
        self.change = math.inf
        for axis, m in self._probes():
            for slab in self._blocks(axis):
                live, losses = self._losses(axis, m, slab)
                slab[:, live] = np.minimum(slab[:, live], losses)
            yield

    def check(self) -> None:
        """Work out how far a cell would still fall."""
        change = 0.0
        for axis, m in self._probes():
            for slab in self._blocks(axis):
                live, losses = self._losses(axis, m, slab)
                change = max(change, float((slab[:, live] - losses).max(initial=0.0)))
        self.change = change

    def probe_losses(self) -> dict[str, float]:
        """Return what each probe first costs at most."""
        found = {}
        for axis, m in self._probes():
            own = self.automata[axis]
            line = self._shaped(axis)[0, :, 0]
            found[self.names[axis][m]] = float(own.cost[m, 0] + own.move[m, 0] @ line)
        return found

    def _probes(self) -> Iterator[tuple[int, int]]:
        for axis, own in enumerate(self.automata):
            for m in range(len(own.cost)):
                if np.isfinite(own.cost[m]).any():
                    yield axis, m

    def _shaped(self, axis: int) -> Floats:
        sizes = self.value.shape
        return self.value.reshape(math.prod(sizes[:axis]), sizes[axis], -1)

    def _blocks(self, axis: int) -> Iterator[Floats]:
        """Yield the cells piece by piece, as ``_shaped`` has them, and ask in between whether there is time."""
        cells = self._shaped(axis)
        before, size, after = cells.shape
        wide = max(1, CELLS_AT_ONCE // size)
        long = max(1, CELLS_AT_ONCE // (size * min(wide, after)))
        for low in range(0, before, long):
            for left in range(0, after, wide):
                check_deadline()
                yield cells[low : low + long, :, left : left + wide]

    def _losses(self, axis: int, m: int, slab: Floats) -> tuple[Indices, Floats]:
        own = self.automata[axis]
        live = np.flatnonzero(np.isfinite(own.cost[m]))
        return live, np.matmul(own.move[m, live], slab) + own.cost[m, live, None]


def parts_plan(
    state: InformationState,
    parts: Sequence[Portion],
    automata: Sequence[Automaton],
    *,
    memory: float = math.inf,
) -> PartsPlan | None:
    """Return the plan before its first sweep: stopping everywhere; None where that is too much, or takes too long."""
    sets = shared_sets(state)
    cells = math.prod(len(a.posterior) for a in automata)
    if sets is None or cells > MOST_CELLS or BYTES_PER_CELL * cells > memory:
        return None
    if any(not view.cost > 0.0 for part in parts for view in part.probes):
        return None  # without a price, what still falls bounds nothing
    value = stop_values(state, parts, automata, sets)
    if value is None or not np.isfinite(value).all():
        return None  # sums with probabilities of zero would be undefined
    names = tuple(tuple(view.name for view in part.probes) for part in parts)
    return PartsPlan(automata, value, names)


def shared_sets(state: InformationState) -> list[int] | None:
    """Return every set of shared charges that some correction set pays, as masks; None if they are too many."""
    graph, shared = state.problem.graph, shared_charges(state)
    masks = [graph.belief_charges[i] for i in endings_of(state.problem).losses.beliefs]
    possible = [mask & shared for mask in masks if not any(math.isinf(graph.charges[c].cost) for c in bits(mask))]
    return unions(possible, MOST_SHARED_SETS)


def stop_values(
    state: InformationState, parts: Sequence[Portion], automata: Sequence[Automaton], sets: Sequence[int]
) -> Floats | None:
    """Return V_stop at every combination of the parts' states; None where the first ones show it to take too long."""
    half, shape = len(parts) // 2, tuple(len(a.posterior) for a in automata)
    first, second, costs = _halves(state, parts, automata, sets, half)
    value = np.empty((first.shape[1], second.shape[1]))
    step, started = max(1, CELLS_AT_ONCE // second.shape[1]), deadline.clock()
    least = endings_of(state.problem).others.flat
    for low in range(0, len(value), step):
        check_deadline()
        if low == step and (deadline.clock() - started) * len(value) / step > ENOUGH * seconds_left():
            return None
        block = value[low : low + step]
        block[:] = least
        for slow, fast, cost in zip(first, second, costs, strict=True):
            np.minimum(block, cost + slow[low : low + step, None] + fast, out=block)
    return value.reshape(shape)


def _halves(
    state: InformationState, parts: Sequence[Portion], automata: Sequence[Automaton], sets: Sequence[int], half: int
) -> tuple[Floats, Floats, list[float]]:
    """Return, for each set of shared charges, what the parts of either half cost in their states, and what it costs."""
    graph, (residual, own), shared = state.problem.graph, own_costs(state), shared_charges(state)
    first, second, costs = [], [], []
    for paid in sets:
        check_deadline()
        per_part = []
        for part, automaton in zip(parts, automata, strict=True):
            total = np.zeros(len(automaton.posterior))
            for i, q in zip(part.beliefs, (automaton.posterior @ part.failed).T, strict=True):
                keep = np.where(q > 0.0, residual[i] if math.isinf(residual[i]) else residual[i] * q, 0.0)
                covered = graph.belief_charges[i] & ~paid & shared == 0
                total += np.minimum(keep, own[i]) if covered else keep
            per_part.append(total)
        costs.append(float(sum(graph.charges[c].cost for c in bits(paid))))
        first.append(sums_of_all(per_part[:half]))
        second.append(sums_of_all(per_part[half:]))
    return np.array(first), np.array(second), costs
