"""The compact tables that pages show, so that they can be checked against the committed results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aquamend_lab.analysis.narrowed import narrowed
from aquamend_lab.analysis.paper import paper_table
from aquamend_lab.analysis.report.as_markdown import escaped, table_as_markdown
from aquamend_lab.analysis.report.paper_page import paper_markdown
from aquamend_lab.analysis.report.tables import compact_table
from aquamend_lab.analysis.report.wording import count
from aquamend_lab.analysis.summary import summarise, summarise_together
from aquamend_lab.analysis.table import table_of
from aquamend_lab.records import Run

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
    lines = ["| " + " | ".join(escaped(" ".join(cell.split())) for cell in row) + " |" for row in rows]
    made = f"{part['day']}, commit {part['commit']}, {part['processor']}"
    return "\n".join([f"**{escaped(part['title'])}** ({escaped(made)})", "", *lines])


def _between(page: str, begin: str, end: str, content: Callable[[], str]) -> str:
    before, found, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    return f"{before}{begin}\n{content()}{end}{after}" if found and ended else page
