"""Summaries as tables: ours beside the paper's, the best emphasised, only columns that hold something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from aquamend.learning.estimates import DECIMALS
from aquamend.text import capital, shown
from aquamend_lab.analysis.metrics import METRICS, Metric, Place, Summary, metrics_in
from aquamend_lab.analysis.paper import PaperRow, PaperTable
from aquamend_lab.analysis.report.document import DASH, Cell, Column, Table, as_form, count, policy_name
from aquamend_lab.analysis.table import CHARGES, distinct_groups, group_key, group_name, knows_the_truth

MOST_ROWS = 24
"""A table or drawing with more rows than this is folded away behind one with a row for each group."""


def result_table(summaries: Sequence[Summary], paper: PaperTable | None) -> Table:
    """Return the main table of a suite: one row for each (group, policy), ordered as ``ordered`` says."""
    places: list[Place] = ["results", "results of episodes"] if acted_out(summaries) else ["results"]
    alike = len({summary["scenarios"] for summary in summaries}) == 1  # then the caption says it once
    keys = [*([] if alike else ["scenarios"]), *metrics_in(places)]
    table = _table(ordered(summaries), keys, paper)
    return replace(table, caption=_caption(table, summaries, paper))


def parts_table(summaries: Sequence[Summary], paper: PaperTable | None) -> Table | None:
    """Return what the realised loss is made of; nothing where that is not known."""
    if all(summary[key] is None for key in CHARGES for summary in summaries):
        return None
    keys = metrics_in(["parts"] if acted_out(summaries) else ["parts", "parts of risks"])
    table = _table(ordered(summaries), keys, paper, intervals=False)
    beside = f" Columns called “paper’s” are from its {paper.title}." if paper and _has_paper(table) else ""
    return replace(table, caption=f"Means over the scenarios; a dash is unavailable.{beside}")


def compact_table(summaries: Sequence[Summary], paper: PaperTable | None, *, intervals: bool = False) -> Table:
    """Return the few quantities that fit a terminal or a README; the leading one alone where there are many rows.

    With ``intervals``, a realised loss that nothing exact stands beside has its interval.
    """
    if len(summaries) > MOST_ROWS and (pivots := pivot_tables(summaries, [leading(summaries)])):
        return pivots[0]
    if acted_out(summaries):
        alone: Sequence[Place] = ["short, without the paper's"]
        keys = metrics_in(["short", "short of episodes", *alone])
        return _table(ordered(summaries), keys, paper, intervals=intervals, alone=metrics_in(alone))
    keys = [key for key in metrics_in(["short", "short of risks"]) if _tells(summaries, key)]
    return _table(ordered(summaries), keys, paper, intervals=False)


def pivot_tables(summaries: Sequence[Summary], keys: Iterable[str] | None = None) -> list[Table]:
    """Return some metrics, each by group and policy; success, risk and time if not said.

    Where there are more policies than groups, rows are policies, so that a table is longer than wide.
    """
    if keys is None:
        least = leading(summaries)
        keys = [key for key in metrics_in(["by group"]) if key == least or not METRICS[key].leads]
    policies = list(dict.fromkeys(summary.policy for summary in summaries))
    groups = distinct_groups(summary.group for summary in summaries)
    by_policy = len(policies) > len(groups)
    units = {summary.unit for summary in summaries}
    unit = next(iter(units)) if len(units) == 1 else ""
    by_group = {group_key(summary.group): summary.unit for summary in summaries}
    own = [
        f" ({by_group[group_key(group)]})" if len(units) > 1 and by_group[group_key(group)] else "" for group in groups
    ]
    called, kinds = _as_columns(groups) if by_policy else (list(map(group_name, groups)), "")
    named = [name + unit_text for name, unit_text in zip(called, own, strict=True)]
    names = [policy_name(policy) for policy in policies], named
    heads, sides = names[::-1] if by_policy else names
    columns = (Column("policy" if by_policy else "group", numeric=False), *map(Column, heads))
    tables = []
    for metric in (METRICS[key] for key in keys if any(summary[key] is not None for summary in summaries)):
        values = _pivoted(summaries, policies, groups, metric)
        cells = list(zip(*values, strict=True)) if by_policy else values
        rows = tuple((Cell(side), *row) for side, row in zip(sides, cells, strict=True))
        caption = f"{capital(metric.titled(unit))}, a row for each {columns[0].title}{kinds}.{_bracketed(summaries)}"
        tables.append(Table(caption, columns, rows))
    return tables


def _as_columns(groups: Sequence[Mapping[str, Any]]) -> tuple[list[str], str]:
    """Return what groups are called above columns, and what the caption adds: of texts, their names stand there."""
    names = list(groups[0])
    alike = all(list(group) == names for group in groups)
    if not names or not alike or not all(isinstance(value, str) for group in groups for value in group.values()):
        return list(map(group_name, groups)), ""
    return [", ".join(map(shown, group.values())) for group in groups], f", a column for each {' and '.join(names)}"


def _pivoted(
    summaries: Sequence[Summary], policies: Sequence[str], groups: Sequence[Mapping[str, Any]], metric: Metric
) -> list[tuple[Cell, ...]]:
    """Return a row for each group and a cell for each policy, the best of each group emphasised."""
    by_place = {(summary.policy, group_key(summary.group)): summary for summary in summaries}
    rows = []
    for group in groups:
        places = [by_place.get((policy, group_key(group))) for policy in policies]
        best = _best(places, metric)
        cells = []
        for number, place in enumerate(places):
            value = place[metric.key] if place else None
            share = share_of(place) if place and value is not None else ""
            cells.append(Cell(as_form(value, metric.form) + share, number in best))
        rows.append(tuple(cells))
    return rows


def leading(summaries: Sequence[Summary]) -> str:
    """Return what says most about these summaries: expected risk if it is there, as no draw of a truth sways it."""
    leads = [key for key, metric in METRICS.items() if metric.leads]
    return next((key for key in leads if any(summary[key] is not None for summary in summaries)), leads[0])


def acted_out(summaries: Sequence[Summary]) -> bool:
    """Return whether realised losses are all that is known of what policies cost, as of episodes in a world."""
    return leading(summaries) == "mean_loss" and any(summary["mean_loss"] is not None for summary in summaries)


def ordered(summaries: Sequence[Summary]) -> list[Summary]:
    """Return summaries as tables and drawings list them.

    Groups stay as they are. Without groups: oracles, then by the leading quantity, then those that lack scenarios.
    """
    if any(summary.group for summary in summaries):
        return list(summaries)
    key = leading(summaries)

    def rank(summary: Summary) -> tuple[bool, bool, bool, float]:
        value = summary[key]
        return not knows_the_truth(summary.policy), summary.missing > 0, value is None, round(value or 0.0, DECIMALS)

    return sorted(summaries, key=rank)


def _tells(summaries: Sequence[Summary], key: str) -> bool:
    """Return whether a result says something: not the realised loss where every hidden truth was played."""
    apart = [(s["mean_loss"], s["expected_risk"]) for s in summaries]
    same = all(a is not None and b is not None and (a == b or round(a - b, DECIMALS) == 0.0) for a, b in apart)
    return not (same and key == "mean_loss")


def _table(
    summaries: Sequence[Summary], keys: Sequence[str], paper: PaperTable | None, *, intervals: bool = True,
    alone: Sequence[str] = (),
) -> Table:  # fmt: skip
    """Return a row for each summary and a column for each metric that has numbers, the paper's beside all but some."""
    printed = [paper.row(s.policy, s.group) if paper else None for s in summaries]
    group_keys = list(dict.fromkeys(key for summary in summaries for key in summary.group))
    subject = "estimator" if any(summary.estimates for summary in summaries) else "policy"
    units = {s.unit for s in summaries}
    unit = next(iter(units)) if len(units) == 1 else ""  # of all; else each group says its own
    own = ["unit"] if len(units) > 1 else []
    columns = [Column(key, numeric=False) for key in (*group_keys, *own, subject)]
    contents = [
        [Cell(str(s.group.get(key, ""))) for key in group_keys]
        + [Cell(s.unit or DASH) for _ in own]
        + [Cell(policy_name(s.policy) + share_of(s))]
        for s in summaries
    ]
    noisy = leading(summaries) != "mean_loss"
    for key in keys:
        if (least := METRICS[key].needs_several) and not any((summary[least] or 0) > 1 for summary in summaries):
            continue
        # What the draw of a truth decides is not emphasised where something exact is there.
        metric = replace(METRICS[key], good="") if noisy and key == "mean_loss" else METRICS[key]
        beside = [None for _ in printed] if key in alone else printed
        ends = intervals and METRICS[key].good == "low"  # there is room for those of what the table is about
        for column, cells in _columns(summaries, beside, metric, unit, intervals=ends):
            columns.append(column)
            for row, cell in zip(contents, cells, strict=True):
                row.append(cell)
    rows = tuple(tuple(row) for row in contents)
    breaks = frozenset(row for row in range(1, len(summaries)) if summaries[row].group != summaries[row - 1].group)
    return Table("", tuple(columns), rows, header=len(group_keys) + len(own), breaks=breaks)


def _columns(
    summaries: Sequence[Summary], printed: Sequence[PaperRow | None], metric: Metric, unit: str, *, intervals: bool
) -> list[tuple[Column, list[Cell]]]:
    values = [summary[metric.key] for summary in summaries]
    theirs = [row.get(metric.key) if row else None for row in printed]
    if all(value is None for value in values) or (metric.rare and not any(values) and not any(theirs)):
        return []  # the paper's stand beside ours, never alone
    best = _best_by_group(summaries, metric)
    cells = [Cell(as_form(value, metric.form), row in best) for row, value in enumerate(values)]
    found = [(Column(metric.titled(unit)), cells)]
    ends = [summary.interval(metric.key) if intervals else None for summary in summaries]
    if any(ends):
        texts = [[as_form(end, metric.form) for end in own or ()] for own in ends]
        found.append((Column("95 % interval"), [Cell(f"[{', '.join(own)}]" if own else DASH) for own in texts]))
    if any(value is not None for value in theirs):
        found.append((Column(metric.beside, paper=True), [Cell(as_form(value, metric.form)) for value in theirs]))
    return found


def _best_by_group(summaries: Sequence[Summary], metric: Metric) -> set[int]:
    """Return the rows that hold the best value of their group."""
    found: set[int] = set()
    for group in distinct_groups(summary.group for summary in summaries):
        found |= _best([summary if summary.group == group else None for summary in summaries], metric)
    return found


def _best(places: Sequence[Summary | None], metric: Metric) -> set[int]:
    """Return the places that show the best value among the honest policies that have every scenario.

    What reads the same is emphasised alike; where all read the same, nothing stands out.
    """
    compared = {
        number: value
        for number, place in enumerate(places)
        if place is not None and not place.missing and not knows_the_truth(place.policy)
        if (value := place[metric.key]) is not None
    }
    if not metric.good or not compared:
        return set()
    best = min(compared.values()) if metric.good == "low" else max(compared.values())
    tied = {number for number, value in compared.items() if as_form(value, metric.form) == as_form(best, metric.form)}
    return tied if len(tied) < len(compared) else set()


def share_of(summary: Summary) -> str:
    """Return in brackets on how many scenarios of its group a policy has numbers; nothing where on all."""
    return f" ({count(len(summary.sound))} of {count(len(summary.rows))})" if summary.missing else ""


def _has_paper(table: Table) -> bool:
    return any(column.paper for column in table.columns)


def _caption(table: Table, summaries: Sequence[Summary], paper: PaperTable | None) -> str:
    sizes = sorted({len(summary.rows) for summary in summaries})
    over = count(sizes[0]) if len(sizes) == 1 else f"{count(sizes[0])} to {count(sizes[-1])}"
    sentences = [f"Means over {over} scenarios in each row.{_bracketed(summaries)}"]
    if any(cell.strong for row in table.rows for cell in row):
        conditions = ["do not know the truth"] if any(knows_the_truth(summary.policy) for summary in summaries) else []
        conditions += ["have every scenario"] if any(summary.missing for summary in summaries) else []
        of_those = f" of those that {' and '.join(conditions)}," if conditions else ""
        sentences.append(f"Bold: best, as shown,{of_those} unless all are equal.")
    if any(column.title == METRICS["saving"].title for column in table.columns):
        sentences.append("Spending is all that is paid on the way: what is left wrong in the end is no part of it.")
    if paper and _has_paper(table):
        sentences.append(f"Columns called “paper’s” are from its {paper.title}.")
    return " ".join(sentences)


def _bracketed(summaries: Sequence[Summary]) -> str:
    """Return what the brackets that ``share_of`` writes mean, where there are any."""
    some = any(summary.missing for summary in summaries)
    return (
        " In brackets: on how many scenarios there are numbers, where not on all; means are over those." if some else ""
    )
