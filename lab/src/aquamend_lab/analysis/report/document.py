"""What a report consists of, before it is HTML or Markdown, and how policies, endings and numbers read in it.

Every field holds plain text, escaped where it is written.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, assert_never

from aquamend_lab.analysis.charts import Drawing, style_of
from aquamend_lab.analysis.metrics import Form

ENDINGS = {
    "roll_back": "roll back",
    "continue": "continue",
    "restart": "restart",
    "escalate": "escalate",
    "last_resort": "last resort",
}


def policy_name(policy: str) -> str:
    """Return a policy's title for people; one that nobody describes is called as it is."""
    return style_of(policy).title


DASH = "–"
DECIMALS = 3


def decimal(value: float | None, *, decimals: int = DECIMALS) -> str:
    """Return a number with fixed decimals, thousands set apart; unavailable is a dash and infinity is named."""
    if value is None or math.isnan(value):
        return DASH
    if math.isinf(value):
        return "infinite" if value > 0 else "−infinite"
    text = f"{value:,.{decimals}f}"
    if float(text.replace(",", "")) == 0.0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def signed(value: float | None, *, decimals: int = DECIMALS) -> str:
    """Return a difference with its sign; a difference that rounds to nothing has none."""
    text = decimal(value, decimals=decimals)
    positive = value is not None and value > 0 and text.strip("0.") != ""
    return f"+{text}" if positive else text


def interval(low: float | None, high: float | None, *, decimals: int = DECIMALS) -> str:
    """Return an interval in brackets; nothing if there is none."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return ""
    return f"[{decimal(low, decimals=decimals)}, {decimal(high, decimals=decimals)}]"


def share(value: float | None, *, decimals: int = 1) -> str:
    """Return a fraction as a percentage; one that lies between 0 and 1 never reads as 0 or 100."""
    if value is None or not math.isfinite(value):
        return decimal(value)
    text, least = decimal(100 * value, decimals=decimals), 10.0**-decimals
    if 0.0 < value < 1.0 and text == decimal(0.0, decimals=decimals):
        text = f"<{decimal(least, decimals=decimals)}"
    elif 0.0 < value < 1.0 and text == decimal(100.0, decimals=decimals):
        text = f">{decimal(100 - least, decimals=decimals)}"
    return f"{text} %"


def count(value: int) -> str:
    """Return a count, thousands set apart."""
    return f"{value:,}"


def as_form(value: float | None, form: Form) -> str:
    """Return a metric's number as it reads."""
    match form:
        case "decimal":
            return decimal(value)
        case "one decimal":
            return decimal(value, decimals=1)
        case "share":
            return share(value)
        case "percentage":
            return share(value, decimals=3)
        case "count":
            return DASH if value is None else count(int(value))
        case _:
            assert_never(form)


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


def table_of_texts(
    caption: str, columns: Iterable[Column | str], rows: Iterable[Iterable[Cell | str]], *, words: Collection[str] = (),
    header: int = 0, breaks: Iterable[int] = (),
) -> Table:  # fmt: skip
    """Return a table from plain texts; titles are of columns of numbers, but for those of ``words``."""
    heads = (head if isinstance(head, Column) else Column(head, numeric=head not in words) for head in columns)
    cells = (tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in rows)
    return Table(caption, tuple(heads), tuple(cells), header, frozenset(breaks))


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
        numbered = (form.format(name, number) for number in itertools.count(2))
        found.append(next(each for each in itertools.chain([name], numbered) if each not in found))
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
