"""Where in a text a fault stands: from its place in the data to a line and a column.

Only a file with faults is read this second time, so sound ones pay nothing for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from aquamend.codec.report import place
from aquamend.errors import Fault

MOST_BYTES = 4 * 1024 * 1024
"""Texts larger than this are not read a second time."""


def located(faults: Iterable[Fault], text: str) -> list[Fault]:
    """Return the faults with the line and the column that each stands at, as far as these can be told."""
    found = list(faults)
    root = _composed(text) if any(fault.line is None for fault in found) else None
    if root is None:
        return found
    return [fault if fault.line is not None else _with_mark(fault, root) for fault in found]


def _composed(text: str) -> Any | None:
    import yaml

    if len(text) > MOST_BYTES:
        return None
    try:  # JSON is YAML, but for tabs between its parts; inside its texts there can be none
        plain = text.replace("\t", " ") if text.lstrip().startswith("{") else text
        return yaml.compose(plain, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


def _with_mark(fault: Fault, root: Any) -> Fault:
    mark = _mark(fault.where, root)
    return fault if mark is None else replace(fault, line=mark.line + 1, column=mark.column + 1)


def _mark(where: str, root: Any) -> Any:
    """Return where the value at a place begins, or as much of the way to it as there is."""
    node, mark, rest = root, root.start_mark, where
    while rest:
        step = _indexed(node, rest) if rest.startswith("[") else _keyed(node, rest)
        if step is None:
            return mark
        node, mark, rest = step
    return mark


def _indexed(node: Any, rest: str) -> tuple[Any, Any, str] | None:
    number, bracket, after = rest[1:].partition("]")
    items = node.value if type(node).__name__ == "SequenceNode" else ()
    if not bracket or not number.isdecimal() or len(number) > 9 or int(number) >= len(items):
        return None
    item = items[int(number)]
    return item, item.start_mark, after.removeprefix(".")


def _keyed(node: Any, rest: str) -> tuple[Any, Any, str] | None:
    """Return the value of the longest key that the rest of a place begins with; keys may have dots in them."""
    best: tuple[Any, Any, str] | None = None
    longest = -1
    for key, value in node.value if type(node).__name__ == "MappingNode" else ():
        if type(key).__name__ != "ScalarNode":
            continue
        name = place("", str(key.value))
        after = rest.removeprefix(name)
        if len(name) > longest and len(after) < len(rest) and (not after or after[0] in ".["):
            scalar = type(value).__name__ == "ScalarNode"
            best, longest = (value, (value if scalar else key).start_mark, after.removeprefix(".")), len(name)
    return best
