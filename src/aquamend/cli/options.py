"""Arguments that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from aquamend.policies import POLICIES

INTERRUPTED = 130
"""Exit status after an interrupt, as shells have it."""

Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE", help="Problem files, JSON or YAML; - for standard input.", show_default=False),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON Lines instead of text: one object for each line.")]

Observations = Annotated[
    list[str],
    typer.Option(
        "--observe",
        metavar="PROBE=OUTCOME",
        help="An answer received since the alarm (a number for a probe that reads one). Repeat it for every answer.",
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
