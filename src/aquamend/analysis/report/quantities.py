"""What a table or drawing tells of a summary, beside what the paper has for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
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
    rare: bool = False
    """It is left out where it is zero in every row, ours and the paper's."""


def _whole(value: float | None) -> str:
    return DASH if value is None else count(int(value))


_percentage = partial(share, decimals=3)

SUCCESS = Quantity("success", lambda s: s.success, lambda p: p.success, "paper’s success", "high")
SUCCESS_WITH_INTERVAL = replace(SUCCESS, interval=lambda s: s.success_interval)
"""For drawings: a table has room for the interval of what it is about."""
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

PROBES = Quantity("probes", lambda s: s.probes, lambda p: p.probes, "paper’s probes")
UNDONE = Quantity("undone", lambda s: s.undone, lambda p: p.undone, "paper’s undone")
ESCALATION_RATE = Quantity(
    "handed over", lambda s: s.escalation_rate, lambda p: p.escalation_rate, "paper’s handed over", rare=True
)

RESULTS = (
    SUCCESS,
    EXPECTED_RISK,
    REALISED_LOSS,
    Quantity("gap to oracle", lambda s: s.gap_to_oracle, lambda p: p.gap_to_oracle, "paper’s gap"),
    PROBES,
    UNDONE,
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
)  # fmt: skip

COUNTS = (SCENARIOS, Quantity("errors", lambda s: s.errors or None, shown=lambda v: _whole(v or 0.0)))

PARTS = (
    Quantity("sensing", lambda s: s.sensing),
    Quantity("rollback", lambda s: s.rollback),
    Quantity("continuation", lambda s: s.continuation),
    Quantity("residual", lambda s: s.residual),
)
"""What a realised loss is made of."""

SAVING = Quantity("saved against restart", lambda s: s.saving, shown=share)
ZERO_ROLLBACK = Quantity(
    "false alarms with no rollback", lambda s: s.zero_rollback_rate, lambda p: p.zero_rollback_rate,
    "paper’s share of these", shown=share,
)  # fmt: skip
ZERO_ROLLBACK_AND_SUCCESS = Quantity("… and success", lambda s: s.zero_rollback_and_success_rate, shown=share)

EPISODES = (
    SAVING,
    ZERO_ROLLBACK,
    ESCALATION_RATE,
    Quantity(
        "over budget", lambda s: s.over_budget_rate, lambda p: p.over_budget_rate, "paper’s over budget", rare=True
    ),
    Quantity("attribution precision", lambda s: s.attribution_precision if s.causes > 1 else None),
    Quantity("attribution recall", lambda s: s.attribution_recall if s.causes > 1 else None),
)
"""More results, for suites of episodes that are acted out: those whose realised loss leads, nothing exact being known.

Attribution says something where at least two causes besides false alarms occur; not in suites with exact risks, in
which a cause is a label that no probe can see.
"""

COMPACT = (SUCCESS, EXPECTED_RISK, REALISED_LOSS, NORMALISED_ERROR)
COMPACT_EPISODES = (SUCCESS, REALISED_LOSS, ESCALATION_RATE, replace(PROBES, paper=None), replace(UNDONE, paper=None))
LEADING = (EXPECTED_RISK, REALISED_LOSS, NORMALISED_ERROR)
"""What says most about a suite, the first that there is."""
