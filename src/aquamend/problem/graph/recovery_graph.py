"""The recovery graph: which probe supports which belief, and which executed action rests on it."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from aquamend.arrays import Floats
from aquamend.caching import KeepsResults
from aquamend.errors import UnknownName
from aquamend.problem.faults import refuse
from aquamend.problem.graph.nodes import (
    Action,
    Belief,
    Edge,
    EdgeKind,
    Operation,
    Probe,
    graph_faults,
    parsed_edges,
)

MOST_BITS = 1 << 27
"""Bits that may be kept of what is reachable from where: sixteen megabytes."""


@dataclass(frozen=True, eq=False)
class RecoveryGraph(KeepsResults):
    """A directed acyclic graph of probes, beliefs and actions (Section 2 of the paper).

    ``edges`` may be given as ``(source, target, kind)`` triples with the kind as text.
    """

    beliefs: Sequence[Belief]
    actions: Sequence[Action] = ()
    probes: Sequence[Probe] = ()
    edges: Sequence[Edge | tuple[str, str, str]] = ()
    operations: Sequence[Operation] = field(default=())
    fixed: Sequence[str] = field(default=())
    """Beliefs that cannot be corrected although nothing executed rests on them."""

    def __post_init__(self) -> None:
        edges = parsed_edges(self.edges)
        for name in ("beliefs", "actions", "probes", "operations", "fixed"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "edges", edges)
        refuse(graph_faults(self.beliefs, self.actions, self.probes, edges, self.operations))

    @cached_property
    def belief_index(self) -> dict[str, int]:
        """Position of every belief, by name."""
        return {belief.name: i for i, belief in enumerate(self.beliefs)}

    def positions(self, beliefs: Iterable[str]) -> list[int]:
        """Return where each stands in ``beliefs``; ``UnknownName`` where one is none of them."""
        try:
            return [self.belief_index[name] for name in beliefs]
        except KeyError as error:
            raise UnknownName("belief", str(error.args[0]), self.belief_index) from None

    @cached_property
    def probe_index(self) -> dict[str, int]:
        """Position of every probe, by name."""
        return {probe.name: i for i, probe in enumerate(self.probes)}

    @cached_property
    def executed(self) -> tuple[Action, ...]:
        """The actions already executed, in the order given."""
        return tuple(action for action in self.actions if action.executed)

    @cached_property
    def successors(self) -> dict[str, tuple[str, ...]]:
        """Direct successors of every node, in edge order."""
        nodes: tuple[Probe | Belief | Action, ...] = (*self.probes, *self.beliefs, *self.actions)
        found: dict[str, list[str]] = {node.name: [] for node in nodes}
        for edge in self.edges:
            found[edge[0]].append(edge[1])
        return {name: tuple(targets) for name, targets in found.items()}

    @cached_property
    def topological_order(self) -> tuple[str, ...]:
        """All nodes, each after its predecessors; equal claims in the order given."""
        names, rank = list(self.successors), {name: i for i, name in enumerate(self.successors)}
        after = [[rank[target] for target in targets] for targets in self.successors.values()]
        waiting = [0] * len(names)
        for targets in after:
            for target in targets:
                waiting[target] += 1
        ready = [i for i, count in enumerate(waiting) if count == 0]  # in order, and so a heap
        order = []
        while ready:
            i = heapq.heappop(ready)
            order.append(names[i])
            for target in after[i]:
                waiting[target] -= 1
                if waiting[target] == 0:
                    heapq.heappush(ready, target)
        return tuple(order)

    @cached_property
    def _reach(self) -> dict[str, int] | None:
        """Executed actions reachable from each node (itself included), as a bit mask over ``executed``.

        None in a graph so large that these masks, whose bits grow with its square, would fill the memory.
        """
        if len(self.successors) * len(self.executed) > MOST_BITS:
            return None
        own = {action.name: 1 << i for i, action in enumerate(self.executed)}
        reach: dict[str, int] = {}
        for name in reversed(self.topological_order):
            mask = own.get(name, 0)
            for target in self.successors[name]:
                mask |= reach[target]
            reach[name] = mask
        return reach

    @cached_property
    def why_impossible(self) -> dict[str, str]:
        """For every probe that is not possible as actions stand, when it is, in words."""
        found = {probe.name: " and ".join(self._waits_for(probe)) for probe in self.probes}
        return {name: f"possible once {when}" for name, when in found.items() if when}

    def _waits_for(self, probe: Probe) -> Iterator[str]:
        executed = {action.name: action for action in self.executed}
        yield from (f"{name} is done" for name in probe.requires if name not in executed)
        for name in probe.forbids:
            if name in executed:
                yield f"{name} is undone" + ("" if executed[name].reversible else ", which it cannot be")

    def _downstream(self, names: Iterable[str]) -> list[int]:
        """Return the positions in ``executed`` of all that is reachable from these nodes, in order."""
        if self._reach is not None:
            mask = 0
            for name in names:
                mask |= self._reach[name]
            return list(bits(mask))
        seen, waiting = set(names), [*names]
        while waiting:
            for successor in self.successors[waiting.pop()]:
                if successor not in seen:
                    seen.add(successor)
                    waiting.append(successor)
        position = self.executed_index
        return sorted(position[name] for name in seen if name in position)

    @cached_property
    def executed_index(self) -> dict[str, int]:
        """Position in ``executed`` of every executed action, by name."""
        return {action.name: i for i, action in enumerate(self.executed)}

    def leading_to_any(self, actions: Iterable[str]) -> frozenset[str]:
        """Return all nodes from which one of these actions can be reached, themselves included."""
        found = set(actions)
        for name in reversed(self.topological_order):
            if not found.isdisjoint(self.successors[name]):
                found.add(name)
        return frozenset(found)

    @cached_property
    def leading_to_executed(self) -> frozenset[str]:
        """All nodes from which an executed action can be reached, executed actions included."""
        return self.leading_to_any(self.executed_index)

    @cached_property
    def uncorrectable(self) -> frozenset[str]:
        """The beliefs that no finite cost corrects, by name."""
        endless = [
            action.name
            for action, paid in zip(self.executed, self.action_charges, strict=True)
            if any(math.isinf(self.charges[charge].cost) for charge in paid)
        ]
        return (self.leading_to_any(endless) & self.belief_index.keys()) | frozenset(self.fixed)

    def downstream(self, belief: str) -> tuple[str, ...]:
        """Return D_i, the executed actions reachable from the belief along any directed path."""
        return self.closure([belief])

    def closure(self, beliefs: Iterable[str]) -> tuple[str, ...]:
        """Return the minimal upper closure of a set of beliefs: the union of their D_i, in action order."""
        names = list(beliefs)
        self.positions(names)  # or an error that names the one that is none
        return tuple(self.executed[i].name for i in self._downstream(names))

    @cached_property
    def charges(self) -> tuple[Operation, ...]:
        """All that undoing something may charge: the shared operations, each action's own, and doing it again.

        At the end, what would correct a belief that cannot be: no cost is enough.
        """
        own = [
            Operation(action.name, action.undo or 0.0 if action.reversible else math.inf)
            for action in self.executed
            if not action.operations or not action.reversible
        ]
        again = [Operation(action.name, action.redo) for action in self.executed if action.redo > 0.0]
        return (*self.operations, *own, *again, *(Operation(name, math.inf) for name in self.fixed))

    @cached_property
    def n_operations(self) -> int:
        """How many of the ``charges`` are operations of undoing; the others are for doing again."""
        return len(self.charges) - len(self.fixed) - sum(action.redo > 0.0 for action in self.executed)

    @cached_property
    def action_charges(self) -> tuple[tuple[int, ...], ...]:
        """For every executed action, the positions in ``charges`` that undoing it and doing it again pays."""
        shared = {operation.name: i for i, operation in enumerate(self.operations)}
        charges, own, again = [], len(self.operations), self.n_operations
        for action in self.executed:
            paid = tuple(dict.fromkeys(shared[name] for name in action.operations))
            if not action.operations or not action.reversible:
                paid, own = (*paid, own), own + 1
            if action.redo > 0.0:
                paid, again = (*paid, again), again + 1
            charges.append(paid)
        return tuple(charges)

    @cached_property
    def belief_charges(self) -> Sequence[int]:
        """For every belief, the charges of undoing its D_i, as a bit mask over ``charges``."""
        made = _BeliefCharges(self)
        return made if self._reach is None else tuple(made)

    @cached_property
    def undo_chances(self) -> tuple[float, ...]:
        """For every belief, the probability that undoing all of its D_i succeeds; tries are independent."""
        chance = [action.undo_succeeds for action in self.executed]
        if all(p == 1.0 for p in chance):
            return (1.0,) * len(self.beliefs)
        return tuple(math.prod(chance[i] for i in self._downstream([belief.name])) for belief in self.beliefs)

    def charged(self, mask: int) -> float:
        """Return the cost of a set of charges, each once, given as a bit mask over ``charges``."""
        return math.fsum(self.charges[i].cost for i in bits(mask))

    def charged_each(self, masks: Iterable[int]) -> Floats:
        """Return the cost of each of several sets of charges, shape ``(n_masks,)``."""
        return np.array([self.charged(mask) for mask in masks], dtype=float)

    def rollback_cost(self, actions: Iterable[str]) -> float:
        """Return C_R of undoing these actions and doing them again: distinct operations once, planned ones free."""
        charges: set[int] = set()
        for name in actions:
            if name in self.executed_index:
                charges.update(self.action_charges[self.executed_index[name]])
            elif name not in self._planned:
                raise UnknownName("action", name, [action.name for action in self.actions])
        return math.fsum(self.charges[charge].cost for charge in sorted(charges))

    @cached_property
    def _planned(self) -> frozenset[str]:
        return frozenset(action.name for action in self.actions if not action.executed)

    def correcting(self, beliefs: Iterable[str]) -> tuple[tuple[str, ...], float]:
        """Return the minimal upper closure of a set of beliefs, and B(S), the cost of undoing it."""
        names = tuple(beliefs)
        undone = self.closure(names)
        return undone, math.inf if any(name in self.fixed for name in names) else self.rollback_cost(undone)

    def correction_cost(self, beliefs: Iterable[str]) -> float:
        """Return B(S), the cost of undoing the minimal upper closure of a set of beliefs."""
        return self.correcting(beliefs)[1]

    @cached_property
    def direct_probes(self) -> dict[str, tuple[str, ...]]:
        """For every belief, the probes that measure it (detection and aggregation edges), in probe order."""
        found: dict[str, list[str]] = {belief.name: [] for belief in self.beliefs}
        for probe in self.probes:
            for target in dict.fromkeys(self.successors[probe.name]):
                found[target].append(probe.name)
        return {belief: tuple(probes) for belief, probes in found.items()}

    @cached_property
    def detecting_probes(self) -> dict[str, tuple[str, ...]]:
        """For every belief, the probes that read its value (detection edges alone), in probe order."""
        detected = {(source, target) for source, target, kind in self.edges if kind == EdgeKind.DETECTION}
        return {b: tuple(p for p in probes if (p, b) in detected) for b, probes in self.direct_probes.items()}

    @cached_property
    def supporting_probes(self) -> dict[str, tuple[str, ...]]:
        """For every belief, the probes from which it can be reached: directly or through other beliefs."""
        position = {probe.name: 1 << i for i, probe in enumerate(self.probes)}
        reached = dict.fromkeys(self.successors, 0)
        for name in self.topological_order:
            mask = reached[name] | position.get(name, 0)
            for target in self.successors[name]:
                reached[target] |= mask
        return {b.name: tuple(self.probes[i].name for i in bits(reached[b.name])) for b in self.beliefs}

    @cached_property
    def irreversible_executed(self) -> tuple[str, ...]:
        """Executed actions that cannot be undone; any of them makes a restart infeasible."""
        return tuple(action.name for action in self.executed if not action.reversible)

    def linear_chain(self) -> RecoveryGraph:
        """Return the linear-chain view: every executed action also undoes all that was executed after it.

        Execution order is the topological order, equal claims in the order given. Each D_i becomes the
        executed suffix that starts at its earliest member.
        """
        executed = {action.name for action in self.executed}
        order = [name for name in self.topological_order if name in executed]
        present = {(source, target) for source, target, _ in self.edges}
        chain = [Edge(a, b, EdgeKind.TEMPORAL) for a, b in pairwise(order) if (a, b) not in present]
        return replace(self, edges=(*self.edges, *chain))


@dataclass(frozen=True, eq=False, slots=True)
class _BeliefCharges(Sequence[int]):
    """The charges of each belief, found when they are asked for."""

    graph: RecoveryGraph

    def __len__(self) -> int:
        return len(self.graph.beliefs)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        graph = self.graph
        name = graph.beliefs[index].name
        mask = 1 << len(graph.charges) - len(graph.fixed) + graph.fixed.index(name) if name in graph.fixed else 0
        for action in graph._downstream([name]):
            for charge in graph.action_charges[action]:
                mask |= 1 << charge
        return mask


def bits(mask: int) -> Iterator[int]:
    """Yield the positions of the set bits, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def unions(masks: Iterable[int], most: float = math.inf) -> list[int] | None:
    """Return every union of some of these masks once, that of none first; None where there are more than ``most``."""
    found = {0: None}
    for mask in masks:
        found.update(dict.fromkeys([union | mask for union in found]))
        if len(found) > most:
            return None
    return list(found)
