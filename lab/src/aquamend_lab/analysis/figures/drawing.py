"""From a few strokes of matplotlib to the bytes of an SVG and a PNG, whatever the user's own settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING

from aquamend.errors import MissingLibrary
from aquamend_lab.analysis.figures.appearance import FAINT, INK, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
