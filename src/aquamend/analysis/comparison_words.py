"""A comparison in words and as plain data."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any, assert_never

from aquamend.analysis.comparison import Comparison
from aquamend.analysis.metrics import COMPARABLE
from aquamend.analysis.verdict import Finding, Verdict, mean_side, verdict_of
from aquamend.records import json_number
from aquamend.text.words import quantity, shown

SMALLEST_P = 1e-4


def as_data(found: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data for JSON: unavailable is null, infinity is "inf", an interval is a pair."""
    data: dict[str, Any] = _plain(found)
    policies, runs, drivers = (data.pop(name) for name in ("policies", "runs", "drivers"))
    for place, name in enumerate(("first", "second")):
        data[name] = {"policy": policies[place], "run": runs[place]}
    return data | {"finding": verdict_of(found).finding.name.lower(), "verdict": verdict(found), "drivers": drivers}


def verdict(found: Comparison) -> str:
    """Return what was found in a sentence or three, with the numbers that it rests on."""
    reached = verdict_of(found)
    if reached.finding is Finding.NO_PAIRS:
        return "No scenario could be compared."
    if reached.finding is Finding.TIE:
        return f"A tie: all {found.pairs:,} differences are zero." if found.pairs > 1 else "A tie: no difference."
    ties = f"{found.ties:,} of {found.pairs:,} scenarios {'ties' if found.ties == 1 else 'tie'}"
    return f"{_difference(found, reached)}; {ties}. {_established(found, reached)}".rstrip()


def _difference(found: Comparison, reached: Verdict) -> str:
    metric, first, second = COMPARABLE[found.metric].of_one, shown(found.first), shown(found.second)
    if reached.finding is Finding.BOTH_INFINITE:
        return f"{first} and {second} each have infinite {metric} where the other has not"
    side = mean_side(found)
    if side is None:
        return f"{first} and {second} have the same {metric} on average"
    better, worse = (first, second) if side == "first" else (second, first)
    if reached.finding is Finding.INFINITE:
        return f"{worse} has infinite {metric} where {better} has not"
    size = quantity(abs(found.mean_difference or 0.0))
    return f"{better} {f'loses {size} less' if found.metric == 'loss' else f'has {size} less {metric}'} on average"


def _established(found: Comparison, reached: Verdict) -> str:
    tested = _tested(found)
    match reached.finding:
        case Finding.CLEAR:
            return f"The difference is statistically significant ({tested})."
        case Finding.MEAN_ONLY:
            return (
                "The interval of that average leaves zero out, but scenario by scenario no difference is established "
                f"({tested})."
            )
        case Finding.RANKS_ONLY:
            joined = "Scenario by scenario" if mean_side(found) == reached.better else "But scenario by scenario"
            return f"{joined} {_ranks(found, tested)}; the interval of the average includes zero."
        case Finding.OPPOSED:
            return f"But scenario by scenario {_ranks(found, tested)}."
        case Finding.OPEN:
            return f"That may be chance ({tested}): no difference is established."
        case Finding.NO_PAIRS | Finding.TIE | Finding.INFINITE | Finding.BOTH_INFINITE:
            return ""
        case _:
            assert_never(reached.finding)


def _ranks(found: Comparison, tested: str) -> str:
    """Return whom the ranks favour, and that it has less more often where it does: ranks weigh, they do not count."""
    positive, negative = found.rank_sums or (0.0, 0.0)
    first_favoured = negative > positive
    name = shown(found.first if first_favoured else found.second)
    less, more = (found.wins, found.losses) if first_favoured else (found.losses, found.wins)
    often = f"{name} has less on {less:,} and more on {more:,}, and " if less > more else ""
    return f"{often}the ranks favour {'it' if often else name} ({tested})"


def _tested(found: Comparison) -> str:
    corrected = " after Holm's correction" if found.p_holm != found.p_value else ""
    text = p_text(found.p_holm)
    return f"exact p {text if text.startswith('<') else f'= {text}'}{corrected}"


def p_text(p: float | None) -> str:
    """Return a p-value with four decimals; below one in ten thousand only that it is."""
    if p is None or math.isnan(p):
        return "–"
    return "< 0.0001" if p < SMALLEST_P else f"{p:.4f}"


def detectable(found: Comparison) -> str:
    """Return how large a difference would have been seen; nothing where there is no spread to tell by."""
    if not found.detectable or found.repeated:
        return ""
    return (
        f"Pairs as scattered as these show a true mean difference of {quantity(found.detectable)} four times in five."
    )


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


def _plain(value: Any) -> Any:
    """Return dataclasses as dictionaries and tuples as lists, with numbers that JSON has."""
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    match value:
        case float():
            return json_number(value)
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value
