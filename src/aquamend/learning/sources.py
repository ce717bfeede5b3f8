"""Files of records as rows: CSV as programs and people write it, JSON Lines, Parquet; told apart by name."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from aquamend.errors import InvalidData, MissingLibrary

MOST_BYTES = 512 * 1024 * 1024
DELIMITERS = ",;\t|"
KINDS = "records are .csv, .tsv, .jsonl or .parquet"


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
