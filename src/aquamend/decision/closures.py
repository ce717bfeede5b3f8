"""What correcting several beliefs undoes together: closures, each operation charged once.

Beliefs fall into groups that share no operation, so that the best correction set is the union of each group's best. A
group's distinct closures are listed; a group with too many of them becomes a network whose minimum cut finds the best.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.min_cut import Requirements, best_closure
from aquamend.graph import RecoveryGraph
from aquamend.graph.recovery_graph import unions

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

MOST_CLOSURES = 4096
"""Distinct closures a group may have and still be enumerated; beyond it, a minimum cut prices each branch."""


@dataclass(frozen=True, eq=False)
class Closures:
    """A group of beliefs that share operations, with every distinct feasible closure listed."""

    members: Indices
    """Positions among the priced beliefs."""
    keep: Floats
    """Shape ``(n_members, n_closures)``; one where the closure does not cover the belief."""
    cost: Floats
    """Shape ``(n_closures,)``; finite."""

    def losses(self, mass: Floats, gain: Floats) -> Floats:
        """Return each branch's loss of every closure, ``(n_closures, n_branches)``; rows of ``gain`` are beliefs."""
        own = gain[self.members]
        barred = np.isinf(own)
        if not barred.any():
            return np.asarray(self.keep.T @ own + self.cost[:, None] * mass)
        losses = self.keep.T @ np.where(barred, 0.0, own) + self.cost[:, None] * mass
        return np.where(self.keep.T @ barred.astype(float) > 0, math.inf, losses)


@dataclass(frozen=True, eq=False)
class CutGroup:
    """A group with too many closures to list; beliefs, actions and charges as nodes of a cut network."""

    members: NDArray[np.intp]
    needs: Requirements
    """Member beliefs are the first nodes, in the order of ``members``."""
    cost: NDArray[np.float64]
    """Shape ``(n_nodes,)``; what selecting a node pays."""
    feasible: NDArray[np.bool_]
    """Shape ``(n_nodes,)``; False where the node's closure holds an irreversible action."""

    def best(self, gain: NDArray[np.float64], forced: NDArray[np.bool_]) -> tuple[float, NDArray[np.bool_]]:
        """Return the least loss and the smallest set that attains it; infinite where a forced belief is stuck."""
        n = len(self.members)
        needed = self._closure(forced)
        if not self.feasible[needed].all():
            return math.inf, forced
        weight = np.where(needed, 0.0, -self.cost)
        weight[:n] += gain
        open_nodes = self.feasible & ~needed
        chosen = needed | self._restricted(weight, open_nodes)
        loss = float(gain[~chosen[:n]].sum() + self.cost[chosen].sum())
        return loss, chosen[:n]

    def _restricted(self, weight: NDArray[np.float64], open_nodes: NDArray[np.bool_]) -> NDArray[np.bool_]:
        position = np.cumsum(open_nodes, dtype=np.int32) - 1
        kept = open_nodes[self.needs.source] & open_nodes[self.needs.target]
        local = Requirements(
            int(open_nodes.sum()),
            position[self.needs.source[kept]].astype(np.int32),
            position[self.needs.target[kept]].astype(np.int32),
        )
        chosen = np.zeros(len(weight), dtype=bool)
        chosen[np.flatnonzero(open_nodes)[best_closure(weight[open_nodes], local)]] = True
        return chosen

    def _closure(self, forced: NDArray[np.bool_]) -> NDArray[np.bool_]:
        reached = np.zeros(self.needs.n_nodes, dtype=bool)
        reached[: len(forced)] = forced
        while True:
            grown = self.needs.target[reached[self.needs.source] & ~reached[self.needs.target]]
            if len(grown) == 0:
                return reached
            reached[grown] = True


def cut_group(graph: RecoveryGraph, priced: NDArray[np.intp], members: Sequence[int]) -> CutGroup:
    """Return a group's network: the graph's own edges rather than its closures, which may be quadratically many."""
    names = [graph.beliefs[priced[i]].name for i in members]
    position = {name: i for i, name in enumerate(names)}
    executed = {action.name: i for i, action in enumerate(graph.executed)}
    source, target = [], []
    frontier = list(names)
    while frontier:
        name = frontier.pop()
        for successor in graph.successors[name]:
            if successor not in position:
                position[successor] = len(position)
                frontier.append(successor)
            source.append(position[name])
            target.append(position[successor])
    n_graph_nodes = len(position)
    shared_node: dict[int, int] = {}
    own_cost: dict[int, float] = {}
    for name, at in position.items():
        for charge in graph.action_charges[executed[name]] if name in executed else ():
            if charge >= len(graph.operations):  # an action's own undoing and doing again are paid at its own node
                own_cost[at] = own_cost.get(at, 0.0) + graph.charges[charge].cost
                continue
            source.append(at)
            target.append(shared_node.setdefault(charge, n_graph_nodes + len(shared_node)))
    n = n_graph_nodes + len(shared_node)
    cost = np.zeros(n)
    for charge, node in shared_node.items():
        cost[node] = graph.charges[charge].cost
    for node, own in own_cost.items():
        cost[node] = own
    pairs = np.unique(np.array([source, target], dtype=np.int32), axis=1)
    needs = Requirements(n, pairs[0], pairs[1])
    feasible = np.isfinite(cost)
    while True:  # spread infeasibility up to everything that needs it
        newly = needs.source[feasible[needs.source] & ~feasible[needs.target]]
        if len(newly) == 0:
            break
        feasible[newly] = False
    return CutGroup(np.array(members, dtype=np.intp), needs, np.where(np.isinf(cost), 0.0, cost), feasible)


@dataclass(frozen=True, eq=False)
class Groups:
    """Beliefs in groups that share no operation, by the positions they were given in."""

    solo: Indices
    """Beliefs that share no operation with another and can be corrected at finite cost."""
    solo_cost: Floats
    stuck: Indices
    """Beliefs that no finite cost corrects, in a group of their own."""
    listed: tuple[Closures, ...]
    cuts: tuple[CutGroup, ...]


def grouped(graph: RecoveryGraph, priced: Indices) -> Groups:
    """Return these beliefs, given by their positions in the graph, in groups that share no charge."""
    solo: list[int] = []
    stuck: list[int] = []
    groups: list[Closures] = []
    cuts: list[CutGroup] = []
    for members in _sharing(graph, priced):
        if len(members) == 1:
            cost = graph.charged(graph.belief_charges[priced[members[0]]])
            (stuck if math.isinf(cost) else solo).append(members[0])
            continue
        closures = _closures(graph, priced, members)
        if closures is None:
            cuts.append(cut_group(graph, priced, members))
        else:
            groups.append(closures)
    solo_cost = np.array([graph.charged(graph.belief_charges[priced[i]]) for i in solo])
    return Groups(np.array(solo, dtype=np.intp), solo_cost, np.array(stuck, dtype=np.intp), tuple(groups), tuple(cuts))


def _sharing(graph: RecoveryGraph, priced: Indices) -> list[list[int]]:
    """Return the priced beliefs in groups that share no charge, as positions among the priced."""
    leader: dict[str | int, str | int] = {}

    def find(node: str | int) -> str | int:
        leader.setdefault(node, node)
        while leader[node] != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    # Two beliefs share a charge exactly if a path of edges that lead to executed actions joins them; walking the edges
    # once is linear, where comparing closures would be quadratic.
    probes = graph.probe_index
    for source, target, _ in graph.edges:
        if source not in probes and graph.reaches_executed(target):
            leader[find(source)] = find(target)
    for action, charges in zip(graph.executed, graph.action_charges, strict=True):
        for charge in charges:
            leader[find(action.name)] = find(charge)
    members: dict[str | int, list[int]] = {}
    for i, belief in enumerate(priced):
        members.setdefault(find(graph.beliefs[belief].name), []).append(i)
    return list(members.values())


def _closures(graph: RecoveryGraph, priced: Indices, members: Sequence[int]) -> Closures | None:
    """Return the distinct feasible closures of a group, or None if they are too many."""
    masks = [graph.belief_charges[priced[i]] for i in members]
    infinite = sum(1 << c for c, charge in enumerate(graph.charges) if math.isinf(charge.cost))
    found = unions((mask for mask in masks if not mask & infinite), MOST_CLOSURES)
    if found is None:
        return None
    keep = np.array([[0.0 if mask & ~union == 0 else 1.0 for union in found] for mask in masks])
    return Closures(np.array(members, dtype=np.intp), keep, np.array([graph.charged(union) for union in found]))
