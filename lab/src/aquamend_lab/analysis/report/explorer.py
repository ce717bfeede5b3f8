"""Every scenario of a suite as compact plain data, to look through in a browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aquamend.arrays import Floats
from aquamend.codec import json_number
from aquamend_lab.analysis.groups import group_name
from aquamend_lab.analysis.report.scenarios import MEASURES, main_pair, measures_of, truth_texts
from aquamend_lab.analysis.report.wording import ENDINGS, policy_name
from aquamend_lab.analysis.statistics import difference, rounded
from aquamend_lab.analysis.table import RunTable, steps_of

MOST_WITH_STEPS = 300
"""Scenarios of a suite whose steps are kept in the page."""
DECIMALS = 4
_COUNTS = ("probes", "undone")
_ENDINGS = list(ENDINGS)

Values = Mapping[str, Floats]


def explorer_data(table: RunTable, *, title: str) -> dict[str, Any] | None:
    """Return one suite's scenarios: numbers of all, steps of those that differ most; nothing where none compare."""
    measures = measures_of(table)
    pair = main_pair(table, measures)
    if pair is None:
        return None
    counts = {name: table.column(name) for name in _COUNTS if table.has(name)}
    groups = [group_name(group) for group in table.distinct_groups]
    kept, truths = _with_steps(measures[pair.measure], pair.left), truth_texts(table.run)
    rows = []
    for row, place in enumerate(table.scenarios):
        entry = _entry(table, row, measures, counts, steps=row in kept)
        entry["group"] = groups.index(group_name(table.groups[row]))
        rows.append(entry | ({"truth": truths[place]} if place in truths else {}))
    return {
        "name": title,
        "suite": table.run.suite,
        "names": list(table.policies),
        "subject": "estimator" if "error" in measures else "policy",
        "policies": [policy_name(policy) for policy in table.policies],
        "measures": [MEASURES[name] for name in measures],
        "counts": list(counts),
        "endings": list(ENDINGS.values()),
        "groups": groups,
        "pair": [pair.left, pair.right],
        "some_steps": any("steps" in entry for entry in rows),
        "rows": rows,
    }


def _entry(table: RunTable, row: int, measures: Values, counts: Values, *, steps: bool) -> dict[str, Any]:
    """Return one scenario: its numbers, a list a measure; endings and steps where any policy has them."""
    seed, number = table.scenarios[row]
    records = [table.records.get((row, column), {}) for column in range(len(table.policies))]
    entry: dict[str, Any] = {
        "seed": seed,
        "scenario": number,
        "values": [_short(values[row]) for values in measures.values()],
        "counts": [_short(values[row]) for values in counts.values()],
    }
    if any(record.get("ending") in ENDINGS for record in records):
        entry["endings"] = [_ENDINGS.index(e) if (e := r.get("ending")) in ENDINGS else -1 for r in records]
    if steps and any(record.get("steps") or record.get("error") for record in records):
        entry["steps"] = [_steps(record) for record in records]
    return entry


def _with_steps(values: Floats, ours: int) -> set[int]:
    """Return the scenarios whose steps are kept: each policy in turn offers the one where it differs most from ours."""
    sizes = [
        np.nan_to_num(np.abs(difference(values[:, c], values[:, ours]))) for c in range(values.shape[1]) if c != ours
    ]
    offers = [np.argsort(-size, kind="stable").tolist() for size in sizes]
    found = dict.fromkeys(row for offered in zip(*offers, strict=True) for row in offered)
    return set(list(found)[:MOST_WITH_STEPS])


def _steps(record: Mapping[str, Any]) -> list[str]:
    error = record.get("error")
    return [*steps_of(record), *([f"failed: {error}"] if error else [])]


def _short(values: Floats) -> Sequence[float | str | None]:
    """Return the numbers of one scenario in few digits, yet so many that what differs differs and what ties ties."""
    exact = rounded(values)
    few = np.round(exact, DECIMALS)
    shortened = few if len(np.unique(few)) == len(np.unique(exact)) else exact
    plain = map(json_number, shortened.tolist())
    return [int(value) if isinstance(value, float) and value == int(value) else value for value in plain]
