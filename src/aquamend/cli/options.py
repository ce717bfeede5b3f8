"""Arguments that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Files = Annotated[list[str], typer.Argument(metavar="FILE", help="Problem files, JSON or YAML.", show_default=False)]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object a line instead of text.")]

Observations = Annotated[
    list[str],
    typer.Option(
        "--observe",
        metavar="PROBE=OUTCOME",
        help="An answer received since the alarm (a number for a Gaussian probe). Repeat it for every answer.",
        show_default=False,
    ),
]

PolicyName = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="NAME",
        help="Who decides: aquamend, all-candidates, structured, lookahead-K, exact, certified, troubleshooting, "
        "decoupled, greedy, rollback-only, restart, no-reprobe, linear-chain, or a class of your own as module:Class.",
    ),
]
