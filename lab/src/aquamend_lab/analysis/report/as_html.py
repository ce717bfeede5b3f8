"""A report as one HTML page that loads nothing from elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from typing import assert_never

from aquamend.story.page import NOTHING_ELSE, asset, digest
from aquamend_lab.analysis.figures.appearance import FAINT, INK, PAPER
from aquamend_lab.analysis.report.document import (
    Block,
    Bullets,
    Cell,
    Column,
    Document,
    Explorer,
    Figure,
    Folded,
    Notice,
    Paragraph,
    Section,
    Table,
)


def as_html(document: Document, *, watched_at: str = "") -> str:
    """Return the page: style, script, drawings and data inside it; ``watched_at`` is where scenarios can be watched."""
    style, scripts = asset("palette.css") + _resource("style.css"), [_resource("page.js"), _resource("tables.js")]
    allowed = " ".join(f"'sha256-{digest(script)}'" for script in scripts)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{NOTHING_ELSE}; script-src {allowed}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(document.title)}</title>
<style>
{style}</style>
</head>
<body data-watch="{escape(watched_at)}">
<header><h1>{escape(document.title)}</h1></header>
{_contents(document.sections)}
<main>
{_blocks(document.lead)}
{"".join(_section(section, level=2) for section in document.sections)}</main>
{"".join(f"<script>{script}</script>" for script in scripts)}
</body>
</html>
"""


def _resource(name: str) -> str:
    return (files("aquamend_lab.analysis.report") / name).read_text(encoding="utf-8")


def _contents(sections: Iterable[Section]) -> str:
    def entries(parts: Iterable[Section]) -> str:
        return "".join(
            f'<li><a href="#{escape(part.anchor)}">{escape(part.title)}</a>'
            + (f"<ul>{entries(part.parts)}</ul>" if part.parts else "")
            + "</li>\n"
            for part in parts
        )

    return f'<nav aria-label="Contents"><h2>Contents</h2><ul>\n{entries(sections)}</ul></nav>'


def _text(text: str) -> str:
    """Return a text as HTML, what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _section(section: Section, *, level: int) -> str:
    parts = "".join(_section(part, level=level + 1) for part in section.parts)
    heading = f"<h{level}>{escape(section.title)}</h{level}>"
    return f'<section id="{escape(section.anchor)}">\n{heading}\n{_blocks(section.blocks)}\n{parts}</section>\n'


def _blocks(blocks: Iterable[Block]) -> str:
    return "\n".join(_block(block) for block in blocks)


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            return f"<p>{_text(text)}</p>"
        case Notice(text):
            return f'<p class="notice" role="note"><strong>{_text(text)}</strong></p>'
        case Bullets(items):
            return "<ul>" + "".join(f"<li>{_text(item)}</li>" for item in items) + "</ul>"
        case Table():
            return _table(block)
        case Figure():
            caption = f"<figcaption>{escape(block.caption)}</figcaption>"
            return f'<figure id="figure-{escape(block.name)}">{inline_svg(block)}{caption}</figure>'
        case Folded(summary, blocks):
            return f"<details><summary>{escape(summary)}</summary>\n{_blocks(blocks)}\n</details>"
        case Explorer(data):
            return _explorer(data)
        case _:
            assert_never(block)


def _table(table: Table) -> str:
    caption, label = _text(table.caption), escape(table.caption.replace("`", ""))
    head = "".join(
        f'<th scope="col"{_classes(column, sticky=number == table.header)}>{escape(column.title)}</th>'
        for number, column in enumerate(table.columns)
    )
    rows = "".join(
        ('<tr class="first">' if number in table.breaks else "<tr>") + _cells(table, row) + "</tr>\n"
        for number, row in enumerate(table.rows)
    )
    return (
        # The caption stands outside the box that scrolls, or it would scroll with it.
        f'<div class="table"><p class="caption">{caption}</p>\n'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table aria-label="{label}">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div></div>"
    )


def _classes(column: Column, *, sticky: bool) -> str:
    holding = (("number", column.numeric), ("paper", column.paper), ("long", column.long), ("sticky", sticky))
    names = [name for name, holds in holding if holds]
    return f' class="{" ".join(names)}"' if names else ""


def _cells(table: Table, row: Iterable[Cell]) -> str:
    cells = []
    for number, (column, cell) in enumerate(zip(table.columns, row, strict=True)):
        text = f"<strong>{escape(cell.text)}</strong>" if cell.strong else escape(cell.text)
        names_row = number == table.header
        tag = 'th scope="row"' if names_row else "td"
        cells.append(f"<{tag}{_classes(column, sticky=names_row)}>{text}</{tag[:2]}>")
    return "".join(cells)


def _explorer(data: object) -> str:
    # No "<" inside the element, so that no text of a record can close it.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return (
        '<div class="explorer" id="explorer"></div>\n'
        "<noscript><p>Looking through all scenarios needs JavaScript; each suite above shows those that differ most."
        f'</p></noscript>\n<script type="application/json" id="scenarios">{text}</script>'
    )


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
    for drawn, page in _COLOURS.items():
        body = body.replace(drawn, page)
    label = escape(figure.caption, quote=True)
    return f'<svg role="img" aria-label="{label}" viewBox="{box[1] if box else ""}">{body.strip()}'
