"""What a report consists of, before it is HTML or Markdown: plain text in every field, escaped where it is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

from aquamend_lab.analysis.drawing import Drawing


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
    link: str = ""
    """Where it leads, as seen from the report; empty where it leads nowhere."""


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
    """A table; every row has a cell for each column."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    header: int = 0
    """The column that names the row, which stays in sight where a table is wider than the screen."""
    breaks: frozenset[int] = frozenset()
    """Rows that begin a new group, by index."""


def text_rows(rows: Iterable[Iterable[str]]) -> tuple[tuple[Cell, ...], ...]:
    """Return the rows of a table in which nothing is emphasised."""
    return tuple(tuple(map(Cell, row)) for row in rows)


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing, under the name of its files."""

    name: str
    caption: str
    drawing: Drawing

    @property
    def svg(self) -> bytes:
        """The drawing for a page."""
        return self.drawing.svg

    @property
    def png(self) -> bytes:
        """The same as dots."""
        return self.drawing.png


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
        return tuple(block for _, block in self.blocks if isinstance(block, Figure))

    @property
    def tables(self) -> tuple[tuple[str, Table], ...]:
        """Every table in reading order, each with the titles of the sections that it stands in."""
        return tuple((where, block) for where, block in self.blocks if isinstance(block, Table))

    @property
    def blocks(self) -> Iterator[tuple[str, Block]]:
        """Every block in reading order, what is folded away too, with the titles of the sections that it stands in."""
        yield from _opened("", self.lead)
        for section in self.sections:
            yield from _blocks_of(section, "")


def as_anchors(titles: Iterable[str], *, untitled: str) -> list[str]:
    """Return a name for links and files from each title, no two alike."""
    return distinct(re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or untitled for title in titles)


def distinct(names: Iterable[str], *, form: str = "{}-{}") -> list[str]:
    """Return names of which no two are alike: one that is there already gets a number."""
    found: list[str] = []
    for name in names:
        numbered = (form.format(name, number) for number in count(2))
        found.append(next(each for each in chain([name], numbered) if each not in found))
    return found


def _blocks_of(section: Section, within: str) -> Iterator[tuple[str, Block]]:
    where = f"{within} {section.title}".strip()
    yield from _opened(where, section.blocks)
    for part in section.parts:
        yield from _blocks_of(part, where)


def _opened(where: str, blocks: Iterable[Block]) -> Iterator[tuple[str, Block]]:
    for block in blocks:
        yield where, block
        if isinstance(block, Folded):
            yield from _opened(where, block.blocks)
