"""When a search ends, who hears how far it has come, and what its work costs.

Gaps, deadlines, memory and interrupts are one place; beside them, work is counted: the same on every machine, where
seconds are not. A unit is about a nanosecond of one slow core. What is counted is what takes the time: numbers
multiplied, closures compared, minimum cuts, and what a step in Python costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import numpy as np

from aquamend import deadline
from aquamend.belief import InformationState
from aquamend.belief.support import spoken
from aquamend.decision.endings import Endings, endings_of
from aquamend.planning.bounds import Bounds

Report = Callable[[Bounds, float], None]
"""Hears the bounds reached, and after how many seconds."""

MEMORY = 1.5e9
"""Bytes that a search may hold. It is counted, not measured, so the same search ends at the same place everywhere."""
A_STOP, A_FEATURE, A_CLOSURE, A_CUT_BELIEF = 500.0, 5.0, 5.0, 2_000.0
"""Of pricing all endings at one state: at all, and for each feature, each closure that is listed and each belief in a
minimum cut."""
A_CELL, A_CELL_PROBE, A_CELL_SUM, A_PRODUCT = 500.0, 400.0, 10.0, 0.5
"""Of one evidence state in a table, beside pricing its endings: at all, for each probe, for each sum, and for each
hypothesis in each sum."""
A_NODE, A_ROUND = 4_000.0, 1e6
"""Of one evidence state in a tree, beside numbers and endings; and of one round of a search."""
SAMPLE = 256
"""States at which endings are priced to see how long that takes."""
A_PIECE_S, PIECES = 0.005, 0.2
"""Seconds that a piece of work may take at least, and as a share of what is left."""


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


def stop_work(endings: Endings) -> float:
    """Return what pricing all endings at one state costs."""
    groups = endings.groups
    listed, cut = sum(len(own.cost) for own in groups.listed), sum(len(own.members) for own in groups.cuts)
    features = endings.features.shape[1]
    return float(A_STOP + A_FEATURE * features + A_CLOSURE * listed + A_CUT_BELIEF * cut)


def cell_work(endings: Endings, n_probes: int) -> float:
    """Return what one evidence state in a table costs."""
    sums = endings.features.shape[1] + n_probes
    products = A_PRODUCT * len(endings.features) * sums
    return float(A_CELL + A_CELL_PROBE * n_probes + A_CELL_SUM * sums + products + stop_work(endings))


def seconds_a_unit(state: InformationState) -> float:
    """Return how many seconds a unit of work takes here and now, by pricing all endings at some states."""
    endings = endings_of(state.problem)
    sums = np.repeat((state.posterior @ endings.features)[None, :], SAMPLE, axis=0)
    speaks, started = spoken(endings.support, state), deadline.clock()
    endings.values(sums, speaks)
    return (deadline.clock() - started) / (SAMPLE * stop_work(endings))


def cells_within(state: InformationState, seconds: float) -> float:
    """Return how many evidence states a table may have to be finished in time."""
    return seconds / (cell_work(endings_of(state.problem), len(state.legal)) * seconds_a_unit(state))


@dataclass(eq=False)
class Pace:
    """How fast work has been going, and so how much may be done before looking at the clock again."""

    started: float = field(default_factory=lambda: deadline.clock())

    def affords(self, done: float, left_s: float) -> float:
        """Return how much work may be done at once where so much has been done since the start."""
        took = deadline.clock() - self.started
        return math.inf if left_s == math.inf or took <= 0.0 else done / took * max(A_PIECE_S, PIECES * left_s)
