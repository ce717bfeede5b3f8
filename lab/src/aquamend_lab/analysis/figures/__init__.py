"""Drawings of a report: readable on a phone, safe for the colour-blind, the same bytes for the same numbers."""

from aquamend_lab.analysis.figures.bars import Bar, Stems, bar_plot, scene_plot
from aquamend_lab.analysis.figures.curves import Line, curve_plot
from aquamend_lab.analysis.figures.dots import Dot, Panel, dot_plot
from aquamend_lab.analysis.figures.drawing import Drawing, require_matplotlib

__all__ = [
    "Bar",
    "Dot",
    "Drawing",
    "Line",
    "Panel",
    "Stems",
    "bar_plot",
    "curve_plot",
    "dot_plot",
    "require_matplotlib",
    "scene_plot",
]
