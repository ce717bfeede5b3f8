"""Causes in a file, and tables given by rules: expanded to one entry for every hypothesis before they are judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from aquamend.errors import Fault, InvalidProblem, UnknownCondition
from aquamend.graph import Belief
from aquamend.model import Cause, Hypothesis, Kernel
from aquamend.model.kernels.kernel import row_name_faults
from aquamend.modelling.root_causes import CauseState, Effect, Generated, RootCause, generated
from aquamend.modelling.rules import DEFAULT, Vocabulary
from aquamend.modelling.tables import exceptions, names_where, table, vocabulary_of
from aquamend.problem_file.plain_data import readable
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
    for key in ("together", "effects"):
        if key in top.given and "causes" not in top.given:
            report.add(key, "there are no causes", "list causes, or remove the key")


def read_causes(
    top: Entry, beliefs: Sequence[Belief], report: FaultReport, incomplete: frozenset[str]
) -> Generated | None:
    """Return the joint hypotheses of a file's causes; None, and the faults told, where they cannot be made."""
    before = report.count
    causes = [_cause(entry, f"causes[{i}]", report) for i, entry in enumerate(top.values.get("causes", ()))]
    effects = [
        Effect(e.values["when"], tuple(e.values.get("failed", ())), readable(e.values.get("truth", {})))
        for e in top.values.get("effects", ())
    ]
    if "beliefs" not in incomplete:
        report.judge(_references(causes, effects, beliefs))
    if report.count != before or top.broken & {"causes", "together", "effects"} or "beliefs" in incomplete:
        return None
    try:
        return generated(causes, beliefs, together=top.values.get("together"), effects=effects)
    except InvalidProblem as error:
        report.judge(error.faults)
        return None


def _cause(entry: Entry, where: str, report: FaultReport) -> RootCause:
    values, kind = entry.values, Cause(entry.values.get("kind", Cause.UNKNOWN))
    if "states" in entry.given:
        for key in ("prior", "failed", "truth"):
            if key in entry.given:
                report.add(f"{where}.{key}", "the cause has states too", "say it of each state")
        states = {name: _state(state.values) for name, state in values.get("states", {}).items() if state is not None}
        return RootCause(values["name"], states, kind)
    if "prior" not in entry.given:
        report.add(f"{where}.prior", "it is missing", "add the key 'prior', or 'states'")
    return RootCause(values["name"], {"": _state(values)}, kind)


def _state(values: Mapping[str, Any]) -> CauseState:
    prior = values.get("prior", 0.0)
    given = readable(prior) if isinstance(prior, Mapping) else prior
    return CauseState(given, tuple(values.get("failed", ())), readable(values.get("truth", {})))


def _references(causes: Sequence[RootCause], effects: Sequence[Effect], beliefs: Sequence[Belief]) -> Iterator[Fault]:
    known = {belief.name: belief for belief in beliefs}
    said: list[tuple[str, CauseState | Effect]] = [(f"effects[{i}]", effect) for i, effect in enumerate(effects)]
    for c, cause in enumerate(causes):
        said += [(f"causes[{c}].states.{s}" if s else f"causes[{c}]", state) for s, state in cause.states.items()]
    for where, spec in said:
        for j, name in enumerate(spec.failed):
            at = f"{where}.failed[{j}]"
            if name not in known:
                yield Fault(at, f"{name!r} is not a belief", "rename or remove it", name, known)
            elif known[name].declared is not None:
                remedy = f"give {name!r} in truth instead, with what would be true"
                yield Fault(at, f"{name!r} declares a value, so whether it failed follows from what is true", remedy)
        for name in spec.truth:
            at = place(f"{where}.truth", name)
            if name not in known:
                yield Fault(at, f"{name!r} is not a belief", "rename or remove it", name, known)
            elif known[name].declared is None:
                remedy = "give the belief what is declared, or name it in failed instead"
                yield Fault(at, f"{name!r} declares no value to compare with", remedy)


@dataclass(frozen=True, eq=False)
class Tables:
    """Expands what a file gives by rules; what it gives for each hypothesis by name is left as it is."""

    vocabulary: Vocabulary
    report: FaultReport
    by_rules: bool
    """Whether rules may be given at all: the format has them, and the hypotheses are known."""
    from_causes: bool
    complete: bool

    @classmethod
    def of(
        cls,
        words: Vocabulary | None,
        hypotheses: Sequence[Hypothesis],
        beliefs: Sequence[Belief],
        report: FaultReport,
        *,
        complete: bool,
    ) -> Tables:
        """Return the tables of the hypotheses that a file lists, or that follow from its causes."""
        by_rules = complete and report.version >= PROBLEM["causes"].since
        distinct = len({h.name for h in hypotheses}) == len(hypotheses)
        vocabulary = words or vocabulary_of(hypotheses, beliefs if by_rules else ())
        return cls(vocabulary, report, by_rules and distinct, words is not None, complete)

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
        if not any(self._are_rules(rows) for rows in found.values()):
            return given
        conditions = list(dict.fromkeys(name for rows in found.values() for name in rows))
        unread = any(row is None for rows in found.values() for row in rows.values())
        faults: list[Fault] = []
        if not unread and all(key in given for key in list(kind.keys)[: kind.required]):
            faults = list(kind.from_data(**given).faults(where, conditions))
        for key, rows in found.items():
            if not faults and not unread:
                try:
                    given = {**given, key: table(rows, self.vocabulary, where=place(where, key))}
                except InvalidProblem as error:
                    faults = list(error.faults)
        self.report.judge(faults)
        # What cannot be expanded cannot be judged hypothesis by hypothesis: it counts as unread.
        blank = {key: dict.fromkeys(self.names) for key in found}
        return {**given, **blank} if faults or unread else given


def _loss_faults(where: str, given: Mapping[str, Any], names: Sequence[str]) -> Iterator[Fault]:
    own = [name for name in given if name != DEFAULT or name in names]
    wanted = [name for name in names if name in given] if DEFAULT in given else names
    for fault in row_name_faults(where, own, wanted):
        yield replace(fault, remedy=f"{fault.remedy}, or a default") if fault.where == where else fault
