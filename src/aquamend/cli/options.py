"""Arguments that several commands share."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from aquamend.policies import POLICIES

INTERRUPTED = 130
"""Exit status after an interrupt, as shells have it."""


def a_number(value: float | None) -> float | None:
    """Refuse nan, which is beyond no least and no largest value."""
    if value is not None and math.isnan(value):
        raise typer.BadParameter("nan is not a number")
    return value


def a_finite_number(value: float) -> float:
    """Refuse nan and infinity, for which nothing can wait."""
    if not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number")
    return value


Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE", help="Problem files, JSON or YAML; - for standard input.", show_default=False),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON Lines instead of text: one object for each line.")]

PageFile = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", help="Write one self-contained page here, and print nothing else.", show_default=False
    ),
]

StoryFile = Annotated[
    Path | None,
    typer.Option(
        "--story", metavar="FILE", help="Write all that the page shows here, as JSON, and print nothing else.",
        show_default=False,
    ),
]  # fmt: skip

Observations = Annotated[
    list[str],
    typer.Option(
        "--observe",
        metavar="PROBE=OUTCOME",
        help="An answer received since the alarm (a number for a probe that reads one). Repeat it for every answer.",
        show_default=False,
    ),
]

Rung = Annotated[
    list[str],
    typer.Option(
        "--alarm",
        metavar="NAME",
        help="A monitor that has rung; the only one of a problem has, unless you say otherwise. Repeat it for several.",
        show_default=False,
    ),
]

Silent = Annotated[
    list[str],
    typer.Option(
        "--silent",
        metavar="NAME",
        help="A monitor that was watching and has not rung. Repeat it for several; the others say nothing.",
        show_default=False,
    ),
]

NoAlarm = Annotated[bool, typer.Option("--no-alarm", help="No monitor has rung: begin with the priors.")]

Age = Annotated[
    list[str],
    typer.Option(
        "--age",
        metavar="[BELIEF=]AGE",
        help="How long ago beliefs were measured, for causes with a rate: all, or one by its name. Repeat it.",
        show_default=False,
    ),
]

Before = Annotated[
    str | None,
    typer.Option(
        metavar="ACTION",
        help="Ask, without an alarm, whether this action may be done now; only beliefs that lead to it count.",
        show_default=False,
    ),
]

PolicyName = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="NAME",
        help=f"Who decides: {', '.join(POLICIES)}, lookahead-K for any K, robust-R for any R up to 1, or a class of "
        "your own as module:Class.",
    ),
]
