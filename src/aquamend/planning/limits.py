"""When a search ends, and who hears how far it has come: one place for gaps, deadlines, memory and interrupts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from aquamend import deadline
from aquamend.planning.bounds import Bounds

Report = Callable[[Bounds, float], None]
"""Hears the bounds reached, and after how many seconds."""

MEMORY = 1.5e9
"""Bytes that a search may hold. It is counted, not measured, so the same search ends at the same place everywhere."""


@dataclass(eq=False)
class Listener:
    """Whoever wants to hear how far searches come, and what they have reached when they are interrupted."""

    report: Report
    interrupted: bool = False
    """Whether one was; those that follow end at once."""


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def progress(report: Report) -> Iterator[Listener]:
    """Let searches in this context tell how far they have come; an interrupt then ends one early, with its bounds."""
    listener = Listener(report)
    token = _listener.set(listener)
    try:
        yield listener
    finally:
        _listener.reset(token)


def current_listener() -> Listener | None:
    """Return who listens, if somebody does."""
    return _listener.get()


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how far one search may go."""

    gap: float = 1e-9
    """The bounds are near enough."""
    deadline_s: float = math.inf
    memory: float = MEMORY
    started: float = field(default_factory=lambda: deadline.clock())

    @property
    def left_s(self) -> float:
        """Seconds left."""
        return self.deadline_s - (deadline.clock() - self.started)

    @property
    def until(self) -> float:
        """The time at which it ends."""
        return self.started + self.deadline_s

    def reached(self, bounds: Bounds) -> bool:
        """Whether a search with these bounds should end; a listener hears of them."""
        listener = _listener.get()
        if listener is not None:
            listener.report(bounds, deadline.clock() - self.started)
            if listener.interrupted:
                return True
        return bounds.gap <= self.gap or self.left_s <= 0.0
