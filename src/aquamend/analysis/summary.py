"""One line a policy and group of scenarios: what it cost, how often it succeeded, what that was made of."""

from __future__ import annotations

import statistics as standard_statistics
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from aquamend.analysis.cell import Cell
from aquamend.analysis.groups import GroupKey
from aquamend.analysis.plain_data import plain
from aquamend.analysis.proxy_error import ProxyError, proxy_error
from aquamend.analysis.record_values import Record, number, policies_in, scenario_of
from aquamend.analysis.references import ORACLE, RESTART
from aquamend.records import Run
from aquamend.statistics import Interval


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
    missing: int
    """Scenarios of the group on which it has no numbers: it refused, broke down or was not run, unlike some other.

    Unless this is zero, its means are over other scenarios than theirs.
    """
    success: float | None
    success_interval: Interval | None
    """95 % bootstrap interval, as for the loss."""
    mean_loss: float | None
    mean_loss_interval: Interval | None
    """95 % percentile bootstrap interval: 2,000 resamples, seed 20260923, the same scenarios for every policy."""
    expected_risk: float | None
    """Mean of the exact expected losses from the public posterior."""
    expected_risk_interval: Interval | None
    gap_to_oracle: float | None
    """Mean loss above that of ``oracle``; None unless both have a loss on the same scenarios."""
    sensing: float | None
    rollback: float | None
    continuation: float | None
    residual: float | None
    probes: float | None
    undone: float | None
    saving: float | None
    """Save_C against ``restart`` on the same scenarios; None where it was not run."""
    zero_rollback_rate: float | None
    """Over false alarms; ending in a restart undoes everything, so it is no zero rollback."""
    zero_rollback_and_success_rate: float | None
    escalation_rate: float | None
    """Share that ended by handing the task over; None where several truths of a scenario were played."""
    over_budget_rate: float | None
    """Share of those with a sensing budget that went over it; None where there is no budget."""
    causes: int
    """How many causes besides false alarms occur among the truths; with fewer than two there are none to tell apart."""
    attribution_precision: float | None
    """Macro average over the causes that occur; None for policies that are told the truth."""
    attribution_recall: float | None
    attribution_precision_strict: float | None
    """Macro average over all four causes, one that never occurs counting as zero."""
    attribution_recall_strict: float | None
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

    @property
    def normalised_error_interval(self) -> Interval | None:
        """95 % bootstrap interval of the normalised error."""
        return self.proxy.normalised_error_interval if self.proxy else None


def summarise(run: Run) -> list[Summary]:
    """Return one summary a (group, policy): groups as they appear, policies in the order of the manifest."""
    by_group: dict[GroupKey, list[Record]] = {}
    for record in run.records:
        by_group.setdefault(scenario_of(record)[0], []).append(record)
    return [
        summary
        for records in by_group.values()
        for summary in _summaries(run, records, group=records[0].get("group") or {})
    ]


def summarise_together(run: Run) -> list[Summary]:
    """Return one summary a policy over all groups together, under no group."""
    return _summaries(run, run.records, group={})


def _summaries(run: Run, records: Sequence[Record], *, group: dict[str, Any]) -> list[Summary]:
    cells: dict[str, list[Record]] = {}
    for record in records:
        cells.setdefault(record["policy"], []).append(record)
    met = len({scenario_of(record) for record in records})
    timings = {(line["seed"], line["scenario"], line["policy"]): line for line in run.timings}
    row = {name: Cell(run, cells[name]) for name in policies_in(records, run.manifest.get("policies") or ())}
    found = []
    for policy, own in row.items():
        times = [timings[place] for r in own.records if (place := (r["seed"], r["scenario"], policy)) in timings]
        found.append(_summary(policy, group, own, row, missing=met - len(own.sound), times=times))
    return found


def as_data(summary: Summary) -> dict[str, Any]:
    """Return a summary as plain data for JSON: unavailable is null, infinity is "inf", an interval is a pair."""
    data: dict[str, Any] = plain(summary)
    errors = data.pop("proxy") or {}
    return data | {field.name: errors.get(field.name) for field in fields(ProxyError)}


def _summary(
    policy: str,
    group: dict[str, Any],
    own: Cell,
    others: dict[str, Cell],
    *,
    missing: int,
    times: Sequence[Record],
) -> Summary:
    scores = own.attribution()
    return Summary(
        suite=own.run.suite,
        group=group,
        policy=policy,
        scenarios=len(own.records),
        errors=len(own.records) - len(own.sound),
        missing=missing,
        success=own.success(),
        success_interval=own.success_interval(),
        mean_loss=own.mean("loss"),
        mean_loss_interval=own.interval("loss"),
        expected_risk=own.mean("expected_risk"),
        expected_risk_interval=own.interval("expected_risk"),
        gap_to_oracle=own.gap(others[ORACLE]) if ORACLE in others else None,
        sensing=own.mean("sensing"),
        rollback=own.mean("rollback"),
        continuation=own.mean("continuation"),
        residual=own.mean("residual"),
        probes=own.mean("probes"),
        undone=own.mean("undone"),
        saving=own.saving(others[RESTART]) if RESTART in others else None,
        zero_rollback_rate=own.zero_rollback(),
        zero_rollback_and_success_rate=own.zero_rollback(and_success=True),
        escalation_rate=own.escalation_rate(),
        over_budget_rate=own.over_budget_rate(),
        causes=own.causes(),
        attribution_precision=scores.precision if scores else None,
        attribution_recall=scores.recall if scores else None,
        attribution_precision_strict=scores.precision_strict if scores else None,
        attribution_recall_strict=scores.recall_strict if scores else None,
        decision_ms=_median(own.run, times, "decision_ms"),
        peak_kib=_median(own.run, times, "peak_kib"),
        proxy=_proxy(own),
    )


def _median(run: Run, timed: Sequence[Record], field: str) -> float | None:
    values = [value for line in timed if (value := number(line, field, folder=run.folder)) is not None]
    return float(standard_statistics.median(values)) if values else None


def _proxy(own: Cell) -> ProxyError | None:
    estimates = any("estimate" in record for record in own.sound)
    return proxy_error(own.sound, folder=own.run.folder) if estimates else None
