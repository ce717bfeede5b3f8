"""Groups of scenarios, such as ``{"n": 6}``: which are the same, what kind they are, and how they are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aquamend.text import shown
from aquamend_lab.records import KIND, SETTING, STRATUM, USUAL_KINDS

__all__ = [
    "KIND",
    "SETTING",
    "STRATUM",
    "USUAL_KINDS",
    "GroupKey",
    "distinct_groups",
    "group_key",
    "group_name",
    "pooled",
    "stratified",
]

GroupKey = tuple[tuple[str, Any], ...]
"""A group that can be looked up."""


def group_key(group: Mapping[str, Any]) -> GroupKey:
    """Return a group with its names sorted: in which order they were written does not matter."""
    return tuple(sorted(group.items()))


def distinct_groups(groups: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return every group once, in order of first appearance."""
    return list({group_key(group): group for group in groups}.values())


def pooled(groups: Sequence[Mapping[str, Any]], kinds: Mapping[str, str]) -> bool:
    """Return whether groups only divide what was drawn, so that all of them together are worth a mean."""
    found = distinct_groups(groups)
    return len(found) > 1 and all(
        group and all(kinds.get(name) in (KIND, STRATUM) for name in group) for group in found
    )


def stratified(groups: Sequence[Mapping[str, Any]], kinds: Mapping[str, str]) -> bool:
    """Return whether groups were drawn in fixed numbers, so that a mean over all of them is resampled within each."""
    return pooled(groups, kinds) and all(kinds[name] == STRATUM for group in groups for name in group)


def group_name(group: Mapping[str, Any] | None) -> str:
    """Return a group in words: ``n = 6``; ``all`` for all scenarios together, ``no group`` for those without one."""
    if group is None:
        return "all"
    return ", ".join(f"{shown(name)} = {shown(value)}" for name, value in group.items()) or "no group"
