"""What one run of learning works on: the template's data, the records that it can use, and what was found so far."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aquamend.arrays import Indices
from aquamend.codec import FirstThatHolds
from aquamend.errors import BadArgument, meant
from aquamend.files import hypotheses_in, vocabulary_in
from aquamend.learning.estimates import Estimate
from aquamend.learning.past_alarms import MISSING, Faults, InvalidRecords, Record, causes_in
from aquamend.learning.readings import DIGITS, Law
from aquamend.problem.building.rules import Vocabulary, resolved
from aquamend.problem.graph import Value
from aquamend.problem.model import Hypothesis
from aquamend.text import shown

FEW = 5
"""Records below which an estimate is mostly what was thought before."""
WEAKEST, STRONGEST = 1e-6, 1e6
"""How many records the template's own numbers may be worth."""
HARDLY_TOLD = 0.6
"""Width of an interval of probability from which on the records tell next to nothing of it."""
_TABLES = ("likelihood", "gaussian", "mixture", "samples")


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

    @property
    def whole(self) -> Sequence[str]:
        """For every hypothesis, the name of the one that it is a value of; its own where it is whole."""
        return self.words.whole or self.words.names

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
            for name, value in zip(self.whole, self.words.truth[belief].tolist(), strict=True):
                several.setdefault(name, set()).add(value)
            self.spread_over[belief] = np.array([len(several[name]) > 1 for name in self.whole])
        return self.spread_over[belief]

    def warn_few(self, n: int, what: str) -> None:
        """Warn of a number that rests on few records."""
        if n < FEW:
            self.warnings.append(f"{what} rests on {n} record{'' if n == 1 else 's'}; mostly what the template said")

    def warn_wide(self, place: str, own: Estimate) -> None:
        """Warn of a probability of which the records tell next to nothing."""
        if own.high - own.low > HARDLY_TOLD:
            said = f"the records hardly tell {place}: anything from {own.low:.2g} to {own.high:.2g} fits them"
            self.warnings.append(said)


def states_of(cause: Mapping[str, Any]) -> dict[str, Any]:
    """Return the states of a cause by name, as a file has them; of one without any, itself without a name."""
    return cause.get("states") or {"": cause}


def label_of(cause: Mapping[str, Any], state: str) -> str:
    """Return what conditions and findings call a state of a cause."""
    return f"{cause['name']}={state}" if state else str(cause["name"])


def place_of(cause: int, state: str) -> str:
    """Return where in a file a state of a cause stands."""
    return f"causes[{cause}].states.{state}" if state else f"causes[{cause}]"


def work_on(
    template: Mapping[str, Any],
    records: Sequence[Record],
    strength: float,
    faults: Faults,
    *,
    law: Law = Law.AS_WRITTEN,
    intervals: bool = True,
) -> Work:
    """Return what there is to learn from: the records of which it is known what was found, and a copy of the data."""
    if not WEAKEST <= strength <= STRONGEST:
        raise BadArgument(f"strength is {strength!r}; give a number from {WEAKEST:g} to {STRONGEST:g}")
    words, hypotheses = vocabulary_in(template), hypotheses_in(template)
    data = _with_tables(_plain(template), _read_in_order)
    labelled, truth, strangers = _found(words, data, records, faults)
    work = Work(data, words, hypotheses, labelled, truth, strength, law, intervals, faults=faults)
    unlabelled = sum(record.found is None for record in records)
    if unlabelled:
        work.said.append(f"{unlabelled} of {len(records)} records have no finding; they tell of costs alone")
    if strangers:
        work.warnings.append(f"{strangers} records found more causes at once than `together` allows; they are left out")
    if not labelled:
        raise InvalidRecords(faults.source, faults.found or ["none of them tells what was found"])
    return work


def _found(
    words: Vocabulary, data: Mapping[str, Any], records: Sequence[Record], faults: Faults
) -> tuple[list[Record], Indices, int]:
    """Return the records with a finding, the hypothesis of each, and how many found what was left out."""
    whole = words.whole or words.names
    position: dict[frozenset[str], int] = {}
    for s, names in enumerate(zip(whole, words.names, strict=True)):  # of what a spread stands for, the first part
        for name in names:
            position.setdefault(causes_in(name), s)
    labels = {label_of(cause, s): str(cause["name"]) for cause in data.get("causes", ()) for s in states_of(cause)}
    kept, truth, strangers = [], [], 0
    for i, record in enumerate(records, start=1):
        parts = causes_in(record.found) if record.found is not None else frozenset()
        at = position.get(parts)
        if at is None and labels and parts and all(part in labels for part in parts):
            at = _where_all(words, parts, labels)
            strangers += at is None
        elif at is None and record.found is not None and record.found.strip().lower() not in MISSING:
            near = meant(record.found, [*whole, *labels])
            hint = f"; did you mean {near!r}?" if near else ""
            said = f"found is {shown(record.found)[:80]!r}, which the problem does not know{hint}"
            faults.add(record.place or f"record {i}", "found", said)
        if at is not None:
            kept.append(record)
            truth.append(at)
    return kept, np.array(truth, dtype=np.intp), strangers


def _where_all(words: Vocabulary, parts: frozenset[str], labels: Mapping[str, str]) -> int | None:
    """Return the first hypothesis under which exactly these causes are present; None where it was left out."""
    holds = np.ones(len(words.names), dtype=bool)
    for label, cause in labels.items():
        own = words.where(label)
        holds &= own if label in parts else ~own if cause not in {labels[p] for p in parts} else holds
    found = np.flatnonzero(holds)
    return int(found[0]) if len(found) else None


def _plain(data: Any) -> Any:
    """Return data as JSON has them, free of what reading them left behind."""
    if isinstance(data, Mapping):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in data]
    if isinstance(data, float):
        return float(data)
    return copy.copy(data)


def in_file_form(data: dict[str, Any]) -> dict[str, Any]:
    """Return data with tables of which the first rule that holds decides as a file has them."""
    return _with_tables(copy.deepcopy(data), _written_in_order)


def _read_in_order(table: Any) -> Any:
    in_order = isinstance(table, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in table)
    return InOrder(FirstThatHolds((str(rule), row) for rule, row in table)) if in_order else table


def _written_in_order(table: Any) -> Any:
    return [[rule, row] for rule, row in table.items()] if isinstance(table, InOrder) else table


def _with_tables(data: dict[str, Any], changed: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the data with every table that is learned changed in its form."""
    alarm, kernels = data.get("alarm"), data.get("kernels", {})
    alarms = [one for one in (alarm, *(data.get("alarms") or {}).values()) if one]
    places: list[tuple[Any, tuple[str, ...]]] = [(one, ("likelihood",)) for one in alarms]
    places += [(kernel, _TABLES) for kernel in kernels.values()]
    places += [(state, ("prior", "rate")) for cause in data.get("causes", ()) for state in states_of(cause).values()]
    for entry, keys in places:
        for key in keys:
            if key in entry:
                entry[key] = changed(entry[key])
    return data
