"""How policies describe themselves, kept in the manifest of a run: a report then needs none of their code."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from aquamend.errors import UnknownName
from aquamend.policies import DescribedPolicy, policy_named
from aquamend_lab.benchmarks.contestants import ORACLE, Oracle
from aquamend_lab.benchmarks.suite import Suite

Look = dict[str, str]


def looks_of(suite: Suite, names: Iterable[str]) -> dict[str, Look]:
    """Return title, colour and marker of everyone who takes part in a suite and describes itself."""
    said: dict[str, Look] = getattr(suite, "looks", {})
    found = ((name, said.get(name) or _look(name, getattr(suite, "own", {}))) for name in names)
    return {name: look for name, look in found if look}


def _look(name: str, own: dict[str, Any]) -> Look | None:
    """Return what a policy says of itself; settings of a user's own (``module:Class(floor=0.2)``) are in its title."""
    policy: object = own[name]() if name in own else Oracle(()) if name == ORACLE else None
    if policy is None:
        with suppress(UnknownName):  # a suite of somebody's own may have names of its own
            policy = policy_named(name)
    if not isinstance(policy, DescribedPolicy):
        return None
    about, (head, bracket, settings) = policy.description, name.partition("(")
    title = f"{about.title} ({settings}" if ":" in head and bracket and settings != ")" else about.title
    return {"title": title, "colour": about.colour, "marker": about.marker}
