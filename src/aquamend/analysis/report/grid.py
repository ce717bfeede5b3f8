"""A run's records laid out scenario by policy, so that policies are compared on the same scenarios."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aquamend.analysis.groups import distinct_groups
from aquamend.analysis.metrics import measured
from aquamend.analysis.record_values import policies_in
from aquamend.records import Run


@dataclass(frozen=True, eq=False)
class Grid:
    """Records by scenario and policy; a pair that was not run has none."""

    folder: Path
    """The run's."""
    policies: tuple[str, ...]
    scenarios: tuple[tuple[int, int], ...]
    """Seed and number of each scenario."""
    groups: tuple[Mapping[str, Any], ...]
    """The group of each scenario."""
    records: Mapping[tuple[int, int, str], dict[str, Any]]

    def values(self, field: str) -> NDArray[np.float64]:
        """Return a field or metric of every record, shape ``(scenarios, policies)``; NaN where there is none."""
        found = np.full((len(self.scenarios), len(self.policies)), math.nan)
        for row, (seed, scenario) in enumerate(self.scenarios):
            for column, policy in enumerate(self.policies):
                record = self.records.get((seed, scenario, policy))
                value = None if record is None else measured(record, field, folder=self.folder)
                if value is not None:
                    found[row, column] = value
        return found

    @cached_property
    def distinct_groups(self) -> tuple[Mapping[str, Any], ...]:
        """Every group once, in order of first appearance; one empty group where a suite has none."""
        return tuple(distinct_groups(self.groups))

    def members(self, group: Mapping[str, Any]) -> NDArray[np.intp]:
        """Return the rows of the scenarios in a group."""
        return np.array([row for row, own in enumerate(self.groups) if own == group], dtype=np.intp)


def grid_of(run: Run) -> Grid:
    """Return a run's records as a grid: policies as the manifest lists them, scenarios by seed and number."""
    records = {(record["seed"], record["scenario"], record["policy"]): record for record in run.records}
    groups: dict[tuple[int, int], Mapping[str, Any]] = {}
    for record in run.records:
        groups.setdefault((record["seed"], record["scenario"]), record.get("group") or {})
    scenarios = tuple(sorted(groups))
    policies = tuple(policies_in(run.records, run.manifest.get("policies") or ()))
    return Grid(run.folder, policies, scenarios, tuple(groups[key] for key in scenarios), records)
