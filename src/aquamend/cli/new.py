"""``aquamend new`` and ``aquamend schema``: a file to begin with, and what editors need to help with it."""

from __future__ import annotations

import sys
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aquamend.cli import Command
from aquamend.cli.output import refusing, write_text
from aquamend.errors import AquaMendError

if TYPE_CHECKING:
    from aquamend.files.template import Outline

COMMANDS = {
    "new": Command("aquamend.cli.new:new", "Write a problem file to begin with."),
    "schema": Command(
        "aquamend.cli.new:schema",
        "Print the JSON Schema of problem files, of sessions or of stories.",
        needs_arguments=False,
    ),
}

HERE = "aquamend new"


def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, .yaml.", show_default=False)],
    *,
    name: Annotated[str | None, typer.Option(help="What to call the problem.", show_default=False)] = None,
    unit: Annotated[str | None, typer.Option(help="The unit of costs and losses.", show_default=False)] = None,
    beliefs: Annotated[
        str | None, typer.Option(metavar="NAMES", help="What the robot holds true, by commas.", show_default=False)
    ] = None,
    actions: Annotated[
        str | None, typer.Option(metavar="NAMES", help="What it did because of that.", show_default=False)
    ] = None,
    probes: Annotated[
        str | None, typer.Option(metavar="NAMES", help="What it can measure now.", show_default=False)
    ] = None,
    causes: Annotated[
        str | None, typer.Option(metavar="NAMES", help="What may have happened.", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if there is one.")] = False,
) -> None:
    """Write a problem file to begin with: sound, commented, with names of your own and numbers to fill in.

    In a terminal, what no option says is asked for; an empty answer takes the suggestion. The first belief goes with
    the first action, probe and cause, and so on; change that in the file.
    """
    from aquamend.files import read_problem
    from aquamend.files.template import template

    with refusing(HERE):
        if file.exists() and not force:
            raise AquaMendError(f"{file} exists; name another file, or say --force")
        answers = {
            "name": name,
            "unit": unit,
            "beliefs": beliefs,
            "actions": actions,
            "probes": probes,
            "causes": causes,
        }
        text = template(_outline(answers, ask=sys.stdin.isatty()))
        read_problem(text, suffix=".yaml")  # two things of one name, say, are reported before anything is written
        write_text(file, text)
        typer.echo(f"{file} is written. Put your numbers in, then: aquamend validate, lint, decide {file}")
        typer.echo("To have your editor complete and check it: aquamend schema > problem.schema.json, beside the file")


def _outline(answers: dict[str, str | None], *, ask: bool) -> Outline:
    from aquamend.files.template import Outline

    questions = {
        "name": "What is the problem called?", "unit": "Unit of costs and losses?",
        "beliefs": "What did the robot hold true? (names, by commas)", "actions": "What did it do because of that?",
        "probes": "What can it measure now?", "causes": "What may have happened?",
    }  # fmt: skip
    found: dict[str, str | list[str]] = {}
    for field in fields(Outline):
        default = field.default if isinstance(field.default, str) else ", ".join(field.default)  # type: ignore[arg-type]
        said = answers[field.name]
        if said is None:
            said = typer.prompt(questions[field.name], default=default) if ask else default
        found[field.name] = said if isinstance(field.default, str) else _listed(field.name, said)
    return Outline(**found)  # type: ignore[arg-type]


def _listed(what: str, said: str) -> list[str]:
    names = [name.strip() for name in said.split(",") if name.strip()]
    if not names:
        raise AquaMendError(f"there are no {what}; name at least one")
    return names


class Described(StrEnum):
    """What there is a JSON Schema of."""

    PROBLEM = "problem"
    SESSION = "session"
    STORY = "story"


def schema(
    of: Annotated[
        Described, typer.Argument(metavar="problem|session|story", help="Of which; of the problem file unless said.")
    ] = Described.PROBLEM,
) -> None:
    """Print a JSON Schema: of the problem file, by which editors complete and check what is typed, or of what is kept.

    That of a session describes what it asks for, what it is answered and what it keeps; that of a story, what --story
    writes.
    """
    from aquamend.files.format import problem_schema, schema_text
    from aquamend.recovery.plain import session_schema
    from aquamend.story.story import story_schema

    made = {Described.PROBLEM: problem_schema, Described.SESSION: session_schema, Described.STORY: story_schema}
    typer.echo(schema_text(made[of]()), nl=False)
