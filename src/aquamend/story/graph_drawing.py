"""The recovery graph as a drawing: what rests on what, and how far the failure and its undoing reached."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from aquamend.story.graph_layout import NARROW, WIDE, Box, Layout, Sheet, layout
from aquamend.story.markup import folded_table, number, safe
from aquamend.story.story import Node, Story

MARKS = {
    "undone": ("↶", "undone: the world was put back"),
    "failed": ("✗", "failed: was really wrong"),
    "corrected": ("✓", "corrected: believed anew"),
    "suspected": ("?", "suspected after the alarm"),
    "planned": ("…", "planned, not done yet at the alarm"),
    "used": ("●", "used to look again"),
}
"""Marks with their sign and meaning, the most telling first: it colours the node."""

_TROUBLE = ("undone", "failed", "corrected")
_CORNERS = {"probe": 14.0, "belief": 6.0}


def graph_drawing(story: Story) -> str:
    """Return the drawing, once for wide and once for narrow screens, its legend, and the same in words."""
    if not story.nodes:
        return "<p>No graph was recorded.</p>"
    return (
        f'<figure class="graph">{_drawing(story, WIDE, "wide")}{_drawing(story, NARROW, "narrow")}</figure>\n'
        f"{_legend(story.nodes)}{_in_words(story)}"
    )


def _drawing(story: Story, sheet: Sheet, style: str) -> str:
    plan = layout(story, sheet)
    edges = [(plan.boxes[s], plan.boxes[t], kind) for s, t, kind in story.edges if s in plan.boxes and t in plan.boxes]
    # The trail of the failure is drawn last, so that nothing covers it.
    paths = "".join(
        _edge(*edge, plan) for edge in sorted(edges, key=lambda edge: _is_trail(edge[0].node, edge[1].node))
    )
    titles = "".join(
        f'<text class="column" x="{number(x)}" y="{number(sheet.font + 2)}">{title}</text>' for title, x in plan.titles
    )
    boxes = "".join(_box(box, sheet) for box in plan.boxes.values())
    width, height = number(sheet.width), number(plan.height)
    return (
        f'<svg class="{style}" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{safe(_spoken(story.nodes))}" font-size="{number(sheet.font)}">{titles}{paths}{boxes}</svg>'
    )


def _box(box: Box, sheet: Sheet) -> str:
    node, line = box.node, 1.25 * sheet.font
    middle = box.x + box.width / 2.0
    first = box.y + (box.height - (len(box.name) + len(box.note)) * line) / 2.0 + 0.8 * line
    texts = [("name", text) for text in box.name] + [("note", text) for text in box.note]
    lines = "".join(
        f'<text class="{style}" x="{number(middle)}" y="{number(first + i * line)}">{safe(text)}</text>'
        for i, (style, text) in enumerate(texts)
    )
    corner = _CORNERS.get(node.kind, 0.0)
    return (
        f'<g class="node {safe(node.kind)} {_strongest(node)}"><title>{safe(_describes(node))}</title>'
        f'<rect x="{number(box.x + 1)}" y="{number(box.y)}" width="{number(box.width - 2)}" '
        f'height="{number(box.height)}" rx="{number(corner)}"/>'
        f"{lines}{_badges(box)}</g>"
    )


def _badges(box: Box) -> str:
    """Return the signs of a node's marks, on its upper border where no text stands and no edge ends."""
    marks = [mark for mark in MARKS if mark in box.node.marks]
    right = box.x + box.width - 12.0
    return "".join(_badge(mark, right - 17.0 * i, box.y) for i, mark in enumerate(reversed(marks)))


def _badge(mark: str, x: float, y: float) -> str:
    return (
        f'<g class="badge {mark}"><circle cx="{number(x)}" cy="{number(y)}" r="7.5"/>'
        f'<text x="{number(x)}" y="{number(y + 3.8)}">{MARKS[mark][0]}</text></g>'
    )


def _edge(source: Box, target: Box, kind: str, plan: Layout) -> str:
    style = "edge trail" if _is_trail(source.node, target.node) else "edge"
    arrow = "arrow-trail" if _is_trail(source.node, target.node) else "arrow"
    title = f"{source.node.name} → {target.node.name} ({kind.replace('_', ' ')})"
    dotted = " temporal" if kind == "temporal" else ""
    return (
        f'<path class="{style}{dotted}" d="{_curve(source, target, plan)}" marker-end="url(#{arrow})">'
        f"<title>{safe(title)}</title></path>"
    )


def _curve(source: Box, target: Box, plan: Layout) -> str:
    """Return a curve from border to border; within a column it is short and straight, or bends to the right."""
    y0, y1 = source.y + source.height / 2.0, target.y + target.height / 2.0
    if source.column == target.column:
        if target.row == source.row + 1:
            x = number(source.x + source.width / 2.0)
            return f"M{x} {number(source.y + source.height)}L{x} {number(target.y - 5)}"
        side, bend = source.x + source.width - 1, min(12.0 + 6.0 * abs(target.row - source.row), plan.bend)
        return f"M{number(side)} {number(y0)}{_cubic((side + bend, y0), (side + bend, y1), (side + 5.0, y1))}"
    if source.column > target.column:
        return _joined([(source.x + 1.0, y0), (target.x + target.width + 4.0, y1)])
    return _joined([(source.x + source.width - 1.0, y0), *_detours(source, target, plan), (target.x - 4.0, y1)])


def _detours(source: Box, target: Box, plan: Layout) -> list[tuple[float, float]]:
    """Return the points at which an edge passes the columns it only crosses, between their boxes."""
    points = []
    for column in range(source.column + 1, target.column):
        boxes = [box for box in plan.boxes.values() if box.column == column]
        share = (column - source.column) / (target.column - source.column)
        wanted = source.y + share * (target.y - source.y) + source.height / 2.0
        space = (plan.pitch - source.height) / 2.0
        gaps = [boxes[0].y - space, *(box.y + box.height + space for box in boxes)]
        y = min(gaps, key=lambda gap: abs(gap - wanted))
        points += [(boxes[0].x, y), (boxes[0].x + boxes[0].width, y)]
    return points


def _joined(points: Sequence[tuple[float, float]]) -> str:
    """Return a smooth line that is level at every point."""
    pieces = [f"M{number(points[0][0])} {number(points[0][1])}"]
    for (x0, y0), (x1, y1) in pairwise(points):
        reach = (x1 - x0) * 0.45
        pieces.append(_cubic((x0 + reach, y0), (x1 - reach, y1), (x1, y1)))
    return "".join(pieces)


def _cubic(*points: tuple[float, float]) -> str:
    return "C" + " ".join(f"{number(x)} {number(y)}" for x, y in points)


def _is_trail(source: Node, target: Node) -> bool:
    """An edge along which the failure was followed: from trouble to trouble."""
    return all(any(mark in node.marks for mark in _TROUBLE) for node in (source, target))


def _strongest(node: Node) -> str:
    return next((mark for mark in MARKS if mark in node.marks), "plain")


def _describes(node: Node) -> str:
    return ", ".join([node.name, *([node.note] if node.note else []), *(mark for mark in MARKS if mark in node.marks)])


def _spoken(nodes: Sequence[Node]) -> str:
    counts = ", ".join(f"{sum(n.kind == kind for n in nodes)} {kind}s" for kind in ("probe", "belief", "action"))
    undone = ", ".join(node.name for node in nodes if "undone" in node.marks) or "nothing"
    return f"Recovery graph of {counts}. Undone: {undone}."


def _legend(nodes: Sequence[Node]) -> str:
    entries = "".join(
        f'<li><svg class="key" width="17" height="17" aria-hidden="true">{_badge(mark, 8.5, 8.5)}</svg> {meaning}</li>'
        for mark, (_, meaning) in MARKS.items()
        if any(mark in node.marks for node in nodes)
    )
    return f'<ul class="legend">{entries}</ul>' if entries else ""


def _in_words(story: Story) -> str:
    rows = []
    for node in story.nodes:
        sources = ", ".join(source for source, target, _ in story.edges if target == node.name)
        marks = ", ".join(mark for mark in MARKS if mark in node.marks)
        cells = "".join(f"<td>{safe(cell) or '–'}</td>" for cell in (node.kind, marks, node.note, sources))
        rows.append(f'<tr><th scope="row">{safe(node.name)}</th>{cells}</tr>\n')
    head = "".join(f'<th scope="col">{title}</th>' for title in ("Node", "Kind", "Marks", "Note", "Comes from"))
    return folded_table("The graph in words", head=head, rows="".join(rows))
