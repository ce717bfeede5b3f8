"""A dot and an interval a policy, with the paper's value as a hollow dot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

from aquamend_lab.analysis.figures.appearance import INK, PAPER, style_of
from aquamend_lab.analysis.figures.drawing import Drawing, draw_grid, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINEAR_WITHIN = 0.01
"""Differences smaller than this are drawn to a linear scale."""
_ROW_IN = 0.23
_PANEL_IN = 0.34
_FRAME_IN = 0.75
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
    more_lines = sum(_title(panel).count("\n") for panel in panels)
    height = _FRAME_IN + _ROW_IN * sum(rows) + _PANEL_IN * gaps + _LINE_IN * more_lines

    def draw(figure: Figure) -> None:
        grid = figure.subplots(len(panels), 1, sharex=not own_axes, squeeze=False, gridspec_kw={"height_ratios": rows})
        for panel, axes in zip(panels, grid[:, 0], strict=True):
            _draw_panel(axes, panel, differences=differences)
            axes.set_xlabel(panel.axis)
        grid[-1, 0].set_xlabel(panels[-1].axis or axis)
        dots = [dot for panel in panels for dot in panel.dots]
        if any(dot.paper is not None for dot in dots):
            _draw_key(figure, intervals=any(dot.low is not None for dot in dots))

    return drawing(name, height_in=height, draw=draw)


def _draw_panel(axes: Axes, panel: Panel, *, differences: bool) -> None:
    axes.set_title(_title(panel), loc="left", fontweight="bold")
    for row, dot in enumerate(panel.dots):
        style = style_of(dot.policy)
        if dot.low is not None and dot.high is not None and math.isfinite(dot.high - dot.low):
            axes.plot([dot.low, dot.high], [row, row], color=style.colour, linewidth=1.6, solid_capstyle="round")
        axes.plot([dot.value], [row], style.marker, color=style.colour, markersize=5.5, clip_on=False)
        if dot.paper is not None:
            # Below ours and larger, so that it shows as a ring where the two agree.
            axes.plot([dot.paper], [row], "o", **_PAPER_MARKER, zorder=1.9, clip_on=False)
        axes.annotate(
            dot.text, (1.0, row), xycoords=("axes fraction", "data"), xytext=(4, 0), textcoords="offset points",
            va="center", fontsize=8.0,
        )  # fmt: skip
    if differences:
        axes.axvline(0.0, color=INK, linewidth=0.8, zorder=1)
        axes.set_xscale("symlog", linthresh=LINEAR_WITHIN)
        axes.margins(x=0.07)
        axes.set_xticks(_ticks(panel), [f"{tick:g}".replace("-", "−") for tick in _ticks(panel)])
        axes.minorticks_off()
    axes.set_yticks(range(len(panel.dots)), [dot.label for dot in panel.dots])
    axes.set_ylim(len(panel.dots) - 0.4, -0.6)
    axes.spines["left"].set_visible(False)
    draw_grid(axes, grid="x")


def _title(panel: Panel) -> str:
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


def _draw_key(figure: Figure, *, intervals: bool) -> None:
    from matplotlib.lines import Line2D

    ours = Line2D([], [], marker="o", color=INK, markersize=5, linewidth=1.6 if intervals else 0.0)
    paper = Line2D([], [], marker="o", linestyle="none", **_PAPER_MARKER)
    labels = ["ours, 95 % interval" if intervals else "ours", "paper"]
    figure.legend([ours, paper], labels, loc="outside upper right", ncols=2)
