"""What the paper reports, as data: its tables, its families of tests, and why ours need not agree with them."""

from aquamend_lab.analysis.paper.differences import differences_from_paper
from aquamend_lab.analysis.paper.execution import FIRST_COMMANDS, Q1_DIFFERENCES, paper_quality, paper_times
from aquamend_lab.analysis.paper.printed_tables import PAPER_TABLES, family_order, holm_family, paper_table
from aquamend_lab.analysis.paper.rows import PaperPair, PaperRow, PaperTable, family_of

__all__ = [
    "FIRST_COMMANDS",
    "PAPER_TABLES",
    "Q1_DIFFERENCES",
    "PaperPair",
    "PaperRow",
    "PaperTable",
    "differences_from_paper",
    "family_of",
    "family_order",
    "holm_family",
    "paper_quality",
    "paper_table",
    "paper_times",
]
