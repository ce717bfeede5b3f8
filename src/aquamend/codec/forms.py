"""Forms of values: how each kind is read and written, and what JSON Schema says of it.

A form stands in an annotation, ``Annotated[float, COST]``; the common ones have a name of their own, ``Cost``.
"""

from __future__ import annotations

import math
import numbers
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from aquamend.codec.fault_list import FaultReport, place
from aquamend.codec.plain_data import RepeatedKeys, WrittenFloat, shown_value, text_of

Schema = dict[str, Any]
LARGEST = 1e100
"""Finite numbers beyond this cannot be meant in a problem, and their sums and squares would overflow."""
LARGEST_WHOLE = 2**53
"""Whole numbers beyond this are not exact as floats."""
MOST_NESTED = 50
"""Deepest nesting read; nothing that is written here needs half of it."""
SUM_TOLERANCE = 1e-6
"""How far written-out probabilities may be from summing to one before it is called a fault."""
_NUMBER_TYPES = frozenset((float, int, WrittenFloat))


class _Unread:
    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "unread"


UNREAD: Final = _Unread()
"""In place of a value that could not be read; somebody has complained of it."""


def _as_it_is(value: Any, complete: bool) -> Any:
    return value


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """How one kind of value is read, written and described."""

    read: Callable[[Any, str, FaultReport], Any]
    """Returns the value at a place; `UNREAD`, after reporting what is wrong with it, where it is none."""
    schema: Callable[[], Schema]
    write: Callable[[Any, bool], Any] = _as_it_is
    """Returns a value as plain data; with true, every key of it, and else those that differ from their defaults."""
    instead: Any = UNREAD
    """What stands in for an unreadable value, so that the rest can be judged; `UNREAD`: nothing can."""


def read_text(value: Any, where: str, report: FaultReport) -> Any:
    """Read text, whatever is in it."""
    if isinstance(value, str):
        return str(value)
    report.add(where, f"{shown_value(value)} is not text", "give text")
    return UNREAD


def read_label(value: Any, where: str, report: FaultReport) -> Any:
    """Read text to show, which may be empty; a number or a boolean is kept as its text."""
    text = value if type(value) is str else text_of(value)
    if text is None:
        return read_text(value, where, report)
    # Control characters could rewrite a terminal; lone surrogates cannot be printed at all.
    if text.isprintable() or not any(unicodedata.category(c) in ("Cc", "Cs") for c in text):
        return text
    report.add(where, f"{shown_value(text)} holds an unprintable character", "write it without")
    return UNREAD


def read_name(value: Any, where: str, report: FaultReport) -> Any:
    """Read a name: text that is not blank."""
    text = read_label(value, where, report)
    if text is UNREAD or text.strip():
        return text
    report.add(where, f"{shown_value(text)} is blank", "give a name")
    return UNREAD


def _read_number(value: Any, where: str, report: FaultReport, remedy: str, largest: float) -> Any:
    """Read a number; the text ``inf`` is infinity, a boolean is no number, and NaN is none either."""
    if isinstance(value, str):
        if value == "inf":
            return math.inf
        meant = number_in(value)
        if meant is not None and math.isfinite(meant):
            remedy = f"write {repr(meant).removesuffix('.0')}, without quotes"
        report.add(where, f"the text {shown_value(value)} is not a number", remedy)
        return UNREAD
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        report.add(where, f"{shown_value(value)} is not a number", remedy)
        return UNREAD
    number = _float_or_none(value)
    if number is None or largest < abs(number) < math.inf:
        report.add(where, f"{shown_value(value)} is too large{', beyond 1e100' if largest == LARGEST else ''}", remedy)
        return UNREAD
    if math.isnan(number):
        report.add(where, "nan is not a number", remedy)
        return UNREAD
    return number


def _float_or_none(value: Any) -> float | None:
    if isinstance(value, WrittenFloat) and value.overflowed:
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def number_in(text: str) -> float | None:
    """Return the number that a text writes; None where it writes none."""
    try:
        number = float(text) if len(text) < 40 else math.nan
    except ValueError:
        return None
    return None if math.isnan(number) else number


def write_number(value: Any, complete: bool) -> Any:
    """Return a number for a file: infinity as text, whole ones without a point; what is text as it is."""
    if isinstance(value, str):
        return value
    number = float(value)
    if number == math.inf:
        return "inf"
    return int(number) if number.is_integer() and abs(number) < LARGEST_WHOLE else number


def write_numbers(value: Any, complete: bool) -> Any:
    """Return numbers for a file, however deep in lists and mappings."""
    if isinstance(value, float):  # most of them
        return write_number(value, complete)
    if isinstance(value, Mapping):
        return {key: write_numbers(item, complete) for key, item in value.items()}
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return write_number(value, complete)
    return [write_numbers(item, complete) for item in value]


def number(
    is_none: str = "",
    remedy: str = "give a number, or inf",
    *,
    low: float = -math.inf,
    high: float = math.inf,
    finite: bool = False,
    whole: bool = False,
    schema: Callable[[], Schema] | None = None,
    largest: float = LARGEST,
    write: Callable[[Any, bool], Any] = write_number,
    instead: Any = 0.0,
) -> Form:
    """Return the form of a number from ``low`` to ``high``; of another, that it ``is_none`` is said."""
    least, most = max(low, -largest), min(high, largest)

    def read(value: Any, where: str, report: FaultReport) -> Any:
        if type(value) is float and least <= value <= most and not whole:
            return value
        found = _read_number(value, where, report, remedy, largest)
        if found is UNREAD:
            return UNREAD
        if not low <= found <= high or (whole and not float(found).is_integer()):
            report.add(where, f"{shown_value(value)} {is_none}", remedy)
        elif finite and math.isinf(found):
            report.add(where, f"{shown_value(value)} is not finite", remedy)
        else:
            return int(found) if whole else found
        return UNREAD

    return Form(read, schema or (lambda: {"type": "integer" if whole else "number"}), write, instead)


def _write_amount(value: Any, complete: bool) -> Any:
    return "inf" if isinstance(value, float) and value == math.inf else value


def _read_count(value: Any, where: str, report: FaultReport) -> Any:
    """Read a number of times; a whole one comes back as an integer. Whether it may count is the graph's to say."""
    found = NUMBER.read(value, where, report)
    return int(found) if found is not UNREAD and found.is_integer() else found


def _read_flag(value: Any, where: str, report: FaultReport) -> Any:
    if isinstance(value, bool):
        return value
    report.add(where, f"{shown_value(value)} is not a boolean", "write true or false, without quotes")
    return UNREAD


def _read_value(value: Any, where: str, report: FaultReport) -> Any:
    """Read what a belief says: a number, or text, in quotes if it looks like a number; a boolean is kept as text."""
    if isinstance(value, bool) or (isinstance(value, str) and value != "inf"):
        return read_label(value, where, report)
    if isinstance(value, (numbers.Real, str)):
        return NUMBER.read(value, where, report)
    report.add(
        where, f"{shown_value(value)} is neither text nor a number", "give what is held to be true, null in quotes"
    )
    return UNREAD


def _read_true_value(value: Any, where: str, report: FaultReport) -> Any:
    """Read a value whose kind follows from what its belief declares; a number keeps its text, in case it is one."""
    found = _read_value(value, where, report)
    return found if isinstance(found, str) or found is UNREAD else WrittenFloat(found, text_of(value) or str(value))


def _read_plain(value: Any, where: str, report: FaultReport, depth: int = 0) -> Any:
    """Read mappings from text, lists, texts, finite numbers, booleans and null, whatever they mean."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if depth > MOST_NESTED:
        report.add(where, f"it is nested more than {MOST_NESTED} levels deep", "write it flatter")
        return UNREAD
    if isinstance(value, (list, tuple)):
        return [_read_plain(item, f"{where}[{i}]", report, depth + 1) for i, item in enumerate(value)]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _read_plain(item, place(where, key), report, depth + 1) for key, item in value.items()}
    found = FLOAT.read(value, where, report)
    return value if isinstance(value, int) else found


_CONTROLS = r"\u0000-\u001f\u007f-\u009f"  # what may not be in a name or a label
SHARED: dict[str, Schema] = {
    "name": {
        "type": ["string", "number", "boolean"],
        "pattern": rf"^[^{_CONTROLS}]*[^\s{_CONTROLS}][^{_CONTROLS}]*$",
    },
    "label": {"type": ["string", "number", "boolean"], "pattern": rf"^[^{_CONTROLS}]*$"},
    "number": {"anyOf": [{"type": "number"}, {"const": "inf"}]},
    "cost": {"anyOf": [{"type": "number", "minimum": 0}, {"const": "inf"}]},
    "probability": {"type": "number", "minimum": 0, "maximum": 1.0 + SUM_TOLERANCE},
    "value": {"type": ["string", "number", "boolean"]},
}
"""The simple kinds that many keys share, by name; schemas refer to them."""


def _shared(name: str) -> Callable[[], Schema]:
    return lambda: {"$ref": f"#/$defs/{name}"}


TEXT = Form(read_text, lambda: {"type": "string"})
LABEL = Form(read_label, _shared("label"))
NAME = Form(read_name, _shared("name"))
FLAG = Form(_read_flag, lambda: {"type": "boolean"})
NUMBER = number(schema=_shared("number"))
FINITE = number(remedy="give a finite number", finite=True)
COST = number(schema=_shared("cost"))  # read as any number: graph and problem say which of their costs is none
LOSS = number("is not a loss", "give a number of at least 0, or inf", low=0.0, schema=_shared("cost"))
PROBABILITY = number(
    "is not a probability", "give a number from 0 to 1", low=0.0, high=1.0 + SUM_TOLERANCE, instead=1.0,
    schema=_shared("probability"),
)  # fmt: skip
WHOLE = number(
    "is not a whole number", "give 1, 2, 3, …", whole=True, instead=UNREAD, low=-LARGEST_WHOLE, high=LARGEST_WHOLE
)
COUNT = Form(_read_count, lambda: {"anyOf": [{"type": "integer", "minimum": 0}, {"const": "inf"}]}, write_number)
VALUE = Form(_read_value, _shared("value"), write_number, "unreadable")
TRUE_VALUE = Form(_read_true_value, _shared("value"), write_number)
PLAIN = Form(_read_plain, dict)
FLOAT = number(remedy="give a finite number", finite=True, largest=math.inf, write=_as_it_is)
AMOUNT = number(
    "is less than zero", "give at least 0", low=0.0, largest=math.inf, write=_write_amount, schema=_shared("cost")
)
AT_LEAST_0 = number(
    "is no whole number of at least 0", "give 0, 1, 2, …", low=0, high=LARGEST_WHOLE, whole=True, write=_as_it_is,
    schema=lambda: {"type": "integer", "minimum": 0, "maximum": LARGEST_WHOLE},
)  # fmt: skip

Name = Annotated[str, NAME]
Label = Annotated[str, LABEL]
Cost = Annotated[float, COST]
"""What something costs, for the graph to judge; infinite where it cannot be."""
Loss = Annotated[float, LOSS]
Finite = Annotated[float, FINITE]
Number = Annotated[float, NUMBER]
Probability = Annotated[float, PROBABILITY]
Count = Annotated[float, COUNT]
"""How often something may be done; infinity for any number of times."""
Amount = Annotated[float, AMOUNT]
"""A number of at least zero, infinity included, kept to its last bit."""
Whole = Annotated[int, AT_LEAST_0]


def words(options: Mapping[str, Any]) -> Form:
    """Return the form of a word that stands for one of these values."""
    listed, said = ", ".join(options), {value: word for word, value in options.items()}

    def read(value: Any, where: str, report: FaultReport) -> Any:
        if isinstance(value, str) and value in options:
            return options[value]
        near = report.guess(value, options) if isinstance(value, str) else None
        hint = f"did you mean {near}? " if near else ""
        report.add(where, f"{shown_value(value)} is none of the choices", f"{hint}use one of {listed}")
        return UNREAD

    return Form(read, lambda: {"enum": list(options)}, lambda value, complete: said.get(value, value))


def optional(form: Form) -> Form:
    """Return the form of a value that may be missing; written as null where all keys are."""

    def read(value: Any, where: str, report: FaultReport) -> Any:
        return None if value is None and report.nulls else form.read(value, where, report)

    def write(value: Any, complete: bool) -> Any:
        return None if value is None else form.write(value, complete)

    return Form(read, lambda: {"anyOf": [form.schema(), NULL]}, write, form.instead)


NULL: Schema = {"type": "null"}


def never_null(schema: Any) -> Any:
    """Return a schema for data in which what may be missing is left out, not null."""
    if isinstance(schema, list):
        return [never_null(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    choices, null = schema.get("anyOf", ()), NULL in schema.get("anyOf", ())
    rest = {key: never_null(one) for key, one in schema.items() if not (null and key == "anyOf")}
    return {**rest, **never_null(choices[0])} if null else rest


def either(simple: Form, mapping: Form) -> Form:
    """Return the form of what is a mapping of one kind, or else something simple."""

    def read(value: Any, where: str, report: FaultReport) -> Any:
        return (mapping if isinstance(value, Mapping) else simple).read(value, where, report)

    def write(value: Any, complete: bool) -> Any:
        plain = isinstance(value, (int, float, Sequence))
        return (simple if plain else mapping).write(value, complete)

    return Form(read, lambda: {"anyOf": [simple.schema(), mapping.schema()]}, write, simple.instead)


def read_list(value: Any, where: str, report: FaultReport) -> Any:
    """Read a list, whatever it holds."""
    if type(value) is list or (isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))):
        return value
    report.add(where, f"{shown_value(value)} is not a list", "give a list, [] if empty")
    return UNREAD


def read_mapping(value: Any, where: str, report: FaultReport) -> Any:
    """Read a mapping, its keys as text; report keys that are no names or are given twice."""
    if type(value) is dict and all(type(key) is str for key in value):
        return value
    if not isinstance(value, Mapping):
        report.add(where or "file", f"{shown_value(value)} is not a mapping", "give keys and values")
        return UNREAD
    items: dict[str, Any] = {}
    repeated = list(value.repeated) if isinstance(value, RepeatedKeys) else []
    for written, item in value.items():
        key = read_name(written, place(where, shown_value(written)), report) if type(written) is not str else written
        if key is not UNREAD:
            if key in items:
                repeated.append(key)
            items[key] = item
    for key in repeated:
        report.add(place(where, key), f"the key {shown_value(key)} is given more than once", "keep one of them")
    return items


def list_of(form: Form, *, instead: Callable[[int], Any] | None = None) -> Form:
    """Return the form of a list of such values; unreadable ones are left out, or stand in as ``instead`` says."""

    def read(value: Any, where: str, report: FaultReport) -> Any:
        items = read_list(value, where, report)
        if items is UNREAD:
            return UNREAD
        kept, positions = [], []
        for i, item in enumerate(items):
            result = form.read(item, f"{where}[{i}]", report)
            if result is UNREAD and instead is not None:
                result = instead(i)
            if result is not UNREAD:
                kept.append(result)
                positions.append(i)
        if len(kept) < len(items):
            report.positions[where] = positions
        return tuple(kept)

    def write(value: Any, complete: bool) -> Any:
        return [form.write(item, complete) for item in value]

    return Form(read, lambda: {"type": "array", "items": form.schema()}, write, ())


def by_name(form: Form, key: Form = NAME) -> Form:
    """Return the form of a mapping from names to such values; an unreadable value leaves its name, and a stand-in."""

    def read(value: Any, where: str, report: FaultReport) -> Any:
        items = read_mapping(value, where, report)
        if items is UNREAD:
            return UNREAD
        found: dict[str, Any] = {}
        for written, item in items.items():
            at = place(where, written)
            name = key.read(written, at, report)
            if name is not UNREAD:
                result = form.read(item, at, report)
                found[name] = form.instead if result is UNREAD else result
        return found

    def write(value: Any, complete: bool) -> Any:
        return {write_number(name, complete): form.write(item, complete) for name, item in value.items()}

    return Form(read, lambda: {"type": "object", "additionalProperties": form.schema()}, write, {})


def row(form: Form, *, low: float = -LARGEST, high: float = LARGEST) -> Form:
    """Return the form of a list of numbers that is unreadable as soon as one value in it is.

    Plain numbers from ``low`` to ``high`` need no reader: most rows are sound, and rows are most of a large file.
    """
    slow = whole(list_of(form))

    def read(value: Any, where: str, report: FaultReport) -> Any:
        if type(value) is list and all(type(x) in _NUMBER_TYPES and low <= x <= high for x in value):
            return tuple(map(float, value))  # a tuple of numbers is nothing to the garbage collector
        return slow.read(value, where, report)

    return Form(read, slow.schema, write_numbers)


def row_with_name(position: int) -> Form:
    """Return the form of a row of numbers, of which the one at a position may be a name instead."""
    numbers = row(NUMBER)

    def read(value: Any, where: str, report: FaultReport) -> Any:
        said = value[position] if type(value) is list and len(value) > position else 0.0
        if not isinstance(said, str) or said == "inf" or number_in(said) is not None:
            return numbers.read(value, where, report)
        said = read_name(said, f"{where}[{position}]", report)
        rest = numbers.read([0.0 if i == position else x for i, x in enumerate(value)], where, report)
        return UNREAD if UNREAD in (said, rest) else (*rest[:position], said, *rest[position + 1 :])

    either = {"anyOf": [{"type": "number"}, {"type": "string"}]}
    return Form(read, lambda: {"type": "array", "items": either}, write_numbers)


def whole(form: Form) -> Form:
    """Return the form of a list of numbers that is unreadable as soon as one entry is."""

    def read(value: Any, where: str, report: FaultReport) -> Any:
        before, found = report.count, form.read(value, where, report)
        return found if report.count == before else UNREAD

    return Form(read, form.schema, write_numbers)
