"""Standard output: JSON Lines for programs, rich text for people."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

WIDEST = 120
"""Columns used at most: longer lines are hard to read across."""


def print_json(data: dict[str, Any]) -> None:
    """Print one JSON object on one line."""
    typer.echo(json.dumps(data, allow_nan=False))


def print_text(render: Callable[[Console], None]) -> None:
    """Print what is drawn: coloured in a terminal, plain in a pipe; names in it are never taken for markup."""
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    if console.width > WIDEST:
        console.width = WIDEST
    with console.capture() as drawn:
        render(console)
    lines = drawn.get().split("\n")
    typer.echo("\n".join(line.rstrip(" ") for line in lines), nl=False)  # tables are padded to their width
