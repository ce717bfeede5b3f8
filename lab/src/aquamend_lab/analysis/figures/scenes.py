"""One policy against others, scenario by scenario: a stem for each, from the best for it to the worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aquamend_lab.analysis.figures.appearance import INK, look_of
from aquamend_lab.analysis.figures.drawing import Drawing, drawing, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL_IN = 1.15
_FRAME_IN = 0.55


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

    return drawing(name, height_in=_FRAME_IN + _PANEL_IN * len(panels), draw=draw)


def _draw_panel(plane: Axes, panel: Stems, ours: str) -> None:
    values = np.sort(np.array(panel.differences))
    places = np.arange(1, len(values) + 1)
    width = 1.6 if len(values) <= 60 else 0.8
    for mask, policy in ((values < 0, ours), (values > 0, panel.policy)):
        colour = look_of(policy).colour
        plane.vlines(places[mask], 0.0, values[mask], color=colour, linewidth=width)
        if len(values) <= 60:
            plane.plot(places[mask], values[mask], look_of(policy).marker, color=colour, markersize=2.8)
    plane.axhline(0.0, color=INK, linewidth=0.8)
    plane.axhline(float(values.mean()), color=INK, linewidth=0.8, linestyle=(0, (3, 2)))
    plane.set_title(panel.title, loc="left", fontweight="bold")
    plane.margins(x=0.02)
    tidy(plane, grid="y")
