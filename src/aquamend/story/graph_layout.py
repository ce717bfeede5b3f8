"""Where the nodes of a recovery graph stand: probes, beliefs, actions, from left to right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from textwrap import wrap

from aquamend.story.story import Node, Story

MOST_BELIEF_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class Sheet:
    """The paper a graph is drawn on; lengths in pixels."""

    width: float
    gap: float
    """Between two columns."""
    margin: float
    """Right of the last column, where edges within it bend."""
    font: float
    split_beliefs: bool
    """Whether inferred beliefs stand right of what they are inferred from."""


WIDE = Sheet(width=960.0, gap=64.0, margin=34.0, font=13.0, split_beliefs=True)
NARROW = Sheet(width=358.0, gap=26.0, margin=16.0, font=10.5, split_beliefs=False)


@dataclass(frozen=True, slots=True)
class Box:
    """A node with its place."""

    node: Node
    column: int
    row: int
    x: float
    y: float
    width: float
    height: float
    name: tuple[str, ...]
    """Its name in lines that fit."""
    note: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """All boxes by name, the titles of the columns with the places they begin, and the height needed."""

    boxes: Mapping[str, Box]
    titles: tuple[tuple[str, float], ...]
    height: float
    pitch: float
    """From the top of one row to the top of the next."""
    bend: float
    """How far edges within a column may swing out of it."""


def layout(story: Story, sheet: Sheet) -> Layout:
    """Return where everything stands on a sheet."""
    columns = untangled(columns_of(story, split_beliefs=sheet.split_beliefs), story)
    count = max(1, len(columns))
    width = min(210.0, (sheet.width - sheet.margin - (count - 1) * sheet.gap) / count)
    gap = (sheet.width - sheet.margin - count * width) / max(1, count - 1)
    letters = max(4, int((width - 12.0) / (0.56 * sheet.font)))
    lines = {node.name: (_lines(node.name, letters), _lines(node.note, letters + 1)) for node in story.nodes}
    tall = max((len(name) + len(note) for name, note in lines.values()), default=1) * 1.25 * sheet.font + 12.0
    pitch, top = tall + 18.0, 2.4 * sheet.font + 8.0
    most = max((len(column) for column in columns), default=0)
    boxes = {}
    for c, column in enumerate(columns):
        first = top + (most - len(column)) * pitch / 2.0
        for r, node in enumerate(column):
            boxes[node.name] = Box(node, c, r, c * (width + gap), first + r * pitch, width, tall, *lines[node.name])
    return Layout(boxes, _titles(columns, width + gap), top + most * pitch, pitch, 1.2 * min(gap, sheet.margin))


def columns_of(story: Story, *, split_beliefs: bool) -> list[list[Node]]:
    """Return the nodes in columns: probes, beliefs (by how far they are inferred), then actions in their order."""
    beliefs = [node for node in story.nodes if node.kind == "belief"]
    depth = _depths(beliefs, story.edges) if split_beliefs else {}
    if max(depth.values(), default=0) >= MOST_BELIEF_COLUMNS:
        depth = {}
    middle = [
        [node for node in beliefs if depth.get(node.name, 0) == level]
        for level in range(max(depth.values(), default=0) + 1)
    ]
    probes = [node for node in story.nodes if node.kind == "probe"]
    actions = [node for node in story.nodes if node.kind not in ("probe", "belief")]
    return [column for column in (probes, *middle, actions) if column]


def untangled(columns: list[list[Node]], story: Story) -> list[list[Node]]:
    """Return the columns with nodes near what they lead to, so that fewer edges cross; the last keeps its order."""
    ordered = [list(column) for column in columns]
    for c in reversed(range(len(ordered) - 1)):
        place = {
            node.name: row / max(1, len(column) - 1) for column in ordered[c + 1 :] for row, node in enumerate(column)
        }

        def wanted(node: Node, place: Mapping[str, float] = place) -> float:
            return fmean([place[t] for s, t, _ in story.edges if s == node.name and t in place] or [1.0])

        ordered[c].sort(key=wanted)
    return ordered


def _depths(beliefs: Sequence[Node], edges: Sequence[tuple[str, str, str]]) -> dict[str, int]:
    depth = {node.name: 0 for node in beliefs}
    # As many rounds as the longest chain can have; a circle, which is no recovery graph, stops there too.
    for _ in beliefs:
        for source, target, _ in edges:
            if source in depth and target in depth and source != target:
                depth[target] = max(depth[target], min(depth[source] + 1, len(beliefs)))
    return depth


def _titles(columns: Sequence[Sequence[Node]], step: float) -> tuple[tuple[str, float], ...]:
    words = {"probe": "Probes", "belief": "Beliefs"}
    firsts: dict[str, float] = {}
    for c, column in enumerate(columns):
        firsts.setdefault(words.get(column[0].kind, "Actions"), c * step)
    return tuple(firsts.items())


def _lines(text: str, letters: int) -> tuple[str, ...]:
    return tuple(wrap(text, letters, max_lines=2, placeholder="…", break_long_words=True))
