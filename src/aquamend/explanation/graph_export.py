"""The recovery graph as DOT or Mermaid text, with what the evidence and the decision say about every node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aquamend.decision.steps import Reprobe, Restart, RollBack, Step
from aquamend.decision.terminal import best_terminal
from aquamend.explanation.wording import brief
from aquamend.graph import Edge, EdgeKind
from aquamend.inference import InformationState
from aquamend.text.words import percent, shown

DOT_STYLE = {
    "probe": {"shape": "ellipse", "color": "#4a6fa5"},
    "belief": {"shape": "box", "style": "rounded"},
    "action": {"shape": "box"},
    "next": {"style": "filled", "fillcolor": "#cfe3ff", "penwidth": "2"},
    "suspected": {"style": "rounded,filled", "fillcolor": "#ffe8b3"},
    "planned": {"style": "dashed", "color": "#888888", "fontcolor": "#888888"},
    "irreversible": {"peripheries": "2", "penwidth": "2"},
    "undo": {"style": "filled", "fillcolor": "#f6b8b0"},
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
}

MERMAID_SHAPE = {"probe": ('(["', '"])'), "belief": ('("', '")'), "action": ('["', '"]')}


@dataclass(frozen=True, slots=True)
class Node:
    """One node with the marks it carries, the weakest first."""

    name: str
    marks: tuple[str, ...]
    """The first is what the node is: probe, belief or action."""
    notes: tuple[str, ...]
    """What is said under the name."""


@dataclass(frozen=True, slots=True)
class MarkedGraph:
    """A recovery graph ready to be written in a language that draws graphs."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

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
        for source, target, kind in self.edges:
            dashed = ", style=dashed" if kind is EdgeKind.TEMPORAL else ""
            lines.append(f"  {ids[source]} -> {ids[target]} [label={_dot_text(kind.value)}{dashed}];")
        return "\n".join([*lines, "}"])

    def as_mermaid(self) -> str:
        """Return the graph as a Mermaid flowchart."""
        ids = {node.name: f"n{i}" for i, node in enumerate(self.nodes)}
        lines = [f"%% {shown(self.title)}", "flowchart LR"]
        for node in self.nodes:
            before, after = MERMAID_SHAPE[node.marks[0]]
            label = "<br/>".join(_mermaid_text(line) for line in (node.name, *node.notes))
            lines.append(f"  {ids[node.name]}{before}{label}{after}")
        for source, target, kind in self.edges:
            arrow = "-.->" if kind is EdgeKind.TEMPORAL else "-->"
            lines.append(f"  {ids[source]} {arrow}|{kind.value}| {ids[target]}")
        return "\n".join([*lines, *self._mermaid_styles(ids)])

    def _mermaid_styles(self, ids: dict[str, str]) -> Iterator[str]:
        for node in self.nodes:
            styles = ",".join(style for mark in node.marks if (style := MERMAID_STYLE[mark]))
            if styles:
                yield f"  style {ids[node.name]} {styles}"


def marked_graph(state: InformationState, step: Step) -> MarkedGraph:
    """Return the graph with the suspects, what was executed, and what this step (or else stopping now) would undo."""
    problem, graph = state.problem, state.problem.graph
    decision = best_terminal(state).decision if isinstance(step, Reprobe) else step
    match decision:
        case RollBack(undo=undo):
            undone = set(undo)
        case Restart():
            undone = {action.name for action in graph.executed}
        case _:
            undone = set()
    verb = "would be undone if stopped now" if isinstance(step, Reprobe) else "to be undone"
    nodes = (*_probe_nodes(state, step), *_belief_nodes(state), *_action_nodes(state, undone, verb))
    edges = tuple(Edge(source, target, EdgeKind(kind)) for source, target, kind in graph.edges)
    return MarkedGraph(f"{problem.name}: {brief(step)}", nodes, edges)


def _probe_nodes(state: InformationState, step: Step) -> Iterator[Node]:
    for probe in state.problem.graph.probes:
        chosen = isinstance(step, Reprobe) and step.probe == probe.name
        answers = tuple(str(o.outcome) for o in state.evidence if o.probe == probe.name)
        notes = tuple(f"answered {answer}" for answer in answers) + (("next step",) if chosen else ())
        yield Node(probe.name, ("probe", "next") if chosen else ("probe",), notes)


def _belief_nodes(state: InformationState) -> Iterator[Node]:
    suspects = set(state.suspects)
    for belief, q in zip(state.problem.graph.beliefs, state.failure_probabilities, strict=True):
        if belief.name not in suspects:
            yield Node(belief.name, ("belief",), ())
        elif state.contradiction is not None:
            yield Node(belief.name, ("belief", "suspected"), ("suspected",))
        else:
            yield Node(belief.name, ("belief", "suspected"), (f"suspected: {percent(float(q))}",))


def _action_nodes(state: InformationState, undone: set[str], verb: str) -> Iterator[Node]:
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
        yield Node(action.name, tuple(marks), tuple(notes))


def _dot_style(node: Node) -> str:
    attributes: dict[str, str] = {}
    for mark in node.marks:
        attributes |= DOT_STYLE[mark]
    return ", ".join(f"{key}={_dot_text(value)}" for key, value in attributes.items())


def _dot_text(text: str) -> str:
    lines = [shown(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n")]
    return '"' + "\\n".join(lines) + '"'


def _mermaid_text(text: str) -> str:
    """Return text that Mermaid shows as it is: its own syntax and HTML written as entities."""
    return "".join(c if c.isalnum() or c in " _-.,:%/" else f"#{ord(c)};" for c in shown(text))
