"""JSON Lines, plain or gzipped, written all at once or not at all."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from aquamend.codec import json_number
from aquamend.errors import InvalidRun
from aquamend.files.atomic import write_atomically

SIGNIFICANT_DIGITS = 12
"""Floats are written this precisely: far beyond what any table shows, and short of what differs between machines."""
MOST_BYTES = 1 << 29
"""The files of a run hold no more than this together, unpacked; runs of a hundred thousand records are smaller."""
LONGEST_LINE = 1 << 24
"""In bytes."""
MOST_VALUES = 1 << 25
"""Numbers, texts, lists and objects in the files of a run, together: what bounds the memory that they take."""
DEEPEST = 50
"""Lists and objects in each other, at most: what we write has fewer than ten."""
SEAL = "seal"
"""What a sealed line ends with: a checksum of the text before it. Against slips, not against forgers."""


def as_line(record: Mapping[str, Any]) -> str:
    """Return a record as one line of JSON: floats shortened, infinity as the string ``"inf"``, keys as given."""
    return json.dumps(_plain(record), allow_nan=False, separators=(",", ":"), ensure_ascii=False) + "\n"


def sealed_line(record: Mapping[str, Any]) -> str:
    """Return a record as one line that ends in a seal of its text, so that a line changed since is known as such."""
    text = as_line(record)[:-2]
    return f'{text},"{SEAL}":"{_seal(text.encode())}"}}\n'


def _seal(text: bytes) -> str:
    return f"{zlib.crc32(text):08x}"


def _unsealed(line: bytes) -> bytes | None:
    """Return a sealed line without its seal; None where it has none, or is not what was sealed."""
    text, found, seal = line.rpartition(f',"{SEAL}":"'.encode())
    return text + b"}" if found and seal == f'{_seal(text)}"}}'.encode() else None


def _plain(value: Any) -> Any:
    match value:
        case float():
            number = json_number(value)
            return float(f"{number:.{SIGNIFICANT_DIGITS}g}") if isinstance(number, float) else number
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value


@dataclass(slots=True)
class Allowance:
    """How much may still be read: several files of one run share it."""

    bytes: int = field(default_factory=lambda: MOST_BYTES)
    values: int = field(default_factory=lambda: MOST_VALUES)

    def take(self, path: Path, *, bytes: int = 0, values: int = 0) -> None:
        """Count what was read; ``InvalidRun`` where it is more than any run of ours has."""
        self.bytes -= bytes
        self.values -= values
        if min(self.bytes, self.values) < 0:
            much = f"{MOST_BYTES / (1 << 20):,.0f} MB" if self.bytes < 0 else f"{MOST_VALUES:,} values"
            problem = f"it brings the run to more than {much}, which no run of ours has"
            raise InvalidRun(path, problem, "give a part of it, or run the benchmark again")


def read_lines(path: Path, *, sealed: bool = False, allowance: Allowance | None = None) -> list[dict[str, Any]]:
    """Return the records of a file (``.gz`` if only that is there); an empty list if neither exists.

    Where lines are ``sealed``, one that was changed since it was written is an ``InvalidRun`` that names it.
    """
    if not path.exists():
        path = path.with_name(f"{path.name}.gz")
    if not path.exists():
        return []
    allowance, records = allowance or Allowance(), []
    for number, raw in enumerate(_raw_lines(path, allowance), start=1):
        if not raw:
            continue
        line = _unsealed(raw) if sealed else raw
        if line is None:
            problem = f"line {number} is not as it was written: its seal is broken or missing"
            raise InvalidRun(path, problem, "restore the line, or remove it and run the benchmark with --resume")
        try:
            record, values = _parsed(line)
        except ValueError as error:
            raise InvalidRun(path, f"line {number} is not JSON ({error})", "remove the line or run it again") from None
        if not isinstance(record, dict):
            raise InvalidRun(path, f"line {number} is not a JSON object", "remove the line or run it again")
        allowance.take(path, values=values)
        records.append(record)
    return records


def _raw_lines(path: Path, allowance: Allowance) -> Iterator[bytes]:
    """Yield the lines of a file without their ends, unpacked as far as it is allowed."""
    if not path.is_file():
        raise InvalidRun(path, "cannot be read (it is no ordinary file)", "restore the file or run the benchmark again")
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            while line := file.readline(min(LONGEST_LINE, allowance.bytes) + 1):
                allowance.take(path, bytes=len(line))
                if len(line) > LONGEST_LINE:
                    problem = f"it has a line of more than {LONGEST_LINE >> 20} MB, as no run of ours has"
                    raise InvalidRun(path, problem, "remove the line or run it again")
                yield line.rstrip(b"\r\n")
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidRun(path, f"cannot be read ({error})", "restore the file or run the benchmark again") from None


def parsed(path: Path) -> Any:
    """Return what a JSON file of a run holds; ``ValueError`` where it is none, or more or deeper than we write."""
    if path.exists() and not path.is_file():
        raise ValueError("it is no ordinary file")
    with path.open("rb") as file:
        text = file.read(LONGEST_LINE + 1)
    if len(text) > LONGEST_LINE:
        raise ValueError(f"it has more than {LONGEST_LINE >> 20} MB")
    return _parsed(text)[0]


def _parsed(text: bytes) -> tuple[Any, int]:
    """Return JSON as data, and how many values are in it."""
    try:
        data = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError(f"it is nested more than {DEEPEST} deep") from None
    level, values = [data] if isinstance(data, dict | list) else [], 1
    for _ in range(DEEPEST):
        values += sum(map(len, level))
        level = [item for outer in level for item in _items(outer) if isinstance(item, dict | list)]
        if not level:
            return data, values
    raise ValueError(f"it is nested more than {DEEPEST} deep")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _items(outer: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return outer.values() if isinstance(outer, dict) else outer


def write_lines(path: Path, records: Iterable[Mapping[str, Any]], *, sealed: bool = False) -> None:
    """Write records to a file, all or none; gzipped, with the same bytes every time, if it is named ``.gz``."""
    data = "".join(map(sealed_line if sealed else as_line, records)).encode()
    write_atomically(path, gzip.compress(data, compresslevel=9, mtime=0) if path.suffix == ".gz" else data)
