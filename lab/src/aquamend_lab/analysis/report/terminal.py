"""A table of a report in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from aquamend.text import FAINT, Side, grid_of, shown
from aquamend_lab.analysis.report.document import Column, Table


def print_table(table: Table, console: Console) -> None:
    """Print a table: the column that names the rows gives way where it is too wide."""
    titles: list[tuple[str, Side]] = [
        (_narrow(column), "right" if column.numeric else "left") for column in table.columns
    ]
    grid = grid_of(*titles, flexible=(table.header,))
    for row in table.rows:
        grid.add_row(*(Text(shown(cell.text), style="bold" if cell.strong else "") for cell in row))
    if table.caption:
        console.print(Text(shown(table.caption), style=FAINT))
    console.print(grid)


def _narrow(column: Column) -> str:
    """Return a title a word a line, so that numbers and not titles make the width; the paper's stand beside ours."""
    return "\n".join(shown("paper" if column.paper else column.title).split(" "))
