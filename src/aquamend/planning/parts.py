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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Bools, Floats, Indices
from aquamend.belief import InformationState, ProbeView, joint
from aquamend.deadline import check_deadline
from aquamend.decision.endings import endings_of
from aquamend.decision.structured import independent
from aquamend.problem.graph.recovery_graph import bits
from aquamend.problem.model.kernels import Outcomes

SAME = 1e-11
"""Differences of probabilities that are rounding: relative ones, as what is hardly possible may cost everything."""
MOST_PAIR_WORK = 5e7
"""Joint probabilities that comparing all pairs of beliefs and probes may touch."""
MOST_STATES = 400
"""Evidence states of one part."""
DIGITS = 9
"""Digits of logarithms by which posteriors are told apart."""


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
    labels = [_labels(rows) for rows in [*(problem.failed[:, [i]] for i in concerned), *tables]]
    group = list(range(len(labels)))
    for i in range(len(labels)):
        check_deadline()
        for j in range(i):
            if group[i] != group[j] and not _independent(posterior, labels[i], labels[j]):
                group = [group[j] if g == group[i] else g for g in group]
    members = [[i for i, g in enumerate(group) if g == own] for own in dict.fromkeys(group)]
    together = [_labels(np.column_stack([labels[i] for i in part])) for part in members]
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


def _labels(rows: NDArray[np.generic]) -> Indices:
    check_deadline()
    return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1].ravel())


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


def automaton(state: InformationState, part: Portion, *, most: int = MOST_STATES) -> Automaton | None:
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
                    if len(states) >= most:
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
    users = np.zeros(len(graph.charges), dtype=int)
    for i in losses.beliefs:
        users[list(bits(graph.belief_charges[i]))] += 1
    own = np.zeros(len(graph.beliefs))
    for i in losses.beliefs:
        own[i] = sum(graph.charges[c].cost for c in bits(graph.belief_charges[i]) if users[c] == 1)
    return residual, own
