"""Work that ends at a deadline: whatever may take long asks every few milliseconds whether its time is up.

``ends_at`` sets one for a block, and the sooner one counts where blocks stand in each other. What runs out of time
raises ``OutOfTime``, so nothing half finished is kept; the caller falls back on what was finished before.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from aquamend.errors import AquaMendError


class OutOfTime(AquaMendError):
    """The deadline came before the end of the work."""

    def __init__(self) -> None:
        super().__init__("the deadline came before the end of the work; give it a longer one")


clock = time.perf_counter

_until: ContextVar[float] = ContextVar("until", default=math.inf)


@contextmanager
def ends_at(until: float) -> Iterator[None]:
    """Let the work in this block end at a time of ``clock``, or sooner if that was asked for before."""
    token = _until.set(min(until, _until.get()))
    try:
        yield
    finally:
        _until.reset(token)


def seconds_left() -> float:
    """Return how many seconds are left; infinity where there is no deadline."""
    until = _until.get()
    return until - clock() if until < math.inf else math.inf


def check_deadline() -> None:
    """Raise ``OutOfTime`` where no time is left."""
    until = _until.get()
    if until < math.inf and clock() >= until:
        raise OutOfTime
