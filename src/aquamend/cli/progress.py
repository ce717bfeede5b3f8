"""How far long work has come, on standard error: a bar or a line in a terminal, a line now and then elsewhere.

An interrupt ends a search, and what it has found is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from aquamend.planning.bounds import Bounds
    from aquamend.planning.limits import Listener

EVERY_S = 15.0
"""How often a log that is no terminal hears of it."""
QUIET_S = 2.0
"""A search that ends sooner says nothing."""
SELDOM_S = 0.2
"""How often the line of a search is written over at most."""

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
