"""One recovery as one HTML page that asks for nothing outside itself and needs no script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from urllib.parse import urlsplit

from aquamend.recovery.receipts import charged
from aquamend.story.comparing import comparison, in_hindsight, needless
from aquamend.story.graph_drawing import graph_drawing
from aquamend.story.ledger_strip import ledger_strip
from aquamend.story.ledger_table import ledger_table
from aquamend.story.losses_chart import total_figure
from aquamend.story.markup import safe
from aquamend.story.moment_list import moment_list
from aquamend.story.posterior_chart import posterior_chart
from aquamend.story.statement_table import statement_table
from aquamend.story.story import Story

# Patterns and arrow heads that several drawings point to; ids hold for the whole page.
_SHARED_SHAPES = """<svg class="shared" width="0" height="0" aria-hidden="true"><defs>
<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect class="hatch-ground" width="6" height="6"/><rect class="hatch-line" width="2.5" height="6"/></pattern>
<marker id="arrow" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" markerHeight="7"
 markerUnits="userSpaceOnUse" orient="auto">
<path class="arrow" d="M0 0L8 4L0 8Z"/></marker>
<marker id="arrow-trail" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="10" markerHeight="10"
 markerUnits="userSpaceOnUse" orient="auto">
<path class="arrow-trail" d="M0 0L8 4L0 8Z"/></marker>
</defs></svg>"""


def story_html(story: Story, *, replay: str | None = None, back: str | None = None) -> str:
    """Return the page; ``replay`` is a relative link to the replay in three dimensions, ``back`` to a comparison."""
    return _page(story.title, f"{_header(story, replay, back)}\n<main>\n{_sections(story)}</main>")


def comparison_html(pages: Mapping[str, Story], *, replay: str | None = None) -> str:
    """Return a page that compares recoveries from the same alarm; ``pages`` are relative links to their own pages."""
    stories = list(pages.values())
    first = stories[0]
    title = f"{first.title}, {' versus '.join(story.policy for story in stories)}"
    dearest = max(charged(story.ledger) for story in stories)
    sides = "".join(_side(story, link, dearest) for link, story in pages.items())
    lead = (
        "The same table, the same trouble and the same alarm, bit for bit; from there on each policy recovers on a "
        "branch of its own."
    )
    body = (
        f'<header>\n<h1>{safe(title)}</h1>\n<p class="lead">{lead}</p>\n{_button(replay)}</header>\n<main>\n'
        f'<div class="sides">{sides}</div>\n{_comparison_table(stories)}\n</main>'
    )
    return _page(title, body)


def _page(title: str, body: str) -> str:
    style = (files("aquamend.story") / "assets" / "story.css").read_text(encoding="utf-8")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{safe(title)}</title>
<style>
{style}</style>
</head>
<body>
{_SHARED_SHAPES}
{body}
</body>
</html>
"""


def _header(story: Story, replay: str | None, back: str | None) -> str:
    up = "" if back is None else f'<p><a href="{safe(_relative(back))}">← Compare with the other policy</a></p>\n'
    return f"""<header>
{up}<h1>{safe(story.title)}</h1>
<p class="lead">{safe(story.lead)}</p>
{_button(replay)}{_outcome(story)}
{_facts(story.facts)}
</header>"""


def _button(replay: str | None) -> str:
    if replay is None:
        return ""
    return f'<p><a class="replay" href="{safe(_relative(replay))}">▶ Watch it in 3-D</a></p>\n'


def _outcome(story: Story, *, full: float | None = None) -> str:
    """Return how it ended, what it cost (a bar as long as ``full`` fills the width), and what hindsight would cost."""
    style, word = ("good", "✓ Recovered") if story.success else ("bad", "✗ Not recovered")
    known = story.hindsight
    told = "" if known is None else f"{needless(known)} {in_hindsight(known, story.unit)}"
    return (
        f'<p class="verdict {style}"><strong>{word}.</strong> {safe(story.verdict)}</p>\n'
        f"{total_figure(story.ledger, story.unit, full=full)}"
        + (f'\n<p class="hindsight">{safe(told)}</p>' if told else "")
    )


def _side(story: Story, link: str, dearest: float) -> str:
    return (
        f'<section class="side"><h2>{safe(story.policy)}</h2>\n{_outcome(story, full=dearest)}\n'
        f'<p><a href="{safe(_relative(link))}">The whole story of {safe(story.policy)}</a></p></section>\n'
    )


def _comparison_table(stories: Sequence[Story]) -> str:
    head = "".join(f'<th scope="col" class="number">{safe(story.policy)}</th>' for story in stories)
    rows = "".join(
        f'<tr><th scope="row">{safe(name)}</th>'
        + "".join(f'<td class="number">{safe(cell)}</td>' for cell in cells)
        + "</tr>\n"
        for name, *cells in comparison(stories)
    )
    return (
        '<h2>Side by side</h2>\n<table class="comparison" aria-label="Side by side"><thead><tr>'
        f'<th scope="col"></th>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table>'
    )


def _facts(facts: Mapping[str, str]) -> str:
    if not facts:
        return ""
    entries = "".join(f"<div><dt>{safe(label)}</dt><dd>{safe(value)}</dd></div>" for label, value in facts.items())
    return f'<dl class="facts">{entries}</dl>'


def _sections(story: Story) -> str:
    return (
        _section(
            "story",
            "What happened",
            "Read from top to bottom: time runs down the page; the bars under a decision are expected losses, and the "
            "line above them says how the policy chose.",
            moment_list(story),
        )
        + _section(
            "believed",
            "What was believed",
            "One line for each statement the robot acted on; the small columns show how likely it was to be wrong "
            "after each update, and the last cell what only the world knew.",
            statement_table(story),
        )
        + _section(
            "posterior",
            "What may have happened, and how likely",
            "Each column is one update on new evidence; the taller a band, the likelier the robot held it to be true.",
            posterior_chart(story.posteriors),
        )
        + _section(
            "graph",
            "What rests on what",
            "Arrows lead from probes to the beliefs they support and on to the actions that rest on them; the strong "
            "arrows are the path from the failure to what was undone for it.",
            graph_drawing(story),
        )
        + _section(
            "ledger",
            "What it cost",
            "Every bar is one thing the robot did, on the axis of simulated time; its number is its line in the table, "
            "and the lines add up to the total loss.",
            ledger_strip(story) + ledger_table(story),
        )
    )


def _section(anchor: str, title: str, reading: str, content: str) -> str:
    return f'<section id="{anchor}">\n<h2>{title}</h2>\n<p class="reading">{reading}</p>\n{content}\n</section>\n'


def _relative(link: str) -> str:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or not link.strip():
        raise ValueError(f"replay={link!r} is not a relative link; pass the replay's path as seen from the page")
    return link
