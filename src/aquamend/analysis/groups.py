"""Groups of scenarios, such as ``{"n": 6}``: which are the same, and how they are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from aquamend.text.words import shown

GroupKey = tuple[tuple[str, Any], ...]
"""A group that can be looked up."""

STRATA = ("factor", "family", "stage")
"""Names that say what kind of scenario was drawn, so that a mean over all kinds is one over scenarios.

Any other name is a size or a setting, varied on purpose: a mean over its values is a mean over how it was varied.
"""

VARIED = ("setting",)
"""Names that say how the same scenarios were varied: pairs of different settings are not independent of each other."""


def group_key(group: Mapping[str, Any]) -> GroupKey:
    """Return a group with its names sorted: in which order they were written does not matter."""
    return tuple(sorted(group.items()))


def distinct_groups(groups: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return every group once, in order of first appearance."""
    return list({group_key(group): group for group in groups}.values())


def are_strata(groups: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether groups only divide what was drawn, so that all of them together are worth a mean."""
    found = distinct_groups(groups)
    return len(found) > 1 and all(group and all(name in STRATA for name in group) for group in found)


def repeat_scenarios(groups: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether groups hold the same scenarios over again, so that no test may take them all together."""
    found = distinct_groups(groups)
    return len(found) > 1 and any(name in VARIED for group in found for name in group)


def group_name(group: Mapping[str, Any] | None) -> str:
    """Return a group in words: ``n = 6``; ``all`` for all scenarios together, ``no group`` for those without one."""
    if group is None:
        return "all"
    return ", ".join(f"{shown(name)} = {shown(value)}" for name, value in group.items()) or "no group"
