"""Random recovery graphs for M1: probes, then beliefs, then executed actions, wired at random."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph

COST_LOW, COST_HIGH = 0.5, 5.0
COST_MU, COST_SIGMA = math.log(COST_LOW * COST_HIGH) / 2, 0.5
ROLLBACK_RATIO = (2.0, 5.0)
"""Mean rollback cost over mean probe cost; drawn again for every graph."""
EDGE_PROBABILITIES = (0.15, 0.25)
OUT_DEGREES = (1, 2, 3)
CRITICAL = 0.8
"""Probability that a belief is task-critical, beyond those that have to be."""
RESIDUAL_RATIO = (1.0, 3.0)
"""Residual of a critical belief over the cost of correcting it."""

Pairs = dict[str, list[str]]


def random_graph(rng: np.random.Generator, *, nodes: int, wiring: str, critical: int = 1) -> RecoveryGraph:
    """Return a random recovery graph in which every belief has a probe and an executed action that rests on it.

    ``critical`` is how many beliefs are task-critical at least.
    """
    n_probes = round(0.4 * nodes)
    n_beliefs = max(critical, n_probes)
    n_actions = nodes - n_probes - n_beliefs
    probes = [f"p{i + 1}" for i in range(n_probes)]
    beliefs = [f"b{i + 1}" for i in range(n_beliefs)]
    actions = [f"a{i + 1}" for i in range(n_actions)]
    allowed: Pairs = dict.fromkeys(probes, beliefs)
    allowed |= {belief: [*beliefs[i + 1 :], *actions] for i, belief in enumerate(beliefs)}
    allowed |= {action: actions[i + 1 :] for i, action in enumerate(actions)}
    chosen = _by_out_degree(rng, allowed) if wiring == "out-degree" else _erdos_renyi(rng, allowed)
    _mend(rng, chosen, probes, beliefs, actions)
    edges = [(source, target, _kind(source, target, chosen)) for source in allowed for target in chosen[source]]
    ratio = rng.uniform(*ROLLBACK_RATIO)
    undo, cost = ratio * _costs(rng, n_actions), _costs(rng, n_probes)
    graph = RecoveryGraph(
        beliefs=[Belief(name) for name in beliefs],
        actions=[Action(name, undo=float(c), executed=True) for name, c in zip(actions, undo, strict=True)],
        probes=[Probe(name, cost=float(c)) for name, c in zip(probes, cost, strict=True)],
        edges=edges,
    )
    return _with_residuals(rng, graph, critical)


def _by_out_degree(rng: np.random.Generator, allowed: Pairs) -> Pairs:
    """Give every node one, two or three successors, as far as there are any."""
    chosen: Pairs = {}
    for source, targets in allowed.items():
        wanted = min(int(rng.choice(OUT_DEGREES)), len(targets))
        picked = rng.permutation(len(targets))[:wanted]
        chosen[source] = [targets[i] for i in sorted(picked.tolist())]
    return chosen


def _erdos_renyi(rng: np.random.Generator, allowed: Pairs) -> Pairs:
    """Draw every allowed edge with the same probability."""
    p = float(rng.choice(EDGE_PROBABILITIES))
    return {
        source: [target for target, draw in zip(targets, rng.random(len(targets)), strict=True) if draw < p]
        for source, targets in allowed.items()
    }


def _mend(rng: np.random.Generator, chosen: Pairs, probes: list[str], beliefs: list[str], actions: list[str]) -> None:
    """Give a probe to every belief that lacks one, and an action to every belief that nothing executed rests on.

    Without this four in ten graphs fall apart into beliefs that share nothing, which leaves little to plan.
    """
    for belief in beliefs:
        if not any(belief in chosen[probe] for probe in probes):
            chosen[probes[int(rng.integers(len(probes)))]].append(belief)
    acted = set(actions)
    for belief in reversed(beliefs):  # sources after what they reach
        if acted.isdisjoint(chosen[belief]):
            chosen[belief].append(actions[int(rng.integers(len(actions)))])
        acted.add(belief)


def _kind(source: str, target: str, chosen: Pairs) -> str:
    match source[0], target[0]:
        case "p", _:
            return "detection" if len(chosen[source]) == 1 else "aggregation"
        case "b", "b":
            return "inference"
        case "b", _:
            return "belief_to_action"
        case _:
            return "action_causal"


def _costs(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.clip(rng.lognormal(COST_MU, COST_SIGMA, n), COST_LOW, COST_HIGH)


def _with_residuals(rng: np.random.Generator, graph: RecoveryGraph, least: int) -> RecoveryGraph:
    """Return the graph with a residual on every task-critical belief, in proportion to what correcting it costs."""
    critical = rng.random(len(graph.beliefs)) < CRITICAL
    critical[rng.permutation(len(critical))[:least]] = True
    ratio = rng.uniform(*RESIDUAL_RATIO, len(graph.beliefs))
    residual = np.where(critical, ratio * [graph.correction_cost([b.name]) for b in graph.beliefs], 0.0)
    return replace(graph, beliefs=[replace(b, residual=float(r)) for b, r in zip(graph.beliefs, residual, strict=True)])
