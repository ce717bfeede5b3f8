"""Standard output: JSON Lines for programs, rich text for people; files, whole or not at all; and what is refused.

What is wrong with the input is said on standard error: everything that was found, never a traceback.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from aquamend.errors import AquaMendError, Fault, InvalidProblem
from aquamend.text import WIDEST

if TYPE_CHECKING:
    from rich.console import Console

    from aquamend.story.story import Story

BAD_INPUT = 2


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


def _position(file: str, fault: Fault) -> str:
    """Return where in the file a fault stands, as terminals and editors follow it."""
    if fault.line is None:
        return ""
    return f" (line {fault.line}, column {fault.column})" if file == "-" else f" ({file}:{fault.line}:{fault.column})"


@dataclass(slots=True)
class Refusals:
    """What was found wrong so far; the files that are sound are still worked on."""

    count: int = 0

    def about(self, where: str, error: AquaMendError) -> None:
        """Print an error with the file (or the option) it is about; one line for each fault."""
        self.count += 1
        faults = error.faults if isinstance(error, InvalidProblem) else ()
        for line in [f"{fault}{_position(where, fault)}" for fault in faults] or [str(error)]:
            typer.echo(f"{where}: {line}", err=True)

    @contextmanager
    def at(self, where: str) -> Iterator[None]:
        """Report what goes wrong in the block; what comes after the block goes on."""
        try:
            yield
        except AquaMendError as error:
            self.about(where, error)
        except (ArithmeticError, MemoryError, RecursionError) as error:
            what = f"its numbers or its size are beyond what can be computed ({type(error).__name__}: {error})"
            remedy = "bring costs and losses closer together, or make the problem smaller"
            self.about(where, AquaMendError(f"{what}; {remedy}"))

    def exit(self) -> None:
        """End the program with status 2 if anything was wrong."""
        if self.count:
            raise typer.Exit(BAD_INPUT)


@contextmanager
def refusing(where: str) -> Iterator[Refusals]:
    """Report what goes wrong in the block, and end the program with status 2 after it if anything has."""
    refusals = Refusals()
    with refusals.at(where):
        yield refusals
    refusals.exit()
