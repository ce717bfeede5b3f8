"""Summaries as tables: ours beside the paper's, the best emphasised, only columns that hold something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from aquamend.analysis.groups import are_strata, distinct_groups, group_key, group_name
from aquamend.analysis.paper import PaperRow, PaperTable
from aquamend.analysis.references import knows_the_truth
from aquamend.analysis.report.document import Cell, Column, Table
from aquamend.analysis.report.names import policy_name
from aquamend.analysis.report.numbers import DASH, count
from aquamend.analysis.report.quantities import (
    COMPACT,
    COMPACT_EPISODES,
    COUNTS,
    DECISION_MS,
    EPISODES,
    LEADING,
    PARTS,
    REALISED_LOSS,
    RESULTS,
    SAVING,
    SCENARIOS,
    SUCCESS,
    ZERO_ROLLBACK,
    ZERO_ROLLBACK_AND_SUCCESS,
    Quantity,
)
from aquamend.analysis.summary import Summary
from aquamend.statistics import DECIMALS

MOST_ROWS = 24
"""A table or drawing with more rows than this is folded away behind one with a row a group."""


def result_table(summaries: Sequence[Summary], paper: PaperTable | None) -> Table:
    """Return the main table of a suite: one row a (group, policy), ordered as ``ordered`` says."""
    alike = len({summary.scenarios for summary in summaries}) == 1  # then the caption says it once
    quantities = [*RESULTS, *(EPISODES if acted_out(summaries) else ()), *COUNTS]
    table = _table(ordered(summaries), [q for q in quantities if not (alike and q is SCENARIOS)], paper)
    return replace(table, caption=_caption(table, summaries, paper))


def parts_table(summaries: Sequence[Summary]) -> Table | None:
    """Return what the realised loss is made of; nothing where that is not known."""
    if all(quantity.ours(summary) is None for quantity in PARTS for summary in summaries):
        return None
    more = [*([] if acted_out(summaries) else [SAVING, ZERO_ROLLBACK]), ZERO_ROLLBACK_AND_SUCCESS]
    table = _table(ordered(summaries), (REALISED_LOSS, *PARTS, *more), None, intervals=False)
    return replace(table, caption="Means over the scenarios; a dash is unavailable.")


def compact_table(summaries: Sequence[Summary], paper: PaperTable | None, *, intervals: bool = False) -> Table:
    """Return the few quantities that fit a terminal or a README; the leading one alone where there are many rows.

    With ``intervals``, a realised loss that nothing exact stands beside has its interval.
    """
    if len(summaries) > MOST_ROWS and (pivots := pivot_tables(summaries, [leading(summaries)])):
        return pivots[0]
    if acted_out(summaries):
        return _table(ordered(summaries), COMPACT_EPISODES, paper, intervals=intervals)
    return _table(ordered(summaries), [q for q in COMPACT if q in _telling(summaries)], paper, intervals=False)


def pivot_tables(summaries: Sequence[Summary], quantities: Iterable[Quantity] | None = None) -> list[Table]:
    """Return some quantities, each with a row a group and a column a policy; success, risk and time if not said.

    Where there are more policies than groups, rows are policies, so that a table is longer than wide.
    """
    if quantities is None:
        quantities = (SUCCESS, leading(summaries), DECISION_MS)
    policies = list(dict.fromkeys(summary.policy for summary in summaries))
    groups = distinct_groups(summary.group for summary in summaries)
    by_policy = len(policies) > len(groups) and are_strata(groups)
    names = [policy_name(policy) for policy in policies], [group_name(group) for group in groups]
    heads, sides = names[::-1] if by_policy else names
    columns = (Column("policy" if by_policy else "group", numeric=False), *map(Column, heads))
    tables = []
    for quantity in (q for q in quantities if any(q.ours(summary) is not None for summary in summaries)):
        by_group = _pivoted(summaries, policies, groups, quantity)
        cells = list(zip(*by_group, strict=True)) if by_policy else by_group
        rows = tuple((Cell(side), *row) for side, row in zip(sides, cells, strict=True))
        caption = f"{quantity.title.capitalize()}, a row a {columns[0].title}.{_bracketed(summaries)}"
        tables.append(Table(caption, columns, rows))
    return tables


def _pivoted(
    summaries: Sequence[Summary], policies: Sequence[str], groups: Sequence[Mapping[str, Any]], quantity: Quantity
) -> list[tuple[Cell, ...]]:
    """Return a row a group and a cell a policy, the best of each group emphasised."""
    by_place = {(summary.policy, group_key(summary.group)): summary for summary in summaries}
    rows = []
    for group in groups:
        places = [by_place.get((policy, group_key(group))) for policy in policies]
        best = _best(places, quantity)
        rows.append(tuple(Cell(_shown(place, quantity), number in best) for number, place in enumerate(places)))
    return rows


def leading(summaries: Sequence[Summary]) -> Quantity:
    """Return what says most about these summaries: expected risk if it is there, as no draw of a truth sways it."""
    has = (q for q in LEADING if any(q.ours(summary) is not None for summary in summaries))
    return next(has, LEADING[0])


def acted_out(summaries: Sequence[Summary]) -> bool:
    """Return whether realised losses are all that is known of what policies cost, as of episodes in a world."""
    return leading(summaries) is REALISED_LOSS and any(summary.mean_loss is not None for summary in summaries)


def ordered(summaries: Sequence[Summary]) -> list[Summary]:
    """Return summaries as tables and drawings list them.

    Groups stay as they are. Without groups: oracles, then by the leading quantity, then whoever lacks scenarios.
    """
    if any(summary.group for summary in summaries):
        return list(summaries)
    quantity = leading(summaries)

    def rank(summary: Summary) -> tuple[bool, bool, bool, float]:
        value = quantity.ours(summary)
        return not knows_the_truth(summary.policy), summary.missing > 0, value is None, round(value or 0.0, DECIMALS)

    return sorted(summaries, key=rank)


def _telling(summaries: Sequence[Summary]) -> Sequence[Quantity]:
    """Return the results without the realised loss where it is the expected risk, every hidden truth being played."""
    apart = [(s.mean_loss, s.expected_risk) for s in summaries]
    same = all(a is not None and b is not None and (a == b or round(a - b, DECIMALS) == 0.0) for a, b in apart)
    return [q for q in RESULTS if not (same and q is REALISED_LOSS)]


def _table(
    summaries: Sequence[Summary], quantities: Sequence[Quantity], paper: PaperTable | None, *, intervals: bool = True
) -> Table:
    printed = [paper.row(s.policy, s.group) if paper else None for s in summaries]
    group_keys = list(dict.fromkeys(key for summary in summaries for key in summary.group))
    subject = "estimator" if any(summary.proxy for summary in summaries) else "policy"
    columns = [Column(key, numeric=False) for key in group_keys] + [Column(subject, numeric=False)]
    contents = [
        [Cell(str(s.group.get(key, ""))) for key in group_keys] + [Cell(policy_name(s.policy) + share_of(s))]
        for s in summaries
    ]
    noisy = leading(summaries) is not REALISED_LOSS
    for quantity in quantities:
        # What the draw of a truth decides is not emphasised where something exact is there.
        judged = replace(quantity, good="") if noisy and quantity is REALISED_LOSS else quantity
        for column, cells in _columns(summaries, printed, judged if intervals else replace(judged, interval=None)):
            columns.append(column)
            for row, cell in zip(contents, cells, strict=True):
                row.append(cell)
    rows = tuple(tuple(row) for row in contents)
    breaks = frozenset(row for row in range(1, len(summaries)) if summaries[row].group != summaries[row - 1].group)
    return Table("", tuple(columns), rows, header=len(group_keys), breaks=breaks)


def _columns(
    summaries: Sequence[Summary], printed: Sequence[PaperRow | None], quantity: Quantity
) -> list[tuple[Column, list[Cell]]]:
    values = [quantity.ours(summary) for summary in summaries]
    theirs = [quantity.paper(row) if quantity.paper and row else None for row in printed]
    if all(value is None for value in values) or (quantity.rare and not any(values) and not any(theirs)):
        return []  # the paper's stand beside ours, never alone
    best = _best_by_group(summaries, quantity)
    cells = [Cell(quantity.shown(value), row in best) for row, value in enumerate(values)]
    found = [(Column(quantity.title), cells)]
    ends = [quantity.interval(summary) if quantity.interval else None for summary in summaries]
    if any(ends):
        shown = [f"[{quantity.shown(end[0])}, {quantity.shown(end[1])}]" if end else DASH for end in ends]
        found.append((Column("95 % interval"), [Cell(text) for text in shown]))
    if any(value is not None for value in theirs):
        found.append((Column(quantity.paper_title, paper=True), [Cell(quantity.shown(value)) for value in theirs]))
    return found


def _best_by_group(summaries: Sequence[Summary], quantity: Quantity) -> set[int]:
    """Return the rows that hold the best value of their group."""
    found: set[int] = set()
    for group in distinct_groups(summary.group for summary in summaries):
        found |= _best([summary if summary.group == group else None for summary in summaries], quantity)
    return found


def _best(places: Sequence[Summary | None], quantity: Quantity) -> set[int]:
    """Return the places that show the best value among the honest policies that have every scenario.

    What reads the same is emphasised alike; where all read the same, nothing stands out.
    """
    compared = {
        number: value
        for number, place in enumerate(places)
        if place is not None and not place.missing and not knows_the_truth(place.policy)
        if (value := quantity.ours(place)) is not None
    }
    if not quantity.good or not compared:
        return set()
    best = min(compared.values()) if quantity.good == "low" else max(compared.values())
    tied = {number for number, value in compared.items() if quantity.shown(value) == quantity.shown(best)}
    return tied if len(tied) < len(compared) else set()


def _shown(place: Summary | None, quantity: Quantity) -> str:
    value = quantity.ours(place) if place else None
    return quantity.shown(value) + (share_of(place) if place and value is not None else "")


def share_of(summary: Summary) -> str:
    """Return in brackets on how many scenarios of its group a policy has numbers; nothing where on all."""
    sound = summary.scenarios - summary.errors
    return f" ({count(sound)} of {count(sound + summary.missing)})" if summary.missing else ""


def _caption(table: Table, summaries: Sequence[Summary], paper: PaperTable | None) -> str:
    sizes = sorted({summary.scenarios - summary.errors + summary.missing for summary in summaries})
    over = count(sizes[0]) if len(sizes) == 1 else f"{count(sizes[0])} to {count(sizes[-1])}"
    told = [f"Means over {over} scenarios a row.{_bracketed(summaries)}"]
    if any(cell.strong for row in table.rows for cell in row):
        conditions = ["are not told the truth"] if any(knows_the_truth(summary.policy) for summary in summaries) else []
        conditions += ["have every scenario"] if any(summary.missing for summary in summaries) else []
        of_those = f" of those that {' and '.join(conditions)}," if conditions else ""
        told.append(f"Bold: best, as shown,{of_those} unless all are equal.")
    if paper and any(column.paper for column in table.columns):
        told.append(f"Columns called “paper’s” are from its {paper.title}.")
    return " ".join(told)


def _bracketed(summaries: Sequence[Summary]) -> str:
    """Return what the brackets that ``share_of`` writes mean, where there are any."""
    some = any(summary.missing for summary in summaries)
    return (
        " In brackets: on how many scenarios there are numbers, where not on all; means are over those." if some else ""
    )
