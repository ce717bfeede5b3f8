"""What policies are compared by."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from aquamend.analysis.record_values import Record, failed, number

Metric = Literal["expected_risk", "loss", "error"]

METRICS: dict[Metric, str] = {
    "expected_risk": "expected risk",
    "loss": "realised loss",
    "error": "error of the estimate",
}
"""In words. Expected risk first: it is exact, while a realised loss depends on which truth was drawn."""


def measured(record: Record, field: str, *, folder: Path) -> float | None:
    """Return one number of a record, by field or metric; None where it is unavailable, or the policy failed."""
    if failed(record):
        return None
    if field != "error":
        return number(record, field, folder=folder)
    exact, estimate = (number(record, name, folder=folder) for name in ("exact", "estimate"))
    if exact is None or estimate is None:
        return None
    return 0.0 if exact == estimate else abs(estimate - exact)
