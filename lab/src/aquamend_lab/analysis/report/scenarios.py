"""The scenarios behind the means: two policies side by side, where they differ most, and all of them as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aquamend.arrays import Floats
from aquamend.codec import json_number
from aquamend.errors import InvalidRun
from aquamend.learning.estimates import DECIMALS, difference, rounded
from aquamend_lab.analysis.metrics import COMPARABLE
from aquamend_lab.analysis.report.document import DASH, ENDINGS, Cell, Column, Table, decimal, policy_name, signed
from aquamend_lab.analysis.table import RunTable, group_name, knows_the_truth, steps_of
from aquamend_lab.records import Run

STATIC_ROWS = 10
MEASURES = {name: COMPARABLE[name].of_one for name in ("expected_risk", "loss", "error")}
MEASURES |= {"estimate": "estimate", "exact": "exact risk"}


@dataclass(frozen=True, eq=False)
class Pair:
    """Two policies on every scenario, by one measure."""

    measure: str
    left: int
    right: int
    differences: Floats
    """Left minus right to nine decimals; NaN where either is unavailable."""


def measures_of(table: RunTable) -> dict[str, Floats]:
    """Return the measures that any record has, as arrays of shape ``(scenarios, policies)``."""
    return {name: table.column(name) for name in MEASURES if table.has(name)}


def main_pair(table: RunTable, measures: Mapping[str, Floats]) -> Pair | None:
    """Return AquaMend and, of the honest policies that differ from it somewhere, the one with the least mean.

    By the first measure they have. Where AquaMend was not run, the first honest policy stands for it. Nothing where
    no scenario has a number of two policies.
    """
    reference = table.reference
    if not measures or reference is None:
        return None
    measure, values = next(iter(measures.items()))
    left = table.policies.index(reference)
    gaps = {
        column: gap
        for column, name in enumerate(table.policies)
        if column != left and not knows_the_truth(name)
        if not np.isnan(gap := rounded(difference(values[:, left], values[:, column]))).all()
    }
    if not gaps:
        return None
    others = [column for column, gap in gaps.items() if (np.abs(gap) > 0.0).any()] or list(gaps)
    means = {column: round(float(np.nanmean(values[:, column])), DECIMALS) for column in others}
    right = min(others, key=means.__getitem__)
    return Pair(measure, left, right, gaps[right])


def most_differing(table: RunTable, pair: Pair) -> Table | None:
    """Return the scenarios on which a pair differs most; nothing where it differs nowhere."""
    sizes = np.where(np.isnan(pair.differences), 0.0, np.abs(pair.differences))
    rows = [row for row in np.argsort(-sizes, kind="stable")[:STATIC_ROWS].tolist() if sizes[row] > 0.0]
    if not rows:
        return None
    values, truths = table.column(pair.measure), truth_texts(table.run)
    grouped, with_truths = len(table.distinct_groups) > 1, any(truths.values())
    columns = [Column("scenario", numeric=False), *([Column("group", numeric=False)] if grouped else [])]
    columns += [Column(policy_name(table.policies[column])) for column in (pair.left, pair.right)]
    columns += [Column("difference"), *([Column("what was true", numeric=False, long=True)] if with_truths else [])]
    lines = []
    for row in rows:
        seed, number = table.scenarios[row]
        cells = [*([group_name(table.groups[row])] if grouped else [])]
        cells += [decimal(values[row, column]) for column in (pair.left, pair.right)]
        cells += [signed(pair.differences[row])]
        true = truths.get((seed, number), [])
        cells += ["several, all played" if len(true) > 1 else "".join(true) or DASH] if with_truths else []
        scenario = Cell(f"seed {seed}, no. {number}", link=table.run.stories.get((seed, number), ""))
        lines.append((scenario, *map(Cell, cells)))
    which = "The only scenario with a difference" if len(rows) == 1 else f"The {len(rows)} scenarios that differ most"
    link = " A link leads to what happened in it, in words and in 3-D." if any(line[0].link for line in lines) else ""
    caption = f"{which} in {MEASURES[pair.measure]}.{link}"
    return Table(caption, tuple(columns), tuple(lines))


MOST_TRUTHS = 6
"""Hidden realisations of one scenario that are written out; the rest is counted."""


def truth_texts(run: Run) -> dict[tuple[int, int], list[str]]:
    """Return what was true, by seed and scenario: a text for each hidden realisation."""
    found = {}
    for line in run.annotations:
        place = line["seed"], line["scenario"]
        try:
            truths = line.get("truths") or []
            rest = len(truths) - MOST_TRUTHS
            found[place] = [*map(_text, truths[:MOST_TRUTHS]), *([f"and {rest} more"] if rest > 0 else [])]
        except (AttributeError, KeyError, TypeError):
            problem = f"the annotation of scenario {place[1]}, seed {place[0]} has the truths {line['truths']!r:.80}"
            raise InvalidRun(run.folder, problem, "run the benchmark again") from None
    return found


def _text(truth: dict[str, Any]) -> str:
    failed, cause = ", ".join(truth.get("failed") or []) or "nothing", truth.get("attribution")
    parts = [f"{failed} failed" + (f" ({str(cause).replace('_', ' ')})" if cause else "")]
    rollback, cost = truth.get("rollback") or {}, truth.get("rollback_cost") or {}
    if rollback.get("fine"):
        parts.append(f"minimal rollback {', '.join(rollback['fine'])}{_costing(cost, 'fine')}")
    chain = rollback.get("linear-chain")
    if chain and chain != rollback.get("fine"):
        parts.append(f"as a chain {', '.join(chain)}{_costing(cost, 'linear-chain')}")
    reprobe = truth.get("minimal_reprobe")
    if reprobe is not None:
        parts.append(f"minimal re-probe {', '.join(reprobe) or 'none'}")
    return ", ".join(parts)


def _costing(costs: dict[str, Any], view: str) -> str:
    cost = costs.get(view)
    if cost == "inf":
        return " (infinite)"
    return f" ({decimal(cost, decimals=2)})" if isinstance(cost, int | float) else ""


MOST_WITH_STEPS = 300
"""Scenarios of a suite whose steps are kept in the page."""
MOST_DECIMALS = 4
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
    if story := table.run.stories.get((seed, number)):
        entry["story"] = story
    if any(record.get("ending") in ENDINGS for record in records):
        entry["endings"] = [_ENDINGS.index(e) if (e := r.get("ending")) in ENDINGS else -1 for r in records]
    if steps and any(record.get("steps") or record.get("error") for record in records):
        entry["steps"] = [
            [*steps_of(record), *([f"failed: {error}"] if (error := record.get("error")) else [])] for record in records
        ]
    return entry


def _with_steps(values: Floats, ours: int) -> set[int]:
    """Return the scenarios whose steps are kept: each policy in turn offers the one where it differs most from ours."""
    sizes = [
        np.nan_to_num(np.abs(difference(values[:, c], values[:, ours]))) for c in range(values.shape[1]) if c != ours
    ]
    offers = [np.argsort(-size, kind="stable").tolist() for size in sizes]
    found = dict.fromkeys(row for offered in zip(*offers, strict=True) for row in offered)
    return set(list(found)[:MOST_WITH_STEPS])


def _short(values: Floats) -> Sequence[float | str | None]:
    """Return the numbers of one scenario in few digits, yet so many that what differs differs and what ties ties."""
    exact = rounded(values)
    few = np.round(exact, MOST_DECIMALS)
    shortened = few if len(np.unique(few)) == len(np.unique(exact)) else exact
    plain = map(json_number, shortened.tolist())
    return [int(value) if isinstance(value, float) and value == int(value) else value for value in plain]
