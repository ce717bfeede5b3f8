"""From a path to plain data, as JSON or as YAML."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aquamend.errors import Fault, InvalidProblem
from aquamend.problem_file.plain_data import float_of, mapping_of, whole_of
from aquamend.problem_file.yaml_text import yaml_data

MAX_BYTES = 256 * 1024 * 1024
"""Largest file that is read at all."""


def data_at(path: str | os.PathLike[str]) -> Any:
    """Return the plain data of a file: JSON where it is named .json or starts with a brace, else YAML."""
    text = _decoded(_bytes_at(path))
    if not text.strip():
        raise InvalidProblem([Fault("file", "the file is empty", "describe a problem in it")])
    return _parser_for(Path(path).suffix.lower(), text)(text)


def _parser_for(suffix: str, text: str) -> Callable[[str], Any]:
    if suffix in (".yaml", ".yml"):
        return yaml_data
    return json_data if suffix == ".json" or text.lstrip().startswith("{") else yaml_data


def json_data(text: str) -> Any:
    """Return the plain data of a JSON text; raise `InvalidProblem` where it is none."""
    try:
        return json.loads(text, object_pairs_hook=mapping_of, parse_float=float_of, parse_int=whole_of)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        fault = Fault(where, f"this is not JSON: {error.msg}", "correct the syntax")
    except RecursionError:
        fault = Fault("file", "it is nested too deeply", "a problem needs no more than five levels")
    raise InvalidProblem([fault])


def _bytes_at(path: str | os.PathLike[str]) -> bytes:
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            too_large = os.fstat(file.fileno()).st_size > MAX_BYTES
            raw = b"" if too_large else file.read(MAX_BYTES + 1)  # a pipe has no size beforehand
    except FileNotFoundError:
        problem, remedy = "does not exist", "check the path"
    except IsADirectoryError:
        problem, remedy = "is a directory", "name a file in it"
    except PermissionError:
        problem, remedy = "may not be read", "change its permissions"
    except (OSError, ValueError) as error:  # ValueError: a path with a null byte
        problem, remedy = f"cannot be read ({getattr(error, 'strerror', None) or error})", "check the path"
    else:
        if not too_large and len(raw) <= MAX_BYTES:
            return raw
        problem, remedy = f"is larger than {MAX_BYTES // 2**20} MB", "describe the problem with fewer hypotheses"
    raise InvalidProblem([Fault("file", f"{name!r} {problem}", remedy)])


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        fault = Fault(
            f"line {line}", f"byte {raw[error.start]:#04x} at {error.start} is not UTF-8", "save the file as UTF-8"
        )
    raise InvalidProblem([fault])
