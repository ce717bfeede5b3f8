"""Settings that form a ladder, such as ``3 cups``, ``4 cups``: what is drawn against the level."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from aquamend_lab.analysis.figures import Line, curve_plot
from aquamend_lab.analysis.report.document import Figure
from aquamend_lab.analysis.report.plots import label_of, mean_dots
from aquamend_lab.analysis.summary import Summary
from aquamend_lab.analysis.table import OURS

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Level:
    """One rung: what is varied, and how much of it there is."""

    axis: str
    amount: float


def level_of(summary: Summary) -> Level | None:
    """Return the level that a group names: one setting, with one number in it; else nothing."""
    values = list(summary.group.values())
    if len(values) != 1 or not isinstance(values[0], str):
        return None
    numbers = _NUMBER.findall(values[0])
    return Level(_NUMBER.sub("", values[0]).strip(), float(numbers[0])) if len(numbers) == 1 else None


def ladders(summaries: Sequence[Summary]) -> dict[str, list[Summary]]:
    """Return the summaries of every axis with three levels or more, each from low to high."""
    found: dict[str, list[tuple[float, Summary]]] = {}
    for summary in summaries:
        if level := level_of(summary):
            found.setdefault(level.axis, []).append((level.amount, summary))
    return {
        axis: [summary for _, summary in sorted(rungs, key=lambda rung: rung[0])]
        for axis, rungs in found.items()
        if len({amount for amount, _ in rungs}) > 2
    }


def sweep_figures(name: str, summaries: Sequence[Summary]) -> list[Figure]:
    """Return mean loss against the level, a drawing a ladder, and dots for other settings; nothing without ladders."""
    found = ladders(summaries)
    if not found:
        return []
    on_ladders = [id(summary) for rungs in found.values() for summary in rungs]
    others = [summary for summary in summaries if id(summary) not in on_ladders]
    drawn = [_against_level(f"{name}-{number}", axis, rungs) for number, (axis, rungs) in enumerate(found.items(), 1)]
    dots = mean_dots(f"{name}-others", others, None) if others else None
    return [*(figure for figure in drawn if figure), *([dots] if dots else [])]


def _against_level(name: str, axis: str, rungs: Sequence[Summary]) -> Figure | None:
    curves = [_curve(policy, rungs) for policy in dict.fromkeys(rung.policy for rung in rungs)]
    kept = [curve for curve in curves if curve.points]
    if not kept:
        return None
    levels = sorted({level.amount for rung in rungs if (level := level_of(rung))})
    wide = levels[-1] >= 10 * levels[0] > 0
    drawn = curve_plot(name, kept, axes=(axis, "mean realised loss"), log=wide, ticks=levels)
    shaded = [f"; shaded: the 95 % interval of {curve.label}" for curve in kept if curve.bounds]
    caption = f"Mean realised loss against the level of “{axis}”{''.join(shaded)}."
    return Figure(name, caption, drawn)


def _curve(policy: str, rungs: Sequence[Summary]) -> Line:
    points, bounds = [], []
    for rung in rungs:
        level, loss = level_of(rung), rung["mean_loss"]
        if rung.policy != policy or level is None or loss is None or not math.isfinite(loss):
            continue
        points.append((level.amount, loss))
        if policy == OURS and (ends := rung.interval("mean_loss")):  # those of all would cover each other
            bounds.append((level.amount, *ends))
    return Line(policy, label_of(policy), tuple(points), tuple(bounds))
