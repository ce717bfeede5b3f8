"""Drawings of a report: readable on a phone, safe for the colour-blind, the same bytes for the same numbers."""

from aquamend.analysis.figures.curves import Curve, curve_plot
from aquamend.analysis.figures.dots import Dot, Panel, dot_plot
from aquamend.analysis.figures.drawing import Drawing, require_matplotlib

__all__ = [
    "Curve",
    "Dot",
    "Drawing",
    "Panel",
    "curve_plot",
    "dot_plot",
    "require_matplotlib",
]
