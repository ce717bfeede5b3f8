"""How far a long search has come, on standard error, and what an interrupt leaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aquamend.cli.progress import EVERY_S

if TYPE_CHECKING:
    from rich.console import Console

    from aquamend.planning.bounds import Bounds
    from aquamend.planning.limits import Listener

QUIET_S = 2.0
"""A search that ends sooner says nothing."""
SELDOM_S = 0.2
"""How often the line is written over at most."""


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
