"""The one list of what is reported about policies: how it is derived, what it is called, and which end is good.

A summary, one for each policy and group of scenarios, has every metric there is, computed when it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from aquamend.arrays import Floats, Indices
from aquamend.belief.state import CAUSES, FALSE_ALARM, UNRESOLVED
from aquamend.codec import json_number
from aquamend.errors import InvalidRun
from aquamend_lab.analysis import statistics
from aquamend_lab.analysis.statistics import AttributionScores, Interval
from aquamend_lab.analysis.table import (
    CHARGES,
    ORACLE,
    RESTART,
    RunTable,
    distinct_groups,
    knows_the_truth,
    stratified,
    where_of,
)

SAFE_STOP = "last_resort"
"""The ending of a task that was stopped safely, nothing else being admissible."""
GIVEN_UP = ("escalate", SAFE_STOP)
"""The endings that leave the task to a person."""


@dataclass(frozen=True, eq=False)
class Summary:
    """What one policy did on one group of scenarios; ``summary["mean_loss"]`` is a metric, None where unavailable.

    Records on which it refused or broke down are not sound: they count as scenarios and as failures, and have no other
    number. A number that one of the sound records lacks is unavailable: a mean over the rest would not be comparable.
    """

    table: RunTable
    rows: Indices
    """The scenarios, which others of the table met even where this policy did not."""
    policy: str
    group: Mapping[str, Any] = field(default_factory=dict)
    _known: dict[str, float | None] = field(default_factory=dict, init=False)
    _intervals: dict[str, Interval | None] = field(default_factory=dict, init=False)

    def __getitem__(self, key: str) -> float | None:
        if key not in self._known:
            self._known[key] = METRICS[key].derive(self)
        return self._known[key]

    def interval(self, key: str) -> Interval | None:
        """Return the 95 % interval of a metric; None where it has none."""
        derive = METRICS[key].interval
        if key not in self._intervals:
            self._intervals[key] = derive(self) if derive else None
        return self._intervals[key]

    @property
    def unit(self) -> str:
        """The unit of its losses; empty where the suite does not say."""
        return self.table.unit_of(self.group)

    @cached_property
    def at(self) -> int:
        """The policy's column."""
        return self.table.policies.index(self.policy)

    @cached_property
    def met(self) -> Indices:
        """The scenarios that it met."""
        found: Indices = self.rows[self.table.met[self.rows, self.at]]
        return found

    @cached_property
    def sound(self) -> Indices:
        """The scenarios on which it has numbers."""
        found: Indices = self.rows[self.table.sound[self.rows, self.at]]
        return found

    @property
    def missing(self) -> int:
        """Scenarios on which it has no numbers: unless none, its means are over fewer than those of others."""
        return len(self.rows) - len(self.sound)

    def beside(self, policy: str) -> Summary | None:
        """Return another policy on the same scenarios; None where it was not run on any of them."""
        if policy not in self.table.policies:
            return None
        other = Summary(self.table, self.rows, policy)
        return other if other.met.size else None

    def values(self, name: str) -> Floats:
        """Return a number of all sound records; empty if one of them lacks it."""
        found: Floats = self.table.column(name)[self.sound, self.at]
        return found if not np.isnan(found).any() else found[:0]

    def known(self, name: str) -> Floats:
        """Return a number of those records that have it."""
        found: Floats = self.table.column(name)[self.met, self.at]
        known: Floats = found[~np.isnan(found)]
        return known

    def mean(self, name: str) -> float | None:
        """Return the mean over the sound records; None if one of them lacks the number."""
        found = self.values(name)
        # Added one after the other: sums in pairs, or with compensation, differ in digits that a tie brings to light.
        return float(np.cumsum(found)[-1]) / found.size if found.size else None

    def median(self, name: str) -> float | None:
        """Return the median of those that have the number."""
        found = self.known(name)
        return float(np.median(found)) if found.size else None

    def total(self, name: str) -> float | None:
        """Return the sum over those that have the number; None where none has."""
        found = self.known(name)
        return float(found.sum()) if found.size else None

    def mean_interval(self, name: str) -> Interval | None:
        """Return a bootstrap interval of the mean; within strata, where all of them together were drawn that way."""
        found = self.values(name)
        return self._interval(found, self.sound) if found.size else None

    def _interval(self, values: Floats, rows: Indices) -> Interval:
        groups = [self.table.groups[row] for row in rows.tolist()]
        if stratified(groups, self.table.kinds):
            return statistics.stratified_bootstrap(values, [self.table.group_keys[row] for row in rows.tolist()])
        return statistics.paired_bootstrap(values)

    def success(self) -> float | None:
        """Return the share of successes, a refusal being none."""
        found = self.values("success")
        return float(found.sum()) / len(self.met) if found.size or not self.sound.size else None

    def success_interval(self) -> Interval | None:
        """Return a bootstrap interval of the share of successes."""
        found = self.values("success")
        if not found.size:
            return None
        order = np.concatenate([self.sound, np.setdiff1d(self.met, self.sound)])
        return self._interval(np.concatenate([found, np.zeros(len(order) - found.size)]), order)

    def gap(self, reference: str) -> float | None:
        """Return the mean loss above a reference's; None unless both have a loss on the same scenarios."""
        other = self.beside(reference)
        if other is None or not np.array_equal(self.sound, other.sound):
            return None
        mean, least = self.mean("loss"), other.mean("loss")
        if mean is None or least is None:
            return None
        return 0.0 if mean == least else mean - least

    def saving(self) -> float | None:
        """Return Save_C against restarting on the scenarios that both finished."""
        restart = self.beside(RESTART)
        if restart is None or not self.values("spent").size or not restart.values("spent").size:
            return None
        shared = np.intersect1d(self.sound, restart.sound)
        spent = self.table.column("spent")
        return statistics.operational_saving(spent[shared, self.at].tolist(), spent[shared, restart.at].tolist())

    def normalised_saving(self) -> float | None:
        """Return what share of the normalised loss of restarting is saved; None where one of the two is not known."""
        restart = self.beside(RESTART)
        mean, whole = self.mean("normalised_loss"), restart.mean("normalised_loss") if restart else None
        return None if mean is None or not whole else 1.0 - mean / whole

    def zero_rollback(self, *, and_success: bool = False) -> float | None:
        """Return the share of false alarms with no rollback; a restart undoes everything.

        By executed rollback receipts where records count them, else by the actions undone.
        """
        undone, successes = self.values("rollbacks"), self.values("success")
        undone = undone if undone.size else self.values("undone")
        if not undone.size or (and_success and not successes.size):
            return None
        moved = [count + (e == RESTART) for count, e in zip(undone.tolist(), self._raw("ending"), strict=True)]
        false_alarm = self._raw("false_alarm")
        if and_success:
            return statistics.zero_rollback_and_success_rate(moved, false_alarm, successes.tolist())
        return statistics.zero_rollback_rate(moved, false_alarm)

    def endings(self, *kinds: str) -> int | None:
        """Return how many records ended in one of these ways; None unless each sound record has one ending."""
        endings = self._raw("ending")
        return sum(map(endings.count, kinds)) if endings and None not in endings else None

    def escalation_rate(self) -> float | None:
        """Return the share of sound records that left the task to a person; None unless each has one ending."""
        given_up = self.endings(*GIVEN_UP)
        return None if given_up is None else given_up / len(self.sound)

    def over_budget_rate(self) -> float | None:
        """Return the share of records with a sensing budget that went over it; None where none has a budget."""
        known = [bool(over) for over in self._raw("over_budget") if over is not None]
        return sum(known) / len(known) if known else None

    def causes(self) -> int:
        """Return how many true causes occur, false alarms not counted; with fewer than two there are none to tell."""
        return len({str(cause) for cause in self._raw("cause") if cause} - {FALSE_ALARM})

    @cached_property
    def attribution(self) -> AttributionScores | None:
        """How well causes were told apart; None unless each record says, and for who is told the truth."""
        pairs = list(zip(self._raw("cause"), self._raw("attributed"), strict=True))
        if not pairs or knows_the_truth(self.policy) or any(None in pair for pair in pairs):
            return None
        for row, pair in zip(self.sound.tolist(), pairs, strict=True):
            if pair[0] not in CAUSES or pair[1] not in (*CAUSES, UNRESOLVED):
                where = where_of(self.table.records[row, self.at])
                problem = f"{where}: cause {pair[0]!r}, attributed {pair[1]!r}, not both of {', '.join(CAUSES)}"
                raise InvalidRun(self.table.run.folder, problem, "run the benchmark again")
        attributed = [None if said == UNRESOLVED else str(said) for _, said in pairs]
        return statistics.attribution_scores([str(cause) for cause, _ in pairs], attributed, labels=CAUSES)

    @property
    def estimates(self) -> bool:
        """Whether it is an estimator of a risk, and no policy."""
        return bool(self.known("estimate").size)

    def disjoint(self) -> int | None:
        """Return how many states have pairwise disjoint rollback sets; None where nothing is estimated."""
        return len(self._disjoint) if self.estimates else None

    @cached_property
    def _disjoint(self) -> Indices:
        return self.sound[[raw is True for raw in self._raw("disjoint")]]

    def error(self, *, disjoint: bool = False, normalised: bool = False) -> float | None:
        """Return the mean of |estimate - exact|, or that over the mean of the exact values: a ratio of means."""
        errors, exact = self._errors(self._disjoint if disjoint else self.sound)
        if not errors.size:
            return None
        whole = float(exact.sum()) if normalised else float(errors.size)
        return float(errors.sum()) / whole if 0.0 < whole < math.inf else None

    def error_interval(self) -> Interval | None:
        """Return a bootstrap interval of the normalised error."""
        errors, exact = self._errors(self.sound)
        return statistics.ratio_bootstrap(errors, exact) if errors.size else None

    def _errors(self, rows: Indices) -> tuple[Floats, Floats]:
        errors, exact = (self.table.column(name)[rows, self.at] for name in ("error", "exact"))
        both = ~np.isnan(errors)
        return errors[both], exact[both]

    def _raw(self, name: str) -> list[Any]:
        return self.table.raw(name, self.sound.tolist(), self.at)


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
    derive: Callable[[Summary], float | None]
    """None where it is unavailable."""
    _: KW_ONLY
    good: Literal["low", "high", ""] = ""
    """Which end is better; nothing where neither is."""
    papers: str = ""
    """What the paper calls it, where not so."""
    interval: Callable[[Summary], Interval | None] | None = None
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
    def beside(self) -> str:
        """What the paper's numbers are called beside ours."""
        return f"paper’s {self.papers or self.title}"

    @property
    def of_one(self) -> str:
        """What its value on one scenario is called."""
        return self.each or self.title


def _mean(key: str, title: str, *, of: str = "", interval: bool = False, **more: Any) -> Metric:
    column = of or key
    ends = (lambda summary: summary.mean_interval(column)) if interval else None
    return Metric(key, title, lambda summary: summary.mean(column), interval=ends, column=column, **more)


def _counted(key: str) -> Metric:
    return Metric(key, key, lambda summary: summary.total(key), form="count", tables=("work",))


def _attribution(key: str, title: str, score: Callable[[AttributionScores], float], *tables: Place) -> Metric:
    return Metric(
        key, title, lambda summary: score(summary.attribution) if summary.attribution else None, tables=tables,
        needs_several="causes",
    )  # fmt: skip


_ALL = (
    Metric("scenarios", "scenarios", lambda summary: len(summary.met), form="count"),
    Metric(
        "errors", "errors", lambda summary: len(summary.met) - len(summary.sound), form="count", rare=True,
        tables=("results",),
    ),
    Metric("missing", "missing", lambda summary: summary.missing, form="count", rare=True),
    Metric(
        "success", "success", Summary.success, good="high", interval=Summary.success_interval, column="success",
        tables=("results", "short", "by group", "by kind"),
    ),
    _mean(
        "expected_risk", "expected risk", good="low", interval=True, priced=True, compared=True, leads=True,
        tables=("results", "short of risks", "by group", "by kind"),
    ),
    _mean(
        "mean_loss", "realised loss", of="loss", papers="realised cost", good="low", interval=True, priced=True,
        compared=True, leads=True, tables=("results", "parts", "short", "by group", "by kind"),
    ),
    Metric(
        "gap_to_oracle", "gap to oracle", lambda summary: summary.gap(ORACLE), papers="gap", priced=True,
        tables=("results",),
    ),
    *(_mean(name, name, priced=True, compared=True, tables=("parts",)) for name in CHARGES),
    *(
        _mean(
            f"loss_without_{name}", f"loss without {name}", good="low", each=f"realised loss without {name}",
            priced=True, compared=True,
        )
        for name in CHARGES
    ),
    _mean(
        "normalised_loss", "normalised loss", papers="proxy loss", good="low", interval=True, compared=True,
        tables=("results of episodes", "short of episodes"),
    ),
    Metric(
        "normalised_saving", "of it saved against restart", Summary.normalised_saving, papers="Save_C", form="share",
        tables=("results of episodes",),
    ),
    Metric(
        "escalation_rate", "handed over", Summary.escalation_rate, rare=True,
        tables=("results of episodes", "short of episodes"),
    ),
    _mean("probes", "probes", tables=("results", "short, without the paper's")),
    _mean("undone", "undone", tables=("results", "short, without the paper's")),
    _mean("rollbacks", "rollback receipts", papers="#R", tables=("results of episodes",)),
    Metric(
        "saving", "spending saved against restart", Summary.saving, papers="Save_C", form="share",
        tables=("results of episodes", "parts of risks"),
    ),
    Metric(
        "zero_rollback_rate", "false alarms with no rollback", Summary.zero_rollback, papers="share of these",
        form="share", tables=("results of episodes", "parts of risks"),
    ),
    Metric(
        "zero_rollback_and_success_rate", "… and success", lambda summary: summary.zero_rollback(and_success=True),
        papers="share with both", form="share", tables=("parts",),
    ),
    Metric(
        "safe_stops", "safe stops", lambda summary: summary.endings(SAFE_STOP), form="count", rare=True,
        tables=("results of episodes",),
    ),
    Metric("over_budget_rate", "over budget", Summary.over_budget_rate, rare=True, tables=("results of episodes",)),
    Metric("causes", "causes", Summary.causes, form="count"),
    # With an exact risk a cause is a label that no probe can see: attribution says something of episodes only.
    _attribution(
        "attribution_precision", "attribution precision", lambda scores: scores.precision, "results of episodes"
    ),
    _attribution("attribution_recall", "attribution recall", lambda scores: scores.recall, "results of episodes"),
    _attribution("attribution_precision_strict", "over all causes", lambda scores: scores.precision_strict),
    _attribution("attribution_recall_strict", "over all causes", lambda scores: scores.recall_strict),
    Metric(
        "decision_ms", "time (ms)", lambda summary: summary.median("decision_ms"), column="decision_ms",
        each="decision time (ms)", compared=True, tables=("results", "by group"),
    ),
    Metric(
        "peak_kib", "memory (KiB)", lambda summary: summary.median("peak_kib"), form="one decimal", tables=("results",),
    ),
    Metric(
        "normalised_error", "normalised error", lambda summary: summary.error(normalised=True), good="low",
        interval=Summary.error_interval, form="percentage", leads=True,
        tables=("results", "short of risks", "by group"),
    ),
    Metric(
        "mean_absolute_error", "mean absolute error", lambda summary: summary.error(), good="low", column="error",
        each="error of the estimate", compared=True, tables=("results",),
    ),
    Metric("disjoint_states", "states with disjoint sets", Summary.disjoint, form="count", tables=("results",)),
    Metric(
        "disjoint_mean_absolute_error", "mean absolute error there", lambda summary: summary.error(disjoint=True)
    ),
    Metric(
        "disjoint_normalised_error", "normalised error there",
        lambda summary: summary.error(disjoint=True, normalised=True), form="percentage", tables=("results",),
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
    found = [Summary(table, rows, policy, group) for policy in table.policies]
    return [summary for summary in found if summary.met.size]


def as_data(summary: Summary) -> dict[str, Any]:
    """Return a summary as plain data for JSON: unavailable is null, infinity is "inf", an interval is a pair."""
    data: dict[str, Any] = {
        "suite": summary.table.run.suite,
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
