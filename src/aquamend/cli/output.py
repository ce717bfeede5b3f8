"""Standard output: JSON Lines for programs, rich text for people; files, whole or not at all; and what is refused.

What is wrong with the input is said on standard error: everything that was found, never a traceback. So is how far long
work has come: a bar or a line in a terminal, a line now and then elsewhere. An interrupt ends a search, and what it has
found is kept.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from aquamend.errors import AquaMendError, Fault, InvalidProblem
from aquamend.text import WIDEST

if TYPE_CHECKING:
    from rich.console import Console

    from aquamend.planning.bounds import Bounds
    from aquamend.planning.limits import Listener
    from aquamend.story.story import Story

BAD_INPUT = 2
EVERY_S = 15.0
"""How often a log that is no terminal hears of it."""
QUIET_S = 2.0
"""A search that ends sooner says nothing."""
SELDOM_S = 0.2
"""How often the line of a search is written over at most."""

Report = Callable[[int, int], None]
"""Hears how many are done, and of how many."""


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


@contextmanager
def progress_bar(what: str) -> Iterator[Report]:
    """Give a function to tell progress to; it is drawn with rate and time left."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with _bar(what, console) as report:
            yield report
    else:
        yield _Log(what, console).report


@dataclass(slots=True)
class _Pace:
    """How fast it goes, from the first time it hears anything."""

    started: float = field(default_factory=time.monotonic)
    first: int | None = None

    def rate(self, done: int) -> float | None:
        if self.first is None:
            self.started, self.first = time.monotonic(), done
        took = time.monotonic() - self.started
        return (done - self.first) / took if done > self.first and took > 0 else None


@contextmanager
def _bar(what: str, console: Console) -> Iterator[Report]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    pace, bar = _Pace(), Progress(*columns, console=console)
    task = bar.add_task(what, total=None, rate="")

    def report(done: int, total: int) -> None:
        bar.start()  # not before there is something to tell: what is asked may be wrong
        rate = pace.rate(done)
        bar.update(task, completed=done, total=total, rate="" if rate is None else f"{rate:,.1f}/s")

    try:
        yield report
    finally:
        bar.stop()


@dataclass(slots=True)
class _Log:
    what: str
    console: Console
    pace: _Pace = field(default_factory=_Pace)
    last: float = field(default_factory=time.monotonic)

    def report(self, done: int, total: int) -> None:
        rate = self.pace.rate(done)
        if rate is None or (time.monotonic() - self.last < EVERY_S and done < total):
            return
        self.last = time.monotonic()
        left = f", about {(total - done) / rate:,.0f} s left" if done < total else ""
        line = f"{self.what}: {done:,} of {total:,}, {rate:,.1f}/s{left}"
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def searching(what: str) -> Iterator[Listener]:
    """Tell the bounds that searches in this block reach; an interrupt ends one, and its bounds are kept."""
    from aquamend.planning.limits import progress

    line = _Line(what)

    def report(bounds: Bounds, seconds: float) -> None:
        line.say(lambda: f"between {bounds.lower:.6g} and {bounds.upper:.6g} after {seconds:.0f} s; Ctrl-C ends it")

    with line.shown(), progress(report) as listener:
        yield listener


@contextmanager
def following(what: str) -> Iterator[Callable[[int, float], None]]:
    """Give a function that tells how far a policy was followed."""
    from aquamend.planning.limits import progress

    line = _Line(what)

    def report(visited: int, finished: float) -> None:
        line.say(lambda: f"{visited:,} evidence states, {finished:.1%} of the probability at an end; Ctrl-C ends it")

    with line.shown(), progress(lambda bounds, seconds: None):
        yield report


@dataclass(slots=True)
class _Line:
    """One line that is written over in a terminal, and written now and then elsewhere."""

    what: str
    console: Console | None = None
    started: float = field(default_factory=time.monotonic)
    last: float = field(default_factory=time.monotonic)

    def say(self, words: Callable[[], str]) -> None:
        now = time.monotonic()
        if now - self.started < QUIET_S or now - self.last < SELDOM_S:
            return
        if self.console is None:
            from rich.console import Console

            self.console = Console(stderr=True, markup=False, highlight=False)
        if self.console.is_terminal:
            self.last = now
            self.console.print(f"\r{self.what}: {words()}"[: self.console.width], end="\x1b[K")
        elif now - self.last >= EVERY_S:
            self.last = now
            self.console.print(f"{self.what}: {words()}", soft_wrap=True)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Wipe the line in the end."""
        try:
            yield
        finally:
            if self.console is not None and self.console.is_terminal:
                self.console.print("\r", end="\x1b[K")
