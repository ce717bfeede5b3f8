"""What one run of learning works on: the template's data, the records that it can use, and what was found so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aquamend.arrays import Indices
from aquamend.codec import FirstThatHolds
from aquamend.learning.estimates import Estimate
from aquamend.learning.past_alarms import Faults, Record
from aquamend.learning.readings import DIGITS, Law
from aquamend.problem.building.rules import Vocabulary, resolved
from aquamend.problem.graph import Value
from aquamend.problem.model import Hypothesis

FEW = 5
"""Records below which an estimate is mostly what was thought before."""


class InOrder(dict[str, Any]):
    """Rows by condition, of which the first that holds decides: what a file writes as a list of pairs."""


@dataclass(slots=True)
class Work:
    """The work in progress."""

    data: dict[str, Any]
    words: Vocabulary
    hypotheses: Sequence[Hypothesis]
    """One for each value of a spread."""
    records: list[Record]
    """Those that tell what was found."""
    truth: Indices
    """Position of what was found among the hypotheses."""
    strength: float
    law: Law
    intervals: bool = True
    """Whether intervals are asked for that take long."""
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    found: dict[str, Estimate] = field(default_factory=dict)
    before: dict[str, float] = field(default_factory=dict)
    """By place, what the template said."""
    kept: dict[str, str] = field(default_factory=dict)
    """By place, why something stays as it was."""
    after: dict[str, tuple[float, Estimate]] = field(default_factory=dict)
    """Of everything that may be found after an alarm: its share in the records, and what was learned."""
    said: list[str] = field(default_factory=list)
    """What was used of the records, and what was assumed."""
    warnings: list[str] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)
    spread_over: dict[str, Any] = field(default_factory=dict)
    """By belief, which hypotheses are values of a spread; computed once."""

    def note(self, where: str, estimate: Estimate, before: object = None) -> float:
        """Keep an estimate, and what the template said in its place; return its value as a file has it."""
        self.found[where] = estimate
        if isinstance(before, int | float) and not isinstance(before, bool):
            self.before[where] = float(before)
        return float(f"{estimate.value:.{DIGITS}g}")

    def stays(self, where: str, what: str, why: str) -> None:
        """Say that something stays as it was, and why."""
        self.kept[where] = why
        self.warnings.append(f"{what} stays as it was: {why}")

    def deciding(self, rules: Mapping[str, Any]) -> list[str | None]:
        """Return, for every hypothesis, the key that decides about it; None where none does."""
        found = resolved(FirstThatHolds(rules.items()) if isinstance(rules, InOrder) else rules, self.words)
        return [None if i < 0 else found.conditions[i] for i in found.chosen.tolist()]

    def rule_of(self, rules: Mapping[str, Any]) -> list[str | None]:
        """Return, for every record, the key that decides about what was found; None where none does."""
        deciding = self.deciding(rules)
        return [deciding[s] for s in self.truth.tolist()]

    def true_of(self, belief: str) -> list[Value | None]:
        """Return, for every record, the value that a belief truly had: as it was said, or as what was found implies."""
        implied = self.words.truth.get(belief)
        found: list[Value | None] = []
        for record, s in zip(self.records, self.truth.tolist(), strict=True):
            if belief in record.truth:
                found.append(record.truth[belief])
            elif implied is None or self.is_spread(belief, s):
                found.append(None)
            else:
                found.append(implied[s])
        return found

    def is_spread(self, belief: str, s: int) -> bool:
        """Whether a hypothesis stands for one of several values of a belief, so that it does not say which is true."""
        return belief in self.words.truth and bool(self._spreads(belief)[s])

    def _spreads(self, belief: str) -> Any:
        """Return, for every hypothesis, whether others that stand for the same one give a belief another value."""
        if belief not in self.spread_over:
            several: dict[str, set[Value | None]] = {}
            whole = self.words.whole or self.words.names
            for name, value in zip(whole, self.words.truth[belief].tolist(), strict=True):
                several.setdefault(name, set()).add(value)
            self.spread_over[belief] = np.array([len(several[name]) > 1 for name in whole])
        return self.spread_over[belief]

    def warn_few(self, n: int, what: str) -> None:
        """Warn of a number that rests on few records."""
        if n < FEW:
            self.warnings.append(f"{what} rests on {n} record{'' if n == 1 else 's'}; mostly what the template said")
