"""How policies look, and what every figure is drawn by: readable on a phone, the same bytes for the same numbers.

One title, one colour and one marker for each policy, the same in every table and drawing. Policies describe themselves;
the manifest of a run keeps what they say, so that a report runs no code of theirs. A policy that nobody describes is
called by its name and gets a style from it.

From a few strokes of matplotlib come the bytes of an SVG and a PNG, whatever the user's own settings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any
from zlib import crc32

from aquamend.errors import MissingLibrary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


WIDTH_IN = 4.0
"""Narrow on purpose: scaled to a phone's width the letters stay readable."""
COLUMN_IN = 3.5
"""The width of a column in print, for which SVG and PDF are drawn on their own."""
_DOTS_PER_INCH = 200
_UNSIGNED: Mapping[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""What is left out, so that the same drawing has the same bytes."""
_SETTINGS = {
    "pdf.fonttype": 42,  # letters stay letters there, too
    "svg.fonttype": "none",  # letters stay letters: they can be searched, read aloud and selected
    "font.size": 8.5,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.5,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 7.5,
    "legend.handlelength": 1.9,
    "legend.columnspacing": 1.0,
    "legend.frameon": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "axes.linewidth": 0.7,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "savefig.facecolor": PAPER,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
}


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing, for pages and for print."""

    svg: bytes
    png: bytes
    for_print: Callable[[], Mapping[str, bytes]] = field(default=dict, compare=False)
    """Draw it at the width of a column: the same as ``svg`` and as ``pdf``."""


def require_matplotlib() -> None:
    """Raise ``MissingLibrary`` unless drawings can be made."""
    try:
        found = find_spec("matplotlib") is not None
    except (ImportError, ValueError):  # a module set to None in sys.modules has no spec
        found = False
    if not found:
        raise MissingLibrary("matplotlib", "report", "or read the numbers with --json", package="aquamend-lab")


def drawing(name: str, *, height_in: float, draw: Callable[[Figure], None]) -> Drawing:
    """Return what ``draw`` puts on an empty figure; ``name`` keeps the identifiers of several drawings apart."""
    require_matplotlib()
    from matplotlib import style
    from matplotlib.figure import Figure

    # The default style first, so that neither a user's matplotlibrc nor another library shows in the bytes.
    def saved(width_in: float, *formats: str) -> dict[str, bytes]:
        found = {}
        with style.context(["default", {**_SETTINGS, "svg.hashsalt": name}]):
            figure = Figure(figsize=(width_in, height_in), layout="constrained")
            draw(figure)
            for form in formats:
                written = BytesIO()
                figure.savefig(written, format=form, dpi=_DOTS_PER_INCH, metadata=_UNSIGNED[form])
                found[form] = written.getvalue()
        return found

    return Drawing(**saved(WIDTH_IN, "svg", "png"), for_print=lambda: saved(COLUMN_IN, "svg", "pdf"))


def draw_grid(axes: Axes, *, grid: str) -> None:
    """Draw the grid along one axis (or ``both``) and drop the ticks' little strokes."""
    axes.grid(True, axis=grid)  # type: ignore[arg-type]
    axes.tick_params(which="both", length=0)
