"""What a recovery graph must satisfy, said fault by fault."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from aquamend.errors import Fault, InvalidProblem
from aquamend.problem.graph.nodes import LEGAL_ENDPOINTS, Action, Belief, Edge, EdgeKind, Operation, Probe


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
    sections: tuple[tuple[str, str, Sequence[Belief | Action | Probe]], ...] = (
        ("beliefs", "belief", beliefs),
        ("actions", "action", actions),
        ("probes", "probe", probes),
    )
    for section, kind, nodes in sections:
        for i, node in enumerate(nodes):
            if node.name in node_type:
                faults.append(
                    Fault(
                        f"{section}[{i}].name",
                        f"{node.name!r} already names {_a(node_type[node.name])}",
                        "give every probe, belief and action a name of its own",
                    )
                )
            node_type.setdefault(node.name, kind)
    faults += _cost_faults(beliefs, actions, probes, operations)
    faults += _operation_faults(actions, operations)
    faults += _value_faults(beliefs, probes)
    faults += _precondition_faults(actions, probes)
    faults += _set_faults(beliefs, actions)
    edge_faults = list(_edge_faults(edges, node_type))
    faults += edge_faults
    cycle = find_cycle(node_type, [e for e in edges if e.source in node_type and e.target in node_type])
    if cycle:
        faults.append(
            Fault(
                "edges",
                f"the graph has a cycle: {_shortened(cycle)}",
                "remove an edge of it; support and dependence must run one way",
            )
        )
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
    if faults:
        raise InvalidProblem(faults)
    return tuple(edges)


def _is_cost(value: float) -> bool:
    return value >= 0.0  # False for NaN; infinity is a legal cost


def _cost_faults(
    beliefs: Sequence[Belief],
    actions: Sequence[Action],
    probes: Sequence[Probe],
    operations: Sequence[Operation],
) -> Iterator[Fault]:
    remedy = "give a number of at least 0, or inf"
    for i, belief in enumerate(beliefs):
        if not _is_cost(belief.residual):
            yield Fault(f"beliefs[{i}].residual", f"{belief.residual!r} is not a loss", remedy)
    for i, action in enumerate(actions):
        if action.undo is not None and not _is_cost(action.undo):
            yield Fault(f"actions[{i}].undo", f"{action.undo!r} is not a cost", remedy)
        if not _is_cost(action.redo):
            yield Fault(f"actions[{i}].redo", f"{action.redo!r} is not a cost", remedy)
    for i, operation in enumerate(operations):
        if not _is_cost(operation.cost):
            yield Fault(f"operations[{i}].cost", f"{operation.cost!r} is not a cost", remedy)
    for i, probe in enumerate(probes):
        if not (_is_cost(probe.cost) and math.isfinite(probe.cost)):
            yield Fault(f"probes[{i}].cost", f"{probe.cost!r} is not a cost", "give a finite number of at least 0")
        uses = probe.max_uses
        if not (uses >= 0 and (uses == math.inf or float(uses).is_integer())):
            yield Fault(
                f"probes[{i}].max_uses", f"{uses!r} is not a count", "give a whole number of at least 0, or inf"
            )


def _value_faults(beliefs: Sequence[Belief], probes: Sequence[Probe]) -> Iterator[Fault]:
    names = dict.fromkeys(belief.name for belief in beliefs)
    for i, belief in enumerate(beliefs):
        if not _is_cost(belief.tolerance):
            yield Fault(f"beliefs[{i}].tolerance", f"{belief.tolerance!r} is not a distance", "give at least 0")
        if isinstance(belief.declared, float) and math.isnan(belief.declared):
            yield Fault(f"beliefs[{i}].declared", "nan is not a value", "give a number or text")
    for i, probe in enumerate(probes):
        if probe.source is not None and probe.source not in names:
            yield Fault(
                f"probes[{i}].source",
                f"{probe.source!r} is not a belief",
                f"add the belief that the instrument is sound, or use one of {_listed(names)}",
                probe.source,
                names,
                ("beliefs",),
            )


def _precondition_faults(actions: Sequence[Action], probes: Sequence[Probe]) -> Iterator[Fault]:
    """Yield what keeps a probe from being possible before or after actions, and is none or both at once."""
    names = dict.fromkeys(action.name for action in actions)
    for i, probe in enumerate(probes):
        for key, listed in (("requires", probe.requires), ("forbids", probe.forbids)):
            for j, name in enumerate(listed):
                if name not in names:
                    remedy = f"add the action, or use one of {_listed(names)}"
                    at, said = f"probes[{i}].{key}[{j}]", f"{name!r} is not an action"
                    yield Fault(at, said, remedy, name, names, ("actions",))
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
                said = f"{name!r} is not a belief"
                yield Fault(at, said, f"use one of {_listed(known)}", name, known, ("beliefs",))
            elif declared is None:
                yield Fault(at, f"{name!r} declares no value", "give the belief what is declared to begin with")
            elif isinstance(value, str) != isinstance(declared, str):
                kind = "text" if isinstance(declared, str) else "a number"
                yield Fault(at, f"{value!r} is not {kind}, and {name!r} declares {kind}", f"give {kind}")


def _operation_faults(actions: Sequence[Action], operations: Sequence[Operation]) -> Iterator[Fault]:
    names: dict[str, None] = {}  # ordered, because messages list them
    for i, operation in enumerate(operations):
        if operation.name in names:
            yield Fault(
                f"operations[{i}].name", f"{operation.name!r} is given twice", "give every operation a name of its own"
            )
        names[operation.name] = None
    for i, action in enumerate(actions):
        if action.undo is not None and action.operations:
            yield Fault(f"actions[{i}]", f"{action.name!r} has both undo and operations", "keep one of the two")
        if action.executed and action.reversible and action.undo is None and not action.operations:
            yield Fault(
                f"actions[{i}]",
                f"{action.name!r} is executed but says neither undo nor operations",
                "say what undoing it costs (undo: 0 if nothing)",
            )
        if not 0.0 < action.undo_succeeds <= 1.0:
            remedy = "give a number above 0 and up to 1, or reversible: false where it never succeeds"
            yield Fault(f"actions[{i}].undo_succeeds", f"{action.undo_succeeds!r} is not a chance of success", remedy)
        for j, name in enumerate(action.operations):
            if name not in names:
                yield Fault(
                    f"actions[{i}].operations[{j}]",
                    f"{name!r} is not an operation",
                    f"add it to operations, or use one of {_listed(names)}",
                    name,
                    names,
                    ("operations",),
                )


def _edge_faults(edges: Sequence[Edge], node_type: Mapping[str, str]) -> Iterator[Fault]:
    seen: set[Edge] = set()
    for i, edge in enumerate(edges):
        known, (sources, target) = True, LEGAL_ENDPOINTS[edge.kind]
        for end, name, kinds in (("source", edge.source, sources), ("target", edge.target, (target,))):
            if name not in node_type:
                known = False
                yield Fault(
                    f"edges[{i}]",
                    f"{end} {name!r} is not a probe, belief or action",
                    f"add the node, or use one of {_listed(node_type)}",
                    name,
                    node_type,
                    [f"{kind}s" for kind in kinds],
                )
        if known:
            ends = node_type[edge.source], node_type[edge.target]
            if ends[0] not in sources or ends[1] != target:
                source = " or ".join(_a(kind) for kind in sources)
                yield Fault(
                    f"edges[{i}]",
                    f"{_a(edge.kind.value)} edge runs from {source} to {_a(target)}, but {edge.source!r} is "
                    f"{_a(ends[0])} and {edge.target!r} is {_a(ends[1])}",
                    "change the kind or turn the edge",
                )
        if edge in seen:
            yield Fault(f"edges[{i}]", f"{list(edge[:2])} is given twice", "remove one of the two")
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


def _shortened(names: Sequence[str]) -> str:
    shown = names if len(names) <= 12 else [*names[:6], f"… {len(names) - 9} more …", *names[-3:]]
    return " -> ".join(shown)


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _listed(names: Iterable[str]) -> str:
    shown = list(islice(names, 9))  # the first few in their own order: cheap even where thousands are wrong
    return ", ".join(repr(n) for n in shown[:8]) + (", …" if len(shown) > 8 else "") if shown else "(none given)"
