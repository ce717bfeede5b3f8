"""Reading one record: its group, its scenario, its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from aquamend.errors import InvalidRun

Record = dict[str, Any]
GroupKey = tuple[tuple[str, Any], ...]
"""A group such as ``{"n": 6}``, so that it can be looked up."""
ScenarioKey = tuple[GroupKey, int, int]
"""Group, seed and scenario: policies that share it faced the same thing."""


def group_of(record: Record) -> GroupKey:
    """Return the group of a record, its names sorted: in which order they were written does not matter."""
    return tuple(sorted((record.get("group") or {}).items()))


def scenario_of(record: Record) -> ScenarioKey:
    """Return what a policy met in this record."""
    return group_of(record), record["seed"], record["scenario"]


def number(record: Record, field: str) -> float | None:
    """Return a number of a record, infinity written as text included; None where it is unavailable."""
    value = record.get(field)
    if value is None:
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = math.nan
    if math.isnan(found):
        where = f"scenario {record['scenario']}, seed {record['seed']}, {record['policy']}"
        raise InvalidRun(where, f"{field!r} is {value!r}, which is no number", "run the benchmark again")
    return found


def failed(record: Record) -> bool:
    """Return whether the policy refused or broke down, so that the record has no numbers."""
    return record.get("error") is not None


def spent(record: Record) -> float | None:
    """Return C, what was spent on sensing, recovering and escalating; residual loss is not in it."""
    parts = [number(record, field) for field in ("sensing", "recovery", "escalation")]
    known = [part for part in parts if part is not None]
    return math.fsum(known) if len(known) == len(parts) else None


def policies_in(records: Iterable[Record], listed: Iterable[str] = ()) -> list[str]:
    """Return the policies that have records: first those listed, in that order, then others as they appear."""
    found = dict.fromkeys(record["policy"] for record in records)
    return list(dict.fromkeys([*(name for name in listed if name in found), *found]))
