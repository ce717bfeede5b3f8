"""``aquamend new`` and ``aquamend schema``: a file to begin with, and what editors need to help with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from aquamend.cli import Command
from aquamend.cli.options import an_argument, an_option
from aquamend.cli.output import refusing, write_text
from aquamend.errors import AquaMendError

COMMANDS = {
    "new": Command("aquamend.cli.new:new", "Write a problem file to begin with."),
    "schema": Command(
        "aquamend.cli.new:schema",
        "Print the JSON Schema of problem files, of sessions or of stories.",
        needs_arguments=False,
    ),
}

HERE = "aquamend new"
TEMPLATE = """\
# yaml-language-server: $schema=problem.schema.json
# Costs and losses are made up: put in your own, all in one unit. `aquamend lint` says what looks odd.
format: aquamend-problem/1
name: {name}
unit: {unit}

beliefs:                 # what the robot holds true; residual: the loss if it is wrong and stays so
{beliefs}

actions:                 # what it did because of that; undo: what undoing costs; redo: doing it again
{actions}

probes:                  # what it can measure now, and what one use costs
{probes}

edges:                   # what rests on what
{edges}

causes:                  # what may have happened: how probable, whose doing, which beliefs it makes wrong
{causes}
together: 2              # how many of them may come together

kernels:                 # how each probe answers under a condition, the most specific, or else by default;
                         # their order is no matter; in a list of [condition, row], the first that holds
{kernels}

alarm:                   # how probable this alarm was, with a cause and without any
  likelihood: {{default: 0.9, nothing: 0.1}}

restart: 40              # starting over corrects everything; leave it out where that cannot be
escalate: 100            # the loss of calling a person
"""


def new(
    file: Annotated[Path, an_argument("FILE", "The file to write, .yaml.")],
    *,
    name: Annotated[str | None, typer.Option(help="What to call the problem.", show_default=False)] = None,
    unit: Annotated[str | None, typer.Option(help="The unit of costs and losses.", show_default=False)] = None,
    beliefs: Annotated[str | None, an_option("NAMES", "What the robot holds true, by commas.")] = None,
    actions: Annotated[str | None, an_option("NAMES", "What it did because of that.")] = None,
    probes: Annotated[str | None, an_option("NAMES", "What it can measure now.")] = None,
    causes: Annotated[str | None, an_option("NAMES", "What may have happened.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if there is one.")] = False,
) -> None:
    """Write a problem file to begin with: sound, commented, with names of your own and numbers to fill in.

    In a terminal, what no option says is asked for; an empty answer takes the suggestion. The first belief goes with
    the first action, probe and cause, and so on; change that in the file.
    """
    from aquamend.files import read_problem

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


@dataclass(frozen=True, slots=True)
class Outline:
    """What is there, by name; the numbers are for its author to fill in."""

    name: str = "my recovery problem"
    unit: str = "s"
    beliefs: Sequence[str] = ("box_is_empty", "box_is_in_place")
    actions: Sequence[str] = ("grasp", "carry")
    """Executed, each because of the belief in the same place (the last belief for those left over)."""
    probes: Sequence[str] = ("look_inside", "find_box")
    """Each measures the belief in the same place, likewise."""
    causes: Sequence[str] = ("somebody_filled_it", "it_slipped")
    """Each breaks the belief in the same place, likewise."""


def template(outline: Outline) -> str:
    """Return the text of a problem file in YAML, which loads as it is."""
    beliefs, actions = [_quoted(name) for name in outline.beliefs], [_quoted(name) for name in outline.actions]
    probes, causes = [_quoted(name) for name in outline.probes], [_quoted(name) for name in outline.causes]
    read = [(probe, _partner(beliefs, i)) for i, probe in enumerate(probes)]
    blocks = {
        "beliefs": [f"  - {{name: {name}, residual: 50}}" for name in beliefs],
        "actions": [f"  - {{name: {name}, undo: 5, redo: 2, status: executed}}" for name in actions],
        "probes": [f"  - {{name: {name}, cost: 1}}" for name in probes],
        "edges": [
            *(f"  - [{probe}, {belief}, detection]" for probe, belief in read),
            *(f"  - [{_partner(beliefs, i)}, {action}, belief_to_action]" for i, action in enumerate(actions)),
            *(f"  - [{a}, {b}, action_causal]" for a, b in pairwise(actions)),
        ],
        "causes": [
            f"  - {{name: {cause}, prior: 0.1, kind: external, failed: [{_partner(beliefs, i)}]}}"
            for i, cause in enumerate(causes)
        ],
        "kernels": [
            f"  {probe}:\n    outcomes: [as_expected, otherwise]\n"
            f"    likelihood: {{default: [0.95, 0.05], {belief}: [0.1, 0.9]}}"
            for probe, belief in read
        ],
    }
    said = {key: "\n".join(lines) for key, lines in blocks.items()}
    return TEMPLATE.format(name=_quoted(outline.name), unit=_quoted(outline.unit), **said)


def _partner(names: Sequence[str], i: int) -> str:
    return names[min(i, len(names) - 1)]


def _quoted(name: str) -> str:
    """Return a name as YAML reads it back: bare where that is safe, else in quotes."""
    plain = name.replace("_", "").isalnum() and name.isascii() and name[:1].isalpha()
    words = ("true", "false", "null", "inf", "default", "nothing")
    return name if plain and name.lower() not in words else json.dumps(name)
