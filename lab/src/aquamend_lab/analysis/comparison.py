"""Two policies on the same scenarios: who loses less, by how much, how surely, from where, and what that shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from aquamend.arrays import Floats
from aquamend.errors import UnknownName
from aquamend.learning.estimates import DECIMALS, difference, rounded
from aquamend_lab.analysis import statistics
from aquamend_lab.analysis.metrics import COMPARABLE
from aquamend_lab.analysis.statistics import Interval
from aquamend_lab.analysis.table import GroupKey, RunTable, require_same_scenarios, steps_of

EXPECTED = "expected_risk"
"""The metric that no draw of a truth sways."""

ScenarioKey = tuple[GroupKey, int, int]
"""Group, seed and number: policies that share it faced the same thing."""


@dataclass(frozen=True, eq=False)
class Side:
    """One policy of one run, under the name it is shown by."""

    name: str
    table: RunTable
    policy: str

    @property
    def folder(self) -> Path:
        """Where its run lies."""
        return self.table.run.folder

    @cached_property
    def at(self) -> int:
        """The policy's column."""
        return self.table.policies.index(self.policy)

    @cached_property
    def rows(self) -> dict[ScenarioKey, int]:
        """The rows of the scenarios that it met."""
        rows = np.flatnonzero(self.table.met[:, self.at]).tolist()
        return {(self.table.group_keys[row], *self.table.scenarios[row]): row for row in rows}

    def values(self, metric: str, keys: Sequence[ScenarioKey]) -> Floats:
        """Return a metric on some scenarios; NaN where it was not run or has no number."""
        column = self.table.column(metric)[:, self.at]
        return np.array([column[self.rows[key]] if key in self.rows else np.nan for key in keys], dtype=np.float64)

    def refused(self, keys: Sequence[ScenarioKey]) -> int:
        """Return on how many of some scenarios it refused or broke down."""
        return sum(key in self.rows and not self.table.sound[self.rows[key], self.at] for key in keys)

    def steps(self, key: ScenarioKey) -> tuple[str, ...]:
        """Return what it did on a scenario, a text for each step."""
        return steps_of(self.table.records[self.rows[key], self.at])


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
    metric: str
    """The column that they are compared by."""
    unit: str
    """Of the losses; empty where the suite does not say."""
    exact: bool
    """Whether it is one number of one problem and no sample: then there is one pair, and nothing to test."""
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
    detectable: float | None
    """The mean difference that so many pairs, as scattered as these, show with a power of 80 % at the 5 % level."""
    rank_sums: tuple[float, float] | None
    """W+ and W-, the rank sums of positive and negative differences: the larger says whom the test is against."""
    p_value: float | None
    """Exact two-sided signed-rank test; None without pairs."""
    p_holm: float | None
    """The same, adjusted for all comparisons that were made together."""
    drivers: tuple[Driver, ...]


def side(table: RunTable, policy: str, *, name: str | None = None) -> Side:
    """Return one policy of a run to compare; ``UnknownName`` lists the policies that the run has."""
    if policy not in table.policies:
        raise UnknownName("policy", policy, table.policies)
    return Side(name or policy, table, policy)


def compare(first: Side, second: Side, *, metric: str = "loss", drivers: int = 5) -> list[Comparison]:
    """Return a comparison of all scenarios together, where they may be taken so, and of each group.

    Groups that only divide what was drawn, in one unit, are taken together; sizes, settings and problems never are.
    Scenarios are paired by group, seed and number. Groups come as they appear in the run of the first side.
    """
    if metric not in COMPARABLE:
        raise UnknownName("metric", metric, COMPARABLE)
    require_same_scenarios(first.table.run, second.table.run)
    keys = list(dict.fromkeys([*first.rows, *second.rows]))
    groups = list(dict.fromkeys(key[0] for key in keys))
    together = groups in ([], [()]) or (first.table.pooled and second.table.pooled and len(groups) > 1)
    within: list[dict[str, Any] | None] = [None] if together else []
    within += [] if groups in ([], [()]) else map(dict, groups)
    return adjusted([_comparison(first, second, metric, drivers, group, keys) for group in within])


def adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons made together with their p-values adjusted as one family by Holm's method."""
    raw = {str(index): found.p_value for index, found in enumerate(comparisons) if found.p_value is not None}
    family = statistics.holm(raw)
    return [replace(found, p_holm=family.get(str(index))) for index, found in enumerate(comparisons)]


def _comparison(
    first: Side, second: Side, metric: str, most: int, group: dict[str, Any] | None, keys: Sequence[ScenarioKey]
) -> Comparison:
    """Return the comparison of one group, or of all; with at most so many drivers."""
    keys = [key for key in keys if group is None or dict(key[0]) == group]
    exact = metric == EXPECTED and first.table.one_problem(group or {})
    keys = keys[:1] if exact else keys
    ours, theirs = first.values(metric, keys), second.values(metric, keys)
    both = ~np.isnan(ours) & ~np.isnan(theirs)
    paired, left_out = np.flatnonzero(both), [key for key, pair in zip(keys, both, strict=True) if not pair]
    ours, theirs = ours[paired], theirs[paired]
    differences = difference(ours, theirs)
    signs = np.sign(rounded(differences))
    mean = _mean(differences)
    test = statistics.signed_rank(differences) if paired.size and not exact else None
    return Comparison(
        suite=first.table.run.suite,
        group=group,
        first=first.name,
        second=second.name,
        policies=(first.policy, second.policy),
        runs=(str(first.folder), str(second.folder)),
        metric=metric,
        unit=first.table.unit_of(group or {}),
        exact=exact,
        pairs=paired.size,
        unpaired=len(left_out),
        first_errors=first.refused(left_out),
        second_errors=second.refused(left_out),
        wins=int((signs < 0.0).sum()),
        ties=int((signs == 0.0).sum()),
        losses=int((signs > 0.0).sum()),
        mean_difference=mean,
        interval=None if mean is None or exact else statistics.paired_bootstrap(differences),
        detectable=None if exact else statistics.smallest_detectable_difference(differences),
        rank_sums=None if test is None else (test.positive, test.negative),
        p_value=None if test is None else test.p_value,
        p_holm=None,
        drivers=_drivers(first, second, [keys[place] for place in paired.tolist()], ours, theirs, most),
    )


def _drivers(
    first: Side, second: Side, keys: Sequence[ScenarioKey], ours: Floats, theirs: Floats, most: int
) -> tuple[Driver, ...]:
    """Return the scenarios with the largest absolute differences; equal ones in the order of the records."""
    apart = rounded(difference(ours, theirs))
    magnitudes = np.abs(apart)
    total = float(magnitudes.sum())
    order = np.argsort(-magnitudes, kind="stable")[:most].tolist()
    return tuple(
        Driver(
            group=dict(keys[i][0]),
            seed=keys[i][1],
            scenario=keys[i][2],
            first=float(ours[i]),
            second=float(theirs[i]),
            difference=float(apart[i]),
            share=float(magnitudes[i]) / total if np.isfinite(total) else None,
            first_steps=first.steps(keys[i]),
            second_steps=second.steps(keys[i]),
        )
        for i in order
        if magnitudes[i] > 0.0
    )


def _mean(differences: Floats) -> float | None:
    if differences.size == 0 or (differences.min() == -np.inf and differences.max() == np.inf):
        return None
    return float(differences.mean())


SIGNIFICANT = 0.05
"""The ranks are told apart where the p-value, adjusted by Holm's method, is below this."""


class Conclusion(Enum):
    """What can be said of two sides, on average and scenario by scenario (by the signed ranks)."""

    NO_PAIRS = "no scenario has a number of both"
    TIE = "no scenario tells them apart"
    BOTH_INFINITE = "each is infinite where the other is not"
    INFINITE = "one is infinite where the other is not"
    EXACT = "one has less, exactly"
    CLEAR = "one has less, on average and scenario by scenario"
    MEAN_ONLY = "one has less on average; scenario by scenario nothing is established"
    RANKS_ONLY = "one has less scenario by scenario; on average nothing is established"
    OPPOSED = "one has less on average, the other scenario by scenario"
    OPEN = "nothing is established"


Sided = Literal["first", "second"]


class ComparisonVerdict(NamedTuple):
    """A finding and whom it favours: in the mean, but for ``RANKS_ONLY``, where it is by the ranks."""

    finding: Conclusion
    better: Sided | None = None


def verdict_of(found: Comparison) -> ComparisonVerdict:
    """Return what a comparison establishes.

    The mean has a side where its 95 % interval leaves zero out, the ranks where the adjusted p-value is below 0.05.
    """
    if not found.pairs:
        return ComparisonVerdict(Conclusion.NO_PAIRS)
    if found.ties == found.pairs:
        return ComparisonVerdict(Conclusion.TIE)
    if found.exact and math.isfinite(found.mean_difference or 0.0):
        return ComparisonVerdict(Conclusion.EXACT, mean_side(found))
    if found.mean_difference is None:
        return ComparisonVerdict(Conclusion.BOTH_INFINITE)
    if math.isinf(found.mean_difference):
        return ComparisonVerdict(Conclusion.INFINITE, mean_side(found))
    match _established_mean(found), _established_ranks(found):
        case None, None:
            return ComparisonVerdict(Conclusion.OPEN)
        case mean, None:
            return ComparisonVerdict(Conclusion.MEAN_ONLY, mean)
        case None, ranks:
            return ComparisonVerdict(Conclusion.RANKS_ONLY, ranks)
        case mean, ranks:
            return ComparisonVerdict(Conclusion.CLEAR if mean == ranks else Conclusion.OPPOSED, mean)


def mean_side(found: Comparison) -> Sided | None:
    """Return who has less on average, established or not; None where the means are equal."""
    return _lower(found.mean_difference or 0.0)


def _established_mean(found: Comparison) -> Sided | None:
    if found.interval is None:
        return None
    low, high = map(_lower, found.interval)
    return low if low == high else None


def _established_ranks(found: Comparison) -> Sided | None:
    if found.rank_sums is None or found.p_holm is None or found.p_holm >= SIGNIFICANT:
        return None
    positive, negative = found.rank_sums
    return _lower(positive - negative)


def _lower(difference: float) -> Sided | None:
    """Return the side that a difference (first minus second) says has less."""
    size = round(difference, DECIMALS) if math.isfinite(difference) else difference
    return "first" if size < 0.0 else "second" if size > 0.0 else None
