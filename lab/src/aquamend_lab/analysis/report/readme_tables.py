"""Tables that stand in pages of the documentation: results beside the paper's, every number of the paper, and speed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from aquamend_lab.analysis.merging import narrowed
from aquamend_lab.analysis.metrics import METRICS, Summary, summarise, summarise_by, summarise_together
from aquamend_lab.analysis.paper import paper_table
from aquamend_lab.analysis.paper.checks import Agreement, CheckedRow, CheckedTable, PaperNumber, checked_tables
from aquamend_lab.analysis.report.rendering import escaped, markdown_row, table_as_markdown
from aquamend_lab.analysis.report.tables import compact_table
from aquamend_lab.analysis.report.wording import count, decimal, policy_name
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
    lines = [markdown_row(head), markdown_row(["---", "---", *["---:"] * (len(head) - 2)])]
    for table in tables:
        counts = [count(table.count(standing)) for standing in Agreement] if table.suite else ["–"] * len(Agreement)
        suite = f"`{table.suite}`" if table.suite else f"`{table.table.family}`, not run"
        lines.append(markdown_row([escaped(table.table.label), suite, count(table.numbers), *counts]))
    return "\n".join(lines)


def _rows(table: CheckedTable, less: str) -> str:
    lines = [markdown_row(["row", "ours (the paper's)", "differs because"]), markdown_row(["---", "---", "---"])]
    for row in table.rows:
        why = "; ".join(dict.fromkeys(check.why for check in row.checks if check.why))
        lines.append(markdown_row([_name(row), " · ".join(map(_number, row.checks)), why]))
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


BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"
"""What the tables stand between in a page."""
PAPER_BEGIN, PAPER_END = "<!-- paper:begin -->", "<!-- paper:end -->"
"""What the paper's rows beside ours stand between."""


SPEED_BEGIN, SPEED_END = "<!-- speed:begin -->", "<!-- speed:end -->"
"""What the tables of `make bench` stand between."""


def markdown_tables(runs: Sequence[Run]) -> str:
    """Return one small table for each run, ours beside the paper's, under the name of its suite."""
    return "\n\n".join(map(_titled, runs)) + "\n"


def _titled(run: Run) -> str:
    paper = paper_table(run.suite)
    beside = f"; beside it the paper’s {paper.label}" if paper else ""
    data = table_of(run)
    table = compact_table(summarise_together(data) if data.pooled else summarise(data), paper, intervals=True)
    about = table.caption.lower().rstrip(".")
    grouped = f", {about}" if about else ""
    title = f"**{escaped(run.suite)}**, {count(len(data.scenarios))} scenarios{grouped}{beside}:"
    return "\n\n".join(part for part in (title, escaped(narrowed(run)), table_as_markdown(table)) if part)


def with_tables(page: str, runs: Sequence[Run]) -> str:
    """Return a page with the tables, and the paper's rows beside ours, between its markers, where it has any."""
    page = _between(page, BEGIN, END, lambda: markdown_tables(runs))
    return _between(page, PAPER_BEGIN, PAPER_END, lambda: paper_markdown(runs))


def with_speed(page: str, parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a page with the tables that `make bench` kept between its markers."""
    return _between(page, SPEED_BEGIN, SPEED_END, lambda: "\n\n".join(map(_timed, parts.values())) + "\n")


def _timed(part: Mapping[str, Any]) -> str:
    rows = [part["columns"], ["---"] * len(part["columns"]), *part["rows"]]
    lines = [markdown_row(map(escaped, row)) for row in rows]
    made = f"{part['day']}, commit {part['commit']}, {part['processor']}"
    return "\n".join([f"**{escaped(part['title'])}** ({escaped(made)})", "", *lines])


def _between(page: str, begin: str, end: str, content: Callable[[], str]) -> str:
    before, found, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    return f"{before}{begin}\n{content()}{end}{after}" if found and ended else page
