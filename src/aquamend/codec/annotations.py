"""From annotations to forms: what a dataclass says of its attributes is how it is read, written and described.

Every attribute is a key of the same name, unless `Key` gives another; attributes that share a key stand in a list.
A class may name keys of which one has to be given, ``one_of``. Classes of a union are told apart by the key ``kind``,
where they have an attribute of the class ``kind``, or else by their first keys.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
import textwrap
import types
from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar
from enum import Enum
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from aquamend.codec.fault_list import FaultReport, place
from aquamend.codec.forms import (
    FLAG,
    FLOAT,
    MOST_NESTED,
    PLAIN,
    TEXT,
    UNREAD,
    WHOLE,
    Form,
    Schema,
    by_name,
    either,
    list_of,
    optional,
    read_list,
    read_mapping,
    row,
    words,
)
from aquamend.codec.plain_data import shown_value
from aquamend.errors import InvalidData

_MISSING = dataclasses.MISSING
_LARGEST_FLOAT = sys.float_info.max


class Key(NamedTuple):
    """In an annotation: what the attribute is called where it is written."""

    name: str


class KeyedBy(NamedTuple):
    """In an annotation of a list of records: written as a mapping from this attribute of each to the others."""

    attribute: str


NOT_WRITTEN = Key("")
"""In an annotation: this attribute stands in no file."""


def load(kind: Any, data: object, where: str = "data", *, complete: bool = True) -> Any:
    """Return what plain data describe, which must give every key if complete; ``InvalidData`` where they are wrong.

    What may be missing may also be null.
    """
    report = FaultReport(complete=complete, nulls=True)
    found = form_of(kind).read(data, where, report)
    if report.count:
        raise report.refusal()
    return found


def dump(value: Any, kind: Any = None, where: str = "data") -> Any:
    """Return a value as plain data with every key, which `load` has read; ``InvalidData`` where it could not be."""
    try:
        data = write(value, kind, complete=True)
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, InvalidData):
            raise
        raise InvalidData(where, f"{shown_value(value)} cannot be written: {error}") from None
    load(type(value) if kind is None else kind, data, where)
    return data


def write(value: Any, kind: Any = None, *, complete: bool = False) -> Any:
    """Return a value as plain data: with every key, or without those that equal their defaults."""
    own: Any = type(value) if kind is None else kind
    return form_of(own).write(value, complete)


@cache
def form_of(kind: Any) -> Form:
    """Return the form of an annotation."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        own = next((one for one in args if isinstance(one, Form)), None)
        keyed = next((one for one in args if isinstance(one, KeyedBy)), None)
        return own or (_keyed(get_args(args[0])[0], keyed.attribute) if keyed else form_of(args[0]))
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if origin in (Union, types.UnionType):
        return _union(args)
    if origin is Literal:
        return words({word: word for word in args})
    if origin is not None and issubclass(origin, Mapping):
        return by_name(form_of(args[1]), form_of(args[0]))
    if origin is not None and issubclass(origin, Collection):
        return row(FLOAT, low=-_LARGEST_FLOAT, high=_LARGEST_FLOAT) if args[0] is float else list_of(form_of(args[0]))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return words({str(one.value): one for one in kind})
    if hasattr(kind, "_fields"):
        hints = get_type_hints(kind, include_extras=True)
        return _in_a_list(kind._fields, [form_of(hints[name]) for name in kind._fields], kind._make)
    if dataclasses.is_dataclass(kind):
        return record(kind)
    raise TypeError(f"{kind!r} has no form: annotate it with one")


_SIMPLE: dict[Any, Form] = {
    str: TEXT, float: FLOAT, int: WHOLE, bool: FLAG, Any: PLAIN,
}  # fmt: skip


def _union(kinds: Sequence[Any]) -> Form:
    some = [kind for kind in kinds if kind is not types.NoneType]
    mappings = [k for k in some if dataclasses.is_dataclass(k) or (get_origin(k) or k) in (Mapping, _MAPPING)]
    simple = [kind for kind in some if kind not in mappings]
    forms = []
    if len(simple) > 1:
        forms.append(_text_or_number() if set(simple) == {str, float} else _union(simple))
    elif simple:
        forms.append(form_of(simple[0]))
    if mappings:
        forms.append(form_of(mappings[0]) if len(mappings) == 1 else one_of(mappings))
    form = forms[0] if len(forms) == 1 else either(*forms)
    return optional(form) if types.NoneType in kinds else form


_MAPPING = get_origin(Mapping[str, str])


@cache
def _text_or_number() -> Form:
    def read(value: Any, where: str, report: FaultReport) -> Any:
        return (TEXT if isinstance(value, str) else FLOAT).read(value, where, report)

    return Form(read, lambda: {"type": ["string", "number"]})


def _in_a_list(names: Sequence[str], forms: Sequence[Form], make: Any) -> Form:
    """Return the form of a list with one entry for each of these names."""

    def read(value: Any, where: str, report: FaultReport) -> Any:
        items = read_list(value, where, report)
        if items is UNREAD:
            return UNREAD
        if len(items) != len(forms):
            report.add(where, f"{shown_value(items)} has {len(items)} entries", f"give [{', '.join(names)}]")
            return UNREAD
        found = [form.read(items[i], f"{where}[{i}]", report) for i, form in enumerate(forms)]
        return UNREAD if any(one is UNREAD for one in found) else make(found)

    def write(value: Any, complete: bool) -> Any:
        return [form.write(item, complete) for form, item in zip(forms, value, strict=True)]

    def schema() -> Schema:
        n = len(forms)
        return {"type": "array", "prefixItems": [form.schema() for form in forms], "minItems": n, "maxItems": n}

    return Form(read, schema, write)


class _Entry(NamedTuple):
    """A key of a record."""

    attributes: tuple[str, ...]
    form: Form
    default: Any
    required: bool

    @property
    def instead(self) -> Any:
        """What stands in for a value that could not be read."""
        return self.default if self.form.instead is UNREAD and not self.required else self.form.instead


@cache
def entries(kind: type) -> dict[str, _Entry]:
    """Return the keys of a dataclass, in the order of its attributes."""
    hints, found = get_type_hints(kind, include_extras=True), dict[str, list[Any]]()
    for field in dataclasses.fields(kind):
        said = [one for one in get_args(hints[field.name]) if isinstance(one, Key)]
        name = said[0].name if said else field.name
        if name:
            found.setdefault(name, []).append(field)
    return {name: _entry(own, hints) for name, own in found.items()}


def _entry(fields: Sequence[Any], hints: Mapping[str, Any]) -> _Entry:
    names, forms = tuple(field.name for field in fields), [form_of(hints[field.name]) for field in fields]
    first = fields[0]
    default = first.default if first.default_factory is _MISSING else first.default_factory()
    form = forms[0] if len(forms) == 1 else _in_a_list(names, forms, tuple)
    return _Entry(names, form, default, default is _MISSING)


def required(kind: type) -> list[str]:
    """Return the keys that must be given."""
    return [name for name, entry in entries(kind).items() if entry.required]


def key_of(kind: type, attribute: str) -> str:
    """Return the key of an attribute."""
    return next(name for name, entry in entries(kind).items() if attribute in entry.attributes)


def record(kind: Any) -> Form:
    """Return the form of a dataclass: a mapping with its keys and no others."""

    def read(value: Any, where: str, report: FaultReport) -> Any:
        items = read_mapping(value, where, report)
        if items is not UNREAD and report.depth >= MOST_NESTED:
            report.add(where, f"it is nested more than {MOST_NESTED} levels deep", "write it flatter")
            return UNREAD
        if items is UNREAD:
            return UNREAD
        report.depth += 1
        values = _values(kind, items, where, report)
        report.depth -= 1
        return UNREAD if values is None else kind(**values)

    def write(value: Any, complete: bool) -> Any:
        if not isinstance(value, kind) and not issubclass(kind, type(value)):
            raise InvalidData(kind.__name__, f"{shown_value(value)} is none")
        data = {}
        for name, entry in entries(kind).items():
            own = [getattr(value, attribute, entry.default) for attribute in entry.attributes]
            said = own[0] if len(own) == 1 else own
            if complete or entry.required or not _is_default(said, entry.default):
                data[name] = entry.form.write(said, complete)
        return data

    return Form(read, lambda: _record_schema(kind), write)


def _values(kind: type, items: Mapping[str, Any], where: str, report: FaultReport) -> dict[str, Any] | None:
    """Return the attributes that were read, and what stands in for others; None where nothing can."""
    keys, found, prefix = entries(kind), dict[str, Any](), f"{where}." if where else ""
    lacking = []
    for name, item in items.items():
        entry = keys.get(name)
        if entry is None:
            near = report.unknown_key(where, name, keys)
            if near is not None and near not in items:
                lacking.append(near)  # meant, so not missing
            continue
        result = entry.form.read(item, prefix + name, report)
        if result is UNREAD:
            lacking.append(name)
        elif len(entry.attributes) == 1:
            found[entry.attributes[0]] = result
        else:
            found.update(zip(entry.attributes, result, strict=True))
    for name, entry in keys.items():
        if name not in items and (entry.required or report.complete) and name not in lacking:
            report.add(place(where, name), "it is missing", f"add the key {name!r}")
            lacking.append(name)
    for name in lacking:
        report.unread.add(prefix + name)
        entry = keys[name]
        if entry.instead is UNREAD or len(entry.attributes) > 1:
            return None
        found[entry.attributes[0]] = entry.instead
    return found


def _is_default(value: Any, default: Any) -> bool:
    if default is None or isinstance(value, str) or not hasattr(value, "__len__"):
        return bool(value is default or value == default)
    return len(value) == len(default) == 0


def _keyed(kind: Any, attribute: str) -> Form:
    """Return the form of records as a mapping from one of their attributes to the others."""
    of = form_of(kind)

    def read(value: Any, where: str, report: FaultReport) -> Any:
        items = read_mapping(value, where, report)
        if items is UNREAD:
            return UNREAD
        found = []
        for name, item in items.items():
            at = place(where, name)
            own = read_mapping(item, at, report)
            found.append(UNREAD if own is UNREAD else of.read({**own, attribute: name}, at, report))
        return tuple(one for one in found if one is not UNREAD)

    def write(value: Any, complete: bool) -> Any:
        data = [of.write(one, complete) for one in value]
        return {one.pop(attribute): one for one in data}

    return Form(read, lambda: {"type": "object"}, write, ())


def one_of(kinds: Collection[Any], nothing: str = "it does not say what it is") -> Form:
    """Return the form of a record of one of several classes; ``nothing`` is said of one that is none of them."""
    if all(hasattr(kind, "kind") for kind in kinds):
        return _tagged({kind.kind: kind for kind in kinds})

    def read(value: Any, where: str, report: FaultReport) -> Any:
        items = read_mapping(value, where, report)
        if items is UNREAD:
            return UNREAD
        kind, others = _kind_by_keys(kinds, items, nothing, where, report)
        own = {name: item for name, item in items.items() if name not in others}
        return UNREAD if kind is None else form_of(kind).read(own, where, report)

    def written(value: Any, complete: bool) -> Any:
        own: Any = type(value)
        return form_of(own).write(value, complete)

    return Form(read, lambda: {"anyOf": [form_of(kind).schema() for kind in kinds]}, written)


def _kind_by_keys(
    kinds: Collection[Any], items: Mapping[str, Any], nothing: str, where: str, report: FaultReport
) -> tuple[Any | None, set[str]]:
    """Return which of the classes a mapping describes, and the keys in it that belong to others alone.

    First keys tell, or else any that must be given.
    """
    known = dict.fromkeys(name for kind in kinds for name in entries(kind))
    present = {name if name in known else report.guess(name, known) for name in items}
    started = [kind for kind in kinds if next(iter(entries(kind))) in present]
    complete = [kind for kind in started if set(known) & set(present) <= set(entries(kind))]
    if len(complete) == 1:  # the others have a key in common with it
        started = complete
    started = started or [kind for kind in kinds if any(name in present for name in required(kind))]
    ways = ", or ".join(" and ".join(required(kind)) for kind in started or kinds)
    if not started:
        report.add(where, nothing, f"give {ways}")
    elif len(started) > 1:
        report.add(where, f"it has {' and '.join(sorted(set(items) & set(known)))}", f"keep {ways}")
    if len(started) != 1:
        return None, set()
    (kind,) = started
    others = {name for name in items if name in known and name not in entries(kind)}
    for name in sorted(others):
        report.add(place(where, name), f"{name!r} does not go with {ways}", f"keep only {', '.join(entries(kind))}")
    return kind, others


def _tagged(kinds: Mapping[str, Any]) -> Form:
    """Return the form of a record whose key ``kind`` tells its class."""

    def read(value: Any, where: str, report: FaultReport) -> Any:
        items = read_mapping(value, where, report)
        if items is UNREAD:
            return UNREAD
        kind = words(kinds).read(items.get("kind"), place(where, "kind"), report)
        rest = {name: item for name, item in items.items() if name != "kind"}
        return UNREAD if kind is UNREAD else form_of(kind).read(rest, where, report)

    def write(value: Any, complete: bool) -> Any:
        if type(value) not in kinds.values():
            raise InvalidData("data", f"{shown_value(value)} is none of {', '.join(kinds)}")
        return {"kind": value.kind, **form_of(kinds[value.kind]).write(value, complete)}

    return Form(read, lambda: {"anyOf": [_tagged_schema(kind) for kind in kinds.values()]}, write)


def _tagged_schema(kind: Any) -> Schema:
    schema = form_of(kind).schema()
    if "$ref" in schema:
        return schema
    properties = {"kind": {"const": kind.kind}, **schema["properties"]}
    required = ["kind", *schema["required"]]
    summary = " ".join((inspect.getdoc(kind) or kind.__name__).partition("\n\n")[0].split())
    return {"description": summary, **schema, "properties": properties, "required": required}


_WITHIN: ContextVar[tuple[type, ...]] = ContextVar("_WITHIN", default=())
"""The classes whose schema is being written."""


def _record_schema(kind: type) -> Schema:
    """Return the schema of a class; where it stands within itself, a reference to ``$defs``."""
    if kind in _WITHIN.get():
        return {"$ref": f"#/$defs/{kind.__name__}"}
    token = _WITHIN.set((*_WITHIN.get(), kind))
    try:
        return _schema_of(kind)
    finally:
        _WITHIN.reset(token)


def _schema_of(kind: type) -> Schema:
    documentation, alternatives = documented(kind), getattr(kind, "one_of", ())
    properties = {}
    for name, entry in entries(kind).items():
        said = documentation.get(entry.attributes[0])
        properties[name] = {**({"description": said} if said else {}), **entry.form.schema()}
    schema = {"type": "object", "properties": properties, "required": required(kind), "additionalProperties": False}
    return schema | ({"anyOf": [{"required": [key]} for key in alternatives]} if alternatives else {})


def documented(kind: type) -> dict[str, str]:
    """Return the first sentence that stands under each attribute of a class, as its source says."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__[:-1]):
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
        body = tree.body if isinstance(tree, ast.ClassDef) else []
        for line, below in pairwise(body):
            match line, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    found[name] = " ".join(text.split()).partition(". ")[0].removesuffix(".") + "."
                case _:
                    pass
    return found
