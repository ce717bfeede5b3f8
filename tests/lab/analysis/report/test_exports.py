"""Tables and figures for other programs: the same numbers, in forms that those programs read."""

import csv
import io

import pyarrow
import pytest
from pyarrow import parquet

from aquamend_lab.analysis.report.build import analysed_runs, report_of, write_report
from aquamend_lab.analysis.report.document import Cell, Column, Table
from aquamend_lab.analysis.report.rendering import as_csv, as_latex, as_parquet, cell_number, columns_of, named_tables

SMALL = Table(
    "Two rows.",
    (Column("policy", numeric=False), Column("loss (s)"), Column("loss (s)"), Column("interval")),
    (
        (Cell("50 % & more_$"), Cell("1,234.5", strong=True), Cell("−2.5"), Cell("[1.0, 2.0]")),
        (Cell("x"), Cell("–"), Cell("20.0 %"), Cell("")),
    ),
)


@pytest.mark.parametrize(
    ("text", "number"),
    [("1,234.5", 1234.5), ("−2.5", -2.5), ("20.0 %", 0.2), ("–", None), ("[1, 2]", None), ("3", 3.0)],
)
def test_a_cell_is_the_number_that_it_shows(text, number):
    assert cell_number(text) == (pytest.approx(number) if number is not None else None)


def test_columns_of_numbers_are_numbers_and_titles_differ():
    assert columns_of(SMALL) == {
        "policy": ["50 % & more_$", "x"],
        "loss (s)": [1234.5, None],
        "loss (s) (2)": [-2.5, 0.2],
        "interval": ["[1.0, 2.0]", ""],
    }


def test_csv_and_parquet_hold_the_same():
    rows = list(csv.DictReader(io.StringIO(as_csv(SMALL).decode())))
    table = parquet.read_table(io.BytesIO(as_parquet(SMALL)))
    assert [row["loss (s)"] for row in rows] == ["1234.5", ""]
    assert table.column("loss (s)").to_pylist() == [1234.5, None]
    assert table.schema.field("loss (s)").type == pyarrow.float64()
    assert table.column_names == list(rows[0])


def test_latex_escapes_what_it_must_and_makes_the_best_bold():
    text = as_latex(SMALL).decode()
    assert r"50 \% \& more\_\$ & \textbf{1,234.5} & $-$2.5 & [1.0, 2.0] \\" in text
    assert text.startswith("% Two rows.\n\\begin{tabular}{lrrr}\n\\toprule\n")
    assert text.endswith("\\bottomrule\n\\end{tabular}\n")


def test_a_report_is_exported_whole(m1, tmp_path):
    document = report_of(analysed_runs([m1]))
    written = write_report(document, tmp_path, export=True)
    names = {str(path.relative_to(tmp_path)) for path in written}
    assert all(path.is_file() for path in written)
    tables = named_tables(document)
    assert len(tables) == len(document.tables) > 3
    for name in tables:
        assert {f"tables/{name}.{suffix}" for suffix in ("csv", "parquet", "tex")} <= names
    for figure in document.figures:
        pdf, svg = ((tmp_path / "print" / f"{figure.name}.{suffix}").read_bytes() for suffix in ("pdf", "svg"))
        assert pdf.startswith(b"%PDF")
        assert b'width="252pt"' in svg, "three and a half inches"


def test_without_being_asked_nothing_is_exported(m1, tmp_path):
    write_report(report_of(analysed_runs([m1])), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "report.md", "figures"}
