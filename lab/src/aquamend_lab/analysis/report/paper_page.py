"""The first page of the results: the paper's tables beside ours, row by row, and how many numbers are reproduced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aquamend_lab.analysis.metrics import METRICS
from aquamend_lab.analysis.narrowed import narrowed
from aquamend_lab.analysis.paper import paper_table
from aquamend_lab.analysis.paper.checks import Agreement, CheckedRow, CheckedTable, PaperNumber, checked_tables
from aquamend_lab.analysis.report.as_markdown import escaped
from aquamend_lab.analysis.report.wording import count, decimal, policy_name
from aquamend_lab.analysis.summary import Summary, summarise, summarise_by, summarise_together
from aquamend_lab.analysis.table import RunTable, table_of
from aquamend_lab.records import Run


def paper_beside(runs: Sequence[Run]) -> list[CheckedTable]:
    """Return the paper's tables beside these runs."""
    found = {}
    for run in runs:
        data = table_of(run)
        found[run.suite] = [*(_pooled(data, run.suite) if data.pooled else []), *summarise(data)]
    return checked_tables(found)


def _pooled(data: RunTable, suite: str) -> Iterable[Summary]:
    """Summarise over all groups together, and over those that one of the paper's rows takes together."""
    yield from summarise_together(data)
    table, divided = paper_table(suite), {name for group in data.groups for name in group}
    for names in dict.fromkeys(tuple(row.group) for row in table.rows if row.group) if table else ():
        if {*names} < divided:
            yield from summarise_by(data, names)


def paper_markdown(runs: Sequence[Run]) -> str:
    """Return the first page: how many numbers stand how, by table, and then row by row."""
    tables, less = paper_beside(runs), {run.suite: narrowed(run) for run in runs}
    rows = [_rows(table, less[table.suite]) for table in tables if table.suite]
    return "\n\n".join([_verdict(tables), _overview(tables), *rows]) + "\n"


def _verdict(tables: Sequence[CheckedTable]) -> str:
    run = [table for table in tables if table.suite]
    stand = {standing: sum(table.count(standing) for table in run) for standing in Agreement}
    absent = [f"`{table.table.family}`" for table in tables if not table.suite]
    waiting = f" Not in `results/`: {', '.join(absent)}." if absent else ""
    partly = f", {count(stand[Agreement.ABSENT])} are of policies that were not run" if stand[Agreement.ABSENT] else ""
    return (
        f"**Of {count(sum(table.numbers for table in run))} numbers in {len(run)} of the paper's tables, "
        f"{count(stand[Agreement.REPRODUCED])} are reproduced, {count(stand[Agreement.DIFFERS])} differ for a reason "
        f"that is given, and {count(stand[Agreement.OPEN])} are not explained{partly}.**{waiting}"
    )


def _overview(tables: Sequence[CheckedTable]) -> str:
    head = ["the paper's table", "suite", "numbers", *(str(standing) for standing in Agreement)]
    lines = [_line(head), _line(["---", "---", *["---:"] * (len(head) - 2)])]
    for table in tables:
        counts = [count(table.count(standing)) for standing in Agreement] if table.suite else ["–"] * len(Agreement)
        suite = f"`{table.suite}`" if table.suite else f"`{table.table.family}`, not run"
        lines.append(_line([escaped(table.table.label), suite, count(table.numbers), *counts]))
    return "\n".join(lines)


def _rows(table: CheckedTable, less: str) -> str:
    lines = [_line(["row", "ours (the paper's)", "differs because"]), _line(["---", "---", "---"])]
    for row in table.rows:
        why = "; ".join(dict.fromkeys(check.why for check in row.checks if check.why))
        lines.append(_line([_name(row), " · ".join(map(_number, row.checks)), why]))
    beside = f"{escaped(table.table.where)}; ours: `{table.suite}`. {escaped(less)}".strip()
    return f"### {table.table.label}\n\n{beside}\n\n" + "\n".join(lines)


def _name(row: CheckedRow) -> str:
    group = ", ".join(
        f"{name} = {value}" if isinstance(value, int) else str(value) for name, value in row.group.items()
    )
    return escaped(f"{policy_name(row.policy)}, {group}" if group else policy_name(row.policy))


def _number(check: PaperNumber) -> str:
    times = "×" if check.multiple else ""
    metric = METRICS[check.metric]
    decimals = 0 if metric.form == "count" else 2
    ours, paper = (f"{times}{decimal(value, decimals=decimals)}" for value in (check.ours, check.paper))
    text = f"{metric.title} {ours} ({paper})"
    mark = {Agreement.OPEN: "**", Agreement.DIFFERS: "*"}.get(check.standing, "")
    return f"{mark}{escaped(text)}{mark}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
