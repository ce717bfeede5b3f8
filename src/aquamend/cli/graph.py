"""``aquamend graph``: the recovery graph as text for Graphviz or Mermaid."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from aquamend.cli.command import Command
from aquamend.cli.decide import make_policy
from aquamend.cli.inputs import MonitorsSaid, ages_of, check_shape, problem_in, state_after
from aquamend.cli.options import Age, Before, NoAlarm, Observations, PolicyName, Rung, Silent
from aquamend.cli.output import refusing

COMMANDS = {"graph": Command("aquamend.cli.graph:graph", "Print the recovery graph for drawing.")}


class GraphFormat(StrEnum):
    """Languages a graph can be written in."""

    DOT = "dot"
    MERMAID = "mermaid"


def graph(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A problem file, JSON or YAML.", show_default=False)],
    *,
    language: Annotated[GraphFormat, typer.Option("--format", help="Language of the graph.")] = GraphFormat.DOT,
    observe: Observations = [],  # noqa: B006 - typer copies it
    alarm: Rung = [],  # noqa: B006
    silent: Silent = [],  # noqa: B006
    no_alarm: NoAlarm = False,
    before: Before = None,
    age: Age = [],  # noqa: B006
    policy: PolicyName = "best",
    chain: Annotated[
        bool, typer.Option("--chain", help="Show the linear-chain view: undoing an action undoes all after it.")
    ] = False,
) -> None:
    """Print the recovery graph, with what is suspected, executed, irreversible, to be undone and to be declared marked.

    Draw it with `aquamend graph FILE | dot -Tsvg > graph.svg`, or paste the Mermaid text into Markdown.
    """
    from aquamend.files.graph_text import marked_graph
    from aquamend.policies.decision_report import carried_out

    monitors = MonitorsSaid(alarm, silent, no_alarm, before)
    with refusing(file):
        check_shape(observe)
        monitors.check()
        chooser = make_policy(policy)
        problem = problem_in(file, ages_of(age))
        if chain:
            problem = replace(problem, graph=problem.graph.linear_chain())
        state = state_after(problem, observe, monitors)
        marked = marked_graph(state, carried_out(state, chooser.next_step(state), name=policy))
        typer.echo(marked.as_dot() if language is GraphFormat.DOT else marked.as_mermaid())
