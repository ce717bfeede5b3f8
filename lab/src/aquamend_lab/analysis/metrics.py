"""The one list of what is reported about policies: how it is derived, what it is called, and which end is good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from aquamend_lab.analysis.cell import SAFE_STOP, Cell
from aquamend_lab.analysis.statistics import AttributionScores, Interval
from aquamend_lab.analysis.table import CHARGES, ORACLE

Form = Literal["decimal", "one decimal", "share", "percentage", "count"]
"""How a number reads."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One number about a policy on some scenarios."""

    key: str
    """What it is called in data, ours and the paper's."""
    title: str
    derive: Callable[[Cell], float | None]
    """None where it is unavailable."""
    good: Literal["low", "high", ""] = ""
    """Which end is better; nothing where neither is."""
    paper: str = ""
    """What the paper calls it, where it prints it."""
    interval: Callable[[Cell], Interval | None] | None = None
    """A 95 % bootstrap interval, where one is worth its room."""
    column: str = ""
    """The column of the table that it is the mean or median of, by which scenarios can be compared one by one."""
    each: str = ""
    """What one value of that column is called, where not by the title."""
    form: Form = "decimal"
    rare: bool = False
    """It is left out of tables where it is zero in every row, ours and the paper's."""

    @property
    def priced(self) -> bool:
        """Whether it is in the unit of losses."""
        return self.key in _PRICED

    def titled(self, unit: str) -> str:
        """Return its title with the unit of losses, where it is in one."""
        return f"{self.title} ({unit})" if unit and self.priced else self.title

    def of_one_in(self, unit: str) -> str:
        """Return what its value on one scenario is called, with the unit of losses, where it is in one."""
        return f"{self.of_one} ({unit})" if unit and self.priced else self.of_one

    @property
    def of_one(self) -> str:
        """What its value on one scenario is called."""
        return self.each or self.title


def _mean(key: str, title: str, *, column: str = "", paper: str = "", intervals: bool = False, each: str = "",
          good: Literal["low", "high", ""] = "") -> Metric:  # fmt: skip
    name = column or key
    return Metric(
        key, title, lambda cell: cell.mean(name), good, paper,
        (lambda cell: cell.interval(name)) if intervals else None, name, each,
    )  # fmt: skip


def _total(key: str, title: str) -> Metric:
    return Metric(key, title, lambda cell: cell.total(key), form="count", paper=f"paper’s {title}")


def _attribution(key: str, title: str, score: Callable[[AttributionScores], float]) -> Metric:
    return Metric(key, title, lambda cell: score(cell.attribution) if cell.attribution else None)


_ALL = (
    Metric("scenarios", "scenarios", lambda cell: len(cell.met), form="count"),
    Metric("errors", "errors", lambda cell: len(cell.met) - len(cell.sound), form="count", rare=True),
    Metric("missing", "missing", lambda cell: cell.missing, form="count", rare=True),
    Metric(
        "success", "success", Cell.success, "high", "paper’s success", Cell.success_interval, "success",
    ),
    _mean("mean_loss", "realised loss", column="loss", paper="paper’s realised cost", good="low", intervals=True),
    _mean("expected_risk", "expected risk", paper="paper’s expected risk", good="low", intervals=True),
    Metric("gap_to_oracle", "gap to oracle", lambda cell: cell.gap(ORACLE), paper="paper’s gap"),
    *(_mean(name, name, paper=f"paper’s {name}") for name in CHARGES),
    *(
        _mean(f"loss_without_{name}", f"loss without {name}", good="low", each=f"realised loss without {name}")
        for name in CHARGES
    ),
    _mean("probes", "probes", paper="paper’s probes"),
    _mean("undone", "undone", paper="paper’s undone"),
    _mean("rollbacks", "rollback receipts", paper="paper’s #R"),
    Metric("saving", "spending saved against restart", Cell.saving, paper="paper’s Save_C", form="share"),
    _mean("normalised_loss", "normalised loss", paper="paper’s proxy loss", good="low", intervals=True),
    Metric(
        "normalised_saving", "of it saved against restart", Cell.normalised_saving, paper="paper’s Save_C",
        form="share",
    ),
    Metric(
        "zero_rollback_rate", "false alarms with no rollback", Cell.zero_rollback, paper="paper’s share of these",
        form="share",
    ),
    Metric(
        "zero_rollback_and_success_rate", "… and success", lambda cell: cell.zero_rollback(and_success=True),
        paper="paper’s share with both", form="share",
    ),
    Metric("escalation_rate", "handed over", Cell.escalation_rate, paper="paper’s handed over", rare=True),
    Metric(
        "safe_stops", "safe stops", lambda cell: cell.endings(SAFE_STOP), paper="paper’s safe stops", form="count",
        rare=True,
    ),
    Metric("over_budget_rate", "over budget", Cell.over_budget_rate, paper="paper’s over budget", rare=True),
    Metric("causes", "causes", Cell.causes, form="count"),
    _attribution("attribution_precision", "attribution precision", lambda scores: scores.precision),
    _attribution("attribution_recall", "attribution recall", lambda scores: scores.recall),
    _attribution("attribution_precision_strict", "over all causes", lambda scores: scores.precision_strict),
    _attribution("attribution_recall_strict", "over all causes", lambda scores: scores.recall_strict),
    Metric(
        "decision_ms", "time (ms)", lambda cell: cell.median("decision_ms"), paper="paper’s time (ms)",
        column="decision_ms", each="decision time (ms)",
    ),
    Metric(
        "peak_kib", "memory (KiB)", lambda cell: cell.median("peak_kib"), paper="paper’s memory (KiB)",
        form="one decimal",
    ),
    Metric(
        "mean_absolute_error", "mean absolute error", lambda cell: cell.error() if cell.estimates else None, "low",
        column="error", each="error of the estimate",
    ),
    Metric(
        "normalised_error", "normalised error",
        lambda cell: cell.error(normalised=True) if cell.estimates else None, "low", "paper’s normalised error",
        Cell.error_interval, form="percentage",
    ),
    Metric("disjoint_states", "states with disjoint sets", Cell.disjoint, form="count"),
    Metric(
        "disjoint_mean_absolute_error", "mean absolute error there",
        lambda cell: cell.error(disjoint=True) if cell.estimates else None,
    ),
    Metric(
        "disjoint_normalised_error", "normalised error there",
        lambda cell: cell.error(disjoint=True, normalised=True) if cell.estimates else None, form="percentage",
    ),
    _total("decisions", "decisions"),
    _total("screened", "screened"),
    _total("uncovered", "uncovered"),
    _total("reduced", "reduced"),
    _total("candidates", "candidates"),
    _total("evaluated", "evaluated"),
    _total("branches", "branches"),
)  # fmt: skip

_PRICED = frozenset(
    ("mean_loss", "expected_risk", "gap_to_oracle", *CHARGES, *(f"loss_without_{name}" for name in CHARGES))
)
"""The keys of those that are in the unit of losses."""

METRICS: dict[str, Metric] = {metric.key: metric for metric in _ALL}
"""All of them by key, in the order that data list them."""

_COMPARED = (
    "expected_risk",
    "mean_loss",
    "mean_absolute_error",
    "normalised_loss",
    *(f"loss_without_{name}" for name in CHARGES),
)

COMPARABLE: dict[str, Metric] = {
    METRICS[key].column: METRICS[key] for key in (*_COMPARED, *CHARGES, "decision_ms")
}  # fmt: skip
"""What two policies can be compared by, scenario by scenario: less is better. By column; expected risk first, since it
is exact, while a realised loss depends on which truth was drawn."""
