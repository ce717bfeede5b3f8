"""The numbers the paper prints, row by row, under the names and groups that our suites use.

To add a table: write its rows as they are printed, name the family of suites it belongs to, and put it among the
tables of its task. What the paper leaves blank stays ``None``.
"""

from __future__ import annotations

from aquamend.analysis.paper.execution import EXECUTION_TABLES
from aquamend.analysis.paper.m1 import M1_TABLES
from aquamend.analysis.paper.rows import PaperTable, family_of
from aquamend.analysis.paper.t4 import T4_TABLES

PAPER_TABLES = (*M1_TABLES, *T4_TABLES, *EXECUTION_TABLES)


def paper_table(suite: str) -> PaperTable | None:
    """Return the paper's table for a suite, if it has one."""
    return next((table for table in PAPER_TABLES if table.family == family_of(suite)), None)
