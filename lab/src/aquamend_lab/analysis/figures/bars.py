"""Bars of what a loss is made of, and a stem for each scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aquamend_lab.analysis.figures.appearance import INK, style_of
from aquamend_lab.analysis.figures.drawing import Drawing, draw_grid, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# After Okabe and Ito, and Tol: told apart by the colour-blind, and in grey.
COLOURS = ("#0077bb", "#e69f00", "#9aa0a6", "#9a3fb0")
_ROW_IN = 0.33
_FRAME_IN = 0.95
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
            axes.annotate(
                bar.text, (1.0, row), xycoords=("axes fraction", "data"), xytext=(4, 0), textcoords="offset points",
                va="center", fontsize=8.0,
            )  # fmt: skip
        axes.set_yticks(range(len(bars)), [bar.label for bar in bars])
        axes.set_ylim(len(bars) - 0.4, -0.6)
        axes.set_xlabel(axis)
        axes.spines["left"].set_visible(False)
        draw_grid(axes, grid="x")
        _draw_key(figure, parts, beside=any(bar.paper for bar in bars))

    return drawing(name, height_in=_FRAME_IN + _ROW_IN * len(bars), draw=draw)


def _draw_bar(axes: Axes, row: float, parts: Sequence[float], *, height: float, alpha: float = 1.0) -> None:
    left = 0.0
    for part, colour in zip(parts, COLOURS, strict=True):
        axes.barh(row, part, left=left, height=height, color=colour, alpha=alpha, linewidth=0)
        left += part


def _draw_key(figure: Figure, parts: Sequence[str], *, beside: bool) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=part) for part, colour in zip(parts, COLOURS, strict=True)]
    handles += [Patch(color=COLOURS[2], alpha=_PALE, label="paler: the paper’s")] if beside else []
    figure.legend(handles=handles, loc="outside upper left", ncols=5 if not beside else 3)


_PANEL_IN = 1.15
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
            _draw_panel(plane, panel, ours)
        grid[-1, 0].set_xlabel(axes[0])
        figure.supylabel(axes[1], fontsize=8.5)

    return drawing(name, height_in=_STEMS_FRAME_IN + _PANEL_IN * len(panels), draw=draw)


def _draw_panel(plane: Axes, panel: Stems, ours: str) -> None:
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
