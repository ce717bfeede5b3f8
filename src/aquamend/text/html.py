"""Small tables for notebooks, with every name escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aquamend.text import shown


def table_html(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as HTML."""
    from html import escape  # here, since its list of all entities is long

    head = "".join(f"<th>{escape(title)}</th>" for title in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(shown(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f"<table><caption>{escape(shown(caption))}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
