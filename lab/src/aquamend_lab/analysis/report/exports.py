"""The tables and figures of a report as files for other programs and for print: CSV, Parquet, LaTeX, SVG and PDF."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping

from aquamend.errors import MissingLibrary
from aquamend_lab.analysis.report.document import Document, Table, as_anchors, distinct
from aquamend_lab.analysis.report.wording import DASH


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
    head = " & ".join(_escaped(column.title) for column in table.columns)
    rows = [
        " & ".join(f"\\textbf{{{_escaped(c.text)}}}" if c.strong and c.text else _escaped(c.text) for c in row)
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


def _escaped(text: str) -> str:
    """Return text as LaTeX shows it."""
    return re.sub(r"[\\~^\u2212\u00d7]|[&%$#_{}]", lambda m: _LATEX.get(m[0], f"\\{m[0]}"), " ".join(text.split()))


TABLE_FORMATS: Mapping[str, Callable[[Table], bytes]] = {"csv": as_csv, "parquet": as_parquet, "tex": as_latex}
