"""The nodes of a recovery graph of three types, the operations that undoing performs, and six kinds of edges.

And what they must satisfy together, said fault by fault.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, NamedTuple

from aquamend.codec import TRUE_VALUE, VALUE, Cost, Count, Key, Name, Probability
from aquamend.codec.forms import words
from aquamend.errors import Fault, first_of, with_article
from aquamend.problem.faults import cost_faults, not_a, refuse, unknown_among

Value = str | float
"""What a belief says: text, or a number in whatever unit its probes read."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One measurement of a latent property that the agent can (re)do."""

    name: Name
    """Its name, which no other belief, action or probe has."""
    cost: Cost
    """Cost of running it once, in the problem's unit; finite."""
    modality: Name | None = None
    """Which kind of sensor answers; screening keeps an alternative modality available."""
    max_uses: Count = 1
    """How often it may run; infinity for no limit, once unless given."""
    source: Name | None = None
    """The belief that the instrument is sound; where that has failed, nothing it read can be relied on."""
    requires: Sequence[Name] = ()
    """Actions that must be executed for it to be possible."""
    forbids: Sequence[Name] = ()
    """Actions that must not be executed for it to be possible."""


@dataclass(frozen=True, slots=True)
class Belief:
    """A latent proposition that executed actions rest on."""

    name: Name
    """Its name, which no other belief, action or probe has."""
    residual: Cost = 0.0
    """Loss if the belief has failed and nothing corrects it, in the problem's unit; 0 unless given."""
    may_keep: bool = True
    """False: a possible failure may not be left uncorrected at any price."""
    declared: Annotated[Value, VALUE] | None = None
    """What the agent now believes, as text or a number; None where hypotheses say of it that it failed, not how.

    It has failed where something else is true, and is corrected by declaring another value; without one, correcting it
    repairs it.
    """
    tolerance: Cost = 0.0
    """How far a number may be from the truth without having failed; 0 unless given."""
    needs_support: bool = False
    """True: it may be kept, or declared again, only while probably right and resting on usable evidence."""

    @property
    def declares(self) -> bool:
        """Whether it states a value, so that correcting it means declaring another."""
        return self.declared is not None


@dataclass(frozen=True, slots=True)
class Operation:
    """A physical recovery operation that several actions may share; charged once per recovery."""

    name: Name
    """Its name, which no other operation has."""
    cost: Cost
    """What it costs, paid once however many actions need it."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something the agent did or plans to do on the strength of its beliefs."""

    name: Name
    """Its name, which no other belief, action or probe has."""
    undo: Cost | None = None
    """Cost of undoing it, where it has an undoing of its own; exclusive with ``operations``."""
    operations: tuple[Name, ...] = ()
    """Names of the shared operations that undoing it performs."""
    executed: Annotated[bool, Key("status"), words({"executed": True, "planned": False})] = False
    """Whether it was done; else it is only planned, and cancelling it costs nothing."""
    reversible: bool = True
    """False: once executed, it cannot be undone at any finite cost."""
    redo: Cost = 0.0
    """Cost of doing it again after it was undone; 0 unless given."""
    undo_succeeds: Probability = 1.0
    """Probability that undoing it, tried once, succeeds; where it fails, what was wrong because of it stays wrong."""
    sets: Mapping[Name, Annotated[Value, TRUE_VALUE]] = field(default_factory=dict, hash=False)
    """What is declared of beliefs once it has been done, or done again: the floor, after a ride in the lift."""


class EdgeKind(StrEnum):
    """What an edge means (the paper's appendix on recovery-graph edge types)."""

    DETECTION = "detection"
    """One measurement supports a belief."""
    AGGREGATION = "aggregation"
    """Several measurements, or several beliefs, together support a belief."""
    INFERENCE = "inference"
    """A belief is derived from another."""
    BELIEF_TO_ACTION = "belief_to_action"
    """An action was chosen because of a belief."""
    ACTION_CAUSAL = "action_causal"
    """An action's effect is a precondition of another."""
    TEMPORAL = "temporal"
    """An action merely comes after another."""


LEGAL_ENDPOINTS: dict[EdgeKind, tuple[tuple[str, ...], str]] = {
    EdgeKind.DETECTION: (("probe",), "belief"),
    EdgeKind.AGGREGATION: (("probe", "belief"), "belief"),
    EdgeKind.INFERENCE: (("belief",), "belief"),
    EdgeKind.BELIEF_TO_ACTION: (("belief",), "action"),
    EdgeKind.ACTION_CAUSAL: (("action",), "action"),
    EdgeKind.TEMPORAL: (("action",), "action"),
}
"""What each kind may run from, and to."""


class Edge(NamedTuple):
    """A directed edge between two named nodes."""

    source: Name
    target: Name
    kind: EdgeKind


def graph_faults(
    beliefs: Sequence[Belief],
    actions: Sequence[Action],
    probes: Sequence[Probe],
    edges: Sequence[Edge],
    operations: Sequence[Operation],
) -> list[Fault]:
    """Return every fault of the graph, in the order of the sections; empty if it is sound."""
    node_type: dict[str, str] = {}
    faults: list[Fault] = []
    sections: dict[str, Sequence[Belief | Action | Probe]] = {"belief": beliefs, "action": actions, "probe": probes}
    for kind, nodes in sections.items():
        for i, node in enumerate(nodes):
            if node.name in node_type:
                said = f"{node.name!r} already names {with_article(node_type[node.name])}"
                remedy = "give every probe, belief and action a name of its own"
                faults.append(Fault(f"{kind}s[{i}].name", said, remedy))
            node_type.setdefault(node.name, kind)
    faults += _cost_faults(beliefs, actions, probes, operations)
    faults += _operation_faults(actions, operations)
    faults += _value_faults(beliefs, probes)
    faults += _precondition_faults(actions, probes)
    faults += _set_faults(beliefs, actions)
    faults += _edge_faults(edges, node_type)
    cycle = find_cycle(node_type, [e for e in edges if e.source in node_type and e.target in node_type])
    if cycle:
        shown = cycle if len(cycle) <= 12 else [*cycle[:6], f"… {len(cycle) - 9} more …", *cycle[-3:]]
        remedy = "remove an edge of it; support and dependence must run one way"
        faults.append(Fault("edges", f"the graph has a cycle: {' -> '.join(shown)}", remedy))
    return faults


def parsed_edges(triples: Sequence[Edge | tuple[str, str, str]]) -> tuple[Edge, ...]:
    """Return the edges with their kinds read from text; every kind that is none of the six is a fault."""
    edges, faults = [], []
    for i, (source, target, kind) in enumerate(triples):
        try:
            edges.append(Edge(source, target, EdgeKind(kind)))
        except ValueError:
            valid = ", ".join(kind.value for kind in EdgeKind)
            faults.append(Fault(f"edges[{i}]", f"{kind!r} is not an edge kind", f"use one of {valid}"))
    refuse(faults)
    return tuple(edges)


def _cost_faults(
    beliefs: Sequence[Belief], actions: Sequence[Action], probes: Sequence[Probe], operations: Sequence[Operation]
) -> Iterator[Fault]:
    yield from cost_faults(((f"beliefs[{i}].residual", b.residual) for i, b in enumerate(beliefs)), what="a loss")
    for i, action in enumerate(actions):
        yield from cost_faults([(f"actions[{i}].undo", action.undo), (f"actions[{i}].redo", action.redo)])
    yield from cost_faults((f"operations[{i}].cost", operation.cost) for i, operation in enumerate(operations))
    for i, probe in enumerate(probes):
        if not 0.0 <= probe.cost < math.inf:
            yield Fault(f"probes[{i}].cost", f"{probe.cost!r} is not a cost", "give a finite number of at least 0")
        uses = probe.max_uses
        if not (uses >= 0 and (uses == math.inf or float(uses).is_integer())):
            remedy = "give a whole number of at least 0, or inf"
            yield Fault(f"probes[{i}].max_uses", f"{uses!r} is not a count", remedy)


def _value_faults(beliefs: Sequence[Belief], probes: Sequence[Probe]) -> Iterator[Fault]:
    names = dict.fromkeys(belief.name for belief in beliefs)
    for i, belief in enumerate(beliefs):
        if not belief.tolerance >= 0.0:
            yield Fault(f"beliefs[{i}].tolerance", f"{belief.tolerance!r} is not a distance", "give at least 0")
        if isinstance(belief.declared, float) and math.isnan(belief.declared):
            yield Fault(f"beliefs[{i}].declared", "nan is not a value", "give a number or text")
    for i, probe in enumerate(probes):
        if probe.source is not None and probe.source not in names:
            add = "add the belief that the instrument is sound"
            yield not_a("belief", f"probes[{i}].source", probe.source, names, add=add)


def _precondition_faults(actions: Sequence[Action], probes: Sequence[Probe]) -> Iterator[Fault]:
    """Yield what keeps a probe from being possible before or after actions, and is none or both at once."""
    names = dict.fromkeys(action.name for action in actions)
    for i, probe in enumerate(probes):
        yield from unknown_among("action", f"probes[{i}].requires", probe.requires, names, add="add the action")
        yield from unknown_among("action", f"probes[{i}].forbids", probe.forbids, names, add="add the action")
        for j, name in enumerate(probe.forbids):
            if name in probe.requires:
                at = f"probes[{i}].forbids[{j}]"
                yield Fault(at, f"{name!r} is required too, so that the probe is never possible", "keep one of the two")


def _set_faults(beliefs: Sequence[Belief], actions: Sequence[Action]) -> Iterator[Fault]:
    """Yield what an action says of beliefs that it cannot set."""
    known = {belief.name: belief.declared for belief in beliefs}
    for i, action in enumerate(actions):
        for name, value in action.sets.items():
            at, declared = f"actions[{i}].sets.{name}", known.get(name)
            if name not in known:
                yield not_a("belief", at, name, known, remedy=f"use one of {first_of(known)}")
            elif declared is None:
                yield Fault(at, f"{name!r} declares no value", "give the belief what is declared to begin with")
            else:
                yield from kind_faults(at, value, name, declared)


def kind_faults(where: str, value: Value, belief: str, declared: Value, *, remedy: str = "") -> Iterator[Fault]:
    """Yield the fault of text where a belief declares a number, or of a number where it declares text."""
    if isinstance(value, str) != isinstance(declared, str):
        kind = "text" if isinstance(declared, str) else "a number"
        yield Fault(where, f"{value!r} is not {kind}, and {belief!r} declares {kind}", f"give {kind}{remedy}")


def _operation_faults(actions: Sequence[Action], operations: Sequence[Operation]) -> Iterator[Fault]:
    names: dict[str, None] = {}  # ordered, because messages list them
    for i, operation in enumerate(operations):
        if operation.name in names:
            remedy = "give every operation a name of its own"
            yield Fault(f"operations[{i}].name", f"{operation.name!r} is given twice", remedy)
        names[operation.name] = None
    for i, action in enumerate(actions):
        at = f"actions[{i}]"
        if action.undo is not None and action.operations:
            yield Fault(at, f"{action.name!r} has both undo and operations", "keep one of the two")
        if action.executed and action.reversible and action.undo is None and not action.operations:
            said = f"{action.name!r} is executed but says neither undo nor operations"
            yield Fault(at, said, "say what undoing it costs (undo: 0 if nothing)")
        if not 0.0 < action.undo_succeeds <= 1.0:
            remedy = "give a number above 0 and up to 1, or reversible: false where it never succeeds"
            yield Fault(f"{at}.undo_succeeds", f"{action.undo_succeeds!r} is not a chance of success", remedy)
        yield from unknown_among("operation", f"{at}.operations", action.operations, names, add="add it to operations")


def _edge_faults(edges: Sequence[Edge], node_type: Mapping[str, str]) -> Iterator[Fault]:
    seen: set[Edge] = set()
    for i, edge in enumerate(edges):
        at, known, (sources, target) = f"edges[{i}]", True, LEGAL_ENDPOINTS[edge.kind]
        for end, name, kinds in (("source", edge.source, sources), ("target", edge.target, (target,))):
            if name not in node_type:
                known = False
                said = f"{end} {name!r} is not a probe, belief or action"
                remedy = f"add the node, or use one of {first_of(node_type)}"
                yield Fault(at, said, remedy, name, node_type, [f"{kind}s" for kind in kinds])
        if known:
            ends = node_type[edge.source], node_type[edge.target]
            if ends[0] not in sources or ends[1] != target:
                said = (
                    f"{with_article(edge.kind.value)} edge runs from {' or '.join(map(with_article, sources))} to "
                    f"{with_article(target)}, but {edge.source!r} is {with_article(ends[0])} and {edge.target!r} is "
                    f"{with_article(ends[1])}"
                )
                yield Fault(at, said, "change the kind or turn the edge")
        if edge in seen:
            yield Fault(at, f"{list(edge[:2])} is given twice", "remove one of the two")
        seen.add(edge)


def find_cycle(nodes: Iterable[str], edges: Iterable[Edge]) -> list[str]:
    """Return the names along one directed cycle, first repeated last; empty if there is none."""
    successors: dict[str, list[str]] = {name: [] for name in nodes}
    waiting = dict.fromkeys(successors, 0)
    for edge in edges:
        successors[edge.source].append(edge.target)
        waiting[edge.target] += 1
    ready = [name for name, count in waiting.items() if count == 0]
    while ready:
        for target in successors[ready.pop()]:
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    left = {name for name, count in waiting.items() if count > 0}
    if not left:
        return []
    # What Kahn's algorithm leaves over lies on a cycle or behind one, and keeps a predecessor that is left too:
    # walking backwards therefore never ends, and closes a cycle at its first repetition.
    predecessor = {target: source for source in successors if source in left for target in successors[source]}
    path: dict[str, None] = {}
    at = next(name for name in successors if name in left)
    while at not in path:
        path[at] = None
        at = predecessor[at]
    visited = list(path)
    return [at, *reversed(visited[visited.index(at) :])]
