"""Summaries as tables: ours beside the paper's, the best emphasised, only columns that hold something."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aquamend.analysis.paper import PaperRow, PaperTable
from aquamend.analysis.report.document import Cell, Column, Table
from aquamend.analysis.report.names import group_name, knows_the_truth, policy_name
from aquamend.analysis.report.numbers import DASH, count, decimal, interval, share
from aquamend.analysis.summary import Summary

MOST_ROWS = 24
"""A table or drawing with more rows than this is folded away behind one with a row a group."""
TIE = 1e-9
"""Values this close are equal; floating point leaves less."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One column: where its numbers come from, how they read, and which end is good."""

    title: str
    ours: Callable[[Summary], float | None]
    paper: Callable[[PaperRow], float | None] | None = None
    paper_title: str = ""
    good: str = ""
    """``low``, ``high``, or nothing where neither is better."""
    shown: Callable[[float | None], str] = decimal
    interval: Callable[[Summary], tuple[float, float] | None] | None = None


def _milliseconds(value: float | None) -> str:
    return decimal(value, decimals=3)


def _one_decimal(value: float | None) -> str:
    return decimal(value, decimals=1)


def _percentage(value: float | None) -> str:
    return DASH if value is None else f"{decimal(100 * value)} %"


def _whole(value: float | None) -> str:
    return DASH if value is None else count(int(value))


RESULTS = (
    Quantity("success", lambda s: s.success, lambda p: p.success, "paper’s success", "high"),
    Quantity(
        "realised loss", lambda s: s.mean_loss, lambda p: p.loss, "paper’s realised cost", "low",
        interval=lambda s: s.mean_loss_interval,
    ),
    Quantity("expected risk", lambda s: s.expected_risk, lambda p: p.expected_risk, "paper’s expected risk", "low"),
    Quantity("gap to oracle", lambda s: None, lambda p: p.gap_to_oracle, "paper’s gap", "low"),
    Quantity("probes", lambda s: s.probes),
    Quantity("undone", lambda s: s.undone),
    Quantity("time (ms)", lambda s: s.decision_ms, lambda p: p.decision_ms, "paper’s time (ms)", shown=_milliseconds),
    Quantity("memory (KiB)", lambda s: s.peak_kib, lambda p: p.peak_kib, "paper’s memory (KiB)", shown=_one_decimal),
    Quantity(
        "normalised error", lambda s: s.normalised_error, lambda p: p.normalised_error, "paper’s normalised error",
        "low", shown=_percentage,
    ),
    Quantity("mean absolute error", lambda s: s.mean_absolute_error, good="low"),
    Quantity("states with disjoint sets", lambda s: s.proxy.disjoint_states if s.proxy else None, shown=_whole),
    Quantity(
        "normalised error there", lambda s: s.proxy.disjoint_normalised_error if s.proxy else None, shown=_percentage
    ),
    Quantity("scenarios", lambda s: s.scenarios, shown=_whole),
    Quantity("errors", lambda s: s.errors or None, shown=lambda v: _whole(v or 0.0)),
)  # fmt: skip

_PIVOTED = ("success", "expected risk", "normalised error", "time (ms)")

PARTS = (
    Quantity("realised loss", lambda s: s.mean_loss),
    Quantity("sensing", lambda s: s.sensing),
    Quantity("recovery", lambda s: s.recovery),
    Quantity("escalation", lambda s: s.escalation),
    Quantity("residual", lambda s: s.residual),
    Quantity("saved against restart", lambda s: s.saving, shown=share),
    Quantity("false alarms with no rollback", lambda s: s.zero_rollback_rate, shown=share),
    Quantity("… and success", lambda s: s.zero_rollback_and_success_rate, shown=share),
)


def result_table(summaries: Sequence[Summary], paper: PaperTable | None, *, caption: str) -> Table:
    """Return the main table of a suite: one row a (group, policy), oracles first, then by mean loss if not grouped."""
    gaps = gaps_to_oracle(summaries)
    quantities = [
        replace(quantity, ours=lambda s: gaps.get(id(s))) if quantity.title == "gap to oracle" else quantity
        for quantity in RESULTS
    ]
    if len({summary.scenarios for summary in summaries}) == 1:  # the caption says it once
        quantities = [quantity for quantity in quantities if quantity.title != "scenarios"]
    return _table(_ordered(summaries), quantities, paper, caption)


def parts_table(summaries: Sequence[Summary], *, caption: str) -> Table:
    """Return what the realised loss is made of."""
    return _table(_ordered(summaries), PARTS, None, caption)


def compact_table(summaries: Sequence[Summary], paper: PaperTable | None) -> Table:
    """Return the few quantities that fit a terminal or a README; expected risk alone where nothing else differs."""
    told = {"success", "realised loss", "expected risk", "normalised error"}
    if all(s.mean_loss is not None and s.expected_risk is not None for s in summaries) and all(
        abs((s.mean_loss or 0.0) - (s.expected_risk or 0.0)) <= TIE for s in summaries
    ):
        told -= {"realised loss"}  # every hidden truth was played, so it says the same
    if len(summaries) > MOST_ROWS:
        return next(iter(pivot_tables(summaries, only="expected risk")), _table(summaries, (), None, ""))
    quantities = [replace(quantity, interval=None) for quantity in RESULTS if quantity.title in told]
    return _table(_ordered(summaries), quantities, paper, "")


def pivot_tables(summaries: Sequence[Summary], *, only: str = "") -> list[Table]:
    """Return the main quantities (or only one) with a row a group and a column a policy."""
    policies = list(dict.fromkeys(summary.policy for summary in summaries))
    groups = _distinct(summary.group for summary in summaries)
    by_place = {(s.policy, group_name(s.group)): s for s in summaries}
    tables = []
    for quantity in (quantity for quantity in RESULTS if quantity.title in ([only] if only else _PIVOTED)):
        if all(quantity.ours(summary) is None for summary in summaries):
            continue
        rows = []
        for group in groups:
            places = [by_place.get((policy, group_name(group))) for policy in policies]
            values = [None if place is None else quantity.ours(place) for place in places]
            best = _best(policies, values, quantity)
            rows.append((Cell(group_name(group)), *(Cell(quantity.shown(v), i in best) for i, v in enumerate(values))))
        columns = (Column("group", numeric=False), *(Column(policy_name(policy)) for policy in policies))
        tables.append(Table(f"{quantity.title.capitalize()}, a row a group.", columns, tuple(rows)))
    return tables


def gaps_to_oracle(summaries: Sequence[Summary]) -> dict[int, float]:
    """Return by how much each summary's mean loss exceeds the oracle's in its group, by identity of the summary."""
    oracles = [s for s in summaries if s.policy == "oracle" and s.mean_loss is not None and not s.errors]
    return {
        id(own): own.mean_loss - oracle.mean_loss
        for oracle in oracles
        for own in summaries
        if own.group == oracle.group
        and own.mean_loss is not None
        and oracle.mean_loss is not None
        and (own.errors, own.scenarios) == (0, oracle.scenarios)
    }


def _ordered(summaries: Sequence[Summary]) -> list[Summary]:
    if any(summary.group for summary in summaries):
        return list(summaries)
    return sorted(
        summaries,
        key=lambda s: (not knows_the_truth(s.policy), s.mean_loss is None, round(s.mean_loss or 0.0, 9)),
    )


def _table(
    summaries: Sequence[Summary], quantities: Sequence[Quantity], paper: PaperTable | None, caption: str
) -> Table:
    printed = [paper.row(s.policy, s.group) if paper else None for s in summaries]
    group_keys = list(dict.fromkeys(key for summary in summaries for key in summary.group))
    columns = [Column(key, numeric=False) for key in group_keys] + [Column(_subject(summaries), numeric=False)]
    contents = [
        [Cell(str(s.group.get(key, ""))) for key in group_keys] + [Cell(policy_name(s.policy))] for s in summaries
    ]
    for quantity in quantities:
        for column, cells in _columns(summaries, printed, quantity):
            columns.append(column)
            for row, cell in zip(contents, cells, strict=True):
                row.append(cell)
    rows = tuple(tuple(row) for row in contents)
    return Table(caption, tuple(columns), rows, header=len(group_keys), breaks=_breaks(summaries))


def _subject(summaries: Sequence[Summary]) -> str:
    return "estimator" if any(summary.proxy for summary in summaries) else "policy"


def _columns(
    summaries: Sequence[Summary], printed: Sequence[PaperRow | None], quantity: Quantity
) -> list[tuple[Column, list[Cell]]]:
    values = [quantity.ours(summary) for summary in summaries]
    best = _best_by_group(summaries, values, quantity)
    found = []
    if any(value is not None for value in values):
        cells = [Cell(quantity.shown(value), row in best) for row, value in enumerate(values)]
        found.append((Column(quantity.title), cells))
    ends = [quantity.interval(summary) if quantity.interval else None for summary in summaries]
    if any(ends):
        found.append((Column("95 % interval"), [Cell(interval(*end) if end else DASH) for end in ends]))
    theirs = [quantity.paper(row) if quantity.paper and row else None for row in printed]
    if found and any(value is not None for value in theirs):  # beside ours, never alone
        found.append((Column(quantity.paper_title, paper=True), [Cell(quantity.shown(value)) for value in theirs]))
    return found


def _best_by_group(summaries: Sequence[Summary], values: Sequence[float | None], quantity: Quantity) -> set[int]:
    """Return the rows that hold the best value of their group."""
    found: set[int] = set()
    for group in _distinct(summary.group for summary in summaries):
        rows = [row for row, summary in enumerate(summaries) if summary.group == group]
        best = _best([summaries[row].policy for row in rows], [values[row] for row in rows], quantity)
        found |= {rows[place] for place in best}
    return found


def _best(policies: Sequence[str], values: Sequence[float | None], quantity: Quantity) -> set[int]:
    """Return the places that show the best value among the honest policies.

    What reads the same is emphasised alike; where all read the same, nothing stands out.
    """
    compared = {
        place: value
        for place, (policy, value) in enumerate(zip(policies, values, strict=True))
        if value is not None and not knows_the_truth(policy)
    }
    if not quantity.good or not compared:
        return set()
    best = min(compared.values()) if quantity.good == "low" else max(compared.values())
    tied = {place for place, value in compared.items() if quantity.shown(value) == quantity.shown(best)}
    return tied if len(tied) < len(compared) else set()


def _distinct(groups: Any) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for group in groups:
        if group not in found:
            found.append(group)
    return found


def _breaks(summaries: Sequence[Summary]) -> frozenset[int]:
    return frozenset(row for row in range(1, len(summaries)) if summaries[row].group != summaries[row - 1].group)
