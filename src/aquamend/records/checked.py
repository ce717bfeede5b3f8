"""Plain data that anybody may have written: taken for what it should be, or refused with its place.

Each function returns what it was given, checked, or raises ``InvalidData`` that says where and what.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from aquamend.errors import InvalidData

MOST_NESTED = 50
"""Deepest nesting taken; nothing that is written here needs half of it."""
LARGEST_WHOLE = 2**53
"""Whole numbers beyond this are not exact as floats."""


def mapping(value: object, where: str, keys: Iterable[str] | None = None) -> dict[str, Any]:
    """Return a mapping from text; with exactly these keys, if any are given."""
    if not isinstance(value, Mapping):
        raise InvalidData(where, f"{_shown(value)} is no mapping")
    found = {text(key, where): item for key, item in value.items()}
    if keys is not None:
        wanted = set(keys)
        missing, strange = sorted(wanted - found.keys()), sorted(found.keys() - wanted)
        if missing:
            raise InvalidData(where, f"the key {missing[0]!r} is missing")
        if strange:
            raise InvalidData(where, f"the key {_shown(strange[0])} means nothing here")
    return found


def items(value: object, where: str) -> list[Any]:
    """Return a list."""
    if not isinstance(value, (list, tuple)):
        raise InvalidData(where, f"{_shown(value)} is no list")
    return list(value)


def text(value: object, where: str) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise InvalidData(where, f"{_shown(value)} is no text")
    return value


def texts(value: object, where: str) -> tuple[str, ...]:
    """Return a list of texts."""
    return tuple(text(item, f"{where}[{i}]") for i, item in enumerate(items(value, where)))


def flag(value: object, where: str) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise InvalidData(where, f"{_shown(value)} is neither true nor false")
    return value


def number(value: object, where: str) -> float:
    """Return a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidData(where, f"{_shown(value)} is no number")
    if not abs(value) < math.inf or (isinstance(value, int) and abs(value) > LARGEST_WHOLE):
        raise InvalidData(where, f"{_shown(value)} is no number that can be kept")
    return value


def whole(value: object, where: str, *, least: int = 0) -> int:
    """Return a whole number of at least this."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST_WHOLE:
        raise InvalidData(where, f"{_shown(value)} is no whole number of at least {least}")
    return value


def value_or_text(value: object, where: str) -> float | str:
    """Return a text or a finite number."""
    return value if isinstance(value, str) else number(value, where)


def plain(value: object, where: str, depth: int = 0) -> Any:
    """Return data of mappings, lists, texts, finite numbers, true, false and None, whatever they mean."""
    if depth > MOST_NESTED:
        raise InvalidData(where, f"it is nested more than {MOST_NESTED} levels deep")
    match value:
        case None | bool() | str():
            return value
        case int() | float():
            return number(value, where)
        case list() | tuple():
            return [plain(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)]
        case _:
            return {key: plain(item, f"{where}.{key}", depth + 1) for key, item in mapping(value, where).items()}


def _shown(value: object) -> str:
    if isinstance(value, (Mapping, list, tuple)):
        return f"a {'mapping' if isinstance(value, Mapping) else 'list'} of {len(value)}"
    if isinstance(value, int) and value.bit_length() > 200:
        return "a whole number of absurd size"
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}…"
