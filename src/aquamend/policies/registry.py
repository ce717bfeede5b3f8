"""Policies by the names that the command line and the records use."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable

from aquamend.errors import UnknownName
from aquamend.policies.certified import Certified
from aquamend.policies.decoupled import Decoupled
from aquamend.policies.exact import Exact
from aquamend.policies.greedy import Greedy
from aquamend.policies.linear_chain import LinearChain
from aquamend.policies.lookahead import Lookahead
from aquamend.policies.myopic import AquaMend
from aquamend.policies.no_reprobe import NoReprobe
from aquamend.policies.policy import Policy
from aquamend.policies.restart import AlwaysRestart
from aquamend.policies.rollback_only import RollbackOnly
from aquamend.policies.structured import Structured
from aquamend.policies.troubleshooting import Troubleshooting

POLICIES: dict[str, Callable[[], Policy]] = {
    "aquamend": AquaMend,
    "all-candidates": AquaMend,
    "structured": Structured,
    "exact": Exact,
    "certified": Certified,
    "troubleshooting": Troubleshooting,
    "decoupled": Decoupled,
    "greedy": Greedy,
    "rollback-only": RollbackOnly,
    "restart": AlwaysRestart,
    "no-reprobe": NoReprobe,
    "linear-chain": LinearChain,
}
"""Without fitted coverage there is nothing to screen by, so ``aquamend`` and ``all-candidates`` are one policy here."""


def policy_named(name: str) -> Policy:
    """Return a new policy by name; ``lookahead-K`` takes any K of at least 1, ``module:Class`` is imported."""
    if ":" in name:
        return _imported(name)
    lookahead = re.fullmatch(r"lookahead-([1-9][0-9]*)", name)
    if lookahead:
        return Lookahead(int(lookahead[1]))
    if name not in POLICIES:
        raise UnknownName("policy", name, [*POLICIES, "lookahead-K"])
    return POLICIES[name]()


def _imported(name: str) -> Policy:
    """Return a policy of somebody's own: ``module:Class`` (called without arguments) or ``module:instance``."""
    module, _, attribute = name.partition(":")
    valid = [*POLICIES, "lookahead-K", "module:Class"]
    try:
        found = getattr(importlib.import_module(module), attribute)
        policy = found() if isinstance(found, type) else found
    except Exception as error:  # noqa: BLE001 - somebody's module may raise anything when it is imported
        raise UnknownName("policy", f"{name} ({type(error).__name__}: {error})", valid) from None
    if not isinstance(policy, Policy):
        raise UnknownName("policy", f"{name} (it has no next_step)", valid)
    return policy
