"""What is written before anyone asks what it means: mappings, lists, text, and numbers as they were written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


class WrittenFloat(float):
    """A number that its ``repr`` would not give back as written: ``0.50``, ``1e-3``, ``007``, ``1e999``.

    As a number it is a float like any other; as a name (an outcome called ``0.50``) it keeps its text.
    """

    __slots__ = ("text",)
    text: str

    def __new__(cls, value: float, text: str) -> WrittenFloat:
        """Return the value with the text it was read from."""
        number = super().__new__(cls, value)
        number.text = text
        return number

    def __getnewargs__(self) -> tuple[float, str]:  # type: ignore[override]
        return float(self), self.text

    @property
    def overflowed(self) -> bool:
        """Whether digits were written that are too large for a float, so that it reads infinity."""
        return math.isinf(self) and any(c.isdigit() for c in self.text)


class RepeatedKeys(dict[str, Any]):
    """A mapping whose file gave some key more than once; holds the last value, and which keys those are."""

    repeated: tuple[str, ...] = ()


def mapping_of(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a mapping that keeps the keys given twice."""
    items = list(pairs)
    plain = dict(items)
    if len(plain) == len(items):
        return plain
    seen: set[str] = set()
    repeated: dict[str, None] = {}
    for key, _ in items:
        if key in seen:
            repeated[key] = None
        seen.add(key)
    marked = RepeatedKeys(plain)
    marked.repeated = tuple(repeated)
    return marked


def float_of(text: str) -> float:
    """Return the number a decimal text writes."""
    value = float(text)
    return value if repr(value) == text else WrittenFloat(value, text)


def whole_of(text: str) -> float:
    """Return the number a text of decimal digits writes; Python reads no integer of thousands of digits."""
    if len(text) > 300:
        return WrittenFloat(float(text), text)
    value = int(text)
    return value if str(value) == text else WrittenFloat(value, text)


def text_of(value: object) -> str | None:
    """Return a scalar as the text that names something: ``0`` is "0", ``true`` is "true"; None if it is no scalar."""
    match value:
        case str():
            return str(value)
        case bool():
            return "true" if value else "false"
        case WrittenFloat():
            return value.text
        case int() if value.bit_length() > 1000:
            return None
        case int() | float():
            return repr(value)
        case _:
            return None


def shown_value(value: object) -> str:
    """Return a value as an error message shows it: on one line, short, whatever it is."""
    match value:
        case None:
            return "null"
        case str():
            return repr(value) if len(value) <= 60 else f"{value[:57]!r}…"
        case Mapping():
            return f"a mapping of {len(value)}"
        case Sequence() if not isinstance(value, (bytes, bytearray)):
            listed = ", ".join(_shown_inside(item) for item in value[:4])
            return f"[{listed}{', …' if len(value) > 4 else ''}]"
        case int() if value.bit_length() > 1000:
            return f"a whole number of {value.bit_length()} bits"
    text = text_of(value)
    return f"a {type(value).__name__}" if text is None else text if len(text) <= 60 else f"{text[:57]}…"


def _shown_inside(item: object) -> str:
    if isinstance(item, Mapping):
        return "{…}"
    return "[…]" if isinstance(item, Sequence) and not isinstance(item, str) else shown_value(item)


def json_number(value: float | None) -> float | str | None:
    """Return a plain number; infinity as text, since JSON has none, and what is unavailable as None."""
    if value is None or math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(value) + 0.0  # no negative zero
