"""When a search ends, and who hears how far it has come: one place for gaps, deadlines, memory and interrupts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from aquamend.planning.bounds import Bounds

Told = Callable[[Bounds, float], None]
"""Hears the bounds reached, and after how many seconds."""

_listener: ContextVar[Told | None] = ContextVar("listener", default=None)

MEMORY = 1.5e9
"""Bytes that a search may hold. It is counted, not measured, so the same search ends at the same place everywhere."""


@contextmanager
def progress(told: Told) -> Iterator[None]:
    """Let searches in this context tell how far they have come; an interrupt then ends one early, with its bounds."""
    token = _listener.set(told)
    try:
        yield
    finally:
        _listener.reset(token)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how far one search may go."""

    gap: float = 1e-9
    """The bounds are near enough."""
    deadline_s: float = math.inf
    memory: float = MEMORY
    started: float = field(default_factory=time.perf_counter)

    @property
    def left_s(self) -> float:
        """Seconds left."""
        return self.deadline_s - (time.perf_counter() - self.started)

    def reached(self, bounds: Bounds) -> bool:
        """Whether a search with these bounds should end; whoever listens hears of them."""
        told = _listener.get()
        if told is not None:
            told(bounds, time.perf_counter() - self.started)
        return bounds.gap <= self.gap or self.left_s <= 0.0

    @staticmethod
    def interruptible() -> bool:
        """Whether somebody listens, who wants to know the bounds reached when a search is interrupted."""
        return _listener.get() is not None
