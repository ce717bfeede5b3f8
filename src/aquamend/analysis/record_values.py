"""Reading one record: its scenario, its numbers, its steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from aquamend.analysis.groups import GroupKey, group_key
from aquamend.errors import InvalidRun

Record = dict[str, Any]
ScenarioKey = tuple[GroupKey, int, int]
"""Group, seed and scenario: policies that share it faced the same thing."""


def scenario_of(record: Record) -> ScenarioKey:
    """Return what a policy met in this record."""
    return group_key(record.get("group") or {}), record["seed"], record["scenario"]


def number(record: Record, field: str, *, folder: Path) -> float | None:
    """Return a number of a record, infinity written as text included; None where it is unavailable.

    What no run can have measured is an ``InvalidRun`` that names the folder, the record and the value.
    """
    value = record.get(field)
    if value is None:
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if math.isnan(found):
        fault = "which is no number"
    elif found == -math.inf:
        fault = "which is less than anything can be"
    elif field == "success" and not 0.0 <= found <= 1.0:
        fault = "which is not between 0 and 1"
    else:
        return found
    where = f"scenario {record['scenario']}, seed {record['seed']}, {record['policy']}"
    raise InvalidRun(folder, f"{where}: {field!r} is {value!r}, {fault}", "run the benchmark again")


def failed(record: Record) -> bool:
    """Return whether the policy refused or broke down, so that the record has no numbers."""
    return record.get("error") is not None


def steps_of(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what was done, a text a step."""
    steps = record.get("steps") or []
    return tuple(map(str, steps)) if isinstance(steps, list) else (str(steps),)


def policies_in(records: Iterable[Record], listed: Iterable[str] = ()) -> list[str]:
    """Return the policies that have records: first those listed, in that order, then others as they appear."""
    found = dict.fromkeys(record["policy"] for record in records)
    return list(dict.fromkeys([*(name for name in listed if name in found), *found]))
