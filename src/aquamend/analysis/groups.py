"""Groups of scenarios, such as ``{"n": 6}``: which are the same, and how they are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from aquamend.text.words import shown

GroupKey = tuple[tuple[str, Any], ...]
"""A group that can be looked up."""


def group_key(group: Mapping[str, Any]) -> GroupKey:
    """Return a group with its names sorted: in which order they were written does not matter."""
    return tuple(sorted(group.items()))


def distinct_groups(groups: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return every group once, in order of first appearance."""
    return list({group_key(group): group for group in groups}.values())


def group_name(group: Mapping[str, Any] | None) -> str:
    """Return a group in words: ``n = 6``; ``all`` for all scenarios together, ``no group`` for those without one."""
    if group is None:
        return "all"
    return ", ".join(f"{shown(name)} = {shown(value)}" for name, value in group.items()) or "no group"
