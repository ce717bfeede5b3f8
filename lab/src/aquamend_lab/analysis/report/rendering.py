"""A report as one HTML page that loads nothing from elsewhere, and as Markdown with the drawings beside it as files.

Its tables and figures also as files for other programs and for print: CSV, Parquet, LaTeX, SVG and PDF. And the tables
that stand in pages of the documentation: results beside the paper's, every number of the paper, and speed.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, assert_never

from markupsafe import Markup

from aquamend.errors import MissingLibrary
from aquamend.story.page import page
from aquamend_lab.analysis.charts import FAINT, INK, PAPER
from aquamend_lab.analysis.metrics import METRICS, Summary, summarise, summarise_by, summarise_together
from aquamend_lab.analysis.paper import Agreement, CheckedRow, CheckedTable, PaperNumber, checked_tables, paper_table
from aquamend_lab.analysis.report.document import (
    DASH,
    Block,
    Bullets,
    Cell,
    Document,
    Explorer,
    Figure,
    Folded,
    Notice,
    Paragraph,
    Section,
    Table,
    as_anchors,
    count,
    decimal,
    distinct,
    policy_name,
)
from aquamend_lab.analysis.report.tables import compact_table
from aquamend_lab.analysis.table import RunTable, narrowed, table_of
from aquamend_lab.records import Run

PACKAGE = "aquamend_lab.analysis.report"
SHORT = 9
"""Letters of a heading that stand in one line."""


def as_html(document: Document, *, watched_at: str = "") -> str:
    """Return the page: style, script, drawings and data inside it; ``watched_at`` is where scenarios can be watched."""
    scenarios = [block.data for _, block in document.blocks if isinstance(block, Explorer)]
    return page(
        "report.html",
        package=PACKAGE,
        style=_resource("assets/report.css"),
        script=_resource("assets/report.js"),
        data=scenarios[0] if scenarios else {},
        title=document.title,
        document=document,
        watched_at=watched_at,
        kind_of=lambda block: type(block).__name__,
        drawn=lambda figure: Markup(inline_svg(figure)),
        two_lines=two_lines,
    )


def _resource(name: str) -> str:
    return (files(PACKAGE) / name).read_text(encoding="utf-8")


def two_lines(title: str) -> int:
    """Return how many words of a heading stand in its first line, so that neither line is longer than need be."""
    words = title.split(" ")
    breaks = range(1, len(words)) if len(title) > SHORT else ()
    return min(breaks, key=lambda n: max(len(" ".join(words[:n])), len(" ".join(words[n:]))), default=len(words))


_COLOURS = {INK: "currentColor", PAPER: "var(--surface)", FAINT: "var(--line)"}


def inline_svg(figure: Figure) -> str:
    """Return the ``svg`` element alone, with a text for screen readers: no declaration, metadata or address."""
    text = figure.svg.decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    head, body = text.split(">", 1)
    box = re.search(r'viewBox="([^"]*)"', head)
    body = re.sub(r'xlink:href="#', f'href="#{figure.name}-', body)
    body = re.sub(r"url\(#", f"url(#{figure.name}-", body)
    body = re.sub(r'\bid="', f'id="{figure.name}-', body)
    for drawn, shown in _COLOURS.items():
        body = body.replace(drawn, shown)
    label = escape(figure.caption, quote=True)
    return f'<svg role="img" aria-label="{label}" viewBox="{box[1] if box else ""}">{body.strip()}'


def as_markdown(document: Document) -> str:
    """Return the report; its drawings are named relative to it, in ``figures/``."""
    parts = [f"# {escaped(document.title)}", *map(_block, document.lead)]
    for section in document.sections:
        parts += _section(section, level=2)
    return "\n\n".join(part for part in parts if part) + "\n"


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))


def table_as_markdown(table: Table) -> str:
    """Return a table without its caption."""
    head = [escaped(column.title) for column in table.columns]
    rule = ["---:" if column.numeric else "---" for column in table.columns]
    rows = [
        markdown_row(head),
        markdown_row(rule),
        *(markdown_row([_cell(cell) for cell in row]) for row in table.rows),
    ]
    return "\n".join(rows)


def _section(section: Section, *, level: int) -> list[str]:
    parts = [f"{'#' * level} {escaped(section.title)}", *map(_block, section.blocks)]
    for part in section.parts:
        parts += _section(part, level=level + 1)
    return parts


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            return escaped(text)
        case Notice(text):
            return f"> **{escaped(text)}**"
        case Bullets(items):
            return "\n".join(f"- {escaped(item)}" for item in items)
        case Table():
            return f"{table_as_markdown(block)}\n\n*{escaped(block.caption)}*"
        case Figure():
            caption = escaped(block.caption)
            return f"![{caption}](figures/{block.name}.svg)\n\n*{caption}*"
        case Folded(summary, blocks):
            return "\n\n".join([f"**{escaped(summary)}**", *map(_block, blocks)])
        case Explorer():
            return "The HTML page beside this file lets you look through every scenario."
        case _:
            assert_never(block)


def markdown_row(cells: Iterable[str]) -> str:
    """Return a row of a table."""
    return "| " + " | ".join(cells) + " |"


def _cell(cell: Cell) -> str:
    text = escaped(cell.text)
    text = f"[{text}]({cell.link})" if cell.link else text
    return f"**{text}**" if cell.strong and text else text


def exported(document: Document) -> dict[str, bytes]:
    """Return every table in three forms and every figure at column width in two, by their paths in a report."""
    files: dict[str, bytes] = {}
    for name, table in named_tables(document).items():
        files |= {f"tables/{name}.{suffix}": write(table) for suffix, write in TABLE_FORMATS.items()}
    for figure in document.figures:
        files |= {f"print/{figure.name}.{suffix}": data for suffix, data in figure.drawing.for_print().items()}
    return files


def named_tables(document: Document) -> dict[str, Table]:
    """Return every table under a name made of the sections that it stands in, no two alike."""
    names = as_anchors((where for where, _ in document.tables), untitled="runs")
    return dict(zip(names, (table for _, table in document.tables), strict=True))


def cell_number(text: str) -> float | None:
    """Return what a cell says as a number: a percentage as a share; None where it says none."""
    plain = text.replace(",", "").replace("\u2212", "-").replace("infinite", "inf").strip()
    share = plain.endswith("%")
    try:
        value = float(plain.rstrip("% "))
    except ValueError:
        return None
    return value / 100.0 if share else value


def columns_of(table: Table) -> dict[str, list[float | None] | list[str]]:
    """Return the columns by title: numbers where a column has nothing else, text as it stands otherwise."""
    found: dict[str, list[float | None] | list[str]] = {}
    titles = distinct((column.title for column in table.columns), form="{} ({})")
    for k, (title, column) in enumerate(zip(titles, table.columns, strict=True)):
        texts = [row[k].text for row in table.rows]
        numbers = [cell_number(text) for text in texts]
        worded = [text for text, number in zip(texts, numbers, strict=True) if number is None]
        numeric = column.numeric and all(text in ("", DASH) for text in worded)
        found[title] = numbers if numeric else texts
    return found


def as_csv(table: Table) -> bytes:
    """Return a table as CSV: numbers bare, what is unavailable empty."""
    columns, text = columns_of(table), io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(["" if v is None else v for v in values] for values in columns.values()), strict=True))
    return text.getvalue().encode()


def as_parquet(table: Table) -> bytes:
    """Return a table as Parquet."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingLibrary("pyarrow", "report", "or leave out --export", package="aquamend-lab") from None
    sink = io.BytesIO()
    parquet.write_table(pyarrow.table(columns_of(table)), sink)
    return sink.getvalue()


def as_latex(table: Table) -> bytes:
    """Return a table for LaTeX with the package booktabs; the best of a column is bold."""
    align = "".join("r" if column.numeric else "l" for column in table.columns)
    head = " & ".join(_latex_text(column.title) for column in table.columns)
    rows = [
        " & ".join(f"\\textbf{{{_latex_text(c.text)}}}" if c.strong and c.text else _latex_text(c.text) for c in row)
        for row in table.rows
    ]
    body = " \\\\\n".join(rows)
    caption = f"% {' '.join(table.caption.split())}\n" if table.caption else ""
    lines = f"\\begin{{tabular}}{{{align}}}\n\\toprule\n{head} \\\\\n\\midrule\n{body} \\\\\n"
    return f"{caption}{lines}\\bottomrule\n\\end{{tabular}}\n".encode()


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\u2212": "$-$",
    "\u00d7": r"$\times$",
}


def _latex_text(text: str) -> str:
    """Return text as LaTeX shows it."""
    return re.sub(r"[\\~^\u2212\u00d7]|[&%$#_{}]", lambda m: _LATEX.get(m[0], f"\\{m[0]}"), " ".join(text.split()))


TABLE_FORMATS: Mapping[str, Callable[[Table], bytes]] = {"csv": as_csv, "parquet": as_parquet, "tex": as_latex}


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
