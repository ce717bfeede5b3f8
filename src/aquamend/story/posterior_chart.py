"""The posterior over time: one stacked column for each update, joined by ribbons, with the names beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from aquamend.story.markup import folded_table, number, portion, safe, seconds, swatch
from aquamend.story.story import Posterior
from aquamend.text import percent

MERGED_BELOW = 0.02
"""Explanations that never get above this are shown together."""
COLOURS = 14

_HEIGHT, _LABEL = 320, 21
"""Pixels of the chart's height and of one line of a label."""
_READABLE = 0.075
"""A share below this has no room for its percentage inside the chart."""
_FEW, _MANY = 4, 12
"""Updates whose full names fit below the columns of a phone, and of a desk screen."""


@dataclass(frozen=True, slots=True)
class Band:
    """One explanation, or the unlikely ones together."""

    name: str
    style: str
    shares: tuple[float, ...]
    """Its probability at each update."""


def bands(posteriors: Sequence[Posterior]) -> tuple[Band, ...]:
    """Return what is stacked: the likeliest in the end first, the never likely ones merged at the end."""
    names = dict.fromkeys(name for posterior in posteriors for name in posterior.explanations)
    shares = {name: tuple(max(0.0, p.explanations.get(name, 0.0)) for p in posteriors) for name in names}
    kept = sorted((n for n in names if max(shares[n]) > MERGED_BELOW), key=lambda n: shares[n][-1], reverse=True)
    named = tuple(Band(name, f"band-{i % COLOURS}", shares[name]) for i, name in enumerate(kept))
    merged = [shares[name] for name in names if name not in kept]
    if not merged:
        return named
    name = f"{len(merged)} others, never above {MERGED_BELOW:.0%}"
    return (*named, Band(name, "band-others", tuple(map(sum, zip(*merged, strict=True)))))


def posterior_chart(posteriors: Sequence[Posterior]) -> str:
    """Return the chart with its labels, and its numbers as a table folded below it."""
    if not posteriors:
        return "<p>No posterior was recorded.</p>"
    stacked = bands(posteriors)
    many = "many" if len(posteriors) > _MANY else "several" if len(posteriors) > _FEW else "few"
    return (
        f'<figure class="posterior {many}"><div class="plot">{_plot(stacked, len(posteriors))}'
        f"{_updates(posteriors)}</div>{_labels(stacked)}</figure>\n{_numbers(stacked, posteriors)}"
    )


def spread(wanted: Sequence[float], *, apart: float, height: float) -> list[float]:
    """Return places near the wanted ones, in the same order, no two closer than ``apart``."""
    places: list[float] = []
    for place in wanted:
        places.append(max(place, places[-1] + apart) if places else max(place, apart / 2.0))
    ceiling = height - apart / 2.0
    for index in reversed(range(len(places))):
        places[index] = min(places[index], ceiling)
        ceiling = places[index] - apart
    # More labels than the height has room for: they run over its end, not over each other.
    too_high = min(0.0, places[0] - apart / 2.0) if places else 0.0
    return [place - too_high for place in places]


def _edges(stacked: Sequence[Band], update: int) -> list[float]:
    """Return the borders between bands at one update, from 0 at the top to about 1 at the bottom."""
    return list(accumulate((band.shares[update] for band in stacked), initial=0.0))


def _plot(stacked: Sequence[Band], updates: int) -> str:
    borders = [_edges(stacked, update) for update in range(updates)]
    shapes = "".join(
        f'<path class="{band.style}" d="{_ribbon([b[i] for b in borders], [b[i + 1] for b in borders])}">'
        f"<title>{safe(band.name)}</title></path>"
        for i, band in enumerate(stacked)
    )
    texts = "".join(
        _percentages(borders[update], [band.shares[update] for band in stacked], (update + 0.5) / updates)
        for update in range(updates)
    )
    last = ", ".join(f"{band.name} {percent(band.shares[-1])}" for band in stacked)
    return (
        f'<svg width="100%" height="{_HEIGHT}" role="img" aria-label="{safe(f"After {updates} updates: {last}")}">'
        # A drawing within the drawing: its shapes stretch with the width, the letters beside it do not.
        f'<svg width="100%" height="{_HEIGHT}" viewBox="0 0 {100 * updates} 100" preserveAspectRatio="none">'
        f"{shapes}</svg>{texts if updates <= _MANY else ''}</svg>"
    )


def _percentages(borders: Sequence[float], shares: Sequence[float], x: float) -> str:
    """Return the percentages inside one column, where there is room for them."""
    return "".join(
        f'<text x="{portion(x)}" y="{number((top + bottom) / 2.0 * _HEIGHT + 4.0)}">{safe(percent(share))}</text>'
        for (top, bottom), share in zip(pairwise(borders), shares, strict=True)
        if share >= _READABLE
    )


def _ribbon(top: Sequence[float], bottom: Sequence[float]) -> str:
    """Return the outline of a band: level within each column, curved between two."""
    forth = [(100.0 * column + x, 100.0 * y) for column, y in enumerate(top) for x in (22.0, 78.0)]
    back = [(100.0 * column + x, 100.0 * y) for column, y in enumerate(bottom) for x in (22.0, 78.0)][::-1]
    # The outermost columns reach the sides of the chart.
    right = 100.0 * len(top)
    forth = [(0.0, forth[0][1]), *forth[1:-1], (right, forth[-1][1])]
    back = [(right, back[0][1]), *back[1:-1], (0.0, back[-1][1])]
    return f"M{_curve(forth)}L{_curve(back)}Z"


def _curve(points: Sequence[tuple[float, float]]) -> str:
    pieces = [f"{number(points[0][0])} {number(points[0][1])}"]
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = number((x0 + x1) / 2.0)
        pieces.append(f"C{middle} {number(y0)} {middle} {number(y1)} {number(x1)} {number(y1)}")
    return "".join(pieces)


def _updates(posteriors: Sequence[Posterior]) -> str:
    """Return the names below the columns; where they do not fit, numbers and a list."""
    items = "".join(
        f'<li><span class="time">{seconds(posterior.time_s)}</span> <span>{safe(posterior.when)}</span></li>'
        for posterior in posteriors
    )
    ticks = "".join(f"<span>{index + 1}</span>" for index in range(len(posteriors)))
    columns = f"grid-template-columns: repeat({len(posteriors)}, minmax(0, 1fr))"
    return (
        f'<div class="ticks" style="{columns}" aria-hidden="true">{ticks}</div>'
        f'<ol class="updates" style="{columns}">{items}</ol>'
    )


def _labels(stacked: Sequence[Band]) -> str:
    borders = _edges(stacked, -1)
    wanted = [_HEIGHT * (borders[i] + band.shares[-1] / 2.0) for i, band in enumerate(stacked)]
    places = spread(wanted, apart=_LABEL, height=_HEIGHT)
    items = "".join(
        f'<li style="top: {number(place - _LABEL / 2.0)}px" title="{safe(band.name)}">{swatch(band.style)} '
        f"<strong>{safe(percent(band.shares[-1]))}</strong> {safe(band.name)}</li>"
        for band, place in zip(stacked, places, strict=True)
    )
    return f'<ul class="labels" aria-label="Explanations, and how likely they were in the end">{items}</ul>'


def _numbers(stacked: Sequence[Band], posteriors: Sequence[Posterior]) -> str:
    head = "".join(f'<th scope="col" class="number">{safe(posterior.when)}</th>' for posterior in posteriors)
    rows = "".join(
        f'<tr><th scope="row">{safe(band.name)}</th>'
        + "".join(f'<td class="number">{safe(percent(share))}</td>' for share in band.shares)
        + "</tr>\n"
        for band in stacked
    )
    head = f'<th scope="col">Explanation</th>{head}'
    return folded_table("The numbers of this chart", head=head, rows=rows)
