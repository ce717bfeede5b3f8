"""The recovery graph as DOT or Mermaid text, with what the evidence and the decision say about every node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aquamend.belief import InformationState
from aquamend.decision.steps import NewDeclaration, Reprobe, Restart, RollBack, Step, Wording
from aquamend.decision.terminal import best_terminal
from aquamend.problem.graph import EdgeKind
from aquamend.text import mermaid_text, percent, shown, value_text

DOT_STYLE = {
    "probe": {"shape": "ellipse", "color": "#4a6fa5"},
    "belief": {"shape": "box", "style": "rounded"},
    "action": {"shape": "box"},
    "next": {"style": "filled", "fillcolor": "#cfe3ff", "penwidth": "2"},
    "suspected": {"style": "rounded,filled", "fillcolor": "#ffe8b3"},
    "planned": {"style": "dashed", "color": "#888888", "fontcolor": "#888888"},
    "irreversible": {"peripheries": "2", "penwidth": "2"},
    "undo": {"style": "filled", "fillcolor": "#f6b8b0"},
    "declare": {"color": "#2e7d32", "penwidth": "2"},
}
"""Graphviz attributes of a mark; those of a later mark win."""

MERMAID_STYLE = {
    "probe": "stroke:#4a6fa5",
    "belief": "",
    "action": "",
    "next": "fill:#cfe3ff,stroke-width:2px",
    "suspected": "fill:#ffe8b3",
    "planned": "stroke-dasharray:4 3,color:#888888",
    "irreversible": "stroke-width:4px",
    "undo": "fill:#f6b8b0",
    "declare": "stroke:#2e7d32,stroke-width:2px",
}

MERMAID_SHAPE = {"probe": ('(["', '"])'), "belief": ('("', '")'), "action": ('["', '"]')}


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """One node with the marks it carries, the weakest first."""

    name: str
    marks: tuple[str, ...]
    """The first is what the node is: probe, belief or action."""
    notes: tuple[str, ...]
    """What is said under the name."""


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """One edge with what is written on it and how it is drawn."""

    source: str
    target: str
    label: str
    line: str = "solid"
    """Solid, dashed for an order in time, or dotted from a probe to what must hold for it, besides."""


@dataclass(frozen=True, slots=True)
class MarkedGraph:
    """A recovery graph ready to be written in a language that draws graphs."""

    title: str
    nodes: tuple[DrawnNode, ...]
    links: tuple[DrawnEdge, ...]

    def as_dot(self) -> str:
        """Return the graph in the language of Graphviz."""
        ids = {node.name: f"n{i}" for i, node in enumerate(self.nodes)}
        lines = [
            "digraph recovery {",
            f"  label={_dot_text(self.title)};",
            "  labelloc=t;",
            "  fontname=Helvetica;",
            "  rankdir=LR;",
        ]
        lines += ["  node [fontname=Helvetica];", "  edge [fontname=Helvetica, fontsize=10];"]
        for node in self.nodes:
            label = _dot_text("\n".join((node.name, *node.notes)))
            lines.append(f"  {ids[node.name]} [label={label}, {_dot_style(node)}];")
        for link in self.links:
            style = "" if link.line == "solid" else f", style={link.line}"
            lines.append(f"  {ids[link.source]} -> {ids[link.target]} [label={_dot_text(link.label)}{style}];")
        return "\n".join([*lines, "}"])

    def as_mermaid(self) -> str:
        """Return the graph as a Mermaid flowchart."""
        ids = {node.name: f"n{i}" for i, node in enumerate(self.nodes)}
        lines = [f"%% {shown(self.title)}", "flowchart LR"]
        for node in self.nodes:
            before, after = MERMAID_SHAPE[node.marks[0]]
            label = "<br/>".join(mermaid_text(line) for line in (node.name, *node.notes))
            lines.append(f"  {ids[node.name]}{before}{label}{after}")
        for link in self.links:
            arrow = "-->" if link.line == "solid" else "-.->"
            lines.append(f"  {ids[link.source]} {arrow}|{link.label}| {ids[link.target]}")
        return "\n".join([*lines, *self._mermaid_styles(ids)])

    def _mermaid_styles(self, ids: dict[str, str]) -> Iterator[str]:
        for node in self.nodes:
            styles = ",".join(style for mark in node.marks if (style := MERMAID_STYLE[mark]))
            if styles:
                yield f"  style {ids[node.name]} {styles}"


def marked_graph(state: InformationState, step: Step) -> MarkedGraph:
    """Return the graph with the suspects, what was executed, and what this step, or else stopping now, would change."""
    problem = state.problem
    decision = best_terminal(state).decision if isinstance(step, Reprobe) else step
    declare = decision.declare if isinstance(decision, RollBack) else ()
    undone: tuple[str, ...] = decision.undo if isinstance(decision, RollBack) else ()
    if isinstance(decision, Restart) and problem.restart_plan is not None:
        undone = problem.restart_plan.undo
    when = "would be {} if stopped now" if isinstance(step, Reprobe) else "to be {}"
    nodes = (
        *_probe_nodes(state, step),
        *_belief_nodes(state, {new.belief: new for new in declare}, when.format("declared")),
        *_action_nodes(state, set(undone), when.format("undone")),
    )
    return MarkedGraph(f"{problem.name}: {Wording(state).brief(step)}", nodes, tuple(_links(state)))


def _links(state: InformationState) -> Iterator[DrawnEdge]:
    for source, target, kind in state.problem.graph.edges:
        yield DrawnEdge(source, target, EdgeKind(kind).value, "dashed" if kind == EdgeKind.TEMPORAL else "solid")
    for probe in state.problem.graph.probes:
        if probe.source is not None:
            yield DrawnEdge(probe.name, probe.source, "relies on", "dotted")
        for label, actions in (("once done", probe.requires), ("once undone", probe.forbids)):
            yield from (DrawnEdge(probe.name, action, label, "dotted") for action in actions)


def _probe_nodes(state: InformationState, step: Step) -> Iterator[DrawnNode]:
    waits = state.problem.graph.why_impossible
    for probe in state.problem.graph.probes:
        chosen = isinstance(step, Reprobe) and step.probe == probe.name
        notes = tuple(f"answered {o.short}" for o in state.evidence if o.probe == probe.name)
        notes += (waits[probe.name],) if probe.name in waits else ()
        notes += ("next step",) if chosen else ()
        yield DrawnNode(probe.name, ("probe", "next") if chosen else ("probe",), notes)


def _belief_nodes(state: InformationState, declare: dict[str, NewDeclaration], verb: str) -> Iterator[DrawnNode]:
    suspects, words = set(state.suspects), Wording(state)
    for belief, q in zip(state.problem.graph.beliefs, state.failure_probabilities, strict=True):
        marks, notes = ["belief"], []
        if belief.declared is not None:
            notes.append(f"declared {value_text(belief.declared)}")
        if belief.needs_support:
            notes.append("needs support")
        if belief.name in suspects:
            marks.append("suspected")
            notes.append("suspected" if state.contradiction is not None else f"suspected: {percent(float(q))}")
        if belief.name in declare:
            marks.append("declare")
            notes.append(f"{verb}{words.value_of(declare[belief.name]).removeprefix(belief.name)}")
        yield DrawnNode(belief.name, tuple(marks), tuple(notes))


def _action_nodes(state: InformationState, undone: set[str], verb: str) -> Iterator[DrawnNode]:
    for action in state.problem.graph.actions:
        marks, notes = ["action"], []
        if not action.executed:
            marks.append("planned")
        notes.append("executed" if action.executed else "planned")
        if not action.reversible:
            marks.append("irreversible")
            notes.append("irreversible")
        if action.name in undone:
            marks.append("undo")
            notes.append(verb)
        yield DrawnNode(action.name, tuple(marks), tuple(notes))


def _dot_style(node: DrawnNode) -> str:
    attributes: dict[str, str] = {}
    for mark in node.marks:
        attributes |= DOT_STYLE[mark]
    return ", ".join(f"{key}={_dot_text(value)}" for key, value in attributes.items())


def _dot_text(text: str) -> str:
    lines = [shown(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n")]
    return '"' + "\\n".join(lines) + '"'
