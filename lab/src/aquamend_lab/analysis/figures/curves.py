"""A line for each policy: risk against size, or how a gap is distributed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aquamend_lab.analysis.figures.appearance import INK, PAPER, style_of
from aquamend_lab.analysis.figures.drawing import Drawing, draw_grid, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

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
    key_columns = _key_columns(curves)
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
        _draw_key(figure, curves, lines, columns=key_columns)

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


def _key_columns(curves: Sequence[Line]) -> int:
    return 2 if max(len(curve.label) for curve in curves) <= _WIDEST_LABEL else 1


def _draw_key(figure: Figure, curves: Sequence[Line], lines: Sequence[Line2D], *, columns: int) -> None:
    from matplotlib.lines import Line2D

    # Handed over, not looked up: matplotlib would pass over a name that begins with an underscore.
    handles, labels = list(lines), [curve.label for curve in curves]
    if any(curve.paper for curve in curves):
        handles.append(Line2D([], [], marker="o", markeredgecolor=INK, markerfacecolor=PAPER, linestyle="none"))
        labels.append("paper (hollow)")
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)
