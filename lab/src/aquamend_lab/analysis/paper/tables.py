"""The numbers the paper prints, row by row, under the names and groups that our suites use.

To add a table: write its rows as they are printed, name the family of suites it belongs to, and put it among the
tables of its task. What the paper leaves blank stays ``None``.
"""

from __future__ import annotations

from collections.abc import Mapping

from aquamend_lab.analysis.paper.execution import EXECUTION_TABLES
from aquamend_lab.analysis.paper.m1 import M1_TABLES
from aquamend_lab.analysis.paper.rows import PaperTable, family_of
from aquamend_lab.analysis.paper.t4 import T4_TABLES

PAPER_TABLES = (*M1_TABLES, *T4_TABLES, *EXECUTION_TABLES)


def paper_table(suite: str) -> PaperTable | None:
    """Return the paper's table for a suite, if it has one."""
    return next((table for table in PAPER_TABLES if table.family == family_of(suite)), None)


_DESIGNATED = ("lookahead-2", "decoupled", "greedy", "restart")
_TRADITIONAL = ("blind-retry", "veritrace", "troubleshooting-1", "belief-replan", "tms-revision")
_STRESSED = ("lookahead-2", "decoupled-no-budget", "greedy-no-budget", "restart")

_EXECUTION = {"paper’s": ("troubleshooting", "no-reprobe", "restart", "linear-chain")}

FAMILIES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "t4": {"paper’s": (*_DESIGNATED, *_TRADITIONAL)},
    "t4-stress": {"designated": _STRESSED, "traditional": _TRADITIONAL},
    "pouring": _EXECUTION,
    "pouring-96": _EXECUTION,
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
