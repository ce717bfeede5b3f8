"""A group of beliefs with too many closures to list, as a network for the minimum cut."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.min_cut import Requirements, best_closure
from aquamend.graph import RecoveryGraph


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
            if charge >= len(graph.operations):  # an action's own undoing is paid at its own node
                own_cost[at] = graph.charges[charge].cost
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
