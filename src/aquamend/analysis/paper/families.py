"""Which comparisons are corrected together, by Holm's method: the paper's families, and one for what it did not run."""

from __future__ import annotations

from collections.abc import Mapping

from aquamend.analysis.paper.rows import family_of

_DESIGNATED = ("lookahead-2", "decoupled", "greedy", "restart")
_TRADITIONAL = ("blind-retry", "rewind", "troubleshooting", "belief-replan", "tms-revision")

_EXECUTION = {"paper’s": ("troubleshooting", "no-reprobe", "restart", "linear-chain")}

FAMILIES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "t4": {"paper’s": (*_DESIGNATED, *_TRADITIONAL)},
    "t4-stress": {"designated": _DESIGNATED, "traditional": _TRADITIONAL},
    "pouring": _EXECUTION,
    "pouring-320": _EXECUTION,
}
"""By suite without its version: the policies of each family."""

OTHERS = "ours"
"""The family of the policies that the paper did not compare on such a suite."""


def holm_family(suite: str, policy: str) -> str:
    """Return the family that comparing with a policy belongs to; nothing where all of a suite's are one family."""
    families = FAMILIES.get(family_of(suite))
    if families is None:
        return ""
    return next((name for name, policies in families.items() if policy in policies), OTHERS)


def family_order(suite: str) -> tuple[str, ...]:
    """Return the families of a suite in the order that tables list them."""
    families = FAMILIES.get(family_of(suite))
    return ("",) if families is None else (*families, OTHERS)
