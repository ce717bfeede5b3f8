"""Which keys a problem file has, section by section, and who reads each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aquamend.graph import Edge, EdgeKind
from aquamend.model import Cause
from aquamend.problem_file.fields import (
    Reader,
    by_name,
    list_of,
    one_of,
    read_count,
    read_flag,
    read_label,
    read_list,
    read_mapping,
    read_name,
    read_number,
    read_probability,
    read_whole,
    row_of,
)
from aquamend.problem_file.plain_data import shown
from aquamend.problem_file.report import FaultReport, place

FORMAT = "aquamend-problem/1"
"""What the key ``format`` must say."""


class Key(NamedTuple):
    """One key of a mapping."""

    read: Reader[Any]
    required: bool = False


@dataclass(slots=True)
class Entry:
    """What could be read of one mapping."""

    values: dict[str, Any] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()
    """Keys with a fault in them, and required keys that are missing."""

    @property
    def given(self) -> frozenset[str]:
        """Keys that the file gave, well or badly."""
        return self.broken | self.values.keys()


def read_entry(value: Any, where: str, keys: Mapping[str, Key], report: FaultReport) -> Entry | None:
    """Read a mapping with these keys."""
    items = read_mapping(value, where, report)
    if items is None:
        return None
    entry = Entry()
    for name, item in items.items():
        if name not in keys:
            guess = report.unknown_key(where, name, keys)
            if guess is not None and guess not in items:
                entry.broken |= {guess}  # meant, so not missing
            continue
        before = report.count
        result = keys[name].read(item, f"{where}.{name}" if where else name, report)
        if result is not None:
            entry.values[name] = result
        if report.count != before:
            entry.broken |= {name}
    for name, key in keys.items():
        if key.required and name not in items and name not in entry.broken:
            report.add(place(where, name), "it is missing", f"add the key {name!r}")
            entry.broken |= {name}
    return entry


def mapping_with(keys: Mapping[str, Key], *needed: str) -> Reader[Entry]:
    """Return a reader of mappings with these keys; one without the needed ones counts as unreadable."""

    def read(value: Any, where: str, report: FaultReport) -> Entry | None:
        entry = read_entry(value, where, keys, report)
        return entry if entry is not None and all(key in entry.values for key in needed) else None

    return read


def _read_format(value: Any, where: str, report: FaultReport) -> str | None:
    if value == FORMAT:
        return FORMAT
    report.add(where, f"{shown(value)} is not a format this version reads", f"write {FORMAT}")
    return None


_read_kind = one_of(kind.value for kind in EdgeKind)


def _read_edge(value: Any, where: str, report: FaultReport) -> Edge | None:
    ends = read_list(value, where, report)
    if ends is None:
        return None
    if len(ends) != 3:
        report.add(where, f"{shown(ends)} has {len(ends)} entries", "give [source, target, kind]")
        return None
    source, target = read_name(ends[0], f"{where}[0]", report), read_name(ends[1], f"{where}[1]", report)
    kind = _read_kind(ends[2], f"{where}[2]", report)
    return Edge(source, target, EdgeKind(kind)) if source is not None and target is not None and kind else None


_NAME, _NAMES = Key(read_name, required=True), Key(list_of(read_name))
_NUMBER, _FLAG = Key(read_number), Key(read_flag)

BELIEF = {"name": _NAME, "residual": _NUMBER, "may_keep": _FLAG}
ACTION = {
    "name": _NAME,
    "status": Key(one_of(("executed", "planned"))),
    "undo": _NUMBER,
    "operations": _NAMES,
    "reversible": _FLAG,
}
OPERATION = {"name": _NAME, "cost": Key(read_number, required=True)}
PROBE = {
    "name": _NAME,
    "cost": Key(read_number, required=True),
    "modality": Key(read_name),
    "max_uses": Key(read_count),
}
HYPOTHESIS = {
    "name": _NAME,
    "prior": Key(read_probability, required=True),
    "failed": _NAMES,
    "cause": Key(one_of(cause.value for cause in Cause)),
}
KERNEL = {
    "outcomes": Key(list_of(read_name, instead="outcome {}".format)),
    "likelihood": Key(by_name(row_of(read_probability, low=0.0, high=1.0))),
    "gaussian": Key(by_name(row_of(read_number, low=-1e300, high=1e300))),
}
ALARM = {"suspects": _NAMES, "likelihood": Key(by_name(read_probability), required=True)}
DECLARATION = {
    "name": _NAME,
    "version": Key(read_whole),
    "belief": Key(read_name, required=True),
    "invalid_in": _NAMES,
    "support": _NAMES,
}
PROBLEM = {
    "format": Key(_read_format, required=True),
    "name": Key(read_label),
    "unit": Key(read_label),
    "beliefs": Key(list_of(mapping_with(BELIEF, "name")), required=True),
    "actions": Key(list_of(mapping_with(ACTION, "name"))),
    "operations": Key(list_of(mapping_with(OPERATION, "name"))),
    "probes": Key(list_of(mapping_with(PROBE, "name"))),
    "edges": Key(list_of(_read_edge)),
    "hypotheses": Key(list_of(mapping_with(HYPOTHESIS, "name")), required=True),
    "kernels": Key(by_name(mapping_with(KERNEL))),
    "alarm": Key(mapping_with(ALARM)),
    "declarations": Key(list_of(mapping_with(DECLARATION, "name", "belief"))),
    "sensing_budget": _NUMBER,
    "restart": _NUMBER,
    "escalate": _NUMBER,
}
