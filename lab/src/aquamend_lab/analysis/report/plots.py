"""Which drawings a suite gets, and what is in them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aquamend.arrays import Floats
from aquamend.learning.estimates import DECIMALS, difference, rounded
from aquamend_lab.analysis.charts import Bar, Dot, Line, Panel, Stems, bar_plot, curve_plot, dot_plot, scene_plot
from aquamend_lab.analysis.comparison import Comparison
from aquamend_lab.analysis.metrics import COMPARABLE, METRICS, Summary
from aquamend_lab.analysis.paper import PaperTable
from aquamend_lab.analysis.report.document import Figure, as_form, decimal, policy_name, share, signed
from aquamend_lab.analysis.report.tables import acted_out, leading, ordered, share_of
from aquamend_lab.analysis.table import CHARGES, OURS, RunTable, group_name, knows_the_truth

SMALLEST_GAP = 1e-3
"""Where the logarithmic axis of a distribution of gaps begins."""

LONGEST_LABEL = 30
"""Characters of a name in a drawing."""

_CERTIFYING = ("certified", "exact")
"""Policies that search until their bounds meet; the others carry bounds too, but wide ones."""


def mean_dots(name: str, summaries: Sequence[Summary], paper: PaperTable | None) -> Figure | None:
    """Return the metric that says most about a suite, policy by policy, group below group.

    Of episodes without groups, success stands below the loss.
    """
    key = leading(summaries)
    if acted_out(summaries) and not any(summary.group for summary in summaries):
        return _loss_and_success(name, summaries, paper)
    panels: dict[str, list[Dot]] = {}
    for summary in ordered(summaries):
        if dot := _dot(summary, key, paper):
            panels.setdefault(_panel_title(summary), []).append(dot)
    if not panels:
        return None
    percent = " (%)" if METRICS[key].form == "percentage" else ""
    axis = f"{'' if percent else 'mean '}{METRICS[key].title}{percent}"
    drawn = dot_plot(name, [Panel(title, tuple(dots)) for title, dots in panels.items()], axis=axis)
    every = [dot for dots in panels.values() for dot in dots]
    return Figure(name, f"{axis.capitalize()}{_with_what(every)}.", drawn)


def _panel_title(summary: Summary) -> str:
    """Return the name of a group; of one that is a text by itself, that text."""
    match list(summary.group.values()):
        case []:
            return ""
        case [str(text)]:
            return text
        case _:
            return group_name(summary.group)


def _loss_and_success(name: str, summaries: Sequence[Summary], paper: PaperTable | None) -> Figure | None:
    panels = []
    for key in ("mean_loss", "success"):
        dots = [dot for summary in ordered(summaries) if (dot := _dot(summary, key, paper))]
        if dots:
            panels.append(Panel("", tuple(dots), axis=f"mean {METRICS[key].title}"))
    if not panels:
        return None
    drawn = dot_plot(name, panels, axis="")
    every = [dot for panel in panels for dot in panel.dots]
    what = " and ".join(panel.axis.removeprefix("mean ") for panel in panels)
    return Figure(name, f"Mean {what}{_with_what(every, intervals='their 95 % intervals')}.", drawn)


def _with_what(dots: Sequence[Dot], *, intervals: str = "its 95 % interval") -> str:
    bars = f" with {intervals}" if any(dot.low is not None for dot in dots) else ""
    beside = "; hollow: the paper’s value" if any(dot.paper is not None for dot in dots) else ""
    return bars + beside


def _dot(summary: Summary, key: str, paper: PaperTable | None) -> Dot | None:
    """Return a summary's row; nothing where there is no place for it on an axis. Fractions are drawn as percentages."""
    row = paper.row(summary.policy, summary.group) if paper else None
    mean, printed = summary[key], row.get(key) if row else None
    if mean is None or not math.isfinite(mean):
        return None
    ends, form = summary.interval(key), METRICS[key].form
    scale = 100.0 if form == "percentage" else 1.0
    low, high = (scale * end for end in ends) if ends else (None, None)
    theirs = None if printed is None else scale * printed
    label = label_of(summary.policy) + share_of(summary)
    return Dot(summary.policy, label, scale * mean, as_form(mean, form), low, high, theirs)


def label_of(policy: str) -> str:
    """Return a policy's name, cut where it would leave no room for the drawing."""
    name = policy_name(policy)
    return name if len(name) <= LONGEST_LABEL else f"{name[: LONGEST_LABEL - 1]}…"


def difference_dots(name: str, found: Sequence[Comparison]) -> Figure | None:
    """Return the mean paired difference of one policy to every other, with its interval: as the table has it."""
    dots = [
        Dot(one.second, label_of(one.second), one.mean_difference, signed(one.mean_difference, decimals=4),
            one.interval.low, one.interval.high)
        for one in found
        if one.mean_difference is not None and one.interval is not None and math.isfinite(one.mean_difference)
    ]  # fmt: skip
    if not dots:
        return None
    first, measure = policy_name(found[0].first), COMPARABLE[found[0].metric].of_one
    shown = tuple(sorted(dots, key=lambda dot: -dot.value))
    drawn = dot_plot(name, [Panel("", shown)], axis=f"{measure}: {first} minus the other", differences=True)
    caption = (
        f"Mean {measure} of {first} minus that of the other policy on the same scenarios, with its 95 % paired "
        f"interval. Left of zero, {first} is better. The axis is linear within ±0.01 and logarithmic beyond."
    )
    return Figure(name, caption, drawn)


def risk_by_size(name: str, summaries: Sequence[Summary], table: RunTable, paper: PaperTable | None) -> Figure | None:
    """Return expected risk against the one number that groups differ in; nothing where they differ otherwise."""
    keys = list(dict.fromkeys(tuple(summary.group) for summary in summaries))
    if len(keys) != 1 or len(keys[0]) != 1 or len(table.distinct_groups) < 2:
        return None
    key = keys[0][0]
    if not all(isinstance(s.group[key], int | float) for s in summaries):
        return None
    curves = [_by_size(policy, key, summaries, table, paper) for policy in table.policies]
    kept = [curve for curve in curves if curve.points]
    if not kept:
        return None
    drawn = curve_plot(name, kept, axes=(key, "mean expected risk"), whole=True)
    extra = "; hollow: the paper’s" if any(curve.paper for curve in kept) else ""
    extra += "; shaded: mean certified bounds" if any(curve.bounds for curve in kept) else ""
    return Figure(name, f"Mean expected risk against {key}{extra}.", drawn)


def _by_size(policy: str, key: str, summaries: Sequence[Summary], table: RunTable, paper: PaperTable | None) -> Line:
    own = [(float(s.group[key]), s) for s in summaries if s.policy == policy]
    printed = [(size, paper.row(policy, s.group) if paper else None) for size, s in own]
    points = tuple((size, risk) for size, s in own if (risk := s["expected_risk"]) is not None)
    hollow = tuple((size, risk) for size, row in printed if row and (risk := row.get("expected_risk")) is not None)
    return Line(policy, label_of(policy), points, _certified(policy, key, table), hollow)


def _certified(policy: str, key: str, table: RunTable) -> tuple[tuple[float, float, float], ...]:
    """Return the mean certified bounds by group; nothing where they meet, or for a policy that does not aim at them."""
    if policy not in _CERTIFYING:
        return ()
    column = table.policies.index(policy)
    lower, upper = table.column("lower")[:, column], table.column("upper")[:, column]
    found = []
    for group in table.distinct_groups:
        rows = table.members(group)
        if not np.isnan(lower[rows] + upper[rows]).any():
            found.append((float(group[key]), float(lower[rows].mean()), float(upper[rows].mean())))
    return tuple(found) if any(round(high - low, DECIMALS) > 0.0 for _, low, high in found) else ()


def gap_distribution(name: str, table: RunTable) -> Figure | None:
    """Return the share of scenarios on which each policy's expected risk is within a gap of ``exact``."""
    if "exact" not in table.policies:
        return None
    risks = table.column("expected_risk")
    exact = risks[:, table.policies.index("exact")]
    gaps = {
        policy: rounded(difference(risks[:, column], exact))[np.isfinite(exact) & ~np.isnan(risks[:, column])]
        for column, policy in enumerate(table.policies)
        if policy != "exact" and not knows_the_truth(policy)
    }
    gaps = {policy: found for policy, found in gaps.items() if found.size}
    largest = max((float(g.max(initial=0.0, where=np.isfinite(g))) for g in gaps.values()), default=0.0)
    curves = [_distribution(policy, found, end=max(largest, 10 * SMALLEST_GAP)) for policy, found in gaps.items()]
    if not curves:
        return None
    drawn = curve_plot(
        name, curves, axes=("gap to exact in expected risk (log scale)", "share of scenarios within it"), log=True
    )
    caption = (
        "Share of scenarios on which a policy’s expected risk is within a gap of Exact adaptive’s; "
        "in brackets, the share with no gap at all."
    )
    return Figure(name, caption, drawn)


def _distribution(policy: str, gaps: Floats, *, end: float) -> Line:
    sizes = np.sort(np.maximum(gaps, 0.0))
    at = np.concatenate([[SMALLEST_GAP], sizes[(sizes > SMALLEST_GAP) & (sizes < end)], [end]])
    within = np.searchsorted(sizes, at, side="right") / sizes.size
    none = float((sizes == 0.0).mean())
    points = tuple(zip(at.tolist(), within.tolist(), strict=True))
    return Line(policy, f"{label_of(policy)} ({share(none, decimals=0)})", _thinned(points), stepped=True)


def _thinned(points: tuple[tuple[float, float], ...], most: int = 300) -> tuple[tuple[float, float], ...]:
    """Return about ``most`` of the points, the ends among them: more cannot be seen, and would swell the page."""
    chosen = np.unique(np.linspace(0, len(points) - 1, min(most, len(points))).round().astype(int))
    return tuple(points[i] for i in chosen.tolist())


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


MOST_PANELS = 5
MOST_SCENES = 400
"""Beyond this many scenarios a stem for each is a blur."""


def loss_bars(name: str, summaries: Sequence[Summary], paper: PaperTable | None) -> Figure | None:
    """Return every policy's mean loss as a bar of its parts, the paper's below; nothing where parts are unknown."""
    bars = [bar for summary in ordered(summaries) if (bar := _bar(summary, paper))]
    if not bars or any(summary.group for summary in summaries):
        return None
    drawn = bar_plot(name, bars, parts=CHARGES, axis="mean realised loss")
    beside = "; paler, below: the paper’s" if any(bar.paper for bar in bars) else ""
    return Figure(name, f"What the mean realised loss is made of{beside}.", drawn)


def _bar(summary: Summary, paper: PaperTable | None) -> Bar | None:
    parts = [value for key in CHARGES if (value := summary[key]) is not None and math.isfinite(value)]
    row = paper.row(summary.policy, summary.group) if paper else None
    theirs = [value for key in CHARGES if row and (value := row.get(key)) is not None]
    if len(parts) != len(CHARGES):
        return None
    printed = tuple(theirs) if len(theirs) == len(CHARGES) else ()
    return Bar(label_of(summary.policy), tuple(parts), decimal(math.fsum(parts), decimals=1), printed)


def scene_stems(name: str, found: Sequence[Comparison], table: RunTable) -> Figure | None:
    """Return the differences of the reference to others on every scenario; of the paper's family first, five at most.

    Nothing where there are too many scenarios to see, or hardly any that differ.
    """
    telling = [one for one in found if one.wins + one.losses > 0][:MOST_PANELS]
    if not telling or not 2 <= telling[0].pairs <= MOST_SCENES:
        return None
    rivals = [one.policies[1] for one in telling]
    apart = [_differences(one, table) for one in telling]
    panels = [Stems(rival, f"against {label_of(rival)}", each) for rival, each in zip(rivals, apart, strict=True)]
    first, measure = policy_name(found[0].first), COMPARABLE[found[0].metric].of_one
    drawn = scene_plot(
        name, panels, ours=found[0].policies[0], axes=("scenarios, from the best for it to the worst", f"Δ {measure}")
    )
    caption = (
        f"{measure.capitalize()} of {first} minus that of the other policy, one stem for each scenario; dashed: the "
        f"mean. Below zero, {first} is better."
    )
    return Figure(name, caption, drawn)


def _differences(one: Comparison, table: RunTable) -> tuple[float, ...]:
    values = table.column(one.metric)
    first, second = (values[:, table.policies.index(policy)] for policy in one.policies)
    apart = difference(first, second)
    return tuple(value for value in apart.tolist() if math.isfinite(value))
