"""How far long work has come: a bar in a terminal, a line now and then elsewhere; on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

EVERY_S = 15.0
"""How often a log that is no terminal hears of it."""

Report = Callable[[int, int], None]
"""Hears how many are done, and of how many."""


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
