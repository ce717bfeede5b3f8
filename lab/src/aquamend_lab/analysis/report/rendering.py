"""A report as one HTML page that loads nothing from elsewhere, and as Markdown with the drawings beside it as files.

Its tables and figures also as files for other programs and for print: CSV, Parquet, LaTeX, SVG and PDF.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping
from html import escape
from importlib.resources import files
from typing import assert_never

from markupsafe import Markup

from aquamend.errors import MissingLibrary
from aquamend.story.page import page
from aquamend_lab.analysis.drawing import FAINT, INK, PAPER
from aquamend_lab.analysis.report.document import (
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
    distinct,
)
from aquamend_lab.analysis.report.wording import DASH

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
