"""Policies by the names that the command line and the records use."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from aquamend import plugins
from aquamend.errors import UnknownName
from aquamend.policies.myopic import Robust
from aquamend.policies.planners import Lookahead
from aquamend.policies.policy import DescribedPolicy, Policy


@dataclass(frozen=True, slots=True)
class NumberedPolicies:
    """Policies that differ in a number, which their names end in."""

    prefix: str
    letter: str
    """What stands for the number where the family is named as a whole."""
    low: float
    high: float | None
    """None: no upper limit."""
    step: float
    usual: float
    """Where to begin."""

    @property
    def name(self) -> str:
        """The name of the whole family: ``lookahead-K``."""
        return f"{self.prefix}{self.letter}"


DEFAULT = "best"
"""What decides where no policy is named."""


def names_in(text: str) -> list[str]:
    """Return the names in a list with commas between them; those in brackets or quotes belong to a name."""
    names, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        else:
            depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth and not quote:
            names.append("")
        else:
            names[-1] += letter
    return [name.strip() for name in names]


def policy_named(name: str) -> Policy:
    """Return a new policy by name; ``lookahead-K`` takes any K of at least 1, ``robust-R`` any R up to 1.

    ``module:Class`` is imported, and may be given settings: ``module:Class(floor=0.2)``. So may a name that an
    installed package has added.
    """
    return _imported(name) if ":" in name else registered(name)


def registered(name: str) -> Policy:
    """Return a new policy that is known here by name: ours, or one that an installed package adds.

    No module that a caller names is imported, so anybody may ask.
    """
    lookahead = re.fullmatch(r"lookahead-([1-9][0-9]*)", name)
    if lookahead:
        return Lookahead(int(lookahead[1]))
    robust = re.fullmatch(r"robust-(0|1|0?\.[0-9]{1,6})", name)
    if robust:
        return Robust(float(robust[1]))
    if name in POLICIES:
        return POLICIES[name]()
    if place := added_at(name):
        return _imported(place)
    raise UnknownName("policy", name, (*NAMES, *plugins.added(plugins.POLICIES)))


def added_at(name: str) -> str | None:
    """Return where a policy is that an installed package adds under this name: as ``module:Class``, settings kept."""
    head, bracket, settings = name.partition("(")
    place = None if head in POLICIES else plugins.added(plugins.POLICIES).get(head)
    return place and place + bracket + settings


def name_of(policy: Policy) -> str:
    """Return the name that ``policy_named`` knows a policy by: a shipped one's, or its class as ``module:Class``.

    A policy with settings of its own, which no name tells, is called by what it says of itself.
    """
    for name, make in POLICIES.items():
        if type(shipped := make()) is type(policy) and shipped == policy:
            return name
    name = f"{type(policy).__module__}:{type(policy).__qualname__}"
    with_settings = f"{type(policy).__module__}:{policy!r}"
    if isinstance(policy, Lookahead):
        name = f"lookahead-{policy.depth}"
    if isinstance(policy, Robust):
        name = f"robust-{policy.radius:.6f}".rstrip("0").rstrip(".")
    comparable = type(policy).__eq__ is not object.__eq__
    if not comparable or _makes(name, policy):
        return name
    return with_settings if "(" in with_settings and _makes(with_settings, policy) else repr(policy)


def _makes(name: str, policy: Policy) -> bool:
    """Whether a name alone makes the very same policy."""
    try:
        return bool(policy_named(name) == policy)
    except UnknownName:
        return False


def _imported(name: str) -> Policy:
    """Return a user's own policy: ``module:Class``, with settings or without, or ``module:instance``."""
    module, _, rest = name.partition(":")
    attribute, bracket, _ = rest.partition("(")
    try:
        found = plugins.found_at(f"{module}:{attribute}")
        settings = _settings(rest) if bracket else {}
        policy = found(**settings) if bracket or isinstance(found, type) else found
    except Exception as error:  # noqa: BLE001 - somebody's module may raise anything when it is imported
        raise UnknownName("policy", f"{name} ({type(error).__name__}: {error})", NAMES) from None
    if not isinstance(policy, Policy):
        raise UnknownName("policy", f"{name} (it has no next_step)", NAMES)
    return policy


def _settings(call: str) -> dict[str, Any]:
    """Return the settings in ``Class(floor=0.2)``: plain values by name, and nothing that would have to be run."""
    try:
        found = ast.parse(call, mode="eval").body
    except SyntaxError:
        found = None
    sound = isinstance(found, ast.Call) and isinstance(found.func, ast.Name | ast.Attribute) and not found.args
    if not sound or not isinstance(found, ast.Call) or any(each.arg is None for each in found.keywords):
        raise ValueError("write its settings by name, as in module:Class(floor=0.2)")
    return {str(each.arg): ast.literal_eval(each.value) for each in found.keywords}


def _shipped() -> dict[str, Callable[[], DescribedPolicy]]:
    """Return the policies that the files beside this one name, the default and the paper's first."""
    found: dict[str, Callable[[], DescribedPolicy]] = {}
    for module in iter_modules([os.path.dirname(__file__)], f"{__package__}."):
        found |= getattr(import_module(module.name), "POLICIES", {})
    return {name: found[name] for name in (DEFAULT, "aquamend")} | found


POLICIES = _shipped()
"""Makers of the policies, which describe themselves; ``lookahead-K`` is one more for every K."""

FAMILIES = (
    NumberedPolicies("lookahead-", "K", low=1, high=None, step=1, usual=2),
    NumberedPolicies("robust-", "R", low=0, high=1, step=0.01, usual=0.1),
)
"""Policies of which there is one for every number."""

NAMES = (*POLICIES, *(family.name for family in FAMILIES), "module:Class")
"""What may stand where a policy is named; ``module:Class(floor=0.2)`` gives a class its settings."""
