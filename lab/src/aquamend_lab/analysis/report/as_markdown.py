"""A report as Markdown: the same text and tables, the drawings beside it as files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import assert_never

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
)


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
    head = [f"{escaped(column.title)}" for column in table.columns]
    rule = ["---:" if column.numeric else "---" for column in table.columns]
    rows = [_row(head), _row(rule), *(_row([_cell(cell) for cell in row]) for row in table.rows)]
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


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(cell: Cell) -> str:
    text = escaped(cell.text)
    text = f"[{text}]({cell.link})" if cell.link else text
    return f"**{text}**" if cell.strong and text else text
