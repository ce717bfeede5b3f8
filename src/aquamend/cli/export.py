"""``aquamend export`` and ``aquamend graph``: a problem for other people's solvers, its graph for drawing programs."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aquamend.cli import Command
from aquamend.cli.decide import make_policy
from aquamend.cli.options import (
    Age,
    Before,
    NoAlarm,
    Observations,
    PolicyName,
    Rung,
    Silent,
    an_argument,
    an_option,
    problem_in,
    situation,
)
from aquamend.cli.output import refusing
from aquamend.errors import AquaMendError

if TYPE_CHECKING:
    from aquamend.belief import InformationState

COMMANDS = {
    "export": Command("aquamend.cli.export:export", "Write the problem for other people's solvers."),
    "graph": Command("aquamend.cli.export:graph", "Print the recovery graph for drawing."),
}


class ExportFormat(StrEnum):
    """Formats a problem can be exported in."""

    POMDP = "pomdp"


def _checked_discount(discount: float) -> float:
    if not 0.0 < discount <= 1.0:
        raise typer.BadParameter(f"{discount} is not above 0 and at most 1")
    return discount


def export(
    file: Annotated[str, an_argument("FILE", "A problem file, JSON or YAML.")],
    *,
    language: Annotated[
        ExportFormat, typer.Option("--format", help="pomdp: the format of pomdp-solve, SARSOP and others.")
    ] = ExportFormat.POMDP,
    out: Annotated[Path | None, an_option("PATH", "Write this file instead of standard output.", "--out")] = None,
    discount: Annotated[
        float,
        typer.Option(
            "--discount",
            metavar="D",
            callback=_checked_discount,
            help="Discount factor; some solvers want one below 1.",
        ),
    ] = 1.0,
    observe: Observations = [],  # noqa: B006 - typer copies it
    alarm: Rung = [],  # noqa: B006
    silent: Silent = [],  # noqa: B006
    no_alarm: NoAlarm = False,
    before: Before = None,
    age: Age = [],  # noqa: B006
) -> None:
    """Write the problem as a POMDP, so that its optimal loss can be checked with other solvers.

    The optimal expected loss is minus the value at the start. The comments in the file say what every name stands for,
    and, as does standard error, where the optimum is but a lower bound.
    """
    with refusing(file):
        asked = situation(observe=observe, alarm=alarm, silent=silent, no_alarm=no_alarm, before=before, age=age)
        text = _text(file, asked.state_in(file), language, discount)
    if out is None:
        typer.echo(text, nl=False)
        return
    with refusing(str(out)):
        from aquamend.files.atomic import write_atomically

        try:
            write_atomically(out, text.encode("ascii"))
        except OSError as error:
            raise AquaMendError(f"cannot be written ({error.strerror}); give another --out") from None


def _text(file: str, state: InformationState, language: ExportFormat, discount: float) -> str:
    from aquamend.files.pomdp import pomdp_of, pomdp_text

    match language:
        case ExportFormat.POMDP:
            pomdp = pomdp_of(state)
            if pomdp.relaxation:
                typer.echo(f"{file}: {pomdp.relaxation}", err=True)
            return pomdp_text(pomdp, discount=discount)


class GraphFormat(StrEnum):
    """Languages a graph can be written in."""

    DOT = "dot"
    MERMAID = "mermaid"


def graph(
    file: Annotated[str, an_argument("FILE", "A problem file, JSON or YAML.")],
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

    with refusing(file):
        asked = situation(observe=observe, alarm=alarm, silent=silent, no_alarm=no_alarm, before=before, age=age)
        chooser = make_policy(policy)
        problem = problem_in(file, asked.ages)
        if chain:
            problem = replace(problem, graph=problem.graph.linear_chain())
        state = asked.state(problem)
        marked = marked_graph(state, carried_out(state, chooser.next_step(state), name=policy))
        typer.echo(marked.as_dot() if language is GraphFormat.DOT else marked.as_mermaid())
