"""What losses are made of, and what a difference between policies is made of."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aquamend_lab.analysis.comparison import Comparison
from aquamend_lab.analysis.comparison_text import p_text
from aquamend_lab.analysis.figures import Bar, Stems, bar_plot, scene_plot
from aquamend_lab.analysis.metrics import COMPARABLE
from aquamend_lab.analysis.paper import PaperTable
from aquamend_lab.analysis.report.document import Cell, Column, Figure, Table
from aquamend_lab.analysis.report.paired import comparisons, over_all
from aquamend_lab.analysis.report.plots import label_of
from aquamend_lab.analysis.report.tables import ordered
from aquamend_lab.analysis.report.wording import DASH, decimal, interval, policy_name, signed
from aquamend_lab.analysis.statistics import difference
from aquamend_lab.analysis.summary import Summary
from aquamend_lab.analysis.table import CHARGES, RunTable

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


def without_parts(table: RunTable, whole: Sequence[Comparison]) -> Table | None:
    """Return the paired differences in complete loss, and in all of it but one part, against every policy.

    One part may be so noisy that it hides the rest: its own row tells. Nothing where parts are unknown.
    """
    if not all(table.has(name) for name in CHARGES):
        return None
    metrics = ["loss", *(f"loss_without_{name}" for name in CHARGES)]
    by_metric = {metric: {one.second: one for one in over_all(comparisons(table, metric=metric))} for metric in metrics}
    rows: list[tuple[Cell, ...]] = []
    breaks: list[int] = []
    for rival in (one.second for one in whole):
        breaks.append(len(rows))
        for metric in metrics:
            if one := by_metric[metric].get(rival):
                rows.append(tuple(map(Cell, (policy_name(rival), COMPARABLE[metric].of_one, *_numbers(one)))))
    columns = (
        Column("against", numeric=False), Column("in", numeric=False), Column("mean difference"),
        Column("95 % interval"), Column("detectable"), Column("exact p"),
    )  # fmt: skip
    caption = (
        f"{policy_name(whole[0].first)} minus the other policy, in the complete loss and in all of it but one part. "
        "“Detectable” is the mean difference that such pairs show four times in five. No p is adjusted here."
    )
    return Table(caption, columns, tuple(rows), breaks=frozenset(breaks[1:])) if rows else None


def _numbers(one: Comparison) -> tuple[str, ...]:
    ends = interval(*one.interval) if one.interval else DASH
    return signed(one.mean_difference), ends, decimal(one.detectable), p_text(one.p_value)
