"""The scenarios behind the means: those that differ most as a table, all of them as data to look through."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aquamend.analysis.report.document import Cell, Column, Table
from aquamend.analysis.report.grid import Grid
from aquamend.analysis.report.names import ENDINGS, OURS, group_name, knows_the_truth, policy_name
from aquamend.analysis.report.numbers import DASH, decimal, signed
from aquamend.analysis.report.truth_text import truth_texts
from aquamend.records import Run

MOST_WITH_STEPS = 300
"""Scenarios of a suite whose steps are kept in the page."""
STATIC_ROWS = 10
_DECIMALS = 4
TIE = 1e-9

_MEASURES = {
    "loss": "realised loss",
    "expected_risk": "expected risk",
    "deviation": "error of the estimate",
    "estimate": "estimate",
    "exact": "exact risk",
}
_COUNTS = ("probes", "undone")


@dataclass(frozen=True, eq=False)
class Pair:
    """Two policies on every scenario, by one measure."""

    measure: str
    left: int
    right: int
    differences: NDArray[np.float64]
    """Left minus right; NaN where either is unavailable."""


def measures_of(grid: Grid) -> dict[str, NDArray[np.float64]]:
    """Return the measures that any record has, as arrays of shape ``(scenarios, policies)``."""
    recorded = {name: grid.values(name) for name in _MEASURES if name != "deviation"}
    found = recorded | {"deviation": difference(recorded["estimate"], recorded["exact"])}
    return {name: found[name] for name in _MEASURES if not np.isnan(found[name]).all()}


def main_pair(grid: Grid, measures: Mapping[str, NDArray[np.float64]]) -> Pair | None:
    """Return AquaMend and, of the honest policies that differ from it somewhere, the one with the least mean.

    By the first measure they have. Where AquaMend was not run: the first policy and the first that differs from it.
    """
    if not measures or len(grid.policies) < 2:
        return None
    measure, values = next(iter(measures.items()))
    left = grid.policies.index(OURS) if OURS in grid.policies else 0
    gaps = {
        column: difference(values[:, left], values[:, column])
        for column, name in enumerate(grid.policies)
        if column != left and not knows_the_truth(name) and not np.isnan(values[:, column]).all()
    }
    if not gaps:
        return None
    others = [column for column, gap in gaps.items() if (np.abs(gap) > TIE).any()] or list(gaps)
    means = {column: round(float(np.nanmean(values[:, column])), 9) for column in others}
    right = min(others, key=means.__getitem__) if grid.policies[left] == OURS else others[0]
    return Pair(measure, left, right, gaps[right])


def difference(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return left minus right; two infinities are equal."""
    result = np.zeros_like(left)
    np.subtract(left, right, out=result, where=left != right)
    return result


def most_differing(grid: Grid, pair: Pair, run: Run) -> Table | None:
    """Return the scenarios on which a pair differs most; nothing where it differs nowhere."""
    sizes = np.abs(np.nan_to_num(pair.differences, nan=0.0, posinf=math.inf, neginf=-math.inf))
    rows = [row for row in np.argsort(-sizes, kind="stable")[:STATIC_ROWS].tolist() if sizes[row] > TIE]
    if not rows:
        return None
    left, right = (policy_name(grid.policies[column]) for column in (pair.left, pair.right))
    truths = truth_texts(run)
    grouped = any(grid.groups)
    columns = (
        Column("scenario", numeric=False), *((Column("group", numeric=False),) if grouped else ()),
        Column(left), Column(right), Column("difference"), Column("what was true", numeric=False, long=True),
    )  # fmt: skip
    values = measures_of(grid)[pair.measure]
    table = []
    for row in rows:
        seed, number = grid.scenarios[row]
        table.append((
            Cell(f"seed {seed}, no. {number}"), *((Cell(group_name(grid.groups[row])),) if grouped else ()),
            Cell(decimal(values[row, pair.left])), Cell(decimal(values[row, pair.right])),
            Cell(signed(pair.differences[row])), Cell(_truth_cell(truths.get((seed, number), []))),
        ))  # fmt: skip
    caption = f"The {len(rows)} scenarios with the largest differences in {_MEASURES[pair.measure]}."
    return Table(caption, columns, tuple(table))


def _truth_cell(texts: Sequence[str]) -> str:
    return "several, all played" if len(texts) > 1 else "".join(texts) or DASH


def explorer_data(run: Run, grid: Grid, *, title: str) -> dict[str, Any] | None:
    """Return one suite's scenarios as compact plain data: numbers of all, steps of those that differ most."""
    measures = measures_of(grid)
    pair = main_pair(grid, measures)
    if pair is None:
        return None
    counts = {name: grid.values(name) for name in _COUNTS}
    counts = {name: values for name, values in counts.items() if not np.isnan(values).all()}
    endings = list(ENDINGS)
    kept = set(_with_steps(measures[pair.measure], pair.left))
    truths = truth_texts(run)
    groups = list(grid.distinct_groups)
    rows = []
    for row, (seed, number) in enumerate(grid.scenarios):
        records = [grid.records.get((seed, number, policy), {}) for policy in grid.policies]
        entry: dict[str, Any] = {
            "seed": seed,
            "scenario": number,
            "group": groups.index(grid.groups[row]),
            "values": [_short(values[row]) for values in measures.values()],
            "counts": [_short(values[row]) for values in counts.values()],
            "endings": [endings.index(e) if (e := record.get("ending")) in ENDINGS else -1 for record in records],
        }
        if (seed, number) in truths:
            entry["truth"] = truths[seed, number]
        if row in kept and any(record.get("steps") or record.get("error") for record in records):
            entry["steps"] = [_steps(record) for record in records]
        rows.append(entry)
    return {
        "name": title,
        "policies": [policy_name(policy) for policy in grid.policies],
        "measures": [_MEASURES[name] for name in measures],
        "counts": list(counts),
        "endings": list(ENDINGS.values()),
        "groups": [group_name(group) or "all" for group in groups],
        "pair": [pair.left, pair.right],
        "some_steps": any("steps" in entry for entry in rows),
        "rows": rows,
    }


def _with_steps(values: NDArray[np.float64], ours: int) -> list[int]:
    """Return the scenarios whose steps are kept: each policy in turn offers the one where it differs most from ours."""
    sizes = [
        np.nan_to_num(np.abs(difference(values[:, c], values[:, ours]))) for c in range(values.shape[1]) if c != ours
    ]
    offers = [np.argsort(-size, kind="stable").tolist() for size in sizes]
    found = dict.fromkeys(row for offered in zip(*offers, strict=True) for row in offered)
    return list(found)[:MOST_WITH_STEPS]


def _steps(record: Mapping[str, Any]) -> list[str]:
    error = record.get("error")
    return [str(step) for step in record.get("steps") or []] + ([f"failed: {error}"] if error else [])


def _short(values: NDArray[np.float64]) -> Sequence[float | str | None]:
    def shortened(value: float) -> float | str | None:
        if math.isnan(value):
            return None
        if math.isinf(value):
            return "inf"
        rounded = round(value, _DECIMALS)
        return int(rounded) if rounded == int(rounded) else rounded

    return [shortened(value) for value in values.tolist()]
