"""Readers of single values. Each returns the value, or None after reporting what is wrong with it."""

from __future__ import annotations

import math
import numbers
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from aquamend.model.validation import SUM_TOLERANCE
from aquamend.problem_file.plain_data import RepeatedKeys, WrittenFloat, shown, text_of
from aquamend.problem_file.report import FaultReport, place

T = TypeVar("T")
Reader = Callable[[Any, str, FaultReport], T | None]
"""Reads the value at a place."""

_NUMBER_TYPES = frozenset((float, int, WrittenFloat))


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


LARGEST = 1e100
"""Finite numbers beyond this cannot be meant, and their sums and squares would overflow."""


def read_number(value: Any, where: str, report: FaultReport) -> float | None:
    """Read a number; the text ``inf`` is infinity, a boolean is no number, and NaN is none either."""
    if type(value) is float and -LARGEST <= value <= LARGEST:
        return value
    if isinstance(value, str):
        if value == "inf":
            return math.inf
        remedy = "remove the quotes" if _writes_number(value) else "give a number, or inf"
        report.add(where, f"the text {shown(value)} is not a number", remedy)
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        report.add(where, f"{shown(value)} is not a number", "give a number, or inf")
        return None
    number = _float_or_none(value)
    if number is None or LARGEST < abs(number) < math.inf:
        report.add(where, f"{shown(value)} is too large", "give a number up to 1e100, or inf")
        return None
    if math.isnan(number):
        report.add(where, "nan is not a number", "give a number, or inf")
        return None
    return number


def _float_or_none(value: Any) -> float | None:
    if isinstance(value, WrittenFloat) and value.overflowed:
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _writes_number(text: str) -> bool:
    try:
        return len(text) < 40 and not math.isnan(float(text))
    except ValueError:
        return False


def read_probability(value: Any, where: str, report: FaultReport) -> float | None:
    """Read a number from 0 to 1; rounding may have carried it just above."""
    number = read_number(value, where, report)
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
    number = read_number(value, where, report)
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


def one_of(options: Iterable[str]) -> Reader[str]:
    """Return a reader of one of these words."""
    valid = tuple(options)

    def read(value: Any, where: str, report: FaultReport) -> str | None:
        if isinstance(value, str) and value in valid:
            return str(value)
        near = report.guess(value, valid) if isinstance(value, str) else None
        hint = f"did you mean {near}? " if near else ""
        report.add(where, f"{shown(value)} is none of the choices", f"{hint}use one of {', '.join(valid)}")
        return None

    return read


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


def list_of(read: Reader[T], *, instead: Callable[[int], T] | None = None) -> Reader[list[T]]:
    """Return a reader of a list of such values; unreadable ones are left out, or stand in as `instead` says."""

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

    return read_all


def by_name(read: Reader[T]) -> Reader[dict[str, T | None]]:
    """Return a reader of a mapping from names to such values; an unreadable value leaves its name with None."""

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

    return read_all


def row_of(read: Reader[float], *, low: float, high: float) -> Reader[tuple[float, ...]]:
    """Return a reader of a list of numbers; one unreadable number makes the row unreadable.

    Plain numbers from `low` to `high` need no reader: most rows are sound, and rows are most of a large file.
    """
    read_numbers = list_of(read)

    def read_row(value: Any, where: str, report: FaultReport) -> tuple[float, ...] | None:
        if type(value) is list and all(type(x) in _NUMBER_TYPES and low <= x <= high for x in value):
            return tuple(map(float, value))  # a tuple of numbers is nothing to the garbage collector
        before = report.count
        row = read_numbers(value, where, report)
        return None if row is None or report.count != before else tuple(row)

    return read_row
