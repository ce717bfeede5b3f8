"""Which drawings a suite gets, and what is in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from aquamend.analysis.comparison import Comparison
from aquamend.analysis.figures import Curve, Dot, Panel, curve_plot, dot_plot
from aquamend.analysis.paper import PaperRow, PaperTable
from aquamend.analysis.report.document import Figure
from aquamend.analysis.report.grid import Grid
from aquamend.analysis.report.names import OURS, group_name, knows_the_truth, policy_name
from aquamend.analysis.report.numbers import decimal, share, signed
from aquamend.analysis.summary import Summary

SMALLEST_GAP = 1e-3
"""Where the logarithmic axis of a distribution of gaps begins."""

_CERTIFYING = ("certified", "exact")
"""Policies that search until their bounds meet; the others carry bounds too, but wide ones."""

_Ends = tuple[float, float] | None


def loss_dots(name: str, summaries: Sequence[Summary], paper: PaperTable | None) -> Figure | None:
    """Return the mean realised loss of every policy (expected risk where nothing was realised), group below group."""
    if any(s.mean_loss is not None for s in summaries):
        return _dots(
            name, summaries, paper, "mean realised loss", lambda s: s.mean_loss, lambda s: s.mean_loss_interval,
            lambda p: p.loss, decimal,
        )  # fmt: skip
    return _dots(
        name, summaries, paper, "mean expected risk", lambda s: s.expected_risk, lambda s: s.expected_risk_interval,
        lambda p: p.expected_risk, decimal,
    )  # fmt: skip


def error_dots(name: str, summaries: Sequence[Summary], paper: PaperTable | None) -> Figure | None:
    """Return the normalised error of every estimator, group below group."""

    def percent(error: float | None) -> float | None:
        return None if error is None else 100 * error

    return _dots(
        name, summaries, paper, "normalised error (%)", lambda s: percent(s.normalised_error), lambda s: None,
        lambda p: percent(p.normalised_error), lambda value: f"{decimal(value, decimals=2)} %",
    )  # fmt: skip


def _dots(
    name: str,
    summaries: Sequence[Summary],
    paper: PaperTable | None,
    axis: str,
    value: Callable[[Summary], float | None],
    ends: Callable[[Summary], _Ends],
    printed: Callable[[PaperRow], float | None],
    shown: Callable[[float], str],
) -> Figure | None:
    groups: dict[str, list[Dot]] = {}
    ranked = summaries if any(s.group for s in summaries) else sorted(summaries, key=lambda s: value(s) or 0.0)
    for summary in ranked:
        mean, interval = value(summary), ends(summary)
        if mean is None or not math.isfinite(mean):
            continue
        row = paper.row(summary.policy, summary.group) if paper else None
        low, high = interval or (None, None)
        dot = Dot(
            summary.policy, policy_name(summary.policy), mean, shown(mean), low, high, printed(row) if row else None
        )
        groups.setdefault(group_name(summary.group), []).append(dot)
    if not groups:
        return None
    drawn = dot_plot(name, [Panel(title, tuple(dots)) for title, dots in groups.items()], axis=axis)
    beside = (
        "; hollow: the paper’s value" if any(dot.paper is not None for dots in groups.values() for dot in dots) else ""
    )
    bars = " with its 95 % interval" if any(dot.low is not None for dots in groups.values() for dot in dots) else ""
    return Figure(name, f"{axis.capitalize()}{bars}{beside}.", drawn.svg, drawn.png)


def difference_dots(name: str, found: Sequence[Comparison], *, measure: str) -> Figure | None:
    """Return the mean paired difference of AquaMend to every other policy, with its interval."""
    dots = [
        Dot(one.second, policy_name(one.second), -one.mean_difference, signed(-one.mean_difference, decimals=4),
            -one.interval.high, -one.interval.low)
        for one in found
        if one.mean_difference is not None and one.interval is not None and math.isfinite(one.mean_difference)
    ]  # fmt: skip
    if not dots:
        return None
    ordered = tuple(sorted(dots, key=lambda dot: dot.value))
    ours = policy_name(OURS)
    drawn = dot_plot(name, [Panel("", ordered)], axis=f"{measure} above {ours}’s", differences=True)
    caption = (
        f"Mean {measure} above {ours}’s on the same scenarios, with its 95 % paired interval. Right of zero, "
        f"{ours} is better. The axis is linear within ±0.01 and logarithmic beyond."
    )
    return Figure(name, caption, drawn.svg, drawn.png)


def risk_by_size(name: str, summaries: Sequence[Summary], grid: Grid, paper: PaperTable | None) -> Figure | None:
    """Return expected risk against the one number that groups differ in; nothing where they differ otherwise."""
    keys = list(dict.fromkeys(tuple(summary.group) for summary in summaries))
    if len(keys) != 1 or len(keys[0]) != 1 or len(grid.distinct_groups) < 2:
        return None
    key = keys[0][0]
    if not all(isinstance(s.group[key], int | float) for s in summaries):
        return None
    curves = [_by_size(policy, key, summaries, grid, paper) for policy in grid.policies]
    kept = [curve for curve in curves if curve.points]
    if not kept:
        return None
    drawn = curve_plot(name, kept, axes=(key, "mean expected risk"), whole=True)
    extra = "; hollow: the paper’s" if any(curve.paper for curve in kept) else ""
    extra += "; shaded: mean certified bounds" if any(curve.bounds for curve in kept) else ""
    return Figure(name, f"Mean expected risk against {key}{extra}.", drawn.svg, drawn.png)


def _by_size(policy: str, key: str, summaries: Sequence[Summary], grid: Grid, paper: PaperTable | None) -> Curve:
    own = [s for s in summaries if s.policy == policy and s.expected_risk is not None]
    points = tuple((float(s.group[key]), s.expected_risk) for s in own if s.expected_risk is not None)
    printed = [paper.row(policy, s.group) if paper else None for s in own]
    hollow = tuple(
        (float(s.group[key]), row.expected_risk)
        for s, row in zip(own, printed, strict=True)
        if row and row.expected_risk is not None
    )
    return Curve(policy, policy_name(policy), points, _certified(policy, key, grid), hollow)


def _certified(policy: str, key: str, grid: Grid) -> tuple[tuple[float, float, float], ...]:
    """Return the mean certified bounds by group; nothing where they meet, or for a policy that does not aim at them."""
    if policy not in _CERTIFYING:
        return ()
    column = grid.policies.index(policy)
    lower, upper = grid.values("lower")[:, column], grid.values("upper")[:, column]
    found = []
    for group in grid.distinct_groups:
        rows = grid.members(group)
        if not np.isnan(lower[rows] + upper[rows]).any():
            found.append((float(group[key]), float(lower[rows].mean()), float(upper[rows].mean())))
    return tuple(found) if any(high - low > 1e-9 for _, low, high in found) else ()


def gap_distribution(name: str, grid: Grid) -> Figure | None:
    """Return the share of scenarios on which each policy's expected risk is within a gap of ``exact``."""
    if "exact" not in grid.policies:
        return None
    risks = grid.values("expected_risk")
    exact = risks[:, grid.policies.index("exact")]
    gaps = {
        policy: (risks[:, column] - exact)[np.isfinite(exact) & ~np.isnan(risks[:, column])]
        for column, policy in enumerate(grid.policies)
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
    return Figure(name, caption, drawn.svg, drawn.png)


def _distribution(policy: str, gaps: NDArray[np.float64], *, end: float) -> Curve:
    sizes = np.sort(np.maximum(gaps, 0.0))
    at = np.concatenate([[SMALLEST_GAP], sizes[(sizes > SMALLEST_GAP) & (sizes < end)], [end]])
    within = np.searchsorted(sizes, at, side="right") / sizes.size
    none = float((sizes <= 1e-9).mean())
    points = tuple(zip(at.tolist(), within.tolist(), strict=True))
    return Curve(policy, f"{policy_name(policy)} ({share(none, decimals=0)})", _thinned(points), stepped=True)


def _thinned(points: tuple[tuple[float, float], ...], most: int = 300) -> tuple[tuple[float, float], ...]:
    """Return about ``most`` of the points, the ends among them: more cannot be seen, and would swell the page."""
    chosen = np.unique(np.linspace(0, len(points) - 1, min(most, len(points))).round().astype(int))
    return tuple(points[i] for i in chosen.tolist())
