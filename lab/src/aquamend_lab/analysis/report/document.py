"""What a report consists of, before it is HTML or Markdown: plain text in every field, escaped where it is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the reader must not miss."""

    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list, one sentence or two an item."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table."""

    text: str
    strong: bool = False
    """The best of its column."""


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column."""

    title: str
    numeric: bool = True
    paper: bool = False
    """Its numbers are the paper's, not ours."""
    long: bool = False
    """Its text runs over several lines."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; every row has a cell a column."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    header: int = 0
    """The column that names the row, which stays in sight where a table is wider than the screen."""
    breaks: frozenset[int] = frozenset()
    """Rows that begin a new group, by index."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing, under the name of its files."""

    name: str
    caption: str
    svg: bytes
    png: bytes


@dataclass(frozen=True, slots=True)
class Folded:
    """Detail that a page folds away under a summary; on paper and in Markdown it is open."""

    summary: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Explorer:
    """Every scenario of every suite, to look through in a browser; nothing elsewhere."""

    data: dict[str, Any]


Block = Paragraph | Notice | Bullets | Table | Figure | Folded | Explorer


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report, under a heading, with parts of its own."""

    title: str
    anchor: str
    blocks: tuple[Block, ...] = ()
    parts: tuple[Section, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A report."""

    title: str
    lead: tuple[Block, ...]
    sections: tuple[Section, ...] = field(default=())

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Every drawing, in reading order."""
        found = [block for block in self.lead if isinstance(block, Figure)]
        for section in self.sections:
            found += _figures_of(section)
        return tuple(found)


def _figures_of(section: Section) -> list[Figure]:
    found = [block for block in section.blocks if isinstance(block, Figure)]
    return found + [figure for part in section.parts for figure in _figures_of(part)]
