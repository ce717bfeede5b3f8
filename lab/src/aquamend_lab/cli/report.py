"""``aquamend report``: one page about one or more runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from aquamend.cli.options import AsJson
from aquamend.cli.output import Refusals, print_json, print_text
from aquamend.errors import AquaMendError
from aquamend.text import FAINT, Heading, grid_of, shown
from aquamend_lab.analysis.charts import described_by, styles_in
from aquamend_lab.analysis.metrics import as_data, summarise, summarise_together
from aquamend_lab.analysis.report.document import Table
from aquamend_lab.analysis.table import merged, table_of
from aquamend_lab.records import Run, RunFolder, load_run, with_stories

if TYPE_CHECKING:
    from aquamend_lab.analysis.report.build import Analysed


def report(
    folders: Annotated[
        list[str], typer.Argument(metavar="DIR", help="Folders that `aquamend bench` wrote.", show_default=False)
    ],
    *,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="Where to write. Default: DIR/report for one run, report for several.",
            show_default=False,
        ),
    ] = None,
    export: Annotated[
        bool,
        typer.Option(
            "--export",
            help="Also write every table as CSV, Parquet and LaTeX (tables/), every figure as SVG and PDF at the width "
            "of a column (print/).",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write one page about one or more runs, from their records alone. Runs of one suite share their tables.

    report.html stands alone: tables beside the paper's, paired comparisons, figures, every scenario to look through.
    report.md says the same; figures/ has the drawings as SVG and PNG. With --json, a line for each policy and group is
    printed and nothing written; group is null over all groups, where they are kinds of scenarios.
    """
    refusals = Refusals()
    runs = _loaded(folders, refusals)
    refusals.exit()
    folder = Path("report")
    found: list[Analysed] = []
    written: list[Path] = []
    try:
        folder = Path(out) if out is not None else _usual_place(runs)
        runs = merged(runs)
        if as_json:
            _print_summaries(runs)
            return
        from aquamend_lab.analysis.report.build import analysed_runs, report_of, write_report

        with described_by(styles_in(run.manifest for run in runs)):
            found = analysed_runs([with_stories(run, folder) for run in runs])
            written = write_report(report_of(found), folder, export=export)
    except AquaMendError as error:
        refusals.about("aquamend report", error)
    except OSError as error:
        refusals.about("aquamend report", AquaMendError(f"{folder} cannot be written ({error}); give another --out"))
    refusals.exit()
    print_text(lambda console: _print_done(console, found, written))


def _loaded(folders: list[str], refusals: Refusals) -> list[Run]:
    runs, places = [], {os.path.abspath(folder): folder for folder in folders}  # each run once, however it is written
    for folder in places.values():
        try:
            runs.append(load_run(folder))
        except AquaMendError as error:
            refusals.about("aquamend report", error)
    return runs


def _usual_place(runs: list[Run]) -> Path:
    """Return where a report goes if nobody says: never through a link that somebody else's folder holds."""
    if len(runs) > 1:
        return Path("report")
    folder = runs[0].folder / "report"
    RunFolder(runs[0].folder).require_inside(folder, folder / "figures")
    return folder


def _print_summaries(runs: list[Run]) -> None:
    lines = []
    for run in runs:  # all of them first: one may be unsound
        table = table_of(run)
        if table.pooled:
            lines += [as_data(summary) | {"group": None} for summary in summarise_together(table)]
        lines += [as_data(summary) for summary in summarise(table)]
    for line in lines:
        print_json(line)


def _print_done(console: Console, found: list[Analysed], written: list[Path]) -> None:
    from aquamend_lab.analysis.report.build import notices
    from aquamend_lab.analysis.report.tables import compact_table

    with described_by(styles_in(one.run.manifest for one in found)):
        for one in found:
            console.print(one.title, style="bold")
            for notice in notices(one.run):
                console.print(notice.text, style="yellow")
            if one.summaries:
                print_table(compact_table(one.together or one.summaries, one.paper), console)
            console.print()
    pages = [path for path in written if path.suffix in (".html", ".md")]
    for path in pages:
        console.print(str(path), soft_wrap=True)
    others = [path.parent for path in written if path not in pages]
    for place in dict.fromkeys(others):
        console.print(f"{place} ({others.count(place)} files)", soft_wrap=True)


def print_table(table: Table, console: Console) -> None:
    """Print a table: the column that names the rows gives way where it is too wide."""
    # A title has a word a line, so that numbers and not titles make the width; the paper's stand beside ours.
    titles = ["\n".join(shown("paper" if column.paper else column.title).split(" ")) for column in table.columns]
    sided = zip(titles, table.columns, strict=True)
    headings = (Heading(title, "right" if column.numeric else "left") for title, column in sided)
    rows = [[Text(shown(cell.text), style="bold" if cell.strong else "") for cell in row] for row in table.rows]
    grid = grid_of(*headings, rows=rows, flexible=(table.header,))
    if table.caption:
        console.print(Text(shown(table.caption), style=FAINT))
    console.print(grid)
