"""Two policies on the same scenarios: who loses less, by how much, how surely, and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aquamend.analysis.metrics import Metric, measured
from aquamend.analysis.record_values import Record, ScenarioKey, failed, policies_in, scenario_of, steps_of
from aquamend.errors import InvalidRun, UnknownName
from aquamend.records import Run
from aquamend.statistics import Interval, difference, holm, paired_bootstrap, rounded, signed_rank


@dataclass(frozen=True, eq=False)
class Side:
    """One policy of one run, under the name it is shown by."""

    name: str
    run: Run
    policy: str

    def records(self) -> dict[ScenarioKey, Record]:
        """Return its records by what they are about."""
        return {scenario_of(record): record for record in self.run.records if record["policy"] == self.policy}


@dataclass(frozen=True, slots=True)
class Driver:
    """One scenario that the difference comes from."""

    group: dict[str, Any]
    seed: int
    scenario: int
    first: float
    second: float
    difference: float
    """First minus second."""
    share: float | None
    """Of the sum of all absolute differences, so that shares add up to one; None where that is infinite."""
    first_steps: tuple[str, ...]
    second_steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Paired differences FIRST minus SECOND: negative favours the first, since less loss is better."""

    suite: str
    group: dict[str, Any] | None
    """None for all scenarios together; empty for those without a group where others have one."""
    first: str
    """Name of the first side; without another one it is the policy's."""
    second: str
    policies: tuple[str, str]
    runs: tuple[str, str]
    """The folders of the first and of the second side."""
    metric: Metric
    pairs: int
    unpaired: int
    """Scenarios that only one of the two was run on, or for which one has no number."""
    first_errors: int
    """Scenarios among the unpaired on which the first refused or broke down."""
    second_errors: int
    wins: int
    """Pairs in which the first has less; a difference that rounds to zero at nine decimals is a tie."""
    ties: int
    losses: int
    mean_difference: float | None
    """None without pairs, or where infinities of both signs leave no mean."""
    interval: Interval | None
    """95 % paired bootstrap interval of the mean difference; not adjusted for several comparisons."""
    rank_sums: tuple[float, float] | None
    """W+ and W-, the rank sums of positive and negative differences: the larger says whom the test is against."""
    p_value: float | None
    """Exact two-sided signed-rank test; None without pairs."""
    p_holm: float | None
    """The same, adjusted for all comparisons that were made together."""
    drivers: tuple[Driver, ...]


def side(run: Run, policy: str, *, name: str | None = None) -> Side:
    """Return one policy of a run to compare; ``UnknownName`` lists the policies that the run has."""
    policies = policies_in(run.records, run.manifest.get("policies") or ())
    if policy not in policies:
        raise UnknownName("policy", policy, policies)
    return Side(name or policy, run, policy)


def require_same_suite(first: Run, second: Run) -> None:
    """Raise ``InvalidRun`` if two runs faced different suites, so that no scenario of theirs is the same."""
    if first.suite != second.suite:
        problem = f"its suite is {second.suite!r}, that of {first.folder} is {first.suite!r}"
        raise InvalidRun(second.folder, problem, "compare runs of the same suite")


def compare(first: Side, second: Side, *, metric: Metric = "loss", drivers: int = 5) -> list[Comparison]:
    """Return one comparison of all scenarios together and, where there are groups, one a group; one group is told once.

    Scenarios are paired by group, seed and scenario. Groups come as they appear in the run of the first side.
    """
    require_same_suite(first.run, second.run)
    ours, theirs = first.records(), second.records()
    keys = list(dict.fromkeys([*ours, *theirs]))
    groups = list(dict.fromkeys(key[0] for key in keys))
    frame = _Frame(first, second, ours, theirs, metric, drivers)
    found = [] if len(groups) == 1 and groups[0] else [frame.comparison(None, keys)]
    if groups != [()]:
        found += [frame.comparison(dict(group), [key for key in keys if key[0] == group]) for group in groups]
    return adjusted(found)


def adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons made together with their p-values adjusted as one family by Holm's method."""
    raw = {str(index): found.p_value for index, found in enumerate(comparisons) if found.p_value is not None}
    family = holm(raw)
    return [replace(found, p_holm=family.get(str(index))) for index, found in enumerate(comparisons)]


@dataclass(frozen=True, eq=False)
class _Frame:
    """What all the comparisons of two sides share."""

    first: Side
    second: Side
    ours: dict[ScenarioKey, Record]
    theirs: dict[ScenarioKey, Record]
    metric: Metric
    most_drivers: int

    def comparison(self, group: dict[str, Any] | None, keys: Sequence[ScenarioKey]) -> Comparison:
        values = {key: self._values(key) for key in keys}
        paired = [key for key, pair in values.items() if None not in pair]
        left_out = [key for key, pair in values.items() if None in pair]
        ours, theirs = np.array([values[key] for key in paired], dtype=np.float64).reshape(-1, 2).T
        differences = difference(ours, theirs)
        signs = np.sign(rounded(differences))
        mean = _mean(differences)
        test = signed_rank(differences) if paired else None
        return Comparison(
            suite=self.first.run.suite,
            group=group,
            first=self.first.name,
            second=self.second.name,
            policies=(self.first.policy, self.second.policy),
            runs=(str(self.first.run.folder), str(self.second.run.folder)),
            metric=self.metric,
            pairs=len(paired),
            unpaired=len(left_out),
            first_errors=sum(key in self.ours and failed(self.ours[key]) for key in left_out),
            second_errors=sum(key in self.theirs and failed(self.theirs[key]) for key in left_out),
            wins=int((signs < 0.0).sum()),
            ties=int((signs == 0.0).sum()),
            losses=int((signs > 0.0).sum()),
            mean_difference=mean,
            interval=None if mean is None else paired_bootstrap(differences),
            rank_sums=None if test is None else (test.positive, test.negative),
            p_value=None if test is None else test.p_value,
            p_holm=None,
            drivers=self._drivers(paired, ours, theirs),
        )

    def _values(self, key: ScenarioKey) -> tuple[float | None, ...]:
        sides = ((self.ours, self.first.run.folder), (self.theirs, self.second.run.folder))
        return tuple(
            measured(records[key], self.metric, folder=folder) if key in records else None for records, folder in sides
        )

    def _drivers(
        self, keys: Sequence[ScenarioKey], ours: NDArray[np.float64], theirs: NDArray[np.float64]
    ) -> tuple[Driver, ...]:
        """Return the scenarios with the largest absolute differences; equal ones in the order of the records."""
        apart = rounded(difference(ours, theirs))
        magnitudes = np.abs(apart)
        total = float(magnitudes.sum())
        order = np.argsort(-magnitudes, kind="stable")[: self.most_drivers].tolist()
        return tuple(
            Driver(
                group=dict(keys[i][0]),
                seed=keys[i][1],
                scenario=keys[i][2],
                first=float(ours[i]),
                second=float(theirs[i]),
                difference=float(apart[i]),
                share=float(magnitudes[i]) / total if np.isfinite(total) else None,
                first_steps=steps_of(self.ours[keys[i]]),
                second_steps=steps_of(self.theirs[keys[i]]),
            )
            for i in order
            if magnitudes[i] > 0.0
        )


def _mean(differences: NDArray[np.float64]) -> float | None:
    if differences.size == 0 or (differences.min() == -np.inf and differences.max() == np.inf):
        return None
    return float(differences.mean())
