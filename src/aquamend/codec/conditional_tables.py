"""Tables by conditions: a mapping, or a list of `[condition, row]` pairs, of which the first that holds decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from aquamend.codec.fault_list import FaultReport, place
from aquamend.codec.forms import NAME, UNREAD, Form, by_name, read_list
from aquamend.codec.plain_data import shown_value

T = TypeVar("T")


class FirstThatHolds(Mapping[str, T]):
    """Rules in order: the first whose condition holds decides. As a mapping, it has the first row of each condition.

    >>> Discrete(["fits", "differs"], FirstThatHolds([("slipped", [0.2, 0.8]), ("default", [0.9, 0.1])]))
    """

    __slots__ = ("_rows", "pairs")

    def __init__(self, pairs: Iterable[tuple[str, T]]) -> None:
        self.pairs = tuple((condition, row) for condition, row in pairs)
        self._rows = dict(reversed(self.pairs))

    def __getitem__(self, condition: str) -> T:
        return self._rows[condition]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(condition for condition, _ in self.pairs))

    def __len__(self) -> int:
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FirstThatHolds) and self.pairs == other.pairs

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"FirstThatHolds({list(self.pairs)!r})"

    def __reduce__(self) -> Any:
        return FirstThatHolds, (self.pairs,)


def place_of_rule(where: str, rules: Iterable[str], condition: str) -> str:
    """Return the place of a condition's row: by its key, or by where it stands in the list."""
    if isinstance(rules, FirstThatHolds):
        return f"{where}[{[one for one, _ in rules.pairs].index(condition)}]"
    return place(where, condition)


def by_condition(form: Form) -> Form:
    """Return the form of a table by conditions whose rows have this form."""
    mapping = by_name(form)

    def read(value: Any, where: str, report: FaultReport) -> Any:
        if isinstance(value, Mapping):
            return mapping.read(value, where, report)
        if not isinstance(value, (list, tuple)) or not value:
            said = f"{shown_value(value)} is not a mapping, nor a list of rules"
            report.add(where, said, "give rows by condition, or [condition, row] pairs")
            return UNREAD
        pairs = [_pair(form, pair, f"{where}[{i}]", report) for i, pair in enumerate(value)]
        if None in pairs:
            report.unread.add(where)
        return FirstThatHolds(pair for pair in pairs if pair is not None)

    def write(value: Any, complete: bool) -> Any:
        if isinstance(value, FirstThatHolds):
            return [[condition, form.write(row, complete)] for condition, row in value.pairs]
        return mapping.write(value, complete)

    def schema() -> dict[str, Any]:
        pair = {"type": "array", "prefixItems": [NAME.schema(), form.schema()], "minItems": 2, "maxItems": 2}
        return {"anyOf": [mapping.schema(), {"type": "array", "items": pair}]}

    return Form(read, schema, write, {})


def number_or_table(form: Form) -> Form:
    """Return the form of one number for all, or a table by conditions."""
    table = by_condition(form)

    def read(value: Any, where: str, report: FaultReport) -> Any:
        return (table if isinstance(value, (Mapping, list, tuple)) else form).read(value, where, report)

    def write(value: Any, complete: bool) -> Any:
        return (table if isinstance(value, Mapping) else form).write(value, complete)

    return Form(read, lambda: {"anyOf": [form.schema(), *table.schema()["anyOf"]]}, write, form.instead)


def _pair(form: Form, pair: Any, where: str, report: FaultReport) -> tuple[str, Any] | None:
    """Return one rule of a list; an unreadable row has a stand-in, a rule without a condition is none."""
    items = read_list(pair, where, report)
    if items is UNREAD:
        return None
    if len(items) != 2:
        report.add(where, f"{shown_value(items)} has {len(items)} entries", "give [condition, row]")
        return None
    condition, row = NAME.read(items[0], f"{where}[0]", report), form.read(items[1], f"{where}[1]", report)
    return None if condition is UNREAD else (condition, form.instead if row is UNREAD else row)
