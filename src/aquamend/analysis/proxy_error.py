"""How far estimates of the rollback risk are from the exact values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aquamend.analysis.record_values import Record, number


@dataclass(frozen=True, slots=True)
class ProxyError:
    """Errors of one estimator, over all states and over those whose rollback sets are pairwise disjoint."""

    mean_absolute_error: float | None
    """Mean of |estimate - exact|."""
    normalised_error: float | None
    """Mean of |estimate - exact| over the mean of the exact values: a ratio of means, not a mean of ratios."""
    disjoint_states: int
    disjoint_mean_absolute_error: float | None
    disjoint_normalised_error: float | None


def proxy_error(records: Sequence[Record]) -> ProxyError:
    """Return the errors over records that hold an ``exact`` value and an ``estimate``; None where there are none."""
    disjoint = [record for record in records if record.get("disjoint") is True]
    absolute, normalised = _errors(records)
    disjoint_absolute, disjoint_normalised = _errors(disjoint)
    return ProxyError(absolute, normalised, len(disjoint), disjoint_absolute, disjoint_normalised)


def _errors(records: Sequence[Record]) -> tuple[float | None, float | None]:
    pairs = [
        (exact, estimate)
        for record in records
        if (exact := number(record, "exact")) is not None and (estimate := number(record, "estimate")) is not None
    ]
    if not pairs:
        return None, None
    distance = sum(abs(estimate - exact) for exact, estimate in pairs)
    whole = sum(exact for exact, _ in pairs)
    return distance / len(pairs), distance / whole if whole > 0.0 else None
