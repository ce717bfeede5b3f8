"""What the paper reports, as data: its tables, and why ours need not agree with them."""

from aquamend.analysis.paper.differences import differences_from_paper
from aquamend.analysis.paper.tables import PAPER_TABLES, PaperRow, PaperTable, family_of, paper_table

__all__ = ["PAPER_TABLES", "PaperRow", "PaperTable", "differences_from_paper", "family_of", "paper_table"]
