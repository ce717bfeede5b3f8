"""How far long work has come: a bar in a terminal, a line now and then elsewhere; on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY_S = 15.0
"""How often a log that is no terminal hears of it."""


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function that is told how many are done, and of how many; draws a bar with rate and time left."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _log_lines(what, console)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(what, total=None, rate="")
        started: list[tuple[float, int]] = []

        def told(done: int, total: int) -> None:
            if not started:
                started.append((time.monotonic(), done))
            since, first = started[0]
            took = time.monotonic() - since
            rate = f"{(done - first) / took:,.1f}/s" if done > first and took > 0 else ""
            bar.update(task, completed=done, total=total, rate=rate)

        yield told


def _log_lines(what: str, console: object) -> Callable[[int, int], None]:
    from rich.console import Console

    started: list[tuple[float, int]] = []
    last = [0.0]

    def told(done: int, total: int) -> None:
        now = time.monotonic()
        if not started:
            started.append((now, done))
            last[0] = now
            return
        if now - last[0] < EVERY_S and done < total:
            return
        last[0] = now
        since, first = started[0]
        rate = (done - first) / max(now - since, 1e-9)
        left = f", about {(total - done) / rate:,.0f} s left" if 0 < done < total and rate > 0 else ""
        if isinstance(console, Console):
            console.print(f"{what}: {done:,} of {total:,}, {rate:,.1f}/s{left}", markup=False, highlight=False)

    return told
