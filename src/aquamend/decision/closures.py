"""What correcting several beliefs undoes together: closures, each operation charged once.

Beliefs fall into groups that share no operation, so that the best correction set is the union of each group's best.
What only one belief of a group needs is that belief's own cost. What several need is shared: a group's distinct unions
of shared charges are listed, and given one of them, every belief that it covers is decided by itself. A group with too
many unions becomes a network whose minimum cut finds the best set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Bools, Floats, Indices
from aquamend.decision.min_cut import Requirements, best_closures
from aquamend.problem.graph import RecoveryGraph
from aquamend.problem.graph.recovery_graph import unions

MOST_CLOSURES = 64
"""Distinct unions of shared charges that a group may have and still be listed; beyond it, cuts are cheaper."""


@dataclass(frozen=True, eq=False)
class Closures:
    """A group of beliefs that share operations, with every distinct union of what they share listed."""

    members: Indices
    """Positions among the priced beliefs."""
    own: Floats
    """Shape ``(n_members,)``; what correcting each costs beyond what it shares; finite."""
    alone: Bools
    """Shape ``(n_members,)``; whether that needs anything at all, which may be free."""
    keep: Floats
    """Shape ``(n_members, n_unions)``; one where the union does not cover what the belief shares."""
    cost: Floats
    """Shape ``(n_unions,)``; finite."""

    @property
    def n_closures(self) -> float:
        """How many distinct closures the group has: with a need of its own, a belief is covered or is not."""
        return float(np.exp2((self.keep == 0)[self.alone].sum(axis=0)).sum())

    def losses(self, mass: Floats, gain: Floats) -> Floats:
        """Return each branch's loss of every union, ``(n_unions, n_branches)``; rows of ``gain`` are beliefs."""
        every = gain[self.members]
        covered = np.minimum(every, self.own[:, None] * mass)
        lost = every - covered
        fixed = self.cost[:, None] * mass + covered.sum(axis=0)
        barred = np.isinf(lost)
        if not barred.any():
            return np.asarray(self.keep.T @ lost + fixed)
        losses = self.keep.T @ np.where(barred, 0.0, lost) + fixed
        return np.where(self.keep.T @ barred.astype(float) > 0, math.inf, losses)

    def worthwhile(self, union: Indices, mass: Floats, gain: Floats) -> Bools:
        """Return which members each branch's union corrects: those that it covers and that repay their own cost."""
        return np.asarray((self.keep[:, union] == 0) & (gain[self.members] > self.own[:, None] * mass))

    def covers(self, most: int) -> Bools | None:
        """Return every distinct closure, ``(n_members, n_closures)``; None if there are more than ``most``."""
        if self.n_closures > most:
            return None
        found = []
        for covered in (self.keep == 0).T:
            free = np.flatnonzero(covered & self.alone)
            for left in product([False, True], repeat=len(free)):
                chosen = covered.copy()
                chosen[free] = left
                found.append(chosen)
        return np.array(found).T


@dataclass(frozen=True, eq=False)
class CutGroup:
    """A group with too many unions to list; beliefs and what they need as nodes of a cut network."""

    members: Indices
    needs: Requirements
    """Member beliefs are the first nodes, in the order of ``members``."""
    cost: Floats
    """Shape ``(n_nodes,)``; what selecting a node pays; finite."""

    def best(self, gain: Floats, *, tie: float = 0.0) -> tuple[Floats, Bools]:
        """Return each branch's least loss, and the smallest set that attains it, ``(n_members, n_branches)``.

        Columns of ``gain``, ``(n_members, n_branches)``, are branches of mass one; where it is infinite, the belief has
        to be covered. For ``tie`` see `best_closures`.
        """
        n, forced = len(self.members), np.isinf(gain)
        needed = self._needed(forced)
        weight = np.repeat(-self.cost[None, :], gain.shape[1], axis=0)
        weight[:, :n] += np.where(forced, 0.0, gain).T
        weight[needed] = 0.0  # what has to be done is paid for already, and whatever else needs it as well
        chosen = needed | best_closures(weight, self.needs, tie=tie)
        lost = np.where(chosen[:, :n] | forced.T, 0.0, np.where(forced, 0.0, gain).T).sum(axis=1)
        return np.asarray(lost + chosen @ self.cost), chosen[:, :n].T

    def losses(self, gain: Floats, chosen: Bools) -> Floats:
        """Return what each set of members costs, with what it leaves of gains ``(n_members,)``; columns are sets."""
        kept = np.where(chosen, 0.0, gain[:, None]).sum(axis=0)
        return np.asarray(kept + self._needed(chosen) @ self.cost)

    def _needed(self, forced: Bools) -> Bools:
        """Return each branch's closure of the beliefs that have to be covered, ``(n_branches, n_nodes)``."""
        needed = np.zeros((forced.shape[1], self.needs.n_nodes), dtype=bool)
        needed[:, : len(forced)] = forced.T
        rows = np.flatnonzero(forced.any(axis=0))
        if len(rows):
            needed[rows] = self.needs.closed(needed[rows])
        return needed


def cut_group(graph: RecoveryGraph, priced: Indices, members: Sequence[int]) -> CutGroup:
    """Return a group's network: the graph's own edges rather than its closures, which may be quadratically many."""
    names = [graph.beliefs[priced[i]].name for i in members]
    position = {name: i for i, name in enumerate(names)}
    executed = graph.executed_index
    source, target = [], []
    frontier = list(names)
    while frontier:
        name = frontier.pop()
        for successor in graph.successors[name]:
            if successor not in graph.leading_to_executed:
                continue
            if successor not in position:
                position[successor] = len(position)
                frontier.append(successor)
            source.append(position[name])
            target.append(position[successor])
    n_graph_nodes = len(position)
    shared_node: dict[int, int] = {}
    cost = [0.0] * n_graph_nodes
    for name, at in position.items():
        for charge in graph.action_charges[executed[name]] if name in executed else ():
            if charge >= len(graph.operations):  # an action's own undoing and doing again are paid at its own node
                cost[at] += graph.charges[charge].cost
                continue
            source.append(at)
            target.append(shared_node.setdefault(charge, n_graph_nodes + len(shared_node)))
    cost += [graph.charges[charge].cost for charge in shared_node]
    pairs = np.unique(np.array([source, target], dtype=np.int32).reshape(2, -1), axis=1)
    return CutGroup(np.array(members, dtype=np.intp), *_merged(len(members), pairs, np.array(cost)))


def _merged(n_members: int, pairs: NDArray[np.int32], cost: Floats) -> tuple[Requirements, Floats]:
    """Return a network without the nodes that only one other needs and that need nothing: that one pays for them."""
    n, source, target = len(cost), pairs[0], pairs[1]
    gone = np.zeros(n, dtype=bool)
    while True:
        needed_by, needing = np.bincount(target, minlength=n), np.bincount(source, minlength=n)
        merged = (needed_by == 1) & (needing == 0) & ~gone
        merged[:n_members] = False
        at = merged[target]
        if not at.any():
            break
        np.add.at(cost, source[at], cost[target[at]])
        gone |= merged
        source, target = source[~at], target[~at]
    position = np.cumsum(~gone, dtype=np.int32) - 1
    return Requirements(int((~gone).sum()), position[source], position[target]), cost[~gone]


@dataclass(frozen=True, eq=False)
class Groups:
    """Beliefs in groups that share no operation, by the positions they were given in."""

    solo: Indices
    """Beliefs that share no operation with another and can be corrected at finite cost."""
    solo_cost: Floats
    stuck: Indices
    """Beliefs that no finite cost corrects."""
    listed: tuple[Closures, ...]
    cuts: tuple[CutGroup, ...]


def grouped(graph: RecoveryGraph, priced: Indices) -> Groups:
    """Return these beliefs, given by their positions in the graph, in groups that share no charge."""
    solo: list[int] = []
    groups: list[Closures] = []
    cuts: list[CutGroup] = []
    stuck = [i for i, belief in enumerate(priced) if graph.beliefs[belief].name in graph.uncorrectable]
    for members in _sharing(graph, priced, {*stuck}):
        if len(members) == 1:
            solo.append(members[0])
            continue
        closures = _closures(graph, priced, members)
        if closures is None:
            cuts.append(cut_group(graph, priced, members))
        else:
            groups.append(closures)
    solo_cost = graph.charged_each([graph.belief_charges[priced[i]] for i in solo])
    return Groups(np.array(solo, dtype=np.intp), solo_cost, np.array(stuck, dtype=np.intp), tuple(groups), tuple(cuts))


def _sharing(graph: RecoveryGraph, priced: Indices, stuck: set[int]) -> list[list[int]]:
    """Return the priced beliefs that are not stuck in groups that share no charge, as positions among the priced."""
    leader: dict[str | int, str | int] = {}

    def find(node: str | int) -> str | int:
        leader.setdefault(node, node)
        while leader[node] != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    # Two beliefs share a charge exactly if a path of edges that lead to executed actions joins them; walking the edges
    # once is linear, where comparing closures would be quadratic.
    probes, leading = graph.probe_index, graph.leading_to_executed
    for source, target, _ in graph.edges:
        if source not in probes and target in leading:
            leader[find(source)] = find(target)
    for action, charges in zip(graph.executed, graph.action_charges, strict=True):
        for charge in charges:
            leader[find(action.name)] = find(charge)
    members: dict[str | int, list[int]] = {}
    for i, belief in enumerate(priced):
        if i not in stuck:
            members.setdefault(find(graph.beliefs[belief].name), []).append(i)
    return list(members.values())


def _closures(graph: RecoveryGraph, priced: Indices, members: Sequence[int]) -> Closures | None:
    """Return a group with its distinct unions of shared charges, or None if they are too many."""
    at = [int(priced[i]) for i in members]
    shared = _shared(graph, at)
    # One by one: each mask is as long as there are charges, and a few of them tell that there are too many unions.
    found = unions((graph.belief_charges[i] & shared for i in at), MOST_CLOSURES)
    if found is None:
        return None
    masks = [graph.belief_charges[i] for i in at]
    keep = np.array([[0.0 if mask & shared & ~union == 0 else 1.0 for union in found] for mask in masks])
    return Closures(
        members=np.array(members, dtype=np.intp),
        own=graph.charged_each([mask & ~shared for mask in masks]),
        alone=np.array([mask & ~shared != 0 for mask in masks]),
        keep=keep,
        cost=graph.charged_each(found),
    )


def _shared(graph: RecoveryGraph, beliefs: Sequence[int]) -> int:
    """Return the charges that at least two of these beliefs need, as a bit mask; in one walk through the graph."""
    several = -1
    needed_by: dict[str | int, int] = {graph.beliefs[i].name: i for i in beliefs}

    def need(node: str | int, by: int) -> None:
        needed_by[node] = by if needed_by.get(node, by) == by else several

    for name in graph.topological_order:
        by = needed_by.get(name)
        if by is None:
            continue
        for successor in graph.successors[name]:
            need(successor, by)
        for charge in graph.action_charges[graph.executed_index[name]] if name in graph.executed_index else ():
            need(charge, by)
    charges = bytearray(len(graph.charges) // 8 + 1)
    for node, by in needed_by.items():
        if by == several and isinstance(node, int):
            charges[node >> 3] |= 1 << (node & 7)
    return int.from_bytes(charges, "little")
