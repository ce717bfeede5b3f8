"""JSON Lines, plain or gzipped, written all at once or not at all."""

from __future__ import annotations

import gzip
import json
import math
import os
import stat
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from aquamend.errors import InvalidRun

SIGNIFICANT_DIGITS = 12
"""Floats are written this precisely: far beyond what any table shows, and short of what differs between machines."""
MOST_BYTES = 1 << 29
"""A packed file is unpacked as far as this; runs of a hundred thousand records are far smaller."""
DEEPEST = 50
"""Lists and objects in each other, at most: what we write has fewer than ten."""
SEAL = "seal"
"""What a sealed line ends with: a checksum of the text before it. Against slips, not against forgers."""


def json_number(value: float | None) -> float | str | None:
    """Return a plain number; infinity as text, since JSON has none, and what is unavailable as None."""
    if value is None or math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(value) + 0.0  # no negative zero


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


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, whatever happens to the process.

    A link stays one, and what it leads to is written. A file keeps its permissions; a new one has those that the umask
    leaves. What is there and is no file, a pipe or a device, is written to as it is.
    """
    try:
        found = os.stat(path).st_mode
    except FileNotFoundError:
        found = None
    if found is not None and not stat.S_ISREG(found):
        path.write_bytes(data)
        return
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_beside(path)
    mode = 0o666 if found is None else stat.S_IMODE(found)
    try:
        # Made with these permissions, not given them later: nobody else may open what is private.
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if found is not None:
            os.chmod(temporary, mode)  # all of them, also what the umask took away
        os.replace(temporary, path)
        _settle(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def temporary_beside(path: Path) -> Path:
    """Return a name of its own for what shall become this file; nothing of that name exists."""
    import secrets  # here, since whoever only reads or decides needs no cryptography

    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")


def _settle(folder: Path) -> None:
    """Have the folder itself written down, so that a new name in it survives a power cut; not everywhere possible."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
