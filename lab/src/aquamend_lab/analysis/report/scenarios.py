"""The scenarios behind the means: two policies side by side, and where they differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aquamend.arrays import Floats
from aquamend.errors import InvalidRun
from aquamend_lab.analysis.groups import group_name
from aquamend_lab.analysis.metrics import COMPARABLE
from aquamend_lab.analysis.report.document import Cell, Column, Table
from aquamend_lab.analysis.report.wording import DASH, decimal, policy_name, signed
from aquamend_lab.analysis.statistics import DECIMALS, difference, rounded
from aquamend_lab.analysis.table import RunTable, knows_the_truth
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
        cells = [f"seed {seed}, no. {number}", *([group_name(table.groups[row])] if grouped else [])]
        cells += [decimal(values[row, column]) for column in (pair.left, pair.right)]
        cells += [signed(pair.differences[row])]
        cells += [_truth_cell(truths.get((seed, number), []))] if with_truths else []
        lines.append(tuple(map(Cell, cells)))
    which = "The only scenario with a difference" if len(rows) == 1 else f"The {len(rows)} scenarios that differ most"
    caption = f"{which} in {MEASURES[pair.measure]}."
    return Table(caption, tuple(columns), tuple(lines))


def _truth_cell(texts: Sequence[str]) -> str:
    return "several, all played" if len(texts) > 1 else "".join(texts) or DASH


MOST_TRUTHS = 6
"""Hidden realisations of one scenario that are told; the rest is counted."""


def truth_texts(run: Run) -> dict[tuple[int, int], list[str]]:
    """Return what was true, by seed and scenario: a text for each hidden realisation."""
    found = {}
    for line in run.annotations:
        place = line["seed"], line["scenario"]
        try:
            found[place] = _texts(line.get("truths") or [])
        except (AttributeError, KeyError, TypeError):
            problem = f"the annotation of scenario {place[1]}, seed {place[0]} has the truths {line['truths']!r:.80}"
            raise InvalidRun(run.folder, problem, "run the benchmark again") from None
    return found


def _texts(truths: list[dict[str, Any]]) -> list[str]:
    texts = [_text(truth) for truth in truths[:MOST_TRUTHS]]
    rest = len(truths) - MOST_TRUTHS
    return [*texts, f"and {rest} more"] if rest > 0 else texts


def _text(truth: dict[str, Any]) -> str:
    failed = ", ".join(truth.get("failed") or []) or "nothing"
    parts = [f"{failed} failed" + (f" ({cause})" if (cause := _plain(truth.get("attribution"))) else "")]
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


def _plain(cause: object) -> str:
    return str(cause).replace("_", " ") if cause else ""


def _costing(costs: dict[str, Any], view: str) -> str:
    cost = costs.get(view)
    if cost == "inf":
        return " (infinite)"
    return f" ({decimal(cost, decimals=2)})" if isinstance(cost, int | float) else ""
