"""Files of records: CSV as programs and people write it, JSON Lines, Parquet; and what their cells mean."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from aquamend.errors import InvalidData, MissingLibrary
from aquamend.learning.past_alarms import LARGEST, MISSING, Faults, InvalidRecords, Reading, Record, Records
from aquamend.text import shown

MOST_BYTES = 512 * 1024 * 1024
DELIMITERS = ",;\t|"
KINDS = "records are .csv, .tsv, .jsonl or .parquet"
FOUND, ALARM, WHEN, AGE, SESSION = "found", "alarm", "when", "age", "session"
COST, TRUTH, OF_ALARM, OF_AGE = "cost:", "truth:", "alarm:", "age:"
_FLAGS = {
    **dict.fromkeys(("true", "1", "yes", "y", "t", "on"), True),
    **dict.fromkeys(("false", "0", "no", "n", "f", "off"), False),
}


class Row(NamedTuple):
    """One row, and where it stands."""

    place: str
    cells: Mapping[str, Any]


class SourceTable(NamedTuple):
    """A file's rows, its columns in order, and whether its numbers have decimal commas."""

    rows: list[Row]
    columns: tuple[str, ...]
    faults: tuple[tuple[str, str], ...] = ()
    decimal_commas: bool = False


def table_in(path: Path, raw: bytes) -> SourceTable:
    """Return the rows of a file's bytes; ``InvalidData`` where they are none at all."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _parquet(path, raw)
    if suffix not in (".csv", ".tsv", ".jsonl", ".ndjson", ".json"):
        raise InvalidData(str(path), KINDS)
    text = _decoded(path, raw)
    return _csv(path, text) if suffix in (".csv", ".tsv") else _json(path, text)


def bytes_of(path: Path) -> bytes:
    """Return what a file holds, if that is not too much."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a null byte
        raise InvalidData(str(path), f"it cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if len(raw) > MOST_BYTES:
        raise InvalidData(str(path), f"it is larger than {MOST_BYTES // 2**20} MB")
    return raw


def _decoded(path: Path, raw: bytes) -> str:
    wide = raw[:2] in (b"\xff\xfe", b"\xfe\xff")  # as spreadsheets save "Unicode text"
    try:
        return raw.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        said = f"byte {raw[error.start]:#04x} in line {line} is not UTF-8; save the file as UTF-8"
        raise InvalidData(str(path), said) from None


def _csv(path: Path, text: str) -> SourceTable:
    delimiter = _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows, faults, columns = list[Row](), list[tuple[str, str]](), tuple[str, ...]()
    try:
        for number, cells in enumerate(reader, start=1):
            if not columns:
                columns = tuple(name.strip() for name in cells) if any(map(str.strip, cells)) else ()
                continue
            if not any(map(str.strip, cells)):
                continue
            place = f"row {number}"
            if len(cells) > len(columns) and any(map(str.strip, cells[len(columns) :])):
                faults.append((place, f"it has {len(cells)} cells, more cells than there are columns ({len(columns)})"))
            rows.append(Row(place, {name: cell for name, cell in zip(columns, cells, strict=False) if name}))
    except csv.Error as error:
        raise InvalidData(str(path), f"it is no CSV: line {reader.line_num}: {error}") from None
    named = [name for name in columns if name]
    if len(set(named)) != len(named):
        twice = next(name for name in named if named.count(name) > 1)
        raise InvalidData(str(path), f"the column {twice[:60]!r} is given twice")
    return SourceTable(rows, tuple(named), tuple(faults), delimiter == ";")


def _delimiter(text: str) -> str:
    """Return what separates the names in the header: the character that makes most of them, a comma if in doubt."""
    header = next((line for line in text.splitlines() if line.strip()), "")
    outside = "".join(part for i, part in enumerate(header.split('"')) if i % 2 == 0)
    return max(DELIMITERS, key=outside.count)


def _json(path: Path, text: str) -> SourceTable:
    rows, faults = list[Row](), list[tuple[str, str]]()
    entries: Iterator[tuple[str, Any]]
    if path.suffix.lower() == ".json" and text.lstrip().startswith("["):
        entries = ((f"entry {i}", entry) for i, entry in enumerate(_parsed(path, text, "the file"), start=1))
    else:
        lines = ((f"line {i}", line) for i, line in enumerate(text.split("\n"), start=1) if line.strip())
        entries = ((place, _parsed(path, line, place)) for place, line in lines)
    for place, entry in entries:
        if isinstance(entry, dict):
            rows.append(Row(place, entry))
        else:
            faults.append((place, "it is no mapping"))
    return SourceTable(rows, tuple(dict.fromkeys(str(key).strip() for row in rows for key in row.cells)), tuple(faults))


def _parsed(path: Path, text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also a whole number of thousands of digits
        raise InvalidData(f"{path}, {place}", f"it is no JSON: {error}") from None


def _parquet(path: Path, raw: bytes) -> SourceTable:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingLibrary("pyarrow", "learn", "or write the records as CSV or JSON Lines") from None
    try:
        table = pq.read_table(pa.BufferReader(raw))
        names = [str(name) for name in table.column_names]
        if len(set(names)) != len(names):
            raise InvalidData(str(path), "a column is given twice")
        cells = table.to_pylist()
    except (pa.ArrowException, OSError, ValueError, TypeError, NotImplementedError, OverflowError) as error:
        if isinstance(error, InvalidData):
            raise
        raise InvalidData(str(path), f"it is no Parquet file: {' '.join(str(error).split())[:200]}") from None
    return SourceTable([Row(f"row {i}", row) for i, row in enumerate(cells, start=1)], tuple(n.strip() for n in names))


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
            when = row.cells.get(WHEN)
            dated = dated or isinstance(when, date) or (isinstance(when, str) and _moment(when) is not None)
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
        known = {key: v for key, v in filled.items() if not (isinstance(v, str) and v.strip().lower() in MISSING)}
        own, prefixes = {FOUND, ALARM, WHEN, AGE}, (COST, TRUTH, OF_ALARM, OF_AGE)
        probes = [k for k in filled if k not in own and not k.startswith(prefixes)]
        costs = {name: self._at_least_0(k, v, "a cost") for name, k, v in _under(COST, known)}
        rung = {name: self._flag(k, v) for name, k, v in _under(OF_ALARM, known)}
        truth = {name: said for name, k, v in _under(TRUTH, filled) if (said := self._reading(k, v)) is not None}
        ages = {name: self._at_least_0(k, v, "an age") for name, k, v in _under(OF_AGE, known)}
        if AGE in known:
            ages[""] = self._at_least_0(AGE, known[AGE], "an age")
        alarm = any(rung.values()) if rung else True
        return Record(
            found=self._text(FOUND, filled[FOUND]) if FOUND in filled else None,
            readings={probe: read for probe in probes if (read := tuple(self._readings(probe, filled[probe])))},
            costs=costs,
            alarm=self._flag(ALARM, known[ALARM]) if ALARM in known else alarm,
            when=self._when(known[WHEN]) if WHEN in known else None,
            truth=truth,
            rung=rung,
            ages=ages,
            place=self.row.place,
        )

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
            return self._pointed(value)
        if isinstance(value, timedelta):
            return value.total_seconds()
        if isinstance(value, int | float | Decimal):
            return self._number(column, value)
        self._fault(column, f"{_quoted(value)} is neither a number nor the name of an outcome")
        return None

    def _pointed(self, text: str) -> str:
        """Return a text without blanks around it, and with a point where the file writes numbers with a comma."""
        text = text.strip()
        return text.replace(",", ".") if self.table.decimal_commas and _is_decimal_comma(text) else text

    def _number(self, column: str, value: Any) -> float:
        """Return a number, finite or not; 0 in the place of what is none."""
        try:
            return float(self._pointed(value) if isinstance(value, str) else value)
        except (TypeError, ValueError, OverflowError):
            self._fault(column, f"{_quoted(value)} is not a number")
            return 0.0

    def _at_least_0(self, column: str, value: Any, kind: str) -> float:
        value = value.total_seconds() if isinstance(value, timedelta) else value
        number = self._number(column, value)
        if not 0.0 <= number < LARGEST:
            self._fault(column, f"{_quoted(value)} is not {kind}")
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
        if isinstance(value, str) and _as_number(self._pointed(value)) is None:
            self._fault(WHEN, f"{_quoted(value)} is not a number, and no time such as 2026-03-01T14:05:00")
            return None
        number = self._number(WHEN, value)
        if not -LARGEST < number < LARGEST:
            self._fault(WHEN, f"{_quoted(value)} is not finite")
            return None
        return number


def _under(prefix: str, cells: Mapping[str, Any]) -> list[tuple[str, str, Any]]:
    """Return the cells whose columns begin so: the rest of the column's name, the whole of it, and the value."""
    return [(column.removeprefix(prefix), column, v) for column, v in cells.items() if column.startswith(prefix)]


def _empty(value: object) -> bool:
    return (
        value is None
        or (isinstance(value, str) and not value.strip())
        or (isinstance(value, list | tuple) and not value)
        or (isinstance(value, float) and math.isnan(value))
    )


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
