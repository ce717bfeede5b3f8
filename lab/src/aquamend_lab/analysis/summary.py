"""One line for each policy and group of scenarios: every metric there is, computed when it is asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aquamend.codec import json_number
from aquamend_lab.analysis.cell import Slice
from aquamend_lab.analysis.metrics import METRICS, Metric
from aquamend_lab.analysis.statistics import Interval
from aquamend_lab.analysis.table import RunTable, distinct_groups


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
