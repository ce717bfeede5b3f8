"""Tables and styles that every printed answer shares."""

from __future__ import annotations

from typing import Literal

from rich.table import Table

from aquamend.text import shown

Side = Literal["left", "right"]
CHOSEN = "bold green"
HEADING = "bold"
FAINT = "dim"
READABLE = 8
"""Columns that a flexible column keeps, so that names never vanish."""


def end_of(file: str, width: int) -> str:
    """Return a file's name cut from the left, where paths differ least, to fit the width."""
    name = shown(file)
    return name if len(name) <= width else f"…{name[len(name) - max(width, 2) + 1 :]}"


def grid_of(*columns: tuple[str, Side], flexible: tuple[int, ...], gap: int = 2) -> Table:
    """Return a table whose flexible columns give way, and wrap within themselves, so that the others never do."""
    grid = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style=FAINT)
    for i, (title, side) in enumerate(columns):
        gives_way = i in flexible
        grid.add_column(
            title,
            justify=side,
            no_wrap=not gives_way,
            overflow="fold" if gives_way else "ellipsis",
            min_width=READABLE if gives_way else None,
        )
    return grid
