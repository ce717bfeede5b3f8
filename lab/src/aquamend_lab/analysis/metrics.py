"""The one list of what is reported about policies: how it is derived, what it is called, and which end is good.

A summary, one for each policy and group of scenarios, has every metric there is, computed when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from aquamend.codec import json_number
from aquamend_lab.analysis.cell import SAFE_STOP, Slice
from aquamend_lab.analysis.statistics import AttributionScores, Interval
from aquamend_lab.analysis.table import CHARGES, ORACLE, RunTable, distinct_groups

Form = Literal["decimal", "one decimal", "share", "percentage", "count"]
"""How a number reads."""
Place = Literal[
    "results", "results of episodes", "parts", "parts of risks", "short", "short of risks", "short of episodes",
    "short, without the paper's", "by group", "by kind", "work",
]  # fmt: skip
"""The tables of a report: all results; what a loss is made of; the short one of terminals and pages, which may leave
the paper's numbers out; one with a column for each policy, also where groups are kinds of scenarios; how much was
computed. Some are only of suites whose
expected risks are known, or only of episodes that are acted out."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One number about a policy on some scenarios."""

    key: str
    """What it is called in data, ours and the paper's."""
    title: str
    derive: Callable[[Slice], float | None]
    """None where it is unavailable."""
    good: Literal["low", "high", ""] = ""
    """Which end is better; nothing where neither is."""
    paper: str = ""
    """What the paper calls it, where it prints it."""
    interval: Callable[[Slice], Interval | None] | None = None
    """A 95 % bootstrap interval, where one is worth its room."""
    column: str = ""
    """The column of the table that it is the mean or median of, by which scenarios can be compared one by one."""
    each: str = ""
    """What one value of that column is called, where not by the title."""
    form: Form = "decimal"
    tables: tuple[Place, ...] = ()
    """Which tables of a report it stands in, each as far as it has numbers."""
    leads: bool = False
    """Whether it may be what a suite is ordered by and drawn by: the first of these that has numbers is."""
    priced: bool = False
    """Whether it is in the unit of losses."""
    compared: bool = False
    """Whether two policies can be compared by it, scenario by scenario: less is better."""
    rare: bool = False
    """It is left out of tables where it is zero in every row, ours and the paper's."""
    needs_several: str = ""
    """A metric of which some row must have more than one for this one to say anything."""

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


def _mean(key: str, title: str, *, of: str = "", interval: bool = False, **more: Any) -> Metric:
    column = of or key
    ends = (lambda cell: cell.interval(column)) if interval else None
    return Metric(key, title, lambda cell: cell.mean(column), interval=ends, column=column, **more)


def _counted(key: str) -> Metric:
    derive = lambda cell: cell.total(key)  # noqa: E731 - a name would say less
    return Metric(key, key, derive, form="count", paper=f"paper’s {key}", tables=("work",))


def _attribution(key: str, title: str, score: Callable[[AttributionScores], float], *tables: Place) -> Metric:
    return Metric(
        key, title, lambda cell: score(cell.attribution) if cell.attribution else None, tables=tables,
        needs_several="causes",
    )  # fmt: skip


_ALL = (
    Metric("scenarios", "scenarios", lambda cell: len(cell.met), form="count"),
    Metric(
        "errors", "errors", lambda cell: len(cell.met) - len(cell.sound), form="count", rare=True,
        tables=("results",),
    ),
    Metric("missing", "missing", lambda cell: cell.missing, form="count", rare=True),
    Metric(
        "success", "success", Slice.success, "high", "paper’s success", Slice.success_interval, "success",
        tables=("results", "short", "by group", "by kind"),
    ),
    _mean(
        "expected_risk", "expected risk", paper="paper’s expected risk", good="low", interval=True, priced=True,
        compared=True, leads=True, tables=("results", "short of risks", "by group", "by kind"),
    ),
    _mean(
        "mean_loss", "realised loss", of="loss", paper="paper’s realised cost", good="low", interval=True,
        priced=True, compared=True, leads=True, tables=("results", "parts", "short", "by group", "by kind"),
    ),
    Metric(
        "gap_to_oracle", "gap to oracle", lambda cell: cell.gap(ORACLE), paper="paper’s gap", priced=True,
        tables=("results",),
    ),
    *(
        _mean(name, name, paper=f"paper’s {name}", priced=True, compared=True, tables=("parts",))
        for name in CHARGES
    ),
    *(
        _mean(
            f"loss_without_{name}", f"loss without {name}", good="low", each=f"realised loss without {name}",
            priced=True, compared=True,
        )
        for name in CHARGES
    ),
    _mean(
        "normalised_loss", "normalised loss", paper="paper’s proxy loss", good="low", interval=True, compared=True,
        tables=("results of episodes", "short of episodes"),
    ),
    Metric(
        "normalised_saving", "of it saved against restart", Slice.normalised_saving, paper="paper’s Save_C",
        form="share", tables=("results of episodes",),
    ),
    Metric(
        "escalation_rate", "handed over", Slice.escalation_rate, paper="paper’s handed over", rare=True,
        tables=("results of episodes", "short of episodes"),
    ),
    _mean("probes", "probes", paper="paper’s probes", tables=("results", "short, without the paper's")),
    _mean("undone", "undone", paper="paper’s undone", tables=("results", "short, without the paper's")),
    _mean("rollbacks", "rollback receipts", paper="paper’s #R", tables=("results of episodes",)),
    Metric(
        "saving", "spending saved against restart", Slice.saving, paper="paper’s Save_C", form="share",
        tables=("results of episodes", "parts of risks"),
    ),
    Metric(
        "zero_rollback_rate", "false alarms with no rollback", Slice.zero_rollback, paper="paper’s share of these",
        form="share", tables=("results of episodes", "parts of risks"),
    ),
    Metric(
        "zero_rollback_and_success_rate", "… and success", lambda cell: cell.zero_rollback(and_success=True),
        paper="paper’s share with both", form="share", tables=("parts",),
    ),
    Metric(
        "safe_stops", "safe stops", lambda cell: cell.endings(SAFE_STOP), paper="paper’s safe stops", form="count",
        rare=True, tables=("results of episodes",),
    ),
    Metric(
        "over_budget_rate", "over budget", Slice.over_budget_rate, paper="paper’s over budget", rare=True,
        tables=("results of episodes",),
    ),
    Metric("causes", "causes", Slice.causes, form="count"),
    # With an exact risk a cause is a label that no probe can see: attribution says something of episodes only.
    _attribution(
        "attribution_precision", "attribution precision", lambda scores: scores.precision, "results of episodes"
    ),
    _attribution("attribution_recall", "attribution recall", lambda scores: scores.recall, "results of episodes"),
    _attribution("attribution_precision_strict", "over all causes", lambda scores: scores.precision_strict),
    _attribution("attribution_recall_strict", "over all causes", lambda scores: scores.recall_strict),
    Metric(
        "decision_ms", "time (ms)", lambda cell: cell.median("decision_ms"), paper="paper’s time (ms)",
        column="decision_ms", each="decision time (ms)", compared=True, tables=("results", "by group"),
    ),
    Metric(
        "peak_kib", "memory (KiB)", lambda cell: cell.median("peak_kib"), paper="paper’s memory (KiB)",
        form="one decimal", tables=("results",),
    ),
    Metric(
        "normalised_error", "normalised error",
        lambda cell: cell.error(normalised=True) if cell.estimates else None, "low", "paper’s normalised error",
        Slice.error_interval, form="percentage", leads=True, tables=("results", "short of risks", "by group"),
    ),
    Metric(
        "mean_absolute_error", "mean absolute error", lambda cell: cell.error() if cell.estimates else None, "low",
        column="error", each="error of the estimate", compared=True, tables=("results",),
    ),
    Metric("disjoint_states", "states with disjoint sets", Slice.disjoint, form="count", tables=("results",)),
    Metric(
        "disjoint_mean_absolute_error", "mean absolute error there",
        lambda cell: cell.error(disjoint=True) if cell.estimates else None,
    ),
    Metric(
        "disjoint_normalised_error", "normalised error there",
        lambda cell: cell.error(disjoint=True, normalised=True) if cell.estimates else None, form="percentage",
        tables=("results",),
    ),
    *map(_counted, ("decisions", "screened", "uncovered", "reduced", "candidates", "evaluated", "branches")),
)  # fmt: skip

METRICS: dict[str, Metric] = {metric.key: metric for metric in _ALL}
"""All of them by key, in the order in which data and tables list them."""

COMPARABLE: dict[str, Metric] = {metric.column: metric for metric in _ALL if metric.compared}
"""What two policies can be compared by, by column; expected risk first, since it is exact, while a realised loss
depends on which truth was drawn."""


def metrics_in(places: Iterable[Place]) -> list[str]:
    """Return the keys of what stands in these tables."""
    return [key for key, metric in METRICS.items() if not {*places}.isdisjoint(metric.tables)]


@dataclass(frozen=True, eq=False)
class Summary:
    """What one policy did on one group of scenarios; ``summary["mean_loss"]`` is a metric, None where unavailable."""

    suite: str
    group: Mapping[str, Any]
    cell: Slice
    _known: dict[str, float | None] = field(default_factory=dict, init=False)
    _intervals: dict[str, Interval | None] = field(default_factory=dict, init=False)

    @property
    def policy(self) -> str:
        """Whom it is about."""
        return self.cell.policy

    @property
    def unit(self) -> str:
        """The unit of its losses; empty where the suite does not say."""
        return self.cell.table.unit_of(self.group)

    @property
    def missing(self) -> int:
        """Scenarios on which others have numbers and it has none."""
        return self.cell.missing

    def __getitem__(self, key: str) -> float | None:
        if key not in self._known:
            self._known[key] = METRICS[key].derive(self.cell)
        return self._known[key]

    def interval(self, key: str) -> Interval | None:
        """Return the 95 % interval of a metric; None where it has none."""
        metric: Metric = METRICS[key]
        if key not in self._intervals:
            self._intervals[key] = metric.interval(self.cell) if metric.interval else None
        return self._intervals[key]


def summarise(table: RunTable) -> list[Summary]:
    """Return one summary for each group and policy: groups as they appear, policies in the order of the table."""
    return [
        summary for group in table.distinct_groups for summary in _summaries(table, table.members(group), group=group)
    ]


def summarise_together(table: RunTable) -> list[Summary]:
    """Return one summary for each policy over all groups together, under no group."""
    return _summaries(table, np.arange(len(table.scenarios)), group={})


def summarise_by(table: RunTable, names: Collection[str]) -> list[Summary]:
    """Return one summary for each policy and each value of these names in groups, whatever else divides them."""
    groups = [{name: value for name, value in group.items() if name in names} for group in table.groups]
    found = []
    for group in distinct_groups(groups):
        rows = np.array([row for row, own in enumerate(groups) if own == group], dtype=np.intp)
        found += _summaries(table, rows, group=group)
    return found


def _summaries(table: RunTable, rows: np.ndarray, *, group: Mapping[str, Any]) -> list[Summary]:
    cells = [Slice(table, rows, policy) for policy in table.policies]
    return [Summary(table.run.suite, group, cell) for cell in cells if cell.met.size]


def as_data(summary: Summary) -> dict[str, Any]:
    """Return a summary as plain data for JSON: unavailable is null, infinity is "inf", an interval is a pair."""
    data: dict[str, Any] = {
        "suite": summary.suite,
        "group": dict(summary.group),
        "unit": summary.unit,
        "policy": summary.policy,
    }
    for key, metric in METRICS.items():
        value = summary[key]
        data[key] = int(value) if metric.form == "count" and value is not None else json_number(value)
        if metric.interval is not None:
            ends = summary.interval(key)
            data[f"{key}_interval"] = None if ends is None else [json_number(end) for end in ends]
    return data
