"""One title, one colour and one marker for each policy, the same in every table and drawing.

Policies describe themselves, and records know only their names: whoever makes a report says with ``described_by`` who
is who. A policy that nobody describes is called by its name and gets a look from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from zlib import crc32

INK = "#1b1c1e"
"""Text, axes and the oracles; a page in dark mode puts its own text colour in its place."""
PAPER = "#fefefd"
"""Background, and the inside of hollow markers."""
FAINT = "#d8d9db"
"""Grid lines."""


@dataclass(frozen=True, slots=True)
class Look:
    """Title, colour and marker (in matplotlib's letters)."""

    title: str
    colour: str
    marker: str


Describe = Callable[[str], Look | None]
"""From a policy's name to how it looks; None where that is not known."""

_describe: ContextVar[Describe | None] = ContextVar("describe", default=None)

# After Okabe and Ito, and Tol; legible on white and on black.
_OTHERS = ("#0077bb", "#d55e00", "#009e73", "#cc6699", "#9a5fc0", "#8f8f2f", "#7272d8", "#a5692b")
_MARKERS = ("o", "s", "^", "v", "D", "P", "X")


@contextmanager
def described_by(describe: Describe) -> Iterator[None]:
    """Take titles, colours and markers from here, as long as the block lasts."""
    token = _describe.set(describe)
    try:
        yield
    finally:
        _describe.reset(token)


def look_of(name: str) -> Look:
    """Return how a policy or an estimator is called and drawn; one that nobody knows gets a look from its name."""
    describe = _describe.get()
    known = _estimator(name) or (None if describe is None else describe(name))
    number = crc32(name.encode())  # not hash(): that differs between processes
    return known or Look(name, _OTHERS[number % len(_OTHERS)], _MARKERS[number // 8 % len(_MARKERS)])


def _estimator(name: str) -> Look | None:
    """Return how an estimator of the rollback risk looks: the three kinds are no policies, so none describes itself."""
    if name == "independent":
        return Look("Independence", "#d55e00", "o")
    if found := re.fullmatch(r"(beam|monte-carlo)-(\d+)", name):
        beam = found[1] == "beam"
        title = f"Beam-{found[2]}" if beam else f"Monte Carlo ({found[2]})"
        return Look(title, *(("#0077bb", "s") if beam else ("#009e73", "v")))
    return None
