"""A line a policy: risk against size, or how a gap is distributed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aquamend.analysis.figures.appearance import INK, PAPER, look_of
from aquamend.analysis.figures.drawing import Drawing, drawing, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT_IN = 3.0
_KEY_ROW_IN = 0.17
Dashes = str | tuple[int, tuple[float, ...]]
_DASHES: tuple[Dashes, ...] = ("solid", (0, (5, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)))


@dataclass(frozen=True, slots=True)
class Curve:
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
    name: str, curves: Sequence[Curve], *, axes: tuple[str, str], log: bool = False, whole: bool = False
) -> Drawing:
    """Return lines over a common axis (logarithmic with ``log``, counted in whole numbers with ``whole``)."""
    key_rows = math.ceil((len(curves) + any(curve.paper for curve in curves)) / 2)

    def draw(figure: Figure) -> None:
        from matplotlib.ticker import MaxNLocator

        plane = figure.subplots()
        for number, curve in enumerate(curves):
            _draw_curve(plane, curve, dashes=_DASHES[number % len(_DASHES)])
        plane.set_xlabel(axes[0])
        plane.set_ylabel(axes[1])
        if log:
            plane.set_xscale("log")
        if whole:
            plane.xaxis.set_major_locator(MaxNLocator(integer=True))
        tidy(plane, grid="both")
        _draw_key(figure, curves)

    return drawing(name, height_in=_HEIGHT_IN + _KEY_ROW_IN * key_rows, draw=draw)


def _draw_curve(plane: Axes, curve: Curve, *, dashes: Dashes) -> None:
    look = look_of(curve.policy)
    xs, ys = zip(*curve.points, strict=True)
    if curve.stepped:
        plane.step(xs, ys, where="post", color=look.colour, linewidth=1.6, linestyle=dashes, label=curve.label)
    else:
        plane.plot(
            xs, ys, marker=look.marker, color=look.colour, linewidth=1.4, markersize=5, linestyle=dashes,
            label=curve.label,
        )  # fmt: skip
    if curve.bounds:
        positions, lows, highs = zip(*curve.bounds, strict=True)
        plane.fill_between(positions, lows, highs, color=look.colour, alpha=0.18, linewidth=0)
    if curve.paper:
        paper_xs, paper_ys = zip(*curve.paper, strict=True)
        plane.plot(
            paper_xs, paper_ys, look.marker, markeredgecolor=look.colour, markerfacecolor=PAPER, markersize=8,
            zorder=1.9, linestyle="none",
        )  # fmt: skip


def _draw_key(figure: Figure, curves: Sequence[Curve]) -> None:
    from matplotlib.lines import Line2D

    handles, labels = figure.axes[0].get_legend_handles_labels()
    if any(curve.paper for curve in curves):
        handles.append(Line2D([], [], marker="o", markeredgecolor=INK, markerfacecolor=PAPER, linestyle="none"))
        labels.append("paper (hollow)")
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
