"""How long decisions took, scenario by scenario, and how much was computed for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aquamend.arrays import Floats
from aquamend_lab.analysis.cell import Slice as Records
from aquamend_lab.analysis.charts import Dot, Panel, dot_plot
from aquamend_lab.analysis.metrics import METRICS, metrics_in
from aquamend_lab.analysis.paper import PaperTable, family_of, paper_times
from aquamend_lab.analysis.report.document import Cell, Column, Figure, Table, text_rows
from aquamend_lab.analysis.report.plots import label_of
from aquamend_lab.analysis.report.wording import DASH, as_form, count, decimal, interval, policy_name, signed
from aquamend_lab.analysis.statistics import paired_bootstrap
from aquamend_lab.analysis.table import RunTable

MOST_VALUES = 6
"""A name in groups with more values than this divides too finely to be shown."""


def divisions(table: RunTable) -> list[tuple[dict[str, Any], Sequence[int]]]:
    """Return all scenarios together, then by every name that divides them into a few; with the rows of each."""
    found: list[tuple[dict[str, Any], Sequence[int]]] = [({}, range(len(table.scenarios)))]
    if not table.pooled:
        return found
    for name in dict.fromkeys(name for group in table.distinct_groups for name in group):
        values = list(dict.fromkeys(group.get(name) for group in table.groups))
        if 1 < len(values) <= MOST_VALUES:
            for value in values:
                found.append(({name: value}, [row for row, own in enumerate(table.groups) if own.get(name) == value]))
    return found


def _times(table: RunTable, rival: str, rows: Sequence[int]) -> tuple[Floats, Floats]:
    """Return decision times of the reference and of another policy on the scenarios on which both were timed."""
    times = table.column("decision_ms")[list(rows)]
    ours, theirs = (times[:, table.policies.index(policy)] for policy in (str(table.reference), rival))
    both = np.isfinite(ours) & np.isfinite(theirs)
    return ours[both], theirs[both]


def timed_rivals(table: RunTable) -> list[str]:
    """Return the policies whose decisions were timed beside those of the reference, where groups can be shown."""
    if not table.has("decision_ms") or table.reference is None or (any(table.groups) and not table.pooled):
        return []
    everything = range(len(table.scenarios))
    rivals = [policy for policy in table.policies if policy != table.reference]
    return [policy for policy in rivals if _times(table, policy, everything)[0].size > 1]


def timing_table(table: RunTable) -> Table | None:
    """Return mean decision times and their paired differences, over all and by group; nothing where none were timed."""
    rows: list[tuple[str, ...]] = []
    breaks: list[int] = []
    for rival in timed_rivals(table):
        breaks.append(len(rows))
        for group, members in divisions(table):
            ours, theirs = _times(table, rival, members)
            if ours.size > 1:
                printed = _printed(table, rival, group)
                rows.append((_named(group), policy_name(rival), *_numbers(ours, theirs), printed))
    if not rows:
        return None
    first = policy_name(str(table.reference))
    heads = ("scenarios", f"{first} (ms)", "the other (ms)", "the other − it", "95 % interval")
    columns = [Column("scenes", numeric=False), Column("against", numeric=False), *map(Column, heads)]
    if any(row[-1] != DASH for row in rows):
        columns.append(Column("paper’s difference (ms)", paper=True))
    caption = (
        "Mean over the scenarios of the median time of a decision, and the paired difference with its 95 % interval, "
        f"not adjusted; positive where {first} is quicker. Times are those of the machine that ran it."
    )
    cells = text_rows(row[: len(columns)] for row in rows)
    return Table(caption, tuple(columns), cells, header=1, breaks=frozenset(breaks[1:]))


def _numbers(ours: Floats, theirs: Floats) -> tuple[str, ...]:
    apart = theirs - ours
    means = decimal(float(ours.mean())), decimal(float(theirs.mean())), signed(float(apart.mean()))
    return count(ours.size), *means, interval(*paired_bootstrap(apart))


def _printed(table: RunTable, rival: str, group: Mapping[str, Any]) -> str:
    """Return the paper's difference to the policy that it timed, which it gives in seconds."""
    found = paper_times(family_of(table.run.suite), _named(group)) if rival == "all-candidates" else None
    if found is None:
        return DASH
    mean, low, high = (1e3 * seconds for seconds in found[2:])
    return f"{signed(mean, decimals=0)} {interval(low, high, decimals=0)}"


def timing_dots(name: str, table: RunTable) -> Figure | None:
    """Return the paired differences in decision time with their intervals, a panel for each policy."""
    panels = []
    for rival in timed_rivals(table):
        dots = []
        for group, members in divisions(table):
            ours, theirs = _times(table, rival, members)
            if ours.size > 1:
                apart = theirs - ours
                low, high = paired_bootstrap(apart)
                mean = float(apart.mean())
                dots.append(Dot(rival, _named(group), mean, signed(mean, decimals=1), low, high))
        panels.append(Panel(f"{label_of(rival)} minus {label_of(str(table.reference))}", tuple(dots)))
    if not panels:
        return None
    drawn = dot_plot(name, panels, axis="difference in decision time (ms)")
    caption = "Paired differences in decision time with their 95 % intervals; right of zero, the second is quicker."
    return Figure(name, caption, drawn)


def counts_table(table: RunTable, paper: PaperTable | None) -> Table | None:
    """Return how many decisions, candidates and predictive branches there were in all; nothing where nobody counted."""
    known = [key for key in metrics_in(["work"]) if table.has(key)]
    rows = []
    for group, members in divisions(table):
        for policy in table.policies:
            cell, printed = Records(table, np.array(members, dtype=np.intp), policy), paper and paper.row(policy, group)
            ours = [METRICS[key].derive(cell) for key in known]
            theirs = [printed.get(key) if printed else None for key in known]
            if any(value is not None for value in ours):
                rows.append(tuple(map(Cell, (_named(group), policy_name(policy), *map(_beside, ours, theirs)))))
    if not rows:
        return None
    heads = [Column("scenes", numeric=False), Column("policy", numeric=False)]
    heads += [Column(METRICS[key].title) for key in known]
    caption = "Totals of what really happened; in brackets, the paper’s. They tell of the mechanism: no matched sample."
    return Table(caption, tuple(heads), tuple(rows), header=1)


def _beside(ours: float | None, theirs: float | None) -> str:
    return as_form(ours, "count") + ("" if theirs is None else f" ({as_form(theirs, 'count')})")


def _named(group: Mapping[str, Any]) -> str:
    return ", ".join(str(value) for value in group.values()) or "all"
