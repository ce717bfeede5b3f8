"""A comparison in words and as plain data."""

from __future__ import annotations

import math
from typing import Any

from aquamend.analysis.comparison import Comparison
from aquamend.records import json_number
from aquamend.text.words import quantity, shown

SIGNIFICANT = 0.05
SMALLEST_P = 1e-300
METRICS = {"loss": "loss", "expected_risk": "expected risk"}


def as_data(found: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data for JSON: unavailable is null, infinity is "inf", an interval is a pair."""
    return {
        "suite": found.suite,
        "group": found.group,
        "first": {"policy": found.policies[0], "run": found.runs[0]},
        "second": {"policy": found.policies[1], "run": found.runs[1]},
        "metric": found.metric,
        "pairs": found.pairs,
        "unpaired": found.unpaired,
        "first_errors": found.first_errors,
        "second_errors": found.second_errors,
        "wins": found.wins,
        "ties": found.ties,
        "losses": found.losses,
        "mean_difference": json_number(found.mean_difference),
        "interval": None if found.interval is None else [json_number(end) for end in found.interval],
        "p_value": found.p_value,
        "p_holm": found.p_holm,
        "verdict": verdict(found),
        "drivers": [
            {
                "group": driver.group,
                "seed": driver.seed,
                "scenario": driver.scenario,
                "first": json_number(driver.first),
                "second": json_number(driver.second),
                "difference": json_number(driver.difference),
                "share": driver.share,
                "first_steps": list(driver.first_steps),
                "second_steps": list(driver.second_steps),
            }
            for driver in found.drivers
        ],
    }


def verdict(found: Comparison) -> str:
    """Return what was found in a sentence or two; significance is claimed only below 0.05, after correction."""
    if found.p_holm is None:
        return "No scenario could be compared."
    if found.ties == found.pairs:
        return f"A tie: all {found.pairs:,} differences are zero." if found.pairs > 1 else "A tie: no difference."
    ties = f"{found.ties:,} of {found.pairs:,} scenarios {'ties' if found.ties == 1 else 'tie'}"
    return f"{_difference(found)}; {ties}. {_significance(found)}"


def _difference(found: Comparison) -> str:
    mean, metric = found.mean_difference, METRICS[found.metric]
    first, second = shown(found.first), shown(found.second)
    if mean is None:
        return f"{first} and {second} each have infinite {metric} where the other has not"
    better, worse = (first, second) if mean < 0.0 else (second, first)
    if math.isinf(mean):
        return f"{worse} has infinite {metric} where {better} has not"
    if round(mean, 9) == 0.0:
        return f"{first} and {second} have the same {metric} on average"
    verb = f"loses {quantity(abs(mean))} less" if found.metric == "loss" else f"has {quantity(abs(mean))} less {metric}"
    return f"{better} {verb} on average"


def _significance(found: Comparison) -> str:
    p = found.p_holm
    corrected = " after Holm's correction" if p != found.p_value else ""
    stated = f"(exact p {p_text(p, sign=True)}{corrected})"
    if p is None or p >= SIGNIFICANT:
        return f"That may be chance {stated}: no difference is established."
    doubts = _doubts(found)
    return f"The difference is statistically significant {stated}{f', though {doubts[0]}' if doubts else ''}."


def _doubts(found: Comparison) -> list[str]:
    """Return why a significant test does not settle who is better on average: it weighs ranks, not amounts."""
    mean, interval = found.mean_difference, found.interval
    if mean is None or interval is None:
        return ["there is no mean difference"]
    doubts = []
    if interval.low <= 0.0 <= interval.high:
        doubts.append("the interval of the mean difference includes zero")
    if (mean < 0.0) != (found.wins > found.losses):
        more = found.first if found.wins > found.losses else found.second
        doubts.append(f"{shown(more)} wins more often")
    return doubts


def p_text(p: float | None, *, sign: bool = False) -> str:
    """Return a p-value with the digits that matter; with a sign, ``= 0.031`` or ``< 1e-300``."""
    if p is None:
        return "–"
    if p < SMALLEST_P:
        return "< 1e-300"
    text = f"{p:.1e}" if p < 0.001 else f"{p:.4f}" if p < 0.99995 else "1"
    return f"= {text}" if sign else text


def left_out(found: Comparison) -> str:
    """Return how many scenarios could not be paired and why; nothing if all could."""
    if not found.unpaired:
        return ""
    refusals = [
        f"{shown(name)} refused or failed on {errors:,}"
        for name, errors in ((found.first, found.first_errors), (found.second, found.second_errors))
        if errors
    ]
    why = f" ({'; '.join(refusals)})" if refusals else ""
    total = found.pairs + found.unpaired
    return f"{found.unpaired:,} of {total:,} scenarios lack one of the two numbers{why} and are left out."


def group_text(group: dict[str, Any] | None) -> str:
    """Return a group in words: ``n = 6``; ``all`` for all together."""
    if not group:
        return "all"
    return ", ".join(f"{shown(name)} = {shown(value)}" for name, value in group.items())
