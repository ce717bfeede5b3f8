"""A drawing as part of a page: its colours follow the page's, its identifiers do not meet another drawing's."""

from __future__ import annotations

import re
from html import escape

from aquamend.analysis.figures.appearance import FAINT, INK, PAPER
from aquamend.analysis.report.document import Figure

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
