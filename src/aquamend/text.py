"""How names, numbers and tables read: plain words, no control characters, no false precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text


WIDEST = 120
"""Columns used at most: longer lines are hard to read across."""
MOST_NAMES = 3
"""Names listed in running text before the rest is counted."""


def shown(name: object) -> str:
    """Return a name with whatever could disturb a terminal (control characters, line breaks) replaced."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(name))


def mermaid_text(text: str) -> str:
    """Return text that Mermaid shows as it is: its own syntax and HTML written as entities."""
    return "".join(c if c.isalnum() or c in " _-.,:%/" else f"#{ord(c)};" for c in shown(text))


def capital(text: str) -> str:
    """Return a text that begins with a capital letter, and is otherwise as it was."""
    return text[:1].upper() + text[1:]


def named(value: str | float) -> str:
    """Return what a value is called where names stand: a text itself, a number with all of its digits."""
    if isinstance(value, str) or float(short := f"{value:g}") != value:
        return value if isinstance(value, str) else repr(value).removesuffix(".0")
    return short


def value_text(value: object) -> str:
    """Return what is declared, or was read, in a few digits."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def listed(names: Sequence[str], *, most: int = MOST_NAMES) -> str:
    """Return the names separated by commas; beyond ``most``, how many more there are."""
    kept = names if len(names) <= most + 1 else names[:most]
    more = f" and {len(names) - len(kept)} more" if len(kept) < len(names) else ""
    return ", ".join(shown(name) for name in kept) + more


def counted(n: int, noun: str) -> str:
    """Return a number of things: ``1 belief``, ``2,662 hypotheses``."""
    several = f"{noun[:-2]}es" if noun.endswith("is") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else several}"


def quantity(value: float, unit: str = "", *, infinite: str = "infinite") -> str:
    """Return a number to about three figures with its unit, without an exponent where one can be avoided."""
    if math.isinf(value):
        return infinite
    return f"{_figures(value)} {shown(unit)}".rstrip()


def _figures(value: float) -> str:
    if value == 0.0:
        return "0"
    if not 1e-4 <= abs(value) < 1e9:
        return f"{value:.3g}"
    decimals = max(2, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(probability: float) -> str:
    """Return a probability as a percentage that never rounds to certainty; halves go up, whatever the last bit."""
    p = round(100.0 * probability, 7)
    if probability <= 0.0 or probability >= 1.0:
        return "0%" if probability <= 0.0 else "100%"
    if p < 0.1:
        return "<0.1%"
    if p > 99.9:
        return ">99.9%"
    return f"{math.floor(10.0 * p + 0.5) / 10.0:.1f}%" if p < 9.95 or p >= 99.5 else f"{math.floor(p + 0.5)}%"


def percents_apart(one: float, other: float) -> tuple[str, str]:
    """Return two probabilities as percentages, with more digits where they would read the same."""
    if (first := percent(one)) != (second := percent(other)):
        return first, second
    digits = min(12, 2 - math.floor(math.log10(max(abs(100.0 * (one - other)), 1e-10))))
    return f"{100.0 * one:.{digits}f}%", f"{100.0 * other:.{digits}f}%"


def column(values: Iterable[float | None]) -> list[str]:
    """Return the numbers of one table with the decimals aligned; unavailable ones are a dash."""
    numbers = list(values)
    finite = [abs(v) for v in numbers if v is not None and math.isfinite(v) and v != 0.0]
    largest = max(finite, default=1.0)
    decimals = min(6, 2 - min(0, math.floor(math.log10(largest)))) if largest < 1000.0 else int(largest < 1e5)
    return [_cell(value, decimals) for value in numbers]


def _cell(value: float | None, decimals: int) -> str:
    if value is None:
        return "–"
    if math.isinf(value):
        return "inf"
    text = f"{value:.{decimals}f}"
    if value != 0.0 and float(text) == 0.0:
        return f"<{10.0**-decimals:.{decimals}f}" if value > 0 else "0"
    return "0" if value == 0.0 else text


def chance(probability: float) -> str:
    """Return a small probability as odds: 1 in so many."""
    if probability <= 0.0:
        return "impossible"
    if probability < 1e-9:
        return "less than 1 in a billion"
    return f"1 in {float(f'{1.0 / probability:.2g}'):,.0f}" if probability < 0.1 else percent(probability)


CHOSEN = "bold green"
HEADING = "bold"
FAINT = "dim"
READABLE = 8
"""Columns that a flexible column keeps, so that names never vanish."""


def end_of(file: str, width: int) -> str:
    """Return a file's name cut from the left, where paths differ least, to fit the width."""
    name = shown(file)
    return name if len(name) <= width else f"…{name[len(name) - max(width, 2) + 1 :]}"


def bar(probability: float, *, width: int = 10) -> str:
    """Return a bar of fixed width; any chance of failure shows, and only certainty fills it."""
    filled = round(probability * width)
    if 0.0 < probability < 1.0:
        filled = min(max(filled, 1), width - 1)
    return "█" * filled + "·" * (width - filled)


def doubt(probability: float | None, *, with_bar: bool = True) -> Text:
    """Return how probable a failure is, coloured, after a bar that shows the same; None where nobody knows."""
    from rich.text import Text  # here, since only what is drawn needs it

    if probability is None:
        return Text("unknown", style=FAINT)
    drawn = f"{bar(probability)} " if with_bar else ""
    return Text.assemble((drawn, "red" if probability >= 0.5 else "yellow"), percent(probability))


def as_it_is(cell: RenderableType) -> RenderableType:
    """Return what stands in a cell: a text as `shown`, whatever is drawn already untouched."""
    return shown(cell) if isinstance(cell, str) else cell


class Heading(NamedTuple):
    """What stands over a column, on which side its cells stand, and how their values read."""

    title: str
    side: Literal["left", "right"] = "left"
    reads: Callable[[Any], RenderableType] = as_it_is


def grid_of(
    *columns: Heading,
    rows: Sequence[Sequence[Any]],
    flexible: Collection[int] = (),
    chosen: Collection[int] = (),
    gap: int = 2,
) -> Table:
    """Return a table, with the ``chosen`` rows coloured.

    Its flexible columns give way, and wrap within themselves, so that the others never do.
    """
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style=FAINT)
    for i, heading in enumerate(columns):
        gives_way = i in flexible
        grid.add_column(
            heading.title,
            justify=heading.side,
            no_wrap=not gives_way,
            overflow="fold" if gives_way else "ellipsis",
            min_width=READABLE if gives_way else None,
        )
    for i, row in enumerate(rows):
        cells = [heading.reads(cell) for heading, cell in zip(columns, row, strict=True)]
        grid.add_row(*cells, style=CHOSEN if i in chosen else "")
    return grid


def table_html(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as HTML."""
    from html import escape  # here, since its list of all entities is long

    head = "".join(f"<th>{escape(title)}</th>" for title in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(shown(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f"<table><caption>{escape(shown(caption))}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
