"""What a table or drawing tells of a summary, beside what the paper has for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from aquamend.analysis.paper import PaperRow
from aquamend.analysis.report.numbers import DASH, count, decimal, share
from aquamend.analysis.summary import Summary


@dataclass(frozen=True, slots=True)
class Quantity:
    """One column: where its numbers come from, how they read, and which end is good."""

    title: str
    ours: Callable[[Summary], float | None]
    paper: Callable[[PaperRow], float | None] | None = None
    paper_title: str = ""
    good: str = ""
    """``low``, ``high``, or nothing where neither is better."""
    shown: Callable[[float | None], str] = decimal
    interval: Callable[[Summary], tuple[float, float] | None] | None = None


def _whole(value: float | None) -> str:
    return DASH if value is None else count(int(value))


_percentage = partial(share, decimals=3)

SUCCESS = Quantity("success", lambda s: s.success, lambda p: p.success, "paper’s success", "high")
EXPECTED_RISK = Quantity(
    "expected risk", lambda s: s.expected_risk, lambda p: p.expected_risk, "paper’s expected risk", "low",
    interval=lambda s: s.expected_risk_interval,
)  # fmt: skip
REALISED_LOSS = Quantity(
    "realised loss", lambda s: s.mean_loss, lambda p: p.loss, "paper’s realised cost", "low",
    interval=lambda s: s.mean_loss_interval,
)  # fmt: skip
NORMALISED_ERROR = Quantity(
    "normalised error", lambda s: s.normalised_error, lambda p: p.normalised_error, "paper’s normalised error", "low",
    shown=_percentage, interval=lambda s: s.normalised_error_interval,
)  # fmt: skip
DECISION_MS = Quantity("time (ms)", lambda s: s.decision_ms, lambda p: p.decision_ms, "paper’s time (ms)")
SCENARIOS = Quantity("scenarios", lambda s: s.scenarios, shown=_whole)

RESULTS = (
    SUCCESS,
    EXPECTED_RISK,
    REALISED_LOSS,
    Quantity("gap to oracle", lambda s: s.gap_to_oracle, lambda p: p.gap_to_oracle, "paper’s gap"),
    Quantity("probes", lambda s: s.probes),
    Quantity("undone", lambda s: s.undone),
    DECISION_MS,
    Quantity(
        "memory (KiB)", lambda s: s.peak_kib, lambda p: p.peak_kib, "paper’s memory (KiB)",
        shown=partial(decimal, decimals=1),
    ),
    NORMALISED_ERROR,
    Quantity("mean absolute error", lambda s: s.mean_absolute_error, good="low"),
    Quantity("states with disjoint sets", lambda s: s.proxy.disjoint_states if s.proxy else None, shown=_whole),
    Quantity(
        "normalised error there", lambda s: s.proxy.disjoint_normalised_error if s.proxy else None, shown=_percentage
    ),
    SCENARIOS,
    Quantity("errors", lambda s: s.errors or None, shown=lambda v: _whole(v or 0.0)),
)  # fmt: skip

PARTS = (
    Quantity("sensing", lambda s: s.sensing),
    Quantity("recovery", lambda s: s.recovery),
    Quantity("escalation", lambda s: s.escalation),
    Quantity("residual", lambda s: s.residual),
    Quantity("saved against restart", lambda s: s.saving, shown=share),
    Quantity("false alarms with no rollback", lambda s: s.zero_rollback_rate, shown=share),
    Quantity("… and success", lambda s: s.zero_rollback_and_success_rate, shown=share),
)
"""What a realised loss is made of, and what follows from it."""

PIVOTED = (SUCCESS, EXPECTED_RISK, NORMALISED_ERROR, DECISION_MS)
COMPACT = (SUCCESS, EXPECTED_RISK, REALISED_LOSS, NORMALISED_ERROR)
LEADING = (EXPECTED_RISK, REALISED_LOSS, NORMALISED_ERROR)
"""What says most about a suite, the first that there is."""
