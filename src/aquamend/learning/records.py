"""Labelled records of past alarms: what was found in the end, what each probe read, what each act cost."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aquamend.errors import InvalidData, MissingLibrary

Reading = str | float
FOUND, ALARM, WHEN = "found", "alarm", "when"
COST = "cost:"
MOST_BYTES = 512 * 1024 * 1024


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


@dataclass(frozen=True, slots=True)
class Records:
    """Records with where they come from."""

    records: tuple[Record, ...]
    source: str
    digest: str | None = None
    """Of the bytes they were read from, where it was a file that does not change."""


def causes_in(found: str) -> frozenset[str]:
    """Return the parts of what was found: causes joined by ``+``, in whatever order."""
    return frozenset(part.strip() for part in found.split("+"))


def read_records(path: Path) -> Records:
    """Return the records of a CSV, JSON Lines or Parquet file, told apart by its name; ``InvalidData`` if it is none.

    A row has ``found``, and, where known, ``alarm`` (true or false), ``when``, a column for each probe with what it
    read, and ``cost:NAME`` with what something cost. Empty cells are unknown. In JSON Lines a probe that was used
    several times has a list.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InvalidData(str(path), f"it cannot be read ({error.strerror})") from None
    if len(raw) > MOST_BYTES:
        raise InvalidData(str(path), f"it is larger than {MOST_BYTES // 2**20} MB")
    rows = _rows(path, raw)
    records = tuple(_record(row, f"{path.name}, record {i}") for i, row in enumerate(rows, start=1))
    if not records:
        raise InvalidData(str(path), "it holds no record")
    return Records(records, path.name, hashlib.sha256(raw).hexdigest()[:16])


def _rows(path: Path, raw: bytes) -> Iterable[Mapping[str, Any]]:
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _parquet(path, raw)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidData(str(path), f"byte {error.start} is not UTF-8") from None
    if suffix == ".csv":
        return _csv(path, text)
    if suffix in (".jsonl", ".ndjson", ".json"):
        return list(_json_lines(path, text))
    raise InvalidData(str(path), "records are .csv, .jsonl or .parquet")


def _csv(path: Path, text: str) -> list[dict[str, Any]]:
    try:
        reader = csv.DictReader(io.StringIO(text), strict=True)
        rows = list(reader)
    except csv.Error as error:
        raise InvalidData(str(path), f"it is no CSV: {error}") from None
    names = [name for name in reader.fieldnames or () if name]
    if len(set(names)) != len(names):
        raise InvalidData(str(path), "a column is given twice")
    if any(None in row for row in rows):
        raise InvalidData(str(path), "a row has more cells than there are columns")
    return rows


def _json_lines(path: Path, text: str) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except (json.JSONDecodeError, RecursionError) as error:
                raise InvalidData(f"{path}, line {number}", f"it is no JSON: {error}") from None
            if not isinstance(row, dict):
                raise InvalidData(f"{path}, line {number}", "it is no mapping")
            yield row


def _parquet(path: Path, raw: bytes) -> list[dict[str, Any]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingLibrary("pyarrow", "learn", "or write the records as CSV or JSON Lines") from None
    try:
        rows: list[dict[str, Any]] = pq.read_table(pa.BufferReader(raw)).to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidData(str(path), f"it is no Parquet file: {error}") from None
    return rows


def _record(row: Mapping[str, Any], where: str) -> Record:
    given = {str(key).strip(): value for key, value in row.items() if not _empty(value)}
    if FOUND not in given:
        raise InvalidData(where, f"the column {FOUND!r} is missing or empty: what turned out to be the case")
    probes = {k: v for k, v in given.items() if k not in (FOUND, ALARM, WHEN) and not k.startswith(COST)}
    return Record(
        found=str(given[FOUND]).strip(),
        readings={probe: tuple(_readings(value, f"{where}, {probe}")) for probe, value in probes.items()},
        costs={k.removeprefix(COST): _cost(v, f"{where}, {k}") for k, v in given.items() if k.startswith(COST)},
        alarm=_flag(given.get(ALARM, True), f"{where}, {ALARM}"),
        when=_number(given[WHEN], f"{where}, {WHEN}") if WHEN in given else None,
    )


def _empty(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip()) or (isinstance(value, list) and not value)


def _readings(value: Any, where: str) -> Iterator[Reading]:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, bool):
            yield "true" if one else "false"
        elif isinstance(one, str):
            yield one.strip()
        else:
            yield _number(one, where)


def _number(value: Any, where: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidData(where, f"{str(value)[:60]!r} is not a number") from None
    if not math.isfinite(number):
        raise InvalidData(where, f"{number!r} is not finite")
    return number


def _cost(value: Any, where: str) -> float:
    number = _number(value, where)
    if number < 0.0:
        raise InvalidData(where, f"{number!r} is not a cost")
    return number


def _flag(value: Any, where: str) -> bool:
    if isinstance(value, bool):
        return value
    known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    said = str(value).strip().lower()
    said = said.removesuffix(".0")
    if said not in known:
        raise InvalidData(where, f"{str(value)[:60]!r} is neither true nor false")
    return known[said]


def in_order(records: Sequence[Record]) -> list[Record]:
    """Return the records by time; those without one stay where they are, before the others."""
    return sorted(records, key=lambda record: -math.inf if record.when is None else record.when)
