"""What looks odd in a sound problem, and what each oddity costs in expected loss."""

from aquamend.lint.findings import Finding, findings

__all__ = ["Finding", "findings"]
