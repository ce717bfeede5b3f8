"""Kinds of values: how each is read, and what JSON Schema says of it.

A reader returns the value, or None after reporting what is wrong with it.
"""

from __future__ import annotations

import math
import numbers
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from aquamend.model.kernels.discrete import SUM_TOLERANCE
from aquamend.problem_file.plain_data import RepeatedKeys, WrittenFloat, shown, text_of
from aquamend.problem_file.report import FaultReport, place
from aquamend.text.words import named

T = TypeVar("T")
S = TypeVar("S")
Reader = Callable[[Any, str, FaultReport], T | None]
"""Reads the value at a place."""
Schema = dict[str, Any]
LARGEST = 1e100
"""Finite numbers beyond this cannot be meant, and their sums and squares would overflow."""
_NUMBER_TYPES = frozenset((float, int, WrittenFloat))


@dataclass(frozen=True, slots=True)
class Field(Generic[T]):
    """A kind of value."""

    read: Reader[T]
    schema: Callable[[int], Schema]
    """Returns its JSON Schema in a version of the format."""


def read_label(value: Any, where: str, report: FaultReport) -> str | None:
    """Read text to show; it may be empty."""
    text = value if type(value) is str else text_of(value)
    if text is None:
        report.add(where, f"{shown(value)} is not text", "give text")
        return None
    # Control characters could rewrite a terminal; lone surrogates cannot be printed at all.
    if text.isprintable() or not any(unicodedata.category(c) in ("Cc", "Cs") for c in text):
        return text
    report.add(where, f"{shown(text)} holds an unprintable character", "write it without")
    return None


def read_name(value: Any, where: str, report: FaultReport) -> str | None:
    """Read a name: text, or a number or boolean kept as its text."""
    text = read_label(value, where, report)
    if text is not None and not text.strip():
        report.add(where, f"{shown(text)} is blank", "give a name")
        return None
    return text


def read_number(value: Any, where: str, report: FaultReport, remedy: str = "give a number, or inf") -> float | None:
    """Read a number; the text ``inf`` is infinity, a boolean is no number, and NaN is none either."""
    if type(value) is float and -LARGEST <= value <= LARGEST:
        return value
    if isinstance(value, str):
        if value == "inf":
            return math.inf
        meant = _number_in(value)
        if meant is not None:
            remedy = f"write {named(meant)}, without quotes"
        report.add(where, f"the text {shown(value)} is not a number", remedy)
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        report.add(where, f"{shown(value)} is not a number", remedy)
        return None
    number = _float_or_none(value)
    if number is None or LARGEST < abs(number) < math.inf:
        report.add(where, f"{shown(value)} is too large, beyond 1e100", remedy)
        return None
    if math.isnan(number):
        report.add(where, "nan is not a number", remedy)
        return None
    return number


def _float_or_none(value: Any) -> float | None:
    if isinstance(value, WrittenFloat) and value.overflowed:
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _number_in(text: str) -> float | None:
    """Return the finite number that a text writes."""
    try:
        number = float(text) if len(text) < 40 else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def read_finite(value: Any, where: str, report: FaultReport) -> float | None:
    """Read a number that is not infinite."""
    number = read_number(value, where, report, "give a finite number")
    if number is not None and math.isinf(number):
        report.add(where, f"{shown(value)} is not finite", "give a finite number")
        return None
    return number


def read_loss(value: Any, where: str, report: FaultReport) -> float | None:
    """Read a number of at least 0, or infinity."""
    number = read_number(value, where, report)
    if number is not None and number < 0.0:
        report.add(where, f"{shown(value)} is not a loss", "give a number of at least 0, or inf")
        return None
    return number


def read_probability(value: Any, where: str, report: FaultReport) -> float | None:
    """Read a number from 0 to 1; rounding may have carried it just above."""
    number = read_number(value, where, report, "give a number from 0 to 1")
    if number is not None and not 0.0 <= number <= 1.0 + SUM_TOLERANCE:
        report.add(where, f"{shown(value)} is not a probability", "give a number from 0 to 1")
        return None
    return number


def read_count(value: Any, where: str, report: FaultReport) -> float | None:
    """Read a number of times; a whole one comes back as an integer. Whether it may count is the graph's to say."""
    number = read_number(value, where, report)
    return int(number) if number is not None and number.is_integer() else number


def read_whole(value: Any, where: str, report: FaultReport) -> int | None:
    """Read a whole number."""
    number = read_number(value, where, report, "give 1, 2, 3, …")
    if number is not None and not number.is_integer():
        report.add(where, f"{shown(value)} is not a whole number", "give 1, 2, 3, …")
        return None
    return None if number is None else int(number)


def read_flag(value: Any, where: str, report: FaultReport) -> bool | None:
    """Read a boolean."""
    if isinstance(value, bool):
        return value
    report.add(where, f"{shown(value)} is not a boolean", "write true or false, without quotes")
    return None


def read_value(value: Any, where: str, report: FaultReport) -> str | float | None:
    """Read what a belief says: a number, or text, in quotes if it looks like a number; a boolean is kept as text."""
    if isinstance(value, bool) or (isinstance(value, str) and value != "inf"):
        return read_label(value, where, report)
    if isinstance(value, (numbers.Real, str)):
        return read_number(value, where, report)
    report.add(where, f"{shown(value)} is neither text nor a number", "give what is held to be true, null in quotes")
    return None


def read_as_written(value: Any, where: str, report: FaultReport) -> str | WrittenFloat | None:
    """Read a value whose kind follows from what its belief declares; a number keeps its text, in case it is one."""
    found = read_value(value, where, report)
    return found if found is None or isinstance(found, str) else WrittenFloat(found, text_of(value) or str(value))


def read_mean(value: Any, where: str, report: FaultReport) -> str | float | None:
    """Read a mean: a number, or a belief that it follows, as text."""
    if isinstance(value, str) and value != "inf" and _number_in(value) is None:
        return read_name(value, where, report)
    return read_number(value, where, report)


SHARED_SCHEMAS: dict[str, Schema] = {
    "name": {"type": ["string", "number", "boolean"], "pattern": r"\S"},
    "label": {"type": ["string", "number", "boolean"]},
    "number": {"anyOf": [{"type": "number"}, {"const": "inf"}]},
    "cost": {"anyOf": [{"type": "number", "minimum": 0}, {"const": "inf"}]},
    "probability": {"type": "number", "minimum": 0, "maximum": 1.0 + SUM_TOLERANCE},
    "value": {"type": ["string", "number", "boolean"]},
}
"""The simple kinds that many keys share, by name; schemas refer to them."""


def _shared(name: str) -> Callable[[int], Schema]:
    return lambda version: {"$ref": f"#/$defs/{name}"}


NAME = Field(read_name, _shared("name"))
LABEL = Field(read_label, _shared("label"))
NUMBER = Field(read_number, _shared("number"))
FINITE = Field(read_finite, lambda version: {"type": "number"})
COST = Field(read_number, _shared("cost"))  # read as any number: graph and problem say which of their costs is none
LOSS = Field(read_loss, _shared("cost"))
PROBABILITY = Field(read_probability, _shared("probability"))
COUNT = Field(read_count, lambda version: {"anyOf": [{"type": "integer", "minimum": 0}, {"const": "inf"}]})
WHOLE = Field(read_whole, lambda version: {"type": "integer"})
FLAG = Field(read_flag, lambda version: {"type": "boolean"})
VALUE = Field(read_value, _shared("value"))
AS_WRITTEN = Field(read_as_written, _shared("value"))
MEAN = Field(read_mean, lambda version: {"anyOf": [{"type": "number"}, {"type": "string"}]})


def one_of(options: Iterable[str]) -> Field[str]:
    """Return the kind of value that is one of these words."""
    valid = tuple(options)

    def read(value: Any, where: str, report: FaultReport) -> str | None:
        if isinstance(value, str) and value in valid:
            return str(value)
        near = report.guess(value, valid) if isinstance(value, str) else None
        hint = f"did you mean {near}? " if near else ""
        report.add(where, f"{shown(value)} is none of the choices", f"{hint}use one of {', '.join(valid)}")
        return None

    return Field(read, lambda version: {"enum": list(valid)})


def either(simple: Field[S], mapping: Field[T], *, mapping_since: int = 1) -> Field[S | T]:
    """Return the kind of value that is a mapping of one kind, or else of a simple kind."""

    def read(value: Any, where: str, report: FaultReport) -> S | T | None:
        if not isinstance(value, Mapping):
            return simple.read(value, where, report)
        report.needs(where, "a mapping here", mapping_since, "give a number")
        return mapping.read(value, where, report)

    def schema(version: int) -> Schema:
        if mapping_since > version:
            return simple.schema(version)
        return {"anyOf": [simple.schema(version), mapping.schema(version)]}

    return Field(read, schema)


def read_list(value: Any, where: str, report: FaultReport) -> Sequence[Any] | None:
    """Read a list, whatever it holds."""
    if type(value) is list or (isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))):
        return value
    report.add(where, f"{shown(value)} is not a list", "give a list, [] if empty")
    return None


def read_mapping(value: Any, where: str, report: FaultReport) -> Mapping[str, Any] | None:
    """Read a mapping, its keys as text; report keys that are no names or are given twice."""
    if type(value) is dict and all(type(key) is str for key in value):
        return value
    if not isinstance(value, Mapping):
        report.add(where or "file", f"{shown(value)} is not a mapping", "give keys and values")
        return None
    items: dict[str, Any] = {}
    repeated = list(value.repeated) if isinstance(value, RepeatedKeys) else []
    for given, item in value.items():
        key = read_name(given, place(where, str(shown(given))), report) if type(given) is not str else given
        if key is not None:
            if key in items:
                repeated.append(key)
            items[key] = item
    for key in repeated:
        report.add(place(where, key), f"the key {shown(key)} is given more than once", "keep one of them")
    return items


def list_of(field: Field[T], *, instead: Callable[[int], T] | None = None) -> Field[list[T]]:
    """Return the kind of a list of such values; unreadable ones are left out, or stand in as `instead` says."""
    read = field.read

    def read_all(value: Any, where: str, report: FaultReport) -> list[T] | None:
        items = read_list(value, where, report)
        if items is None:
            return None
        kept, positions = [], []
        for i, item in enumerate(items):
            result = read(item, f"{where}[{i}]", report)
            if result is None and instead is not None:
                result = instead(i)
            if result is not None:
                kept.append(result)
                positions.append(i)
        if len(kept) < len(items):
            report.positions[where] = positions
        return kept

    return Field(read_all, lambda version: {"type": "array", "items": field.schema(version)})


def by_name(field: Field[T]) -> Field[dict[str, T | None]]:
    """Return the kind of a mapping from names to such values; an unreadable value leaves its name with None."""
    read = field.read

    def read_all(value: Any, where: str, report: FaultReport) -> dict[str, T | None] | None:
        items = read_mapping(value, where, report)
        if items is None:
            return None
        found: dict[str, T | None] = {}
        for key, item in items.items():
            at = place(where, key)
            name = read_name(key, at, report)
            if name is not None:
                found[name] = read(item, at, report)
        return found

    def schema(version: int) -> Schema:
        return {"type": "object", "additionalProperties": field.schema(version)}

    return Field(read_all, schema)


def row_of(field: Field[T]) -> Field[tuple[T, ...]]:
    """Return the kind of a list that is unreadable as soon as one value in it is."""
    items = list_of(field)

    def read(value: Any, where: str, report: FaultReport) -> tuple[T, ...] | None:
        before = report.count
        row = items.read(value, where, report)
        return None if row is None or report.count != before else tuple(row)

    return Field(read, items.schema)


def row_with_mean(position: int) -> Field[tuple[str | float, ...]]:
    """Return the kind of a row of numbers of which the one at a position may follow a belief."""
    numbers = numbers_of(NUMBER)

    def read(value: Any, where: str, report: FaultReport) -> tuple[str | float, ...] | None:
        if type(value) is not list or len(value) <= position or not isinstance(value[position], str):
            return numbers.read(value, where, report)
        mean = read_mean(value[position], f"{where}[{position}]", report)
        rest = numbers.read([0.0 if i == position else x for i, x in enumerate(value)], where, report)
        return None if mean is None or rest is None else (*rest[:position], mean, *rest[position + 1 :])

    def schema(version: int) -> Schema:
        return {"type": "array", "items": MEAN.schema(version)}

    return Field(read, schema)


def numbers_of(field: Field[float], *, low: float = -LARGEST, high: float = LARGEST) -> Field[tuple[float, ...]]:
    """Return the kind of a row of numbers, which this reads faster than `row_of` does.

    Plain numbers from `low` to `high` need no reader: most rows are sound, and rows are most of a large file.
    """
    slow = row_of(field)

    def read(value: Any, where: str, report: FaultReport) -> tuple[float, ...] | None:
        if type(value) is list and all(type(x) in _NUMBER_TYPES and low <= x <= high for x in value):
            return tuple(map(float, value))  # a tuple of numbers is nothing to the garbage collector
        return slow.read(value, where, report)

    return Field(read, slow.schema)
