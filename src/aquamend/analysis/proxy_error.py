"""How far estimates of the rollback risk are from the exact values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aquamend.analysis.metrics import measured
from aquamend.analysis.record_values import Record, number
from aquamend.statistics import Interval, ratio_bootstrap


@dataclass(frozen=True, slots=True)
class ProxyError:
    """Errors of one estimator, over all states and over those whose rollback sets are pairwise disjoint."""

    mean_absolute_error: float | None
    """Mean of |estimate - exact|."""
    normalised_error: float | None
    """Mean of |estimate - exact| over the mean of the exact values: a ratio of means, not a mean of ratios."""
    normalised_error_interval: Interval | None
    """95 % percentile bootstrap interval: 2,000 resamples of the states, seed 20260923."""
    disjoint_states: int
    disjoint_mean_absolute_error: float | None
    disjoint_normalised_error: float | None


def proxy_error(records: Sequence[Record], *, folder: Path) -> ProxyError:
    """Return the errors over records that hold an ``exact`` value and an ``estimate``; None where there are none."""
    disjoint = [record for record in records if record.get("disjoint") is True]
    errors, exact = _columns(records, folder)
    disjoint_errors, disjoint_exact = _columns(disjoint, folder)
    return ProxyError(
        _mean(errors),
        _ratio(errors, exact),
        ratio_bootstrap(errors, exact) if errors else None,
        len(disjoint),
        _mean(disjoint_errors),
        _ratio(disjoint_errors, disjoint_exact),
    )


def _columns(records: Sequence[Record], folder: Path) -> tuple[list[float], list[float]]:
    """Return the errors and the exact values of the records that have both."""
    read = [(measured(r, "error", folder=folder), number(r, "exact", folder=folder)) for r in records]
    kept = [(error, exact) for error, exact in read if error is not None and exact is not None]
    return [error for error, _ in kept], [exact for _, exact in kept]


def _mean(errors: Sequence[float]) -> float | None:
    return sum(errors) / len(errors) if errors else None


def _ratio(errors: Sequence[float], exact: Sequence[float]) -> float | None:
    whole = sum(exact)
    return sum(errors) / whole if 0.0 < whole < math.inf else None
