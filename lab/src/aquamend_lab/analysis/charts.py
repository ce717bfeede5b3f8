"""The charts of a report: bars of what a loss is made of, stems for each scenario, dots with intervals, and curves.

First how policies look, and what every figure is drawn by: readable on a phone, the same bytes for the same numbers,
whatever the user's own settings. One title, one colour and one marker for each policy, the same in every table and
drawing. Policies describe themselves; the manifest of a run keeps what they say, so that a report runs no code of
theirs. A policy that nobody describes is called by its name and gets a style from it.

The paper's numbers stand beside ours: paler bars, hollow dots and markers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.util import find_spec
from io import BytesIO
from textwrap import fill
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from aquamend.errors import MissingLibrary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


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


# After Okabe and Ito, and Tol: told apart by the colour-blind, and in grey.
COLOURS = ("#0077bb", "#e69f00", "#9aa0a6", "#9a3fb0")
_BAR_IN = 0.33
_BARS_FRAME_IN = 0.95
_PALE = 0.4


@dataclass(frozen=True, slots=True)
class Bar:
    """One policy's parts, from left to right, and the paper's where it prints them."""

    label: str
    parts: tuple[float, ...]
    text: str
    """The whole, as it is written at the end."""
    paper: tuple[float, ...] = ()


def bar_plot(name: str, bars: Sequence[Bar], *, parts: Sequence[str], axis: str) -> Drawing:
    """Return the bars from top to bottom; parts have at most four names."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for row, bar in enumerate(bars):
            _draw_bar(axes, row - 0.17 if bar.paper else row, bar.parts, height=0.34 if bar.paper else 0.5)
            if bar.paper:
                _draw_bar(axes, row + 0.2, bar.paper, height=0.22, alpha=_PALE)
            _end_row(axes, row, bar.text)
        _name_rows(axes, [bar.label for bar in bars])
        axes.set_xlabel(axis)
        _draw_bar_key(figure, parts, beside=any(bar.paper for bar in bars))

    return drawing(name, height_in=_BARS_FRAME_IN + _BAR_IN * len(bars), draw=draw)


def _end_row(axes: Axes, row: int, text: str) -> None:
    """Write a value at the end of its row, beside the drawing."""
    axes.annotate(
        text, (1.0, row), xycoords=("axes fraction", "data"), xytext=(4, 0), textcoords="offset points", va="center",
        fontsize=8.0,
    )  # fmt: skip


def _name_rows(axes: Axes, labels: Sequence[str]) -> None:
    """Write a label before each row, the first on top."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.spines["left"].set_visible(False)
    draw_grid(axes, grid="x")


def _draw_bar(axes: Axes, row: float, parts: Sequence[float], *, height: float, alpha: float = 1.0) -> None:
    left = 0.0
    for part, colour in zip(parts, COLOURS, strict=True):
        axes.barh(row, part, left=left, height=height, color=colour, alpha=alpha, linewidth=0)
        left += part


def _draw_bar_key(figure: Figure, parts: Sequence[str], *, beside: bool) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=part) for part, colour in zip(parts, COLOURS, strict=True)]
    handles += [Patch(color=COLOURS[2], alpha=_PALE, label="paler: the paper’s")] if beside else []
    figure.legend(handles=handles, loc="outside upper left", ncols=5 if not beside else 3)


_STEMS_IN = 1.15
_STEMS_FRAME_IN = 0.55


@dataclass(frozen=True, slots=True)
class Stems:
    """The differences to one other policy, scenario by scenario."""

    policy: str
    title: str
    differences: tuple[float, ...]


def scene_plot(name: str, panels: Sequence[Stems], *, ours: str, axes: tuple[str, str]) -> Drawing:
    """Return a panel for each policy that ``ours`` is compared with; below zero, ours has less."""

    def draw(figure: Figure) -> None:
        grid = figure.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False)
        for panel, plane in zip(panels, grid[:, 0], strict=True):
            _draw_stems(plane, panel, ours)
        grid[-1, 0].set_xlabel(axes[0])
        figure.supylabel(axes[1], fontsize=8.5)

    return drawing(name, height_in=_STEMS_FRAME_IN + _STEMS_IN * len(panels), draw=draw)


def _draw_stems(plane: Axes, panel: Stems, ours: str) -> None:
    values = np.sort(np.array(panel.differences))
    places = np.arange(1, len(values) + 1)
    width = 1.6 if len(values) <= 60 else 0.8
    for mask, policy in ((values < 0, ours), (values > 0, panel.policy)):
        colour = style_of(policy).colour
        plane.vlines(places[mask], 0.0, values[mask], color=colour, linewidth=width)
        if len(values) <= 60:
            plane.plot(places[mask], values[mask], style_of(policy).marker, color=colour, markersize=2.8)
    plane.axhline(0.0, color=INK, linewidth=0.8)
    plane.axhline(float(values.mean()), color=INK, linewidth=0.8, linestyle=(0, (3, 2)))
    plane.set_title(panel.title, loc="left", fontweight="bold")
    plane.margins(x=0.02)
    draw_grid(plane, grid="y")


LINEAR_WITHIN = 0.01
"""Differences smaller than this are drawn to a linear scale."""
_DOT_IN = 0.23
_DOTS_PANEL_IN = 0.34
_DOTS_FRAME_IN = 0.75
_LINE_IN = 0.14
_CHARACTERS = 52
"""That a label and a title beside it have room for together."""
_PAPER_MARKER: dict[str, Any] = {"markeredgecolor": INK, "markerfacecolor": PAPER, "markersize": 8.5}


@dataclass(frozen=True, slots=True)
class Dot:
    """One row: a value, an interval around it where there is one, what the paper has where it says."""

    policy: str
    label: str
    value: float
    text: str
    """The value as it is written at the end of the row."""
    low: float | None = None
    high: float | None = None
    paper: float | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """Rows under one title, on the scale that all panels share, or on an axis of their own."""

    title: str
    dots: tuple[Dot, ...]
    axis: str = ""


def dot_plot(name: str, panels: Sequence[Panel], *, axis: str, differences: bool = False) -> Drawing:
    """Return rows of dots, panel below panel; ``differences`` are drawn around zero, logarithmic far from it.

    Where panels have axes of their own, they share no scale, and ``axis`` is not shown.
    """
    rows = [len(panel.dots) for panel in panels]
    own_axes = any(panel.axis for panel in panels)
    gaps = sum(bool(panel.title or panel.axis) for panel in panels)
    more_lines = sum(_wrapped_title(panel).count("\n") for panel in panels)
    height = _DOTS_FRAME_IN + _DOT_IN * sum(rows) + _DOTS_PANEL_IN * gaps + _LINE_IN * more_lines

    def draw(figure: Figure) -> None:
        grid = figure.subplots(len(panels), 1, sharex=not own_axes, squeeze=False, gridspec_kw={"height_ratios": rows})
        for panel, axes in zip(panels, grid[:, 0], strict=True):
            _draw_dots(axes, panel, differences=differences)
            axes.set_xlabel(panel.axis)
        grid[-1, 0].set_xlabel(panels[-1].axis or axis)
        dots = [dot for panel in panels for dot in panel.dots]
        if any(dot.paper is not None for dot in dots):
            _draw_dot_key(figure, intervals=any(dot.low is not None for dot in dots))

    return drawing(name, height_in=height, draw=draw)


def _draw_dots(axes: Axes, panel: Panel, *, differences: bool) -> None:
    axes.set_title(_wrapped_title(panel), loc="left", fontweight="bold")
    for row, dot in enumerate(panel.dots):
        style = style_of(dot.policy)
        if dot.low is not None and dot.high is not None and math.isfinite(dot.high - dot.low):
            axes.plot([dot.low, dot.high], [row, row], color=style.colour, linewidth=1.6, solid_capstyle="round")
        axes.plot([dot.value], [row], style.marker, color=style.colour, markersize=5.5, clip_on=False)
        if dot.paper is not None:
            # Below ours and larger, so that it shows as a ring where the two agree.
            axes.plot([dot.paper], [row], "o", **_PAPER_MARKER, zorder=1.9, clip_on=False)
        _end_row(axes, row, dot.text)
    if differences:
        axes.axvline(0.0, color=INK, linewidth=0.8, zorder=1)
        axes.set_xscale("symlog", linthresh=LINEAR_WITHIN)
        axes.margins(x=0.07)
        axes.set_xticks(_ticks(panel), [f"{tick:g}".replace("-", "−") for tick in _ticks(panel)])
        axes.minorticks_off()
    _name_rows(axes, [dot.label for dot in panel.dots])


def _wrapped_title(panel: Panel) -> str:
    """Return a panel's title on as many lines as it takes beside the labels."""
    return fill(panel.title, max(12, _CHARACTERS - max(len(dot.label) for dot in panel.dots)))


def _ticks(panel: Panel) -> list[float]:
    """Return zero and the powers of ten on both sides that hold a dot: at most two a side, or labels would meet."""
    ends = [end for dot in panel.dots for end in (dot.value, dot.low, dot.high) if end is not None]
    sides = []
    for sign in (-1.0, 1.0):
        largest = max([sign * end for end in ends])
        powers = [10.0**k for k in range(-2, 10) if 10.0**k <= largest]
        sides += [sign * power for power in (powers[-3::2] if len(powers) > 2 else powers[-1:])]
    return sorted([0.0, *sides])


def _draw_dot_key(figure: Figure, *, intervals: bool) -> None:
    from matplotlib.lines import Line2D

    ours = Line2D([], [], marker="o", color=INK, markersize=5, linewidth=1.6 if intervals else 0.0)
    paper = Line2D([], [], marker="o", linestyle="none", **_PAPER_MARKER)
    labels = ["ours, 95 % interval" if intervals else "ours", "paper"]
    figure.legend([ours, paper], labels, loc="outside upper right", ncols=2)


_HEIGHT_IN = 3.0
_KEY_ROW_IN = 0.17
_WIDEST_LABEL = 26
"""Characters of a label that leaves room for another beside it."""
Dashes = str | tuple[int, tuple[float, ...]]
_DASHES: tuple[Dashes, ...] = ("solid", (0, (5, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)))


@dataclass(frozen=True, slots=True)
class Line:
    """Points joined by a line, an interval or certified bounds at each where there are any, and the paper's points."""

    policy: str
    label: str
    points: tuple[tuple[float, float], ...]
    bounds: tuple[tuple[float, float, float], ...] = ()
    """Position, lower and upper end."""
    paper: tuple[tuple[float, float], ...] = ()
    stepped: bool = False
    """It is a distribution function: level between points, and without markers."""


def curve_plot(
    name: str, curves: Sequence[Line], *, axes: tuple[str, str], log: bool = False, whole: bool = False,
    ticks: Sequence[float] = (),
) -> Drawing:  # fmt: skip
    """Return lines over a common axis (logarithmic with ``log``, counted in whole numbers with ``whole``)."""
    key_columns = 2 if max(len(curve.label) for curve in curves) <= _WIDEST_LABEL else 1
    key_rows = math.ceil((len(curves) + any(curve.paper for curve in curves)) / key_columns)

    def draw(figure: Figure) -> None:
        from matplotlib.ticker import MaxNLocator

        plane = figure.subplots()
        lines = [
            _draw_curve(plane, curve, dashes=_DASHES[number % len(_DASHES)]) for number, curve in enumerate(curves)
        ]
        plane.set_xlabel(axes[0])
        plane.set_ylabel(axes[1])
        if log:
            plane.set_xscale("log")
            plane.xaxis.set_major_formatter(lambda value, _: f"{value:g}")  # powers of ten would be mathematics
            plane.minorticks_off()
        if ticks:
            plane.set_xticks(ticks)
        elif whole:
            plane.xaxis.set_major_locator(MaxNLocator(integer=True))
        draw_grid(plane, grid="both")
        _draw_curve_key(figure, curves, lines, columns=key_columns)

    return drawing(name, height_in=_HEIGHT_IN + _KEY_ROW_IN * key_rows, draw=draw)


def _draw_curve(plane: Axes, curve: Line, *, dashes: Dashes) -> Line2D:
    """Draw a curve, and return its line for the key."""
    style = style_of(curve.policy)
    (line,) = plane.plot(
        *zip(*curve.points, strict=True), color=style.colour, linestyle=dashes,
        linewidth=1.6 if curve.stepped else 1.4, marker="" if curve.stepped else style.marker, markersize=5,
        drawstyle="steps-post" if curve.stepped else "default",
    )  # fmt: skip
    if curve.bounds:
        positions, lows, highs = zip(*curve.bounds, strict=True)
        plane.fill_between(positions, lows, highs, color=style.colour, alpha=0.18, linewidth=0)
    if curve.paper:
        paper_xs, paper_ys = zip(*curve.paper, strict=True)
        plane.plot(
            paper_xs, paper_ys, style.marker, markeredgecolor=style.colour, markerfacecolor=PAPER, markersize=8,
            zorder=1.9, linestyle="none",
        )  # fmt: skip
    return line


def _draw_curve_key(figure: Figure, curves: Sequence[Line], lines: Sequence[Line2D], *, columns: int) -> None:
    from matplotlib.lines import Line2D

    # Handed over, not looked up: matplotlib would pass over a name that begins with an underscore.
    handles, labels = list(lines), [curve.label for curve in curves]
    if any(curve.paper for curve in curves):
        handles.append(Line2D([], [], marker="o", markeredgecolor=INK, markerfacecolor=PAPER, linestyle="none"))
        labels.append("paper (hollow)")
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)
