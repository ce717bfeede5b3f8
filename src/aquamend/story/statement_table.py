"""What the agent believed, on what evidence, how doubtful it became and whether it was right."""

from __future__ import annotations

from aquamend.story.markup import number, safe
from aquamend.story.story import Statement, Story
from aquamend.text import percent

_BAR, _GAP, _HEIGHT = 12, 3, 28
"""Width of one step, space between two, and height of certainty, in pixels."""


def statement_table(story: Story) -> str:
    """Return the table of statements, one row each."""
    if not story.statements:
        return "<p>Nothing was declared.</p>"
    titles = ("Belief", "Value", "Rests on", "Doubt after each update", "Really, at the alarm")
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    updates = tuple(posterior.when for posterior in story.posteriors)
    rows = "".join(_row(statement, updates) for statement in story.statements)
    return (
        '<table class="stacking statements" aria-label="What was believed">'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table>"
    )


def doubt_steps(doubt: tuple[float | None, ...], updates: tuple[str, ...]) -> str:
    """Return the doubt as one small column for each update; an unavailable one is a dash."""
    columns = []
    for index, chance in enumerate(doubt):
        x, after = index * (_BAR + _GAP), updates[index] if index < len(updates) else f"update {index + 1}"
        tall = max(1.5, (chance or 0.0) * _HEIGHT)
        shape = (
            f'<line class="gap" x1="{x + 3}" x2="{x + _BAR - 3}" y1="{_HEIGHT - 4}" y2="{_HEIGHT - 4}"/>'
            if chance is None
            else f'<rect class="doubt" x="{x}" y="{number(_HEIGHT - tall)}" width="{_BAR}" height="{number(tall)}"/>'
        )
        track = f'<rect class="track" x="{x}" y="0" width="{_BAR}" height="{_HEIGHT}"/>'
        columns.append(f"<g><title>{safe(after)}: {safe(_chance(chance))}</title>{track}{shape}</g>")
    width = max(1, len(doubt) * (_BAR + _GAP) - _GAP)
    label = "Doubt over time: " + ", ".join(_chance(chance) for chance in doubt)
    return (
        f'<svg class="doubts" width="{width}" height="{_HEIGHT + 1}" viewBox="0 0 {width} {_HEIGHT + 1}" role="img" '
        f'aria-label="{safe(label)}"><line class="base" x1="0" x2="{width}" y1="{_HEIGHT + 0.5}" y2="{_HEIGHT + 0.5}"/>'
        f"{''.join(columns)}</svg>"
    )


def _row(statement: Statement, updates: tuple[str, ...]) -> str:
    verdict = '<strong class="wrong">✗ was wrong</strong>' if statement.failed else '<span class="right">✓ held</span>'
    steps = f"{doubt_steps(statement.doubt, updates)} {_summary(statement.doubt)}" if statement.doubt else "–"
    cells = (
        ("Value", safe(statement.value)),
        ("Rests on", safe(", ".join(statement.support)) or "–"),
        ("Doubt", steps),
        ("Really, at the alarm", verdict),
    )
    version = f' <span class="version">version {statement.version}</span>'
    style = ' class="failed"' if statement.failed else ""
    return (
        f'<tr{style}><th scope="row">{safe(statement.name)}{version}</th>'
        + "".join(f'<td data-label="{label}">{cell}</td>' for label, cell in cells)
        + "</tr>\n"
    )


def _summary(doubt: tuple[float | None, ...]) -> str:
    known = [chance for chance in doubt if chance is not None]
    if not known:
        return '<span class="summary">unavailable</span>'
    last = _chance(doubt[-1])
    peak = "" if max(known) == doubt[-1] else f"up to {safe(percent(max(known)))}, "
    return f'<span class="summary">{peak}last {safe(last)}</span>'


def _chance(chance: float | None) -> str:
    return "unavailable" if chance is None else percent(chance)
