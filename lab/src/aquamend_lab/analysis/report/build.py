"""From runs to a report, and from a report to files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from aquamend.files.atomic import write_atomically
from aquamend_lab.analysis.charts import require_matplotlib
from aquamend_lab.analysis.report.document import (
    Block,
    Bullets,
    Document,
    Explorer,
    Notice,
    Paragraph,
    Section,
    as_anchors,
)
from aquamend_lab.analysis.report.rendering import as_html, as_markdown, exported
from aquamend_lab.analysis.report.scenarios import MOST_WITH_STEPS, explorer_data
from aquamend_lab.analysis.report.suite_section import (
    Analysed,
    analysed,
    headline,
    incomplete,
    provenance_table,
    runs_table,
    suite_section,
)
from aquamend_lab.analysis.table import RunTable, group_key, group_name, narrowed, table_of
from aquamend_lab.records import Run

TITLE = "Recovery policies compared"


def analysed_runs(runs: Sequence[Run]) -> list[Analysed]:
    """Return runs analysed, each under a title of its own."""
    titles = _titles(runs)
    return [
        analysed(run, title=title, anchor=anchor)
        for run, title, anchor in zip(runs, titles, as_anchors(titles, untitled="run"), strict=True)
    ]


def report_of(found: Sequence[Analysed]) -> Document:
    """Return the report of one or more runs, a section for each run."""
    require_matplotlib()
    explorer = _explorer(found)
    provenance = Section("Provenance", "provenance", (provenance_table(*_runs_and_titles(found)),))
    sections = (*map(suite_section, found), *([explorer] if explorer else []), provenance)
    return Document(TITLE, tuple(_lead(found)), sections)


def write_report(document: Document, folder: Path, *, export: bool = False) -> list[Path]:
    """Write a report as HTML, Markdown and figures, each file whole or not at all; return their paths, the page first.

    With ``export`` its tables and figures are also written for other programs and for print.
    The page is written last: it is there only if everything that stands beside it is.
    """
    pages = {folder / "report.html": as_html(document).encode(), folder / "report.md": as_markdown(document).encode()}
    figures = {}
    for figure in document.figures:
        figures[folder / "figures" / f"{figure.name}.svg"] = figure.svg
        figures[folder / "figures" / f"{figure.name}.png"] = figure.png
    more = {folder / path: data for path, data in exported(document).items()} if export else {}
    files = pages | figures | more
    for path in files:
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder")
    for path in reversed(files):
        write_atomically(path, files[path])
    return list(files)


def _runs_and_titles(found: Sequence[Analysed]) -> tuple[list[Run], list[str]]:
    """Return every run that the report is made from, and what to call it."""
    runs = [run for one in found for run in one.run.parts or (one.run,)]
    return runs, _titles(runs)


def _lead(found: Sequence[Analysed]) -> list[Block]:
    notices = [notice for one in found if (notice := incomplete(one.run, title=one.title))]
    notices += [Notice(f"{one.title}. {less}") for one in found if (less := narrowed(one.run))]
    headlines = tuple(text for one in found if (text := headline(one)))
    paired = (
        "All that a run compares met the same scenarios, so comparisons are paired."
        if all(one.shares_scenarios for one in found)
        else "Comparisons are paired: over the scenarios on which both sides have numbers."
    )
    return [
        *notices,
        *([Bullets(headlines)] if headlines else []),
        Paragraph(
            "Every number is computed from the records of the runs below. Losses, risks and errors are in the unit "
            f"that stands with them, or else in that of the suite; less is better. {paired}"
        ),
        runs_table(*_runs_and_titles(found)),
    ]


def _titles(runs: Sequence[Run]) -> list[str]:
    """Return the name of each run's suite; with its folder where a suite comes twice, as long as it takes to differ."""
    suites, folders = [run.suite for run in runs], [run.folder.resolve() for run in runs]
    names = [folder.name for folder in folders]
    labels = [name if names.count(name) == 1 else str(folder) for name, folder in zip(names, folders, strict=True)]
    return [
        suite if suites.count(suite) == 1 else f"{suite} ({where})" for suite, where in zip(suites, labels, strict=True)
    ]


def _of_one_unit(one: Analysed) -> list[tuple[RunTable, str]]:
    """Return a run's table, or one for each group where groups have units of their own: means are over one table."""
    table = one.table
    if len(table.units) < 2:
        return [(table, one.title)]
    parts = []
    for group in table.distinct_groups:
        own = [line for line in one.run.records if group_key(line["group"]) == group_key(group)]
        unit = table.unit_of(group)
        title = f"{one.title}: {group_name(group)}" + (f" ({unit})" if unit else "")
        parts.append((table_of(replace(one.run, records=own)), title))
    return parts


def _explorer(found: Sequence[Analysed]) -> Section | None:
    data = [explorer_data(table, title=title) for one in found for table, title in _of_one_unit(one)]
    suites = [suite for suite in data if suite is not None]
    if not suites:
        return None
    text = (
        "Choose what to compare, and open a scenario to see the rest of it. Numbers are rounded to four decimals where "
        "that hides no difference."
    )
    if any(suite["some_steps"] for suite in suites):
        text += (
            f" Steps are kept for at most {MOST_WITH_STEPS} scenarios a suite: each policy in turn offers the scenario "
            "where it differs most from the one that the page compares first."
        )
    return Section("Scenario by scenario", "explore", (Paragraph(text), Explorer({"suites": suites})))
