"""One line a policy and group of scenarios: what it cost, how often it succeeded, what that was made of."""

from __future__ import annotations

import dataclasses
import statistics as standard_statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aquamend.analysis.proxy_error import ProxyError, proxy_error
from aquamend.analysis.record_values import (
    GroupKey,
    Record,
    ScenarioKey,
    failed,
    group_of,
    number,
    policies_in,
    scenario_of,
    spent,
)
from aquamend.analysis.statistics import (
    Interval,
    operational_saving,
    paired_bootstrap,
    zero_rollback_and_success_rate,
    zero_rollback_rate,
)
from aquamend.records import Run, json_number

RESTART = "restart"
"""The policy that savings are measured against, and the ending that undoes everything."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What one policy did on one group of scenarios.

    Records on which the policy refused or broke down count among ``scenarios`` and ``errors``, and as failures in
    ``success``; every other number is over the rest. A number is None (unavailable) unless all those records have it:
    a mean over some of them would not be comparable.
    """

    suite: str
    group: dict[str, Any]
    policy: str
    scenarios: int
    """Records, one a (scenario, seed)."""
    errors: int
    success: float | None
    mean_loss: float | None
    mean_loss_interval: Interval | None
    """95 % percentile bootstrap interval: 2,000 resamples, seed 20260923, the same scenarios for every policy."""
    expected_risk: float | None
    """Mean of the exact expected losses from the public posterior."""
    expected_risk_interval: Interval | None
    sensing: float | None
    recovery: float | None
    escalation: float | None
    residual: float | None
    probes: float | None
    undone: float | None
    saving: float | None
    """Save_C against ``restart`` on the same scenarios; None where it was not run."""
    zero_rollback_rate: float | None
    """Over false alarms; ending in a restart undoes everything, so it is no zero rollback."""
    zero_rollback_and_success_rate: float | None
    decision_ms: float | None
    """Median over the scenarios that were timed."""
    peak_kib: float | None
    proxy: ProxyError | None = None
    """How far an estimate is from the exact risk, in suites that compare estimators."""

    @property
    def mean_absolute_error(self) -> float | None:
        """Mean of |estimate - exact|; None in suites that compare no estimators."""
        return self.proxy.mean_absolute_error if self.proxy else None

    @property
    def normalised_error(self) -> float | None:
        """Mean of |estimate - exact| over the mean of the exact values."""
        return self.proxy.normalised_error if self.proxy else None


def summarise(run: Run) -> list[Summary]:
    """Return one summary a (group, policy): groups as they appear, policies in the order of the manifest."""
    cells: dict[tuple[GroupKey, str], list[Record]] = {}
    groups: dict[GroupKey, dict[str, Any]] = {}
    for record in run.records:
        groups.setdefault(group_of(record), dict(record.get("group") or {}))
        cells.setdefault((group_of(record), record["policy"]), []).append(record)
    policies = policies_in(run.records, run.manifest.get("policies") or ())
    timings = {(line["seed"], line["scenario"], line["policy"]): line for line in run.timings}
    return [
        _summary(run.suite, groups[key], policy, cells[key, policy], cells.get((key, RESTART), []), timings)
        for key in groups
        for policy in policies
        if (key, policy) in cells
    ]


def as_data(summary: Summary) -> dict[str, Any]:
    """Return a summary as plain data for JSON: unavailable is null, infinity is "inf", an interval is a pair."""
    data: dict[str, Any] = {}
    for field in dataclasses.fields(summary):
        value = getattr(summary, field.name)
        if field.name != "proxy":
            data[field.name] = _plain(value)
    for field in dataclasses.fields(ProxyError):
        data[field.name] = _plain(getattr(summary.proxy, field.name)) if summary.proxy else None
    return data


def _plain(value: Any) -> Any:

    match value:
        case float():
            return json_number(value)
        case Interval():
            return [json_number(value.low), json_number(value.high)]
        case _:
            return value


def _summary(
    suite: str,
    group: dict[str, Any],
    policy: str,
    records: Sequence[Record],
    restarts: Sequence[Record],
    timings: Mapping[tuple[int, int, str], Record],
) -> Summary:
    sound = [record for record in records if not failed(record)]
    timed = [timings[key] for r in records if (key := (r["seed"], r["scenario"], policy)) in timings]
    losses, risks = _column(sound, "loss"), _column(sound, "expected_risk")
    successes = _column(sound, "success")
    estimates = any("estimate" in record for record in sound)
    return Summary(
        suite=suite,
        group=group,
        policy=policy,
        scenarios=len(records),
        errors=len(records) - len(sound),
        # A refusal is no success.
        success=_sum(successes) / len(records) if successes or not sound else None,
        mean_loss=_mean(losses),
        mean_loss_interval=paired_bootstrap(losses) if losses else None,
        expected_risk=_mean(risks),
        expected_risk_interval=paired_bootstrap(risks) if risks else None,
        sensing=_mean(_column(sound, "sensing")),
        recovery=_mean(_column(sound, "recovery")),
        escalation=_mean(_column(sound, "escalation")),
        residual=_mean(_column(sound, "residual")),
        probes=_mean(_column(sound, "probes")),
        undone=_mean(_column(sound, "undone")),
        saving=_saving(sound, restarts),
        zero_rollback_rate=_zero_rollback(sound, successes=None),
        zero_rollback_and_success_rate=_zero_rollback(sound, successes=successes) if successes else None,
        decision_ms=_median(timed, "decision_ms"),
        peak_kib=_median(timed, "peak_kib"),
        proxy=proxy_error(sound) if estimates else None,
    )


def _column(records: Iterable[Record], field: str) -> list[float]:
    """Return a number of all records; nothing if one of them lacks it."""
    values = [number(record, field) for record in records]
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []


def _sum(values: Sequence[float]) -> float:
    return float(sum(values))


def _mean(values: Sequence[float]) -> float | None:
    return _sum(values) / len(values) if values else None


def _median(timed: Iterable[Record], field: str) -> float | None:
    values = [value for line in timed if (value := number(line, field)) is not None]
    return float(standard_statistics.median(values)) if values else None


def _saving(records: Sequence[Record], restarts: Sequence[Record]) -> float | None:
    whole: dict[ScenarioKey, float] = {
        scenario_of(record): cost for record in restarts if (cost := spent(record)) is not None
    }
    paired = [
        (cost, whole[key])
        for record in records
        if (cost := spent(record)) is not None and (key := scenario_of(record)) in whole
    ]
    return operational_saving([cost for cost, _ in paired], [restart for _, restart in paired])


def _zero_rollback(records: Sequence[Record], *, successes: Sequence[float] | None) -> float | None:
    undone = _column(records, "undone")
    if not undone:
        return None
    moved = [count + (r.get("ending") == RESTART) for count, r in zip(undone, records, strict=True)]
    false_alarm = [record.get("false_alarm") for record in records]
    if successes is None:
        return zero_rollback_rate(moved, false_alarm)
    return zero_rollback_and_success_rate(moved, false_alarm, successes)
