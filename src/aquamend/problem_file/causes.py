"""Causes in a file, and tables given by rules: expanded to one entry for every hypothesis before they are judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from aquamend.errors import Fault, InvalidProblem, UnknownCondition
from aquamend.graph import Belief, Value
from aquamend.model import Cause, Hypothesis, Kernel, Normal, OneOf, Spread, Uniform, ValueOf
from aquamend.model.kernels.kernel import row_name_faults
from aquamend.model.validation import hypothesis_faults, truth_faults
from aquamend.modelling.following import following, follows, mean_faults, standing_in, value_table
from aquamend.modelling.root_causes import CauseState, Generated, RootCause, Truth, generated
from aquamend.modelling.rules import DEFAULT, Vocabulary
from aquamend.modelling.tables import exceptions, names_where, table
from aquamend.modelling.truths import Effect, Expanded, expanded, has_spread
from aquamend.problem_file.plain_data import WrittenFloat, readable
from aquamend.problem_file.report import FaultReport, place
from aquamend.problem_file.schema import PROBLEM, Entry

T = TypeVar("T")


def require_hypotheses(top: Entry, report: FaultReport) -> None:
    """Report a file that says nothing of what may be the case, or says it twice."""
    both = [key for key in ("hypotheses", "causes") if key in top.given]
    if not both:
        known = [key for key in ("hypotheses", "causes") if PROBLEM[key].since <= report.version]
        report.add("hypotheses", "it is missing", f"add the key {' or '.join(map(repr, known))}")
        top.broken |= {"hypotheses"}
    elif len(both) == 2:
        report.add("causes", "there are hypotheses too", "keep one of the two: hypotheses follow from causes")
    if "together" in top.given and "causes" not in top.given:
        report.add("together", "there are no causes", "list causes, or remove the key")


def read_causes(
    top: Entry, beliefs: Sequence[Belief], report: FaultReport, incomplete: frozenset[str]
) -> Generated | None:
    """Return the joint hypotheses of a file's causes; None, and the faults told, where they cannot be made."""
    before = report.count
    known = {belief.name: belief for belief in beliefs}
    causes = [_cause(entry, f"causes[{i}]", known, report) for i, entry in enumerate(top.values.get("causes", ()))]
    effects = read_effects(top, known, report)
    if "beliefs" not in incomplete:
        report.judge(_references(causes, effects, known))
    if report.count != before or top.broken & {"causes", "together", "effects"} or "beliefs" in incomplete:
        return None
    try:
        return generated(causes, beliefs, together=top.values.get("together"), effects=effects)
    except InvalidProblem as error:
        report.judge(error.faults)
        return None


def read_effects(top: Entry, known: Mapping[str, Belief], report: FaultReport) -> list[Effect]:
    """Return what the file says in effects."""
    return [
        Effect(e.values["when"], tuple(e.values.get("failed", ())), truth_of(e, f"effects[{i}]", known, report))
        for i, e in enumerate(top.values.get("effects", ()))
    ]


def read_hypotheses(
    hypotheses: Sequence[Hypothesis],
    top: Entry,
    beliefs: Sequence[Belief],
    report: FaultReport,
    incomplete: frozenset[str],
) -> Expanded | None:
    """Return all that the listed hypotheses stand for; None, and the faults told, where that cannot be made."""
    known, before = {belief.name: belief for belief in beliefs}, report.count
    effects = read_effects(top, known, report)
    if incomplete or "effects" in top.broken:
        return None
    if effects or any(map(has_spread, hypotheses)):  # in what they are expanded to, places would be other ones
        report.judge(hypothesis_faults(hypotheses))
        for i, hypothesis in enumerate(hypotheses):
            report.judge(truth_faults(f"hypotheses[{i}]", hypothesis.failed, hypothesis.truth, known))
        report.judge(_references((), effects, known))
    if report.count != before:
        return None
    try:
        return expanded(hypotheses, beliefs, effects)
    except InvalidProblem as error:
        report.judge(error.faults)
        return None


def truth_of(entry: Entry, where: str, known: Mapping[str, Belief], report: FaultReport) -> dict[str, Truth]:
    """Return what an entry gives as true: numbers and text as their beliefs declare them, and spreads."""
    found: dict[str, Truth] = {}
    for name, given in readable(entry.values.get("truth", {})).items():
        declared = known[name].declared if name in known else None
        at = place(f"{where}.truth", name)
        value = _spread(given, at, declared, report) if isinstance(given, Entry) else _typed(given, declared)
        if value is not None:
            found[name] = value
    return found


def _typed(given: str | WrittenFloat, declared: Value | None) -> Value:
    """Return a value of the kind that is declared, as far as it is one."""
    if isinstance(given, str):
        return given
    return given.text if isinstance(declared, str) else float(given)


def _spread(entry: Entry, where: str, declared: Value | None, report: FaultReport) -> Spread | None:
    values, kinds = entry.values, [key for key in ("normal", "uniform", "values") if key in entry.given]
    if len(kinds) != 1:
        said = f"it has {' and '.join(kinds)}" if kinds else "it does not say what may be true"
        report.add(where, said, "give one of normal: [mean, sd], uniform: [low, high], values: [...]")
        return None
    (kind,) = kinds
    if "step" in entry.given and kind == "values":
        report.add(f"{where}.step", "listed values have no step", "remove it")
    if entry.broken:
        return None
    if kind == "values":
        return _one_of(values["values"], f"{where}.values", declared, report)
    if len(values[kind]) != 2:
        two = "[mean, sd]" if kind == "normal" else "[low, high]"
        report.add(f"{where}.{kind}", f"{list(values[kind])!r} has {len(values[kind])} numbers", f"give {two}")
        return None
    first, second = values[kind]
    return (Normal if kind == "normal" else Uniform)(first, second, values.get("step"))


def _one_of(given: Any, where: str, declared: Value | None, report: FaultReport) -> OneOf | None:
    if not isinstance(given, Mapping):
        return OneOf(tuple(_typed(value, declared) for value in given))
    if isinstance(declared, str):
        return OneOf(tuple(given), tuple(given.values()))
    numbers = {}
    for key, weight in given.items():  # in JSON, the keys of a mapping are text
        try:
            numbers[float(key)] = weight
        except ValueError:
            report.add(place(where, key), f"{key!r} is not a number", "give numbers, as the belief declares one")
            return None
    return OneOf(tuple(numbers), tuple(numbers.values()))


def _cause(entry: Entry, where: str, known: Mapping[str, Belief], report: FaultReport) -> RootCause:
    values, kind = entry.values, Cause(entry.values.get("kind", Cause.UNKNOWN))
    if "states" in entry.given:
        for key in ("prior", "failed", "truth"):
            if key in entry.given:
                report.add(f"{where}.{key}", "the cause has states too", "say it of each state")
        states = {
            name: _state(state, f"{where}.states.{name}", known, report)
            for name, state in values.get("states", {}).items()
            if state is not None
        }
        return RootCause(values["name"], states, kind)
    if "prior" not in entry.given:
        report.add(f"{where}.prior", "it is missing", "add the key 'prior', or 'states'")
    return RootCause(values["name"], {"": _state(entry, where, known, report)}, kind)


def _state(entry: Entry, where: str, known: Mapping[str, Belief], report: FaultReport) -> CauseState:
    prior = entry.values.get("prior", 0.0)
    given = readable(prior) if isinstance(prior, Mapping) else prior
    return CauseState(given, tuple(entry.values.get("failed", ())), truth_of(entry, where, known, report))


def _references(causes: Sequence[RootCause], effects: Sequence[Effect], known: Mapping[str, Belief]) -> Iterator[Fault]:
    said: list[tuple[str, CauseState | Effect]] = [(f"effects[{i}]", effect) for i, effect in enumerate(effects)]
    for c, cause in enumerate(causes):
        said += [(f"causes[{c}].states.{s}" if s else f"causes[{c}]", state) for s, state in cause.states.items()]
    for where, spec in said:
        yield from truth_faults(where, spec.failed, spec.truth, known)


@dataclass(frozen=True, eq=False)
class Tables:
    """Expands what a file gives by rules; what it gives for each hypothesis by name is left as it is."""

    vocabulary: Vocabulary
    report: FaultReport
    by_rules: bool
    """Whether rules may be given at all: the format has them, and the hypotheses are known."""
    from_causes: bool
    complete: bool
    beliefs: Mapping[str, Belief]
    widths: Mapping[str, NDArray[np.float64]]
    """How wide a range the values of spreads stand for (`Expanded.widths`)."""

    @classmethod
    def of(
        cls,
        made: Expanded | None,
        hypotheses: Sequence[Hypothesis],
        beliefs: Sequence[Belief],
        report: FaultReport,
        *,
        complete: bool,
    ) -> Tables:
        """Return the tables of the hypotheses that a file lists, or that follow from its causes."""
        by_rules = complete and made is not None and report.version >= PROBLEM["causes"].since
        distinct = len({h.name for h in hypotheses}) == len(hypotheses)
        vocabulary = Vocabulary([h.name for h in hypotheses], {}, listed=True) if made is None else made.vocabulary
        known = {belief.name: belief for belief in beliefs}
        return cls(
            vocabulary, report, by_rules and distinct, not vocabulary.listed, complete, known,
            {} if made is None else made.widths,
        )  # fmt: skip

    @property
    def names(self) -> Sequence[str]:
        """The names of the hypotheses."""
        return self.vocabulary.names

    def _are_rules(self, given: Mapping[str, Any]) -> bool:
        """Whether some key is a condition rather than the name of a hypothesis."""
        if not self.by_rules:
            return False
        return self.from_causes or any(self._is_condition(key) for key in given)

    def _is_condition(self, key: str) -> bool:
        if key in self._known:
            return False
        try:
            self.vocabulary.where(key)
        except UnknownCondition:
            return "&" in key or "|" in key
        return True

    @cached_property
    def _known(self) -> set[str]:
        return set(self.names)

    def table(self, given: Mapping[str, T], where: str, *, instead: T) -> dict[str, T]:
        """Return an entry for every hypothesis; where the rules are faulty, ``instead`` for each."""
        if not self._are_rules(given):
            return dict(given)
        try:
            return table(given, self.vocabulary, where=where)
        except InvalidProblem as error:
            self.report.judge(error.faults)
            return dict.fromkeys(self.names, instead)

    def exceptions(self, given: Mapping[str, float], where: str) -> dict[str, float]:
        """Return the entries of hypotheses that have one of their own, and the default."""
        if not self._are_rules({key: value for key, value in given.items() if key != DEFAULT}):
            return dict(given)
        try:
            return exceptions(given, self.vocabulary, where=where)
        except InvalidProblem as error:
            self.report.judge(error.faults)
            return {}

    def losses(self, given: float | Mapping[str, float | None], where: str) -> list[float]:
        """Return the loss of a plan under every hypothesis."""
        if not isinstance(given, Mapping):
            return [given] * len(self.names)
        rows = {name: 0.0 if value is None else value for name, value in given.items()}
        if self._are_rules({key: value for key, value in rows.items() if key != DEFAULT}):
            rows = self.table(rows, where, instead=0.0)
        elif self.complete:
            self.report.judge(_loss_faults(where, rows, self.names))
        return [rows.get(name, rows.get(DEFAULT, 0.0)) for name in self.names]

    def names_where(self, given: Sequence[str]) -> tuple[str, ...]:
        """Return the hypotheses under which any of the conditions holds; what is no condition stays as it is."""
        if not self.by_rules or not (self.from_causes or any(self._is_condition(one) for one in given)):
            return tuple(given)
        sound, unknown = [], []
        for one in given:
            try:
                self.vocabulary.where(one)
                sound.append(one)
            except UnknownCondition:
                unknown.append(one)
        return (*names_where(sound, self.vocabulary), *unknown)

    def rows(self, kind: type[Kernel], given: dict[str, Any], where: str) -> dict[str, Any]:
        """Return what stands behind a kernel's keys, with its rows for every hypothesis."""
        found = {key: value for key, value in given.items() if isinstance(value, Mapping)}
        if kind is ValueOf:
            return self._answers(given, where)
        following_ = any(follows(row) for rows in found.values() for row in rows.values())
        if following_ and not self._sound_means(found, where):
            return {**given, **{key: dict.fromkeys(self.names) for key in found}}
        if not any(self._are_rules(rows) for rows in found.values()):
            return self._followed(given, where) if following_ else given
        conditions = list(dict.fromkeys(name for rows in found.values() for name in rows))
        unread = any(row is None for rows in found.values() for row in rows.values())
        faults: list[Fault] = []
        if not unread and all(key in given for key in list(kind.keys)[: kind.required]):
            plain = {key: dict(zip(rows, map(standing_in, rows.values()), strict=True)) for key, rows in found.items()}
            faults = list(kind.from_data(**{**given, **plain}).faults(where, conditions))
        for key, rows in found.items():
            if not faults and not unread:
                try:
                    given = {**given, key: table(rows, self.vocabulary, where=place(where, key))}
                except InvalidProblem as error:
                    faults = list(error.faults)
        self.report.judge(faults)
        # What cannot be expanded cannot be judged hypothesis by hypothesis: it counts as unread.
        blank = {key: dict.fromkeys(self.names) for key in found}
        return {**given, **blank} if faults or unread else self._followed(given, where)

    def _sound_means(self, found: Mapping[str, Mapping[str, Any]], where: str) -> bool:
        """Whether every mean that follows something follows a belief with a number; the faults are told."""
        before = self.report.count
        for key, rows in found.items():
            for name, row in rows.items():
                self.report.judge(mean_faults(place(place(where, key), name), row, self.beliefs))
        return self.report.count == before and self.by_rules

    def _followed(self, given: dict[str, Any], where: str) -> dict[str, Any]:
        """Return a kernel's rows with numbers for the means that follow a belief."""
        found = dict(given)
        for key, rows in given.items():
            if isinstance(rows, Mapping):
                truth = self.vocabulary.truth
                found[key], faults = following(rows, self.names, truth, self.widths, place(where, key))
                self.report.judge(faults)
                if faults:
                    found[key] = dict.fromkeys(self.names)
        return found

    def _answers(self, given: dict[str, Any], where: str) -> dict[str, Any]:
        """Return outcomes and rows of a probe that answers with a belief's value; nothing where it cannot."""
        if any(key not in given for key in ("of", "right")):
            return {}
        name = given["of"]
        belief = self.beliefs.get(name)
        kernel = ValueOf.from_data(**given)
        faults = list(kernel.faults(where, ()))
        if belief is None:
            faults.append(
                Fault(f"{where}.of", f"{given['of']!r} is not a belief", "rename it", given["of"], self.beliefs)
            )
        elif belief.declared is None:
            said = f"{name!r} declares no value that a probe could answer"
            faults.append(Fault(f"{where}.of", said, "give the belief what is declared, or list outcomes"))
        self.report.judge(faults)
        if faults or belief is None or not self.by_rules:
            return {}
        own = readable(given.get("likelihood", {}))
        own = self.exceptions(own, place(where, "likelihood")) if own else {}
        table = value_table(replace(kernel, declared=belief.declared), self.names, self.vocabulary.truth, own)
        return table.to_data(self.names)


def _loss_faults(where: str, given: Mapping[str, Any], names: Sequence[str]) -> Iterator[Fault]:
    own = [name for name in given if name != DEFAULT or name in names]
    wanted = [name for name in names if name in given] if DEFAULT in given else names
    for fault in row_name_faults(where, own, wanted):
        yield replace(fault, remedy=f"{fault.remedy}, or a default") if fault.where == where else fault
