"""Results as plain data for JSON: unavailable is null, infinity is "inf", an interval is a pair."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from aquamend.records import json_number


def plain(value: Any) -> Any:
    """Return dataclasses as dictionaries and tuples as lists, with numbers that JSON has."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    match value:
        case float():
            return json_number(value)
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            return value
