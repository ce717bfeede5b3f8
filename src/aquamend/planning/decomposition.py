"""A lower bound for independent beliefs: split what they share, and plan for each block of them alone.

If the hypotheses factorise into blocks, and every probe tells of one block only, the blocks interact through shared
recovery costs alone. Give each block a share of every cost it might charge, shares adding up to no more than the cost
itself: whatever a policy does, the blocks' local losses never add up to more than it pays. So the sum of the blocks'
optimal losses bounds the optimum from below, for any split; the best split is sought by supergradient steps, because
each block's optimal loss is concave in its shares. The sensing budget is ignored, which only lowers the bound.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.endings import endings_of
from aquamend.graph import Action, Belief, Edge, EdgeKind, Operation, Probe, RecoveryGraph
from aquamend.graph.recovery_graph import bits
from aquamend.inference import InformationState
from aquamend.model import Discrete, Hypothesis, JointModel
from aquamend.model.kernels import Outcomes
from aquamend.planning.exact import solve
from aquamend.problem import Problem

Floats = NDArray[np.float64]

SAME = 1e-11
"""Differences of probabilities that are rounding: relative ones, as what is hardly possible may cost everything."""
ITERATIONS = 12

MOST_LOCAL_CELLS = 5_000
"""Evidence states a block may have: its plan is made anew for every split tried."""

MOST_PAIR_WORK = 5e7
"""Joint probabilities that comparing all pairs of beliefs and probes may touch."""


@dataclass(frozen=True, eq=False)
class Block:
    """Beliefs and probes that may depend on one another, and on nothing else."""

    beliefs: tuple[int, ...]
    probes: tuple[str, ...]
    label: NDArray[np.intp]
    """Shape ``(n_hypotheses,)``; which of the block's own hypotheses each one holds."""
    charges: tuple[int, ...]
    """Positions in the graph's charges that correcting its beliefs may pay, the infinite ones left out."""


def decomposition_bound(state: InformationState, *, iterations: int = ITERATIONS, deadline: float = math.inf) -> float:
    """Return the best bound found, or 0 where the problem does not fall into blocks or a block is too large.

    ``deadline`` is a reading of ``time.perf_counter`` after which no further split is tried.
    """
    blocks = independent_blocks(state)
    if len(blocks) < 2:
        return 0.0
    graph = state.problem.graph
    cost = np.array([charge.cost for charge in graph.charges])
    users = np.zeros((len(blocks), len(cost)), dtype=bool)
    for b, block in enumerate(blocks):
        users[b, list(block.charges)] = True
    flat = endings_of(state.problem).flat
    shares = np.where(users, np.where(np.isfinite(cost), cost, 0.0) / np.maximum(users.sum(axis=0), 1), 0.0)
    contested = users & (users.sum(axis=0) > 1)
    best = 0.0
    for k in range(iterations if contested.any() else 1):
        values = [_local_value(state, blocks[b], shares[b], flat / len(blocks)) for b in range(len(blocks))]
        if any(value is None for value in values):
            return best
        own = np.array([value for value in values if value is not None])
        best = max(best, float(own.sum()))
        if time.perf_counter() > deadline:
            break
        slope = np.zeros_like(shares)
        step = 0.05 * max(1.0, float(cost[np.isfinite(cost)].max(initial=0.0)))
        for b, c in zip(*np.nonzero(contested), strict=True):
            moved = shares[b].copy()
            moved[c] += step
            value = _local_value(state, blocks[b], moved, flat / len(blocks))
            slope[b, c] = 0.0 if value is None else (value - own[b]) / step
        mean = np.where(contested, slope, 0.0).sum(axis=0) / np.maximum(contested.sum(axis=0), 1)
        size = np.where(np.isfinite(cost), cost, 0.0) * 1.5 / (1.0 + k) ** 0.7
        shares = _projected(shares + size * np.where(contested, slope - mean, 0.0), contested, cost)
    return best


def independent_blocks(state: InformationState) -> list[Block]:
    """Return the blocks the posterior factorises into, or none where it does not or planning needs more than them."""
    problem, posterior = state.problem, state.posterior
    tables = [view.channel.table for view in state.legal if isinstance(view.channel, Outcomes)]
    endings = endings_of(problem)
    if endings.varying or endings.last_resorts or not problem.corrections or len(tables) < len(state.legal):
        return []
    concerned = [int(i) for i in np.flatnonzero(state.failure_probabilities > 0)]
    if (len(concerned) + len(tables)) ** 2 * len(posterior) > MOST_PAIR_WORK:
        return []
    rows = [problem.failed[:, [i]] for i in concerned]
    rows += tables
    labels = [_labels(row) for row in rows]
    group = list(range(len(labels)))
    for i in range(len(labels)):
        for j in range(i):
            if group[i] != group[j] and not _independent(posterior, labels[i], labels[j]):
                group = [group[j] if g == group[i] else g for g in group]
    members = [[i for i, g in enumerate(group) if g == own] for own in dict.fromkeys(group)]
    joint = [_labels(np.column_stack([labels[i] for i in block])) for block in members]
    if not joint or not _mutually_independent(posterior, joint):
        return []
    finite = {c for c, charge in enumerate(problem.graph.charges) if math.isfinite(charge.cost)}
    return [
        Block(
            beliefs=(own := tuple(concerned[i] for i in block if i < len(concerned))),
            probes=tuple(state.legal_probes[i - len(concerned)] for i in block if i >= len(concerned)),
            label=label,
            charges=tuple(sorted({c for i in own for c in bits(problem.graph.belief_charges[i])} & finite)),
        )
        for block, label in zip(members, joint, strict=True)
    ]


def _labels(rows: NDArray[np.generic]) -> NDArray[np.intp]:
    return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1].ravel())


def _independent(posterior: Floats, a: NDArray[np.intp], b: NDArray[np.intp]) -> bool:
    joint = np.zeros((int(a.max()) + 1, int(b.max()) + 1))
    np.add.at(joint, (a, b), posterior)
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return bool((np.abs(joint - product) <= SAME * product).all())


def _mutually_independent(posterior: Floats, labels: list[NDArray[np.intp]]) -> bool:
    cells = _labels(np.column_stack(labels))
    mass = np.bincount(cells, weights=posterior)
    _, first = np.unique(cells, return_index=True)
    product, possible = np.ones(len(mass)), 1
    for label in labels:
        marginal = np.bincount(label, weights=posterior)
        product *= marginal[label[first]]
        possible *= int(np.count_nonzero(marginal))
    return bool((np.abs(mass - product) <= SAME * product).all() and np.count_nonzero(mass) == possible)


def _local_value(state: InformationState, block: Block, shares: Floats, flat: float) -> float | None:
    """Return a block's optimal loss with its shares as costs; None where its own tree is too large to tabulate."""
    table = solve(InformationState.start(_local_problem(state, block, shares, flat)), most_cells=MOST_LOCAL_CELLS)
    return None if table is None else table.loss


def _local_problem(state: InformationState, block: Block, shares: Floats, flat: float) -> Problem:
    """Return a block as a problem of its own: each belief's action charges the block's shares."""
    problem, graph = state.problem, state.problem.graph
    posterior = np.bincount(block.label, weights=state.posterior)
    _, first = np.unique(block.label, return_index=True)
    # A correction that is sure to be right, and needs no support, can only cost less.
    given = [graph.beliefs[i] for i in block.beliefs]
    beliefs = [Belief(belief.name, belief.residual, belief.may_keep) for belief in given]
    probes = [state.probe(name) for name in block.probes]
    stuck = [any(math.isinf(graph.charges[c].cost) for c in bits(graph.belief_charges[i])) for i in block.beliefs]
    actions = [
        Action(
            f"correct {belief.name}",
            operations=tuple(str(c) for c in bits(graph.belief_charges[i]) if c in block.charges),
            undo=None if graph.belief_charges[i] else 0.0,
            executed=True,
            reversible=not infinite,
        )
        for i, belief, infinite in zip(block.beliefs, beliefs, stuck, strict=True)
    ]
    hypotheses = [
        Hypothesis(str(k), float(p), tuple(b.name for b, i in zip(beliefs, block.beliefs, strict=True) if failed[i]))
        for k, (p, failed) in enumerate(zip(posterior, problem.failed[first] > 0, strict=True))
    ]
    kernels = {}
    for name in block.probes:
        channel = problem.model.channels[name]
        if isinstance(channel, Outcomes):
            kernels[name] = Discrete(channel.outcomes, channel.table[first])
    return Problem(
        RecoveryGraph(
            beliefs,
            actions,
            [Probe(view.name, view.cost, max_uses=view.uses_left) for view in probes],
            [Edge(b.name, a.name, EdgeKind.BELIEF_TO_ACTION) for b, a in zip(beliefs, actions, strict=True)],
            [Operation(str(c), float(shares[c])) for c in block.charges],
        ),
        JointModel(hypotheses, kernels),
        escalate=None if math.isinf(flat) else flat,
    )


def _projected(shares: Floats, contested: NDArray[np.bool_], cost: Floats) -> Floats:
    """Return the nearest shares that are not negative and add up to each contested cost."""
    result = shares.copy()
    for c in np.flatnonzero(contested.any(axis=0)):
        users = contested[:, c]
        falling = np.sort(shares[users, c])[::-1]
        excess = (np.cumsum(falling) - cost[c]) / np.arange(1, len(falling) + 1)
        result[users, c] = np.maximum(shares[users, c] - excess[np.flatnonzero(falling >= excess)[-1]], 0.0)
    return result
