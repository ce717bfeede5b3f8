"""Standard output: JSON Lines for programs, rich text for people; and whether files can be written at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from aquamend.errors import AquaMendError
from aquamend.text import WIDEST

if TYPE_CHECKING:
    from rich.console import Console

    from aquamend.story.story import Story


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


def write_text(path: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    from aquamend.files.atomic import write_atomically

    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise AquaMendError(f"{path} cannot be written ({error.strerror}); name another file") from None


def write_page(path: Path, page: str) -> None:
    """Write a page, whole or not at all, and say where it is."""
    write_text(path, page)
    typer.echo(f"{path}: written; it opens in any browser")


def write_story(story: Story, *, page: Path | None, data: Path | None) -> None:
    """Write a story as a page, as JSON or as both, and say where they are."""
    from aquamend.story.page import story_html

    if page is not None:
        write_page(page, story_html(story))
    if data is not None:
        write_text(data, json.dumps(story.to_data(), allow_nan=False) + "\n")
        typer.echo(f"{data}: written")


def check_writable(out: Path, folder: Path) -> None:
    """Refuse what cannot be written into a folder, before any long work is begun and without making the folder."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise AquaMendError(f"{out} cannot be written ({there} is no folder to write to); name another with --out")
