"""From runs to a report, and from a report to files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from aquamend.analysis.figures import require_matplotlib
from aquamend.analysis.report.analysed import Analysed, analysed, headline
from aquamend.analysis.report.as_html import as_html
from aquamend.analysis.report.as_markdown import as_markdown
from aquamend.analysis.report.document import Block, Bullets, Document, Explorer, Paragraph, Section
from aquamend.analysis.report.names import OURS, policy_name
from aquamend.analysis.report.provenance import incomplete, provenance_table, runs_table
from aquamend.analysis.report.scenarios import MOST_WITH_STEPS, explorer_data
from aquamend.analysis.report.suite_section import suite_section
from aquamend.records import Run, write_atomically

TITLE = "Recovery policies compared"


def report_of(runs: Sequence[Run]) -> Document:
    """Return the report of one or more runs, a section a run."""
    require_matplotlib()
    titles = _titles(runs)
    found = [
        analysed(run, title=title, anchor=anchor)
        for run, title, anchor in zip(runs, titles, _anchors(titles), strict=True)
    ]
    explorer = _explorer(found)
    provenance = Section("Provenance", "provenance", (provenance_table(runs, titles),))
    sections = (*map(suite_section, found), *([explorer] if explorer else []), provenance)
    return Document(TITLE, tuple(_lead(found)), sections)


def write_report(runs: Sequence[Run], folder: Path) -> list[Path]:
    """Write the report as HTML, Markdown and figures, each file whole or not at all; return their paths."""
    document = report_of(runs)
    files = {folder / "report.html": as_html(document).encode(), folder / "report.md": as_markdown(document).encode()}
    for figure in document.figures:
        files[folder / "figures" / f"{figure.name}.svg"] = figure.svg
        files[folder / "figures" / f"{figure.name}.png"] = figure.png
    for path, data in files.items():
        write_atomically(path, data)
    return list(files)


def _lead(found: Sequence[Analysed]) -> list[Block]:
    notices = [notice for one in found if (notice := incomplete(one.run, title=one.title))]
    headlines = tuple(text for one in found if (text := headline(one)))
    return [
        *notices,
        Paragraph(
            "Every number is computed from the records of the runs below. Losses and risks are in the unit of each "
            "suite; less is better. Policies meet the same scenarios, so comparisons are paired."
        ),
        *([Bullets(headlines)] if headlines else []),
        runs_table([one.run for one in found], [one.title for one in found]),
    ]


def _titles(runs: Sequence[Run]) -> list[str]:
    """Return the name of each run's suite; with its folder where a suite comes twice."""
    suites = [run.suite for run in runs]
    return [
        run.suite if suites.count(run.suite) == 1 else f"{run.suite} ({run.folder.name or run.folder})" for run in runs
    ]


def _anchors(titles: Sequence[str]) -> list[str]:
    """Return a name for links and files from each title, no two alike."""
    found: list[str] = []
    for title in titles:
        plain = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "run"
        name, number = plain, 2
        while name in found:
            name, number = f"{plain}-{number}", number + 1
        found.append(name)
    return found


def _explorer(found: Sequence[Analysed]) -> Section | None:
    data = [explorer_data(one.run, one.grid, title=one.title) for one in found]
    suites = [suite for suite in data if suite is not None]
    if not suites:
        return None
    text = (
        "Choose two policies, and open a scenario to see what every policy did and what was true. Numbers are rounded "
        f"to four decimals. Steps are kept for at most {MOST_WITH_STEPS} scenarios a suite: each policy in turn offers "
        f"the scenario where it differs most from {policy_name(OURS)}."
    )
    return Section("Scenario by scenario", "explore", (Paragraph(text), Explorer({"suites": suites})))
