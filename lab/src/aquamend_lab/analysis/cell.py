"""One policy on some scenarios of a table, and what its numbers come to there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from aquamend.arrays import Floats, Indices
from aquamend.belief.state import CAUSES, FALSE_ALARM, UNRESOLVED
from aquamend.errors import InvalidRun
from aquamend_lab.analysis.statistics import (
    AttributionScores,
    Interval,
    attribution_scores,
    operational_saving,
    paired_bootstrap,
    ratio_bootstrap,
    stratified_bootstrap,
    zero_rollback_and_success_rate,
    zero_rollback_rate,
)
from aquamend_lab.analysis.table import RESTART, RunTable, knows_the_truth, stratified, where_of

SAFE_STOP = "last_resort"
"""The ending of a task that was stopped safely, nothing else being admissible."""
GIVEN_UP = ("escalate", SAFE_STOP)
"""The endings that leave the task to a person."""


@dataclass(frozen=True, eq=False)
class Slice:
    """The records of one policy on some scenarios.

    Those on which it refused or broke down are not sound: they count as scenarios and as failures, and have no other
    number. A number that one of the sound records lacks is unavailable: a mean over the rest would not be comparable.
    """

    table: RunTable
    rows: Indices
    """The scenarios, which others of the table met even where this policy did not."""
    policy: str

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

    def beside(self, policy: str) -> Slice | None:
        """Return another policy on the same scenarios; None where it was not run on any of them."""
        if policy not in self.table.policies:
            return None
        other = Slice(self.table, self.rows, policy)
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

    def interval(self, name: str) -> Interval | None:
        """Return a bootstrap interval of the mean; within strata, where all of them together were drawn that way."""
        found = self.values(name)
        return self._interval(found, self.sound) if found.size else None

    def _interval(self, values: Floats, rows: Indices) -> Interval:
        groups = [self.table.groups[row] for row in rows.tolist()]
        if stratified(groups, self.table.kinds):
            return stratified_bootstrap(values, [self.table.group_keys[row] for row in rows.tolist()])
        return paired_bootstrap(values)

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
        return operational_saving(spent[shared, self.at].tolist(), spent[shared, restart.at].tolist())

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
            return zero_rollback_and_success_rate(moved, false_alarm, successes.tolist())
        return zero_rollback_rate(moved, false_alarm)

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
        return attribution_scores([str(cause) for cause, _ in pairs], attributed, labels=CAUSES)

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
        return ratio_bootstrap(errors, exact) if errors.size else None

    def _errors(self, rows: Indices) -> tuple[Floats, Floats]:
        errors, exact = (self.table.column(name)[rows, self.at] for name in ("error", "exact"))
        both = ~np.isnan(errors)
        return errors[both], exact[both]

    def _raw(self, name: str) -> list[Any]:
        return self.table.raw(name, self.sound.tolist(), self.at)
