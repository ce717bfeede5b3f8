"""From a path to plain data, as JSON or as YAML.

PyYAML's own constructor follows YAML 1.1 (`no` is false), recurses, keeps the last of two equal keys in silence and
expands aliases without limit. Building from its events leaves all four out, and takes half the time.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from aquamend.codec.plain_data import WrittenFloat, float_of, mapping_of, text_of, whole_of
from aquamend.errors import Fault, InvalidProblem

MAX_BYTES = 256 * 1024 * 1024
"""Largest file that is read at all."""
MAX_DEPTH = 50
"""Deepest nesting read; a problem needs six levels."""
MAX_ALIASED = 1_000_000
"""Most values that aliases may repeat, all together; a short file of aliases to aliases can mean billions."""
_TEXT_TAGS = ("!", "tag:yaml.org,2002:str")
_PLAIN_TAGS = {"map": "tag:yaml.org,2002:map", "seq": "tag:yaml.org,2002:seq"}


def data_at(path: str | os.PathLike[str]) -> Any:
    """Return the plain data of a file: JSON where it is named .json or starts with a brace, else YAML."""
    return data_of(text_at(path), suffix=Path(path).suffix)


def data_of(text: str, *, suffix: str = "") -> Any:
    """Return the plain data of a text from a file whose name ends so."""
    if not text.strip():
        raise InvalidProblem([Fault("file", "the file is empty", "describe a problem in it")])
    named_yaml = suffix.lower() in (".yaml", ".yml")
    as_json = suffix.lower() == ".json" or (text.lstrip().startswith("{") and not named_yaml)
    return json_data(text) if as_json else yaml_data(text)


def json_data(text: str) -> Any:
    """Return the plain data of a JSON text; raise `InvalidProblem` where it is none."""
    try:
        return json.loads(text, object_pairs_hook=mapping_of, parse_float=float_of, parse_int=whole_of)
    except json.JSONDecodeError as error:
        line, column = error.lineno, error.colno
        where = f"line {line}, column {column}"
        fault = Fault(where, f"this is not JSON: {error.msg}", "correct the syntax", line=line, column=column)
    except RecursionError:
        fault = Fault("file", "it is nested too deeply", "a problem needs no more than six levels")
    raise InvalidProblem([fault])


def text_at(path: str | os.PathLike[str]) -> str:
    """Return the text of a file."""
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
            return decoded(raw)
        problem, remedy = f"is larger than {MAX_BYTES // 2**20} MB", "describe the problem with fewer hypotheses"
    raise InvalidProblem([Fault("file", f"{name!r} {problem}", remedy)])


def decoded(raw: bytes) -> str:
    """Return the text that bytes are in UTF-8."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        fault = Fault(
            f"line {line}", f"byte {raw[error.start]:#04x} at {error.start} is not UTF-8", "save the file as UTF-8",
            line=line, column=1,
        )  # fmt: skip
    raise InvalidProblem([fault])


def yaml_data(text: str) -> Any:
    """Return the plain data of a YAML text; raise `InvalidProblem` where it is none."""
    import yaml  # here, since a JSON problem needs none of it

    builder = _Builder()
    take: dict[type, Callable[[Any], None]] = {
        yaml.ScalarEvent: builder.scalar,
        yaml.SequenceStartEvent: partial(builder.open, "seq"),
        yaml.MappingStartEvent: partial(builder.open, "map"),
        yaml.SequenceEndEvent: builder.close,
        yaml.MappingEndEvent: builder.close,
        yaml.AliasEvent: builder.alias,
        yaml.DocumentStartEvent: builder.document,
    }
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CLoader", yaml.Loader)):  # parses, constructs nothing
            handle = take.get(type(event))
            if handle is not None:
                handle(event)
    except yaml.MarkedYAMLError as error:
        said = ", ".join(part for part in (error.problem, error.context) if part)
        _refuse(error.problem_mark or error.context_mark, f"this is not YAML: {said}", "correct the syntax")
    except yaml.reader.ReaderError as error:
        before = text[: max(text.find(chr(error.character)), 0)]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        where, said = f"line {line}, column {column}", f"character U+{error.character:04X} is not allowed"
        raise InvalidProblem([Fault(where, said, "remove it", line=line, column=column)]) from None
    return builder.root


def _refuse(mark: Any, problem: str, remedy: str) -> NoReturn:
    if not mark:
        raise InvalidProblem([Fault("file", problem, remedy)]) from None
    line, column = mark.line + 1, mark.column + 1
    raise InvalidProblem([Fault(f"line {line}, column {column}", problem, remedy, line=line, column=column)]) from None


# The scalars of the YAML 1.2 core schema. PyYAML knows those of 1.1, where `no` is false and `1e-3` is text.
_CORE_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **{f"{sign}.{word}": WrittenFloat(float(sign + "inf"), f"{sign}.{word}")
       for sign in ("", "+", "-") for word in ("inf", "Inf", "INF")},
    **{f".{word}": WrittenFloat(math.nan, f".{word}") for word in ("nan", "NaN", "NAN")},
}  # fmt: skip
_MAY_BE_NUMBER = frozenset("+-.0123456789")
_DECIMAL_WHOLE = re.compile(r"[-+]?[0-9]+", re.ASCII)
_PREFIXED_WHOLE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+", re.ASCII)
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)


def core_scalar(text: str) -> Any:
    """Return what an unquoted YAML scalar means: null, a boolean, a number, or else its own text."""
    if text in _CORE_WORDS:
        return _CORE_WORDS[text]
    if text[0] not in _MAY_BE_NUMBER:
        return text
    if _DECIMAL_WHOLE.fullmatch(text):
        return whole_of(text)
    if _DECIMAL.fullmatch(text):
        return float_of(text)
    if _PREFIXED_WHOLE.fullmatch(text) and len(text) <= 200:
        return WrittenFloat(int(text, 0), text)
    return text


class _Open:
    """A list or mapping whose end has not been read yet."""

    __slots__ = ("anchor", "is_mapping", "items", "key", "size")

    def __init__(self, anchor: str | None, is_mapping: bool) -> None:
        self.anchor, self.is_mapping = anchor, is_mapping
        self.items: list[Any] = []  # values; of a mapping, (key, value) pairs
        self.key: str | None = None
        self.size = 1


class _Builder:
    """Turns events into data with a stack of its own, so that no nesting can exhaust Python's."""

    def __init__(self) -> None:
        self.root: Any = None
        self._documents = 0
        self._open: list[_Open] = []
        self._anchored: dict[str, tuple[Any, int]] = {}
        self._aliased = 0

    def document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            _refuse(event.start_mark, "a second document starts here", "give every problem a file of its own")

    def scalar(self, event: Any) -> None:
        tag = event.tag
        if tag is not None and tag not in _TEXT_TAGS:
            self._refuse_tag(event)
        plain = event.style is None or event.style == ""
        value = core_scalar(event.value) if plain and tag is None else event.value
        if plain and value == "<<" and self._wants_key():
            _refuse(event.start_mark, "merge keys (<<) are not read", "write the entries out")
        if event.anchor is not None:
            self._anchored[event.anchor] = value, 1
        self._put(value, 1, event)

    def close(self, event: Any) -> None:
        done = self._open.pop()
        value: Any = mapping_of(done.items) if done.is_mapping else done.items
        if done.anchor is not None:
            self._anchored[done.anchor] = value, done.size
        self._put(value, done.size, event)

    def alias(self, event: Any) -> None:
        if any(around.anchor == event.anchor for around in self._open):
            _refuse(event.start_mark, f"alias *{event.anchor} stands inside what it repeats", "write the entry out")
        if event.anchor not in self._anchored:
            _refuse(event.start_mark, f"alias *{event.anchor} has no anchor", f"put &{event.anchor} before it")
        value, size = self._anchored[event.anchor]
        self._aliased += size
        if self._aliased > MAX_ALIASED:
            _refuse(event.start_mark, f"aliases repeat more than {MAX_ALIASED:,} values", "write the entries out")
        self._put(value, size, event)

    def open(self, kind: str, event: Any) -> None:
        if event.tag is not None and event.tag not in ("!", _PLAIN_TAGS[kind]):
            self._refuse_tag(event)
        if len(self._open) >= MAX_DEPTH:
            _refuse(event.start_mark, f"nested more than {MAX_DEPTH} levels deep", "a problem needs no more than six")
        if self._wants_key():
            _refuse(event.start_mark, "a list or mapping stands where a key is due", "use text as key")
        self._open.append(_Open(event.anchor, is_mapping=kind == "map"))

    def _refuse_tag(self, event: Any) -> NoReturn:
        _refuse(event.start_mark, f"the tag {event.tag!r} is not read", "remove it; problems are plain data")

    def _wants_key(self) -> bool:
        return bool(self._open) and self._open[-1].is_mapping and self._open[-1].key is None

    def _put(self, value: Any, size: int, event: Any) -> None:
        if not self._open:
            self.root = value
            return
        around = self._open[-1]
        around.size += size
        if not around.is_mapping:
            around.items.append(value)
        elif around.key is not None:
            around.items.append((around.key, value))
            around.key = None
        else:
            key = "null" if value is None else text_of(value)
            if key is None:
                _refuse(event.start_mark, "a list or mapping stands where a key is due", "use text as key")
            around.key = key
