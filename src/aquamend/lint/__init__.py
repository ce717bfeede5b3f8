"""What looks odd in a sound problem, and what each oddity costs in expected loss."""

from aquamend.lint.finding import Finding, Severity
from aquamend.lint.oddities import findings

__all__ = ["Finding", "Severity", "findings"]
