"""One line a policy and group of scenarios: what it cost, how often it succeeded, what that was made of."""

from __future__ import annotations

import math
import statistics as standard_statistics
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from aquamend.analysis.groups import GroupKey
from aquamend.analysis.plain_data import plain
from aquamend.analysis.proxy_error import ProxyError, proxy_error
from aquamend.analysis.record_values import Record, ScenarioKey, failed, number, policies_in, scenario_of
from aquamend.analysis.statistics import (
    Interval,
    operational_saving,
    paired_bootstrap,
    zero_rollback_and_success_rate,
    zero_rollback_rate,
)
from aquamend.records import Run

ORACLE = "oracle"
"""The policy that gaps are measured from."""
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
    missing: int
    """Scenarios of the group on which it has no numbers: it refused, broke down or was not run, unlike some other.

    Unless this is zero, its means are over other scenarios than theirs.
    """
    success: float | None
    mean_loss: float | None
    mean_loss_interval: Interval | None
    """95 % percentile bootstrap interval: 2,000 resamples, seed 20260923, the same scenarios for every policy."""
    expected_risk: float | None
    """Mean of the exact expected losses from the public posterior."""
    expected_risk_interval: Interval | None
    gap_to_oracle: float | None
    """Mean loss above that of ``oracle``; None unless both have a loss on the same scenarios."""
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

    @property
    def normalised_error_interval(self) -> Interval | None:
        """95 % bootstrap interval of the normalised error."""
        return self.proxy.normalised_error_interval if self.proxy else None


def summarise(run: Run) -> list[Summary]:
    """Return one summary a (group, policy): groups as they appear, policies in the order of the manifest."""
    cells: dict[tuple[GroupKey, str], list[Record]] = {}
    met: dict[GroupKey, dict[ScenarioKey, Record]] = {}
    for record in run.records:
        scenario = scenario_of(record)
        met.setdefault(scenario[0], {}).setdefault(scenario, record)
        cells.setdefault((scenario[0], record["policy"]), []).append(record)
    timings = {(line["seed"], line["scenario"], line["policy"]): line for line in run.timings}
    policies = policies_in(run.records, run.manifest.get("policies") or ())
    found = []
    for key, scenarios in met.items():
        group = next(iter(scenarios.values())).get("group") or {}
        row = {name: _Cell(run, cells[key, name]) for name in policies if (key, name) in cells}
        for policy, own in row.items():
            times = [timings[place] for r in own.records if (place := (r["seed"], r["scenario"], policy)) in timings]
            found.append(_summary(policy, group, own, row, missing=len(scenarios) - len(own.sound), times=times))
    return found


def as_data(summary: Summary) -> dict[str, Any]:
    """Return a summary as plain data for JSON: unavailable is null, infinity is "inf", an interval is a pair."""
    data: dict[str, Any] = plain(summary)
    errors = data.pop("proxy") or {}
    return data | {field.name: errors.get(field.name) for field in fields(ProxyError)}


@dataclass(frozen=True, eq=False)
class _Cell:
    """The records of one policy on one group of scenarios."""

    run: Run
    records: Sequence[Record]

    @cached_property
    def sound(self) -> list[Record]:
        return [record for record in self.records if not failed(record)]

    def column(self, field: str) -> list[float]:
        """Return a number of all sound records; nothing if one of them lacks it."""
        values = [number(record, field, folder=self.run.folder) for record in self.sound]
        known = [value for value in values if value is not None]
        return known if len(known) == len(values) else []

    def mean(self, field: str) -> float | None:
        values = self.column(field)
        return float(sum(values)) / len(values) if values else None

    def interval(self, field: str) -> Interval | None:
        values = self.column(field)
        return paired_bootstrap(values) if values else None

    def success(self) -> float | None:
        """Return the share of successes, a refusal being none."""
        values = self.column("success")
        return float(sum(values)) / len(self.records) if values or not self.sound else None

    def spent(self) -> dict[ScenarioKey, float]:
        """Return C on each scenario: what sensing, recovering and escalating cost; residual loss is not in it."""
        parts = [self.column(field) for field in ("sensing", "recovery", "escalation")]
        if not all(parts):
            return {}
        return dict(zip(map(scenario_of, self.sound), map(math.fsum, zip(*parts, strict=True)), strict=True))


def _summary(
    policy: str,
    group: dict[str, Any],
    own: _Cell,
    others: dict[str, _Cell],
    *,
    missing: int,
    times: Sequence[Record],
) -> Summary:
    return Summary(
        suite=own.run.suite,
        group=group,
        policy=policy,
        scenarios=len(own.records),
        errors=len(own.records) - len(own.sound),
        missing=missing,
        success=own.success(),
        mean_loss=own.mean("loss"),
        mean_loss_interval=own.interval("loss"),
        expected_risk=own.mean("expected_risk"),
        expected_risk_interval=own.interval("expected_risk"),
        gap_to_oracle=_gap(own, others[ORACLE]) if ORACLE in others else None,
        sensing=own.mean("sensing"),
        recovery=own.mean("recovery"),
        escalation=own.mean("escalation"),
        residual=own.mean("residual"),
        probes=own.mean("probes"),
        undone=own.mean("undone"),
        saving=_saving(own, others[RESTART]) if RESTART in others else None,
        zero_rollback_rate=_zero_rollback(own),
        zero_rollback_and_success_rate=_zero_rollback(own, and_success=True),
        decision_ms=_median(own.run, times, "decision_ms"),
        peak_kib=_median(own.run, times, "peak_kib"),
        proxy=_proxy(own),
    )


def _gap(own: _Cell, oracle: _Cell) -> float | None:
    mean, least = own.mean("loss"), oracle.mean("loss")
    if mean is None or least is None or {*map(scenario_of, own.sound)} != {*map(scenario_of, oracle.sound)}:
        return None
    return 0.0 if mean == least else mean - least


def _saving(own: _Cell, restart: _Cell) -> float | None:
    costs, whole = own.spent(), restart.spent()
    shared = [key for key in costs if key in whole]
    return operational_saving([costs[key] for key in shared], [whole[key] for key in shared])


def _zero_rollback(own: _Cell, *, and_success: bool = False) -> float | None:
    undone, successes = own.column("undone"), own.column("success")
    if not undone or (and_success and not successes):
        return None
    moved = [count + (r.get("ending") == RESTART) for count, r in zip(undone, own.sound, strict=True)]
    false_alarm = [record.get("false_alarm") for record in own.sound]
    if and_success:
        return zero_rollback_and_success_rate(moved, false_alarm, successes)
    return zero_rollback_rate(moved, false_alarm)


def _median(run: Run, timed: Sequence[Record], field: str) -> float | None:
    values = [value for line in timed if (value := number(line, field, folder=run.folder)) is not None]
    return float(standard_statistics.median(values)) if values else None


def _proxy(own: _Cell) -> ProxyError | None:
    estimates = any("estimate" in record for record in own.sound)
    return proxy_error(own.sound, folder=own.run.folder) if estimates else None
