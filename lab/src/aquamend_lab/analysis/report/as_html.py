"""A report as one HTML page that loads nothing from elsewhere."""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files

from markupsafe import Markup

from aquamend.story.page import page
from aquamend_lab.analysis.figures.appearance import FAINT, INK, PAPER
from aquamend_lab.analysis.report.document import Document, Explorer, Figure

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
