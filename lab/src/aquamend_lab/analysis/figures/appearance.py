"""One title, one colour and one marker for each policy, the same in every table and drawing.

Policies describe themselves; the manifest of a run keeps what they say, so that a report runs no code of theirs. A
policy that nobody describes is called by its name and gets a style from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from zlib import crc32

INK = "#1b1c1e"
"""Text, axes and the oracles; a page in dark mode puts its own text colour in its place."""
PAPER = "#fefefd"
"""Background, and the inside of hollow markers."""
FAINT = "#d8d9db"
"""Grid lines."""


@dataclass(frozen=True, slots=True)
class Style:
    """Title, colour and marker (in matplotlib's letters)."""

    title: str
    colour: str
    marker: str


MARKERS = frozenset(".,ov^<>12348spP*hH+xXDd|_")
"""Those of matplotlib that a policy may have."""

Describe = Callable[[str], Style | None]
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


def styles_in(manifests: Iterable[Mapping[str, Any]]) -> Describe:
    """Return how policies look by what these runs have kept of them; of two with one title, neither has it."""
    # Runs keep them under `looks`.
    kept = [styles for manifest in manifests if isinstance(styles := manifest.get("looks"), dict)]
    found = {name: style for styles in kept for name, data in styles.items() if (style := _style(data)) is not None}
    titles = [style.title for style in found.values()]
    return {name: style for name, style in found.items() if titles.count(style.title) == 1}.get


def _style(kept: object) -> Style | None:
    """Return a style as a run has kept it; None where it is none, since runs may come from anywhere."""
    data = kept if isinstance(kept, dict) else {}
    title, colour, marker = (str(data.get(name, "")) for name in ("title", "colour", "marker"))
    sound = title and re.fullmatch("#[0-9a-fA-F]{6}", colour) and marker in MARKERS
    return Style(title, colour, marker) if sound else None


def style_of(name: str) -> Style:
    """Return how a policy or an estimator is called and drawn; one that nobody knows gets a style from its name."""
    describe = _describe.get()
    known = None if describe is None else describe(name)
    number = crc32(name.encode())  # not hash(): that differs between processes
    return known or Style(name, _OTHERS[number % len(_OTHERS)], _MARKERS[number // 8 % len(_MARKERS)])
