"""The compact tables that the README shows, so that it can be checked against the committed results."""

from __future__ import annotations

from collections.abc import Sequence

from aquamend_lab.analysis.paper import paper_table
from aquamend_lab.analysis.report.as_markdown import escaped, table_as_markdown
from aquamend_lab.analysis.report.tables import compact_table
from aquamend_lab.analysis.report.wording import count
from aquamend_lab.analysis.summary import summarise, summarise_together
from aquamend_lab.analysis.table import table_of
from aquamend_lab.records import Run

BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"
"""What the tables stand between in the README."""


def markdown_tables(runs: Sequence[Run]) -> str:
    """Return one small table for each run, ours beside the paper's, under the name of its suite."""
    return "\n\n".join(map(_titled, runs)) + "\n"


def _titled(run: Run) -> str:
    paper = paper_table(run.suite)
    beside = f"; beside it the paper’s {paper.label}" if paper else ""
    data = table_of(run)
    table = compact_table(summarise_together(data) if data.pooled else summarise(data), paper, intervals=True)
    told = table.caption.lower().rstrip(".")
    grouped = f", {told}" if told else ""
    title = f"**{escaped(run.suite)}**, {count(len(data.scenarios))} scenarios{grouped}{beside}:"
    return "\n\n".join([title, table_as_markdown(table)])


def with_tables(readme: str, runs: Sequence[Run]) -> str:
    """Return a README with the tables between its markers; as it is where it has none."""
    before, found, rest = readme.partition(BEGIN)
    _, ended, after = rest.partition(END)
    return f"{before}{BEGIN}\n{markdown_tables(runs)}{END}{after}" if found and ended else readme
