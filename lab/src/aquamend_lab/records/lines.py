"""JSON Lines, plain or gzipped, written all at once or not at all."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from aquamend.codec import json_number
from aquamend.errors import InvalidRun
from aquamend.files.atomic import write_atomically

SIGNIFICANT_DIGITS = 12
"""Floats are written this precisely: far beyond what any table shows, and short of what differs between machines."""
MOST_BYTES = 1 << 29
"""A packed file is unpacked as far as this; runs of a hundred thousand records are far smaller."""
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


def read_lines(path: Path, *, sealed: bool = False) -> list[dict[str, Any]]:
    """Return the records of a file (``.gz`` if only that is there); an empty list if neither exists.

    Where lines are ``sealed``, one that was changed since it was written is an ``InvalidRun`` that names it.
    """
    if not path.exists():
        path = path.with_name(f"{path.name}.gz")
    if not path.exists():
        return []
    raw = _unpacked(path)
    records = []
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if not line:
            continue
        if sealed:
            whole = _unsealed(line.rstrip(b"\r"))
            if whole is None:
                problem = f"line {number} is not as it was written: its seal is broken or missing"
                raise InvalidRun(path, problem, "restore the line, or remove it and run the benchmark with --resume")
            line = whole
        try:
            record = parsed(line)
        except ValueError as error:
            raise InvalidRun(path, f"line {number} is not JSON ({error})", "remove the line or run it again") from None
        if not isinstance(record, dict):
            raise InvalidRun(path, f"line {number} is not a JSON object", "remove the line or run it again")
        records.append(record)
    return records


def _unpacked(path: Path) -> bytes:
    """Return what is in a file, unpacked as far as any run goes."""
    try:
        if path.suffix != ".gz":
            return path.read_bytes()
        with gzip.open(path) as file:
            raw = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidRun(path, f"cannot be read ({error})", "restore the file or run the benchmark again") from None
    if len(raw) > MOST_BYTES:
        problem = f"it unpacks to more than {MOST_BYTES >> 20} MB, which no run of ours does"
        raise InvalidRun(path, problem, "unpack it yourself if you trust it, or run the benchmark again")
    return raw


def parsed(text: bytes | str) -> Any:
    """Return JSON as data; ``ValueError`` where it is none, or nested deeper than anything we write."""
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError(f"it is nested more than {DEEPEST} deep") from None
    level = [data] if isinstance(data, dict | list) else []
    for _ in range(DEEPEST):
        level = [item for outer in level for item in _items(outer) if isinstance(item, dict | list)]
        if not level:
            return data
    raise ValueError(f"it is nested more than {DEEPEST} deep")


def _items(outer: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return outer.values() if isinstance(outer, dict) else outer


def write_lines(path: Path, records: Iterable[Mapping[str, Any]], *, sealed: bool = False) -> None:
    """Write records to a file, all or none; gzipped, with the same bytes every time, if it is named ``.gz``."""
    data = "".join(map(sealed_line if sealed else as_line, records)).encode()
    write_atomically(path, gzip.compress(data, compresslevel=9, mtime=0) if path.suffix == ".gz" else data)
