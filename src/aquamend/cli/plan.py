"""``aquamend plan``: what a policy will do, answer by answer."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from aquamend.cli.command import Command
from aquamend.cli.decide import make_policy
from aquamend.cli.inputs import MonitorsSaid, ages_of, check_shape, problem_in, state_after
from aquamend.cli.options import (
    INTERRUPTED,
    Age,
    AsJson,
    Before,
    NoAlarm,
    Observations,
    PolicyName,
    Rung,
    Silent,
    a_number,
)
from aquamend.cli.output import print_json, print_text, refusing
from aquamend.cli.progress import searching
from aquamend.errors import AquaMendError

if TYPE_CHECKING:
    from rich.console import Console

    from aquamend.belief import InformationState
    from aquamend.policies.plan_tree import PlanTree

COMMANDS = {"plan": Command("aquamend.cli.plan:plan", "Print what a policy will do, answer by answer.")}


class PlanFormat(StrEnum):
    """Languages a plan can be written in."""

    TEXT = "text"
    MERMAID = "mermaid"


def plan(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A problem file, JSON or YAML; - for standard input.", show_default=False),
    ],
    *,
    policy: PolicyName = "best",
    versus: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Set another policy's plan beside it, and say where they part.", show_default=False
        ),
    ] = None,
    observe: Observations = [],  # noqa: B006 - typer copies it
    alarm: Rung = [],  # noqa: B006
    silent: Silent = [],  # noqa: B006
    no_alarm: NoAlarm = False,
    before: Before = None,
    age: Age = [],  # noqa: B006
    nodes: Annotated[
        int, typer.Option(metavar="N", min=1, help="Follow the plan no further once it has so many nodes.")
    ] = 60,
    seconds: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0.0, callback=a_number, help="Nor longer than this; by default as long as it takes."
        ),
    ] = None,
    language: Annotated[PlanFormat, typer.Option("--format", help="text, or mermaid for a drawing.")] = PlanFormat.TEXT,
    as_json: AsJson = False,
) -> None:
    """Print what a policy will do, answer by answer: each step, how probable it is, and what is lost from there on.

    Readings are told apart by the intervals that lead to different steps. The likeliest answers are followed first;
    what is beyond is said. An interrupt prints the tree as far as it has grown.
    """
    monitors = MonitorsSaid(alarm, silent, no_alarm, before)
    with refusing("aquamend plan"):
        _check(language, as_json)
        check_shape(observe)
        monitors.check()
        ages, names = ages_of(age), [policy, *([] if versus is None else [versus])]
        chosen = [make_policy(name) for name in names]
    with refusing(file):
        from aquamend.policies.plan_tree import PlanLimits, plan_tree

        limits = PlanLimits(nodes, math.inf if seconds is None else seconds)
        with searching(f"plan {file}") as search:
            state = state_after(problem_in(file, ages), observe, monitors)
            trees = [plan_tree(own, state, limits, name=name) for own, name in zip(chosen, names, strict=True)]
        _print(trees, state, language, as_json)
        if search.interrupted:
            typer.echo("interrupted; the tree is as far as it had grown by then", err=True)
            raise typer.Exit(INTERRUPTED)


class TwoFormats(AquaMendError, ValueError):
    """Two ways of writing asked for at once."""


def _check(language: PlanFormat, as_json: bool) -> None:
    if as_json and language is not PlanFormat.TEXT:
        raise TwoFormats(f"--json and --format {language.value} exclude each other; keep one of the two")


def _print(trees: list[PlanTree], state: InformationState, language: PlanFormat, as_json: bool) -> None:
    from aquamend.codec import dump
    from aquamend.policies.plan_tree import two_plans

    if language is PlanFormat.MERMAID:
        from aquamend.story.plan_drawing import mermaid_plan

        typer.echo(mermaid_plan(trees, state))
    elif as_json:
        print_json(dump(trees[0] if len(trees) == 1 else two_plans(trees[0], trees[1])))
    else:
        print_text(lambda console: _draw(trees, state, console))


def _draw(trees: list[PlanTree], state: InformationState, console: Console) -> None:
    from aquamend.policies.plan_tree import two_plans
    from aquamend.story.plan_drawing import print_plan, print_two_plans

    if len(trees) == 1:
        print_plan(trees[0], state, console)
    else:
        print_two_plans(two_plans(trees[0], trees[1]), state, console)
