"""What other installed packages add, by entry points: commands, policies, suites, worlds, and pages about runs.

A package lists what it adds in its ``pyproject.toml``: the group, a name, and where it is as ``module:attribute``.
Nothing of it is imported before that name is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

COMMANDS: Final = "aquamend.commands"
"""``Command`` objects of ``aquamend.cli``."""
POLICIES: Final = "aquamend.policies"
"""Classes or objects with ``next_step``."""
SUITES: Final = "aquamend.suites"
"""Classes or objects that the laboratory's benchmarks can run."""
WORLDS: Final = "aquamend.worlds"
"""Functions from a random generator to a simulated robot, for environments."""
RUNS: Final = "aquamend.runs"
"""Functions from the folder of a run to pages for the studio."""


@cache
def added(group: str) -> Mapping[str, str]:
    """Return what installed packages add to a group: by name, where each is, as ``module:attribute``."""
    from importlib.metadata import entry_points  # here, since it takes longer than the rest of a short command

    found = sorted(entry_points(group=group), key=lambda point: (point.value, point.name))
    return MappingProxyType({point.name: point.value for point in found})


def found_at(place: str) -> Any:
    """Return what is at ``module:attribute``; whatever that module raises is raised."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def made(place: str) -> Any:
    """Return the object at ``module:attribute``; a class is called without arguments."""
    found = found_at(place)
    return found() if isinstance(found, type) else found
