"""Labelled records of past alarms: what was found in the end, what each probe read, what each act cost."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from aquamend.errors import AquaMendError, InvalidData
from aquamend.learning.sources import Row, SourceTable, bytes_of, table_in
from aquamend.problem.graph import Value
from aquamend.text import shown

Reading = str | float
FOUND, ALARM, WHEN, AGE, SESSION = "found", "alarm", "when", "age", "session"
COST, TRUTH, OF_ALARM, OF_AGE = "cost:", "truth:", "alarm:", "age:"
MISSING = frozenset(("", "nan", "na", "n/a", "#n/a", "null", "nil", "none", "-", "--", "nat", "<na>"))
"""What programs and people write where nothing is known; of a probe with an outcome of that name, it is the outcome."""
LARGEST = 1e50
"""Beyond it a number is as good as infinite: squares of such numbers overflow."""
MOST_LISTED = 50
"""Most faults that one message lists."""


class InvalidRecords(InvalidData):
    """Records that cannot be meant: every fault, with its row and column."""

    def __init__(self, source: str, faults: Sequence[str]) -> None:
        self.where, self.faults = source, tuple(faults)
        self.problem = "; ".join(self.faults[:1])
        more = [f"and {len(faults) - MOST_LISTED} more faults"] if len(faults) > MOST_LISTED else []
        AquaMendError.__init__(self, "\n".join(f"{source}: {said}" for said in [*faults[:MOST_LISTED], *more]))


@dataclass(slots=True)
class Faults:
    """What is wrong with records: collected, and reported all at once; or left out, where somebody wants that."""

    source: str = "records"
    skip: bool = False
    """Leave out what is faulty, and only say so."""
    found: list[str] = field(default_factory=list)

    def add(self, place: str, column: str, problem: str) -> None:
        """Note a fault in a cell, or in a row where no column is named."""
        at = f"{place}, column {shown(column)!r}" if column else place
        self.found.append(f"{at}: {problem}")

    def check(self) -> None:
        """Raise ``InvalidRecords`` with all faults, unless they are to be left out."""
        if self.found and not self.skip:
            raise InvalidRecords(self.source, self.found)


@dataclass(frozen=True, slots=True)
class Record:
    """One past alarm, or one time at which none was raised."""

    found: str | None
    """What turned out to be the case: a hypothesis, or causes joined by ``+``; None where nobody found out."""
    readings: Mapping[str, tuple[Reading, ...]] = field(default_factory=dict)
    """For every probe that was used, what it answered, in order."""
    costs: Mapping[str, float] = field(default_factory=dict)
    """What probes, undoing actions, operations, plans, ``restart`` and ``escalate`` really cost, by name."""
    alarm: bool = True
    """Whether the alarm was raised."""
    when: float | None = None
    """When, in whatever unit, if anybody knows: for telling drift."""
    truth: Mapping[str, Value] = field(default_factory=dict)
    """What was really true of beliefs that declare a value: 45 g, floor 3."""
    rung: Mapping[str, bool] = field(default_factory=dict)
    """Of several monitors, whether each rang; one that is not named was not watching."""
    ages: Mapping[str, float] = field(default_factory=dict)
    """How long ago beliefs had been measured; under the empty name, all others."""
    with_delay: bool = False
    """Whether the costs include what the delay cost, as receipts do."""
    place: str = ""
    """Where it stands in its file."""


@dataclass(frozen=True, slots=True)
class Records:
    """Records with where they come from."""

    records: tuple[Record, ...]
    source: str
    digest: str | None = None
    """Of the bytes they were read from, where it was a file that does not change."""
    columns: tuple[str, ...] = ()
    dated: bool = False
    """Whether times are seconds since 1970."""
    faults: tuple[str, ...] = ()
    """What was wrong with rows that were left out."""


def causes_in(found: str) -> frozenset[str]:
    """Return the parts of what was found: causes joined by ``+``, in whatever order."""
    return frozenset(part.strip() for part in found.split("+"))


def read_records(path: Path, *, skip_faulty: bool = False) -> Records:
    """Return the records of a CSV, JSON Lines or Parquet file; ``InvalidRecords`` with every fault, by row and column.

    With ``skip_faulty``, rows with faults are left out in place of that, and their faults are kept.

    A row has ``found``, and, where known, ``alarm`` (true or false; ``alarm:NAME`` of several monitors), ``when`` (a
    number or an ISO time), a column for each probe with what it read, ``cost:NAME``, ``truth:BELIEF`` and ``age`` or
    ``age:BELIEF``. Empty cells are unknown. In JSON Lines a probe that was used several times has a list.
    """
    raw = bytes_of(path)
    table = table_in(path, raw)
    faults = Faults(path.name, skip_faulty, [f"{place}: {said}" for place, said in table.faults])
    if table.rows and FOUND not in table.columns:
        listed = ", ".join(repr(shown(name)) for name in table.columns[:12])
        raise InvalidData(
            str(path), f"the column {FOUND!r} is missing: what turned out to be the case; it has {listed}"
        )
    kept, dated = [], False
    for row in table.rows:
        before = len(faults.found)
        record = _Cells(row, table, faults).record()
        if not (skip_faulty and len(faults.found) > before):
            kept.append(record)
            dated = dated or isinstance(row.cells.get(WHEN), date) or _is_time(row.cells.get(WHEN))
    faults.check()
    if not kept and faults.found:
        raise InvalidRecords(path.name, faults.found)
    if not kept:
        raise InvalidData(str(path), "it holds no record")
    digest = hashlib.sha256(raw).hexdigest()[:16]
    return Records(tuple(kept), path.name, digest, table.columns, dated, tuple(faults.found))


def read_labels(path: Path) -> dict[str, str]:
    """Return what was found in each session of a journal, from a file with the columns session and found."""
    table, faults, found = table_in(path, bytes_of(path)), Faults(path.name), dict[str, str]()
    for row in table.rows:
        session, said = (row.cells.get(name) for name in (SESSION, FOUND))
        if _empty(session) or _empty(said):
            faults.add(row.place, SESSION if _empty(session) else FOUND, "it is empty; a label has both")
        elif str(session).strip() in found:
            faults.add(row.place, SESSION, f"{_quoted(session)} has a label already")
        else:
            found[str(session).strip()] = str(said).strip()
    faults.found += [f"{place}: {said}" for place, said in table.faults]
    faults.check()
    return found


@dataclass(frozen=True, slots=True)
class _Cells:
    """One row, being read."""

    row: Row
    table: SourceTable
    faults: Faults

    def record(self) -> Record:
        filled = {str(key).strip(): value for key, value in self.row.cells.items() if not _empty(value)}
        own = {FOUND, ALARM, WHEN, AGE}
        prefixes = (COST, TRUTH, OF_ALARM, OF_AGE)
        probes = [k for k in filled if k not in own and not k.startswith(prefixes)]
        costs = {k.removeprefix(COST): self._at_least_0(k, v, "cost") for k, v in self._under(COST, filled)}
        rung = {k.removeprefix(OF_ALARM): self._flag(k, v) for k, v in self._under(OF_ALARM, filled)}
        truth = {
            k.removeprefix(TRUTH): v
            for k in filled
            if k.startswith(TRUTH) and (v := self._reading(k, filled[k])) is not None
        }
        ages = {k.removeprefix(OF_AGE): self._at_least_0(k, v, "age") for k, v in self._under(OF_AGE, filled)}
        if not _missing(filled.get(AGE)):
            ages[""] = self._at_least_0(AGE, filled[AGE], "age")
        alarm = any(rung.values()) if rung else True
        return Record(
            found=self._text(FOUND, filled[FOUND]) if FOUND in filled else None,
            readings={probe: read for probe in probes if (read := tuple(self._readings(probe, filled[probe])))},
            costs=costs,
            alarm=alarm if _missing(filled.get(ALARM)) else self._flag(ALARM, filled[ALARM]),
            when=None if _missing(filled.get(WHEN)) else self._when(filled[WHEN]),
            truth=truth,
            rung=rung,
            ages=ages,
            place=self.row.place,
        )

    def _under(self, prefix: str, filled: Mapping[str, Any]) -> list[tuple[str, Any]]:
        return [(k, v) for k, v in filled.items() if k.startswith(prefix) and not _missing(v)]

    def _fault(self, column: str, problem: str) -> None:
        self.faults.add(self.row.place, column, problem)

    def _text(self, column: str, value: Any) -> str:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return f"{value:g}" if isinstance(value, float) else str(value).strip()
        self._fault(column, f"{_quoted(value)} is no text")
        return ""

    def _readings(self, column: str, value: Any) -> Iterator[Reading]:
        for one in value if isinstance(value, list | tuple) else [value]:
            if not _empty(one) and (read := self._reading(column, one)) is not None:
                yield read

    def _reading(self, column: str, value: Any) -> Reading | None:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, bytes):
            value = value.decode("utf-8", errors="replace")
        if isinstance(value, str):
            text = value.strip()
            return text.replace(",", ".") if self.table.decimal_commas and _is_decimal_comma(text) else text
        if isinstance(value, timedelta):
            return value.total_seconds()
        if isinstance(value, int | float | Decimal):
            return self._number(column, value)
        self._fault(column, f"{_quoted(value)} is neither a number nor the name of an outcome")
        return None

    def _number(self, column: str, value: Any) -> float:
        """Return a number, finite or not; 0 in the place of what is none."""
        if isinstance(value, str) and self.table.decimal_commas and _is_decimal_comma(value.strip()):
            value = value.replace(",", ".")
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            self._fault(column, f"{_quoted(value)} is not a number")
            return 0.0

    def _at_least_0(self, column: str, value: Any, kind: str) -> float:
        value = value.total_seconds() if isinstance(value, timedelta) else value
        number = self._number(column, value)
        if not 0.0 <= number < LARGEST:
            self._fault(column, f"{_quoted(value)} is not {'an age' if kind == 'age' else 'a cost'}")
            return 0.0
        return number

    def _flag(self, column: str, value: Any) -> bool:
        if isinstance(value, bool):
            return value
        said = str(value).strip().lower().removesuffix(".0")
        if said not in _FLAGS:
            self._fault(column, f"{_quoted(value)} is neither true nor false")
        return _FLAGS.get(said, True)

    def _when(self, value: Any) -> float | None:
        if isinstance(value, date):
            return _seconds(value)
        if isinstance(value, str) and (moment := _moment(value)) is not None:
            return moment
        commas = self.table.decimal_commas and isinstance(value, str) and _is_decimal_comma(value.strip())
        if isinstance(value, str) and _as_number(value) is None and not commas:
            self._fault(WHEN, f"{_quoted(value)} is not a number, and no time such as 2026-03-01T14:05:00")
            return None
        number = self._number(WHEN, value)
        if not -LARGEST < number < LARGEST:
            self._fault(WHEN, f"{_quoted(value)} is not finite")
            return None
        return number


_FLAGS = {"true": True, "1": True, "yes": True, "y": True, "t": True, "on": True} | {
    "false": False, "0": False, "no": False, "n": False, "f": False, "off": False
}  # fmt: skip


def _empty(value: object) -> bool:
    return (
        value is None
        or (isinstance(value, str) and not value.strip())
        or (isinstance(value, list | tuple) and not value)
        or (isinstance(value, float) and math.isnan(value))
    )


def _missing(value: object) -> bool:
    return _empty(value) or (isinstance(value, str) and value.strip().lower() in MISSING)


def _quoted(value: object) -> str:
    return f"{shown(str(value)[:60])!r}"


def _as_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _is_decimal_comma(text: str) -> bool:
    whole, comma, rest = text.partition(",")
    return bool(comma) and _as_number(f"{whole or '0'}.{rest or '0'}") is not None


def _moment(text: str) -> float | None:
    """Return an ISO time in seconds since 1970; without a zone it is taken for UTC."""
    text = text.strip()
    if _as_number(text) is not None:
        return None
    try:
        return _seconds(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return None


def _seconds(moment: date) -> float:
    full = moment if isinstance(moment, datetime) else datetime(moment.year, moment.month, moment.day)
    return (full if full.tzinfo else full.replace(tzinfo=UTC)).timestamp()


def day_of(moment: float) -> str:
    """Return the day of a time in seconds since 1970; the number itself where no calendar reaches."""
    try:
        return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return f"{moment:g}"


def _is_time(value: object) -> bool:
    return isinstance(value, str) and _moment(value) is not None


def by_time(records: Sequence[Record]) -> list[Record]:
    """Return the records by time; those without one stay where they are, before the others."""
    return sorted(records, key=lambda record: -math.inf if record.when is None else record.when)
