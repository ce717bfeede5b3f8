"""The records of one policy on some scenarios, and what they average to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from aquamend.analysis.record_values import Record, ScenarioKey, failed, number, scenario_of
from aquamend.analysis.references import RESTART, knows_the_truth
from aquamend.errors import InvalidRun
from aquamend.records import CAUSES, FALSE_ALARM, UNRESOLVED, Run
from aquamend.statistics import (
    AttributionScores,
    Interval,
    attribution_scores,
    operational_saving,
    paired_bootstrap,
    zero_rollback_and_success_rate,
    zero_rollback_rate,
)

GIVEN_UP = ("escalate", "last_resort")
"""The endings that hand the task over to a person, or stop it safely for one."""


@dataclass(frozen=True, eq=False)
class Cell:
    """The records of one policy; those on which it refused or broke down are not sound."""

    run: Run
    records: Sequence[Record]

    @cached_property
    def sound(self) -> list[Record]:
        """Records with numbers."""
        return [record for record in self.records if not failed(record)]

    def column(self, field: str) -> list[float]:
        """Return a number of all sound records; nothing if one of them lacks it."""
        values = [number(record, field, folder=self.run.folder) for record in self.sound]
        known = [value for value in values if value is not None]
        return known if len(known) == len(values) else []

    def mean(self, field: str) -> float | None:
        """Return the mean over the sound records; None if one of them lacks the number."""
        values = self.column(field)
        return float(sum(values)) / len(values) if values else None

    def interval(self, field: str) -> Interval | None:
        """Return a bootstrap interval of the mean."""
        values = self.column(field)
        return paired_bootstrap(values) if values else None

    def success(self) -> float | None:
        """Return the share of successes, a refusal being none."""
        values = self.column("success")
        return float(sum(values)) / len(self.records) if values or not self.sound else None

    def success_interval(self) -> Interval | None:
        """Return a bootstrap interval of the share of successes."""
        values = self.column("success")
        return paired_bootstrap([*values, *[0.0] * (len(self.records) - len(values))]) if values else None

    def spent(self) -> dict[ScenarioKey, float]:
        """Return C on each scenario: what sensing, undoing and going on cost; residual loss is not in it."""
        parts = [self.column(field) for field in ("sensing", "rollback", "continuation")]
        if not all(parts):
            return {}
        return dict(zip(map(scenario_of, self.sound), map(math.fsum, zip(*parts, strict=True)), strict=True))

    def gap(self, oracle: Cell) -> float | None:
        """Return the mean loss above the oracle's on the same scenarios."""
        mean, least = self.mean("loss"), oracle.mean("loss")
        if mean is None or least is None or {*map(scenario_of, self.sound)} != {*map(scenario_of, oracle.sound)}:
            return None
        return 0.0 if mean == least else mean - least

    def saving(self, restart: Cell) -> float | None:
        """Return Save_C against restarting on the scenarios that both have."""
        costs, whole = self.spent(), restart.spent()
        shared = [key for key in costs if key in whole]
        return operational_saving([costs[key] for key in shared], [whole[key] for key in shared])

    def zero_rollback(self, *, and_success: bool = False) -> float | None:
        """Return the share of false alarms with nothing undone; a restart undoes everything."""
        undone, successes = self.column("undone"), self.column("success")
        if not undone or (and_success and not successes):
            return None
        moved = [count + (r.get("ending") == RESTART) for count, r in zip(undone, self.sound, strict=True)]
        false_alarm = [record.get("false_alarm") for record in self.sound]
        if and_success:
            return zero_rollback_and_success_rate(moved, false_alarm, successes)
        return zero_rollback_rate(moved, false_alarm)

    def escalation_rate(self) -> float | None:
        """Return the share of records that ended by handing over or a last resort; None unless each has one ending."""
        endings = [record.get("ending") for record in self.sound]
        return sum(map(endings.count, GIVEN_UP)) / len(endings) if endings and None not in endings else None

    def over_budget_rate(self) -> float | None:
        """Return the share of records with a sensing budget that went over it; None where none has a budget."""
        known = [bool(over) for record in self.sound if (over := record.get("over_budget")) is not None]
        return sum(known) / len(known) if known else None

    def causes(self) -> int:
        """Return how many true causes occur, false alarms not counted."""
        return len({str(cause) for record in self.sound if (cause := record.get("cause"))} - {FALSE_ALARM})

    def attribution(self) -> AttributionScores | None:
        """Return how well causes were told apart; None unless each record says, and for who is told the truth."""
        pairs = [(record.get("cause"), record.get("attributed")) for record in self.sound]
        if not pairs or knows_the_truth(self.sound[0]["policy"]) or any(None in pair for pair in pairs):
            return None
        for record, pair in zip(self.sound, pairs, strict=True):
            if pair[0] not in CAUSES or pair[1] not in (*CAUSES, UNRESOLVED):
                where = f"scenario {record['scenario']}, seed {record['seed']}, {record['policy']}"
                problem = f"{where}: cause {pair[0]!r}, attributed {pair[1]!r}, not both of {', '.join(CAUSES)}"
                raise InvalidRun(self.run.folder, problem, "run the benchmark again")
        attributed = [None if said == UNRESOLVED else str(said) for _, said in pairs]
        return attribution_scores([str(cause) for cause, _ in pairs], attributed, labels=CAUSES)
