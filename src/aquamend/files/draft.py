"""What could be read of a problem: made into the problem, or judged as far as it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from aquamend.codec import UNREAD, FaultReport, key_of, place
from aquamend.codec.forms import number_in
from aquamend.codec.plain_data import WrittenFloat
from aquamend.errors import Fault, InvalidProblem
from aquamend.files.format import ProblemFile, Restarting, TimedAction, Written, WrittenCause, WrittenPlan, sections
from aquamend.problem import RESTART, Ages, Plan, Problem
from aquamend.problem.building.compensations import Compensation, with_compensations
from aquamend.problem.building.persistence import with_persistent_errors
from aquamend.problem.building.root_causes import CauseState, RootCause, Truth, generated, may_have_come
from aquamend.problem.building.rule_tables import Tables, expanded_or_faults, standing_in
from aquamend.problem.building.rules import Vocabulary
from aquamend.problem.building.truths import Effect, Expanded, expanded, holds_spread
from aquamend.problem.graph import Action, Operation, Probe, RecoveryGraph, Value
from aquamend.problem.graph.nodes import graph_faults
from aquamend.problem.model import Alarm, Declaration, Discrete, Gaussian, Hypothesis, JointModel, Kernel, OneOf
from aquamend.problem.model.coverage import coverage_faults
from aquamend.problem.model.joint_model import Grown, model_faults, names_of, reference_faults
from aquamend.problem.model.kernels import rows_of, with_rows
from aquamend.problem.problem import plan_faults, terminal_faults

T = TypeVar("T")
Stating = TypeVar("Stating", Hypothesis, Effect)
_NAMED = ("beliefs", "actions", "operations", "probes", "hypotheses", "kernels")
"""Sections that give names to others."""
_ANY_KERNEL: Kernel = Gaussian({})


@dataclass(frozen=True, slots=True)
class AgeingFile:
    """A file with causes that come at a rate: its problem at any other time."""

    file: ProblemFile
    ages: Ages
    """Those of the problem made of it last."""

    @property
    def overtaken(self) -> dict[str, float]:
        """How old each belief is that a cause with a rate makes wrong by itself."""
        causes = self.file.causes or ()
        states = [state for cause in causes for state in ((cause.states or {}).values() or (cause,))]
        names = dict.fromkeys(b for state in states if state.rate is not None for b in (*state.failed, *state.truth))
        return {belief: age for belief in names if (age := self.ages.of(belief)) is not None}

    @property
    def at_rest(self) -> tuple[str, ...]:
        """The causes with a rate that cannot have come at these ages."""
        causes = Draft(self.file, FaultReport(), self.ages, lenient=True).causes or ()
        timed = [cause for cause in causes if cause.comes_at_a_rate]
        return tuple(cause.name for cause in timed if not may_have_come(cause, self.ages))

    def problem(self, ages: Ages) -> Problem:
        """Return the problem once beliefs are so old; those of which nothing is said are as old as the file says."""
        report = FaultReport()
        draft = Draft(self.file, report, self.ages.but(ages), lenient=True)
        if report.count:
            raise report.error(sections())
        return draft.problem()


class Draft:
    """A problem as far as it could be read; what stands in for an unreadable value breaks no rule.

    Whatever is wrong with it is reported while it is made, or by `faults`.
    """

    def __init__(
        self, file: ProblemFile, report: FaultReport, ages: Ages | None = None, *, lenient: bool = False
    ) -> None:
        self.report, self.known = report, {belief.name: belief for belief in file.beliefs}
        self.file, self.delay = file, file.delay
        report.judge(_age_faults(file, ages or Ages()))
        self.ages = Ages(0.0) if report.faulty("age") else Ages.from_any(file.age).but(ages or Ages())
        report.judge(_contradictions(file, report))
        self.causes = None if file.causes is None else self._causes(file.causes)
        self.written = self._all_typed(file.hypotheses or (), "hypotheses")
        self.effects = self._all_typed(file.effects, "effects")
        self.left_out = 0.0
        made = self._made()
        if made is not None and lenient:
            made = replace(made, vocabulary=replace(made.vocabulary, lenient=True))
        self.tables = None if made is None else Tables(made, self.known)
        self.hypotheses: Sequence[Hypothesis] = self.written if made is None else made.hypotheses
        self.names = names_of(self.hypotheses)
        self.kernels = {name: self._kernel(name, kernel) for name, kernel in file.kernels.items()}
        self.alarm = file.alarm and self._alarm(file.alarm, "alarm")
        entry: Mapping[str, Any] = file.alarms
        self.alarms = {n: self._alarm(a, place("alarms", n)) for n, a in entry.items() if a is not UNREAD}
        self.declarations = [self._declaration(i, one) for i, one in enumerate(file.declarations)]
        self.plans = [self._plan(plan, plan.name, f"plans[{i}]") for i, plan in enumerate(file.plans)]
        self.restart = (
            self._plan(file.restart, RESTART, "restart") if isinstance(file.restart, Restarting) else file.restart
        )

    def _lacks(self, *places: str) -> bool:
        """Whether something could not be read at one of these places; where nothing is wrong, nobody has to look."""
        return self.report.count > 0 and self.report.lacks(*places)

    # What is true, and under which hypotheses

    def _all_typed(self, entries: Sequence[Stating], section: str) -> list[Stating]:
        """Return the hypotheses, or effects, of a section with what they give as true as the beliefs declare it."""
        return [
            replace(entry, truth=self._typed(entry.truth, f"{section}[{i}].truth")) if entry.truth else entry
            for i, entry in enumerate(entries)
        ]

    def _typed(self, truth: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return what is given as true: as text or numbers, as the beliefs declare them."""
        found: dict[str, Truth] = {}
        for name, entry in truth.items():
            declared = self.known[name].declared if name in self.known else None
            if isinstance(entry, OneOf) and isinstance(entry.values, Mapping):
                weights = {_typed(value, declared): weight for value, weight in entry.values.items()}
                if len(weights) < len(entry.values):
                    at = f"{place(where, name)}.values"
                    self.report.judge([Fault(at, "it gives a number more than once", "give every value once")])
                entry = OneOf(weights)
            elif isinstance(entry, OneOf):
                entry = OneOf(tuple(_typed(value, declared) for value in entry.values))
            if entry is not UNREAD:
                found[name] = _typed(entry, declared) if isinstance(entry, str | float) else entry
        return found

    def _causes(self, causes: Sequence[WrittenCause]) -> list[RootCause]:
        found = []
        for i, cause in enumerate(causes):
            states: Mapping[str, Any] | None = cause.states
            if states is None:
                states = {"": CauseState(cause.prior, cause.failed, cause.truth, cause.rate)}
            typed = {}
            for name, state in states.items():
                at = f"causes[{i}].states.{name}.truth" if name else f"causes[{i}].truth"
                if state is not UNREAD:
                    typed[name] = replace(state, truth=self._typed(state.truth, at))
            found.append(RootCause(cause.name, typed, cause.kind))
        return found

    def _made(self) -> Expanded | None:
        """Return all that the hypotheses stand for, or that follows from the causes; None where it cannot be made."""
        beliefs, lacks = self.file.beliefs, self._lacks
        if lacks("beliefs", *(f"beliefs[{i}].declared" for i in range(len(beliefs)))) or self.report.faulty("effects"):
            return None
        try:
            if self.causes is not None:
                if self.report.faulty("causes", "together", "hypotheses"):
                    return None
                together, effects = self.file.together, self.effects
                found = generated(self.causes, beliefs, together=together, effects=effects, ages=self.ages)
                self.left_out = found.left_out
                return found.made
            if lacks("hypotheses") or self._lacks_priors:
                return None
            if self.effects or holds_spread(self.written):  # in what is made of them, places would be others
                return expanded_or_faults(self.written, beliefs, self.effects)
            return expanded(self.written, beliefs)
        except InvalidProblem as error:
            self.report.judge(error.faults)
            return None

    @cached_property
    def _lacks_priors(self) -> bool:
        return self._lacks(*(f"hypotheses[{i}].prior" for i in range(len(self.written) if self.report.count else 0)))

    @property
    def vocabulary(self) -> Vocabulary:
        """What conditions in this file may speak of."""
        return self.tables.made.vocabulary if self.tables else Vocabulary(self.names, {}, listed=True)

    # Tables: what is said of every hypothesis

    def _tabled(self, make: Callable[[Tables], T], instead: T) -> T:
        """Return what is made by the tables; ``instead``, and the faults reported, where it cannot be."""
        if self.tables is None:
            return instead
        try:
            return make(self.tables)
        except InvalidProblem as error:
            self.report.judge(error.faults)
            return instead

    def _kernel(self, probe: str, kernel: Any) -> Kernel | None:
        """Return a kernel with its rows for every hypothesis; None where that cannot be."""
        where = place("kernels", probe)
        if kernel is UNREAD or self._lacks(f"{where}.{key_of(type(kernel), kernel.table)}"):
            return None
        rows = rows_of(kernel)
        if any(row is UNREAD for row in rows.values()) or self._lacks(f"{where}.outcomes"):
            by_name = self.tables is None or not self.tables.are_rules(rows)
            return kernel if by_name and kernel.table in vars(kernel) else None
        return self._tabled(lambda tables: tables.kernel(kernel, where), None if self.tables else kernel)

    def _alarm(self, alarm: Alarm, where: str) -> Alarm:
        certain: Mapping[str, float] = dict.fromkeys(self.names, 1.0)
        if self._lacks(f"{where}.likelihood", f"{where}.noisy_or"):
            alarm = replace(alarm, likelihood=certain, noisy_or=None)
        if self._lacks(f"{where}.again"):
            alarm = replace(alarm, again=certain)
        instead = replace(alarm, likelihood=certain, noisy_or=None, again=None)
        return self._tabled(lambda tables: tables.alarm(alarm, where), instead)

    def _declaration(self, i: int, entry: Declaration) -> Declaration:
        belief, where = self.known.get(entry.belief), f"declarations[{i}]"
        value, invalid_in = entry.value, entry.invalid_in
        if isinstance(value, WrittenFloat):
            value = _typed(value, belief.declared if belief else None)
        if invalid_in is not None and self.tables is not None:
            invalid_in = self.tables.names_where(invalid_in)
        # A version that could not be read is taken for one that nobody else has.
        version = -1 - i if self._lacks(f"{where}.version") else entry.version
        same = value is entry.value and (invalid_in, version) == (entry.invalid_in, entry.version)
        return entry if same else replace(entry, value=value, invalid_in=invalid_in, version=version)

    def _plan(self, entry: Restarting, name: str, where: str) -> Plan:
        nothing = [0.0] * len(self.names)
        losses = nothing
        if not self._lacks(f"{where}.loss"):
            losses = self._tabled(lambda tables: tables.losses(entry.loss, f"{where}.loss"), nothing)
        late = np.array([self._late(loss, entry.takes) for loss in losses], dtype=float)
        last = isinstance(entry, WrittenPlan) and entry.last_resort
        return Plan(name, late, tuple(entry.correct), tuple(entry.undo), last_resort=last)

    # What takes time

    def _late(self, cost: float, takes: float) -> float:
        """Return a cost with that of the time it takes; 0 · ∞ = 0."""
        return cost + self.delay * takes if self.delay and takes else cost

    @cached_property
    def actions(self) -> list[Action]:
        """The actions, with what their time costs."""
        return [self._action(i, action) for i, action in enumerate(self.file.actions)]

    def _action(self, i: int, entry: TimedAction) -> Action:
        undo, lacks = entry.undo, self._lacks
        if undo is None and not entry.operations and lacks(f"actions[{i}].operations"):
            undo = 0.0  # unreadable operations still say what undoing costs
        return _as(
            Action,
            entry,
            undo=None if undo is None else self._late(undo, entry.takes),
            redo=self._late(entry.redo, entry.redo_takes),
            reversible=entry.reversible and not lacks(f"actions[{i}].reversible"),
            sets=self._typed(entry.sets, f"actions[{i}].sets"),
        )

    @cached_property
    def probes(self) -> list[Probe]:
        """The probes, likewise."""
        return [_as(Probe, probe, cost=self._late(probe.cost, probe.takes)) for probe in self.file.probes]

    @cached_property
    def operations(self) -> list[Operation]:
        """The operations, likewise."""
        return [_as(Operation, one, cost=self._late(one.cost, one.takes)) for one in self.file.operations]

    # The problem, or what is wrong with it

    def problem(self) -> Problem:
        """Return the problem; ``InvalidProblem`` with the faults of the part that was built first."""
        file = self.file
        kernels = {probe: kernel for probe, kernel in self.kernels.items() if kernel is not None}
        grown: tuple[Grown, ...] = self.tables.made.grown(len(self.causes or ())) if self.tables else ()
        problem = Problem(
            graph=RecoveryGraph(file.beliefs, self.actions, self.probes, file.edges, self.operations),
            model=JointModel(
                *(self.hypotheses, kernels, self.alarm, self.declarations, self.left_out, grown), self.alarms
            ),
            restart=self.restart,
            plans=self.plans,
            **{key: getattr(file, key) for key in ("sensing_budget", "escalate", "corrections", "coverage")},
            ageing=AgeingFile(file, self.ages) if any(c.comes_at_a_rate for c in self.causes or ()) else None,
            name=file.name,
            unit=file.unit,
        )
        if file.compensations:
            late = [_as(Compensation, one, cost=self._late(one.cost, one.takes)) for one in file.compensations]
            problem = with_compensations(problem, late)
        problem = with_persistent_errors(problem, {p.name: p.persistent for p in file.probes if p.persistent})
        return Written.of(self._typed_file, problem)

    @cached_property
    def _typed_file(self) -> ProblemFile:
        """The file with its values as text or numbers, as the beliefs declare them."""
        stated = self.declarations
        file = replace(
            self.file,
            actions=tuple(
                replace(a, sets=own.sets) if a.sets else a
                for a, own in zip(self.file.actions, self.actions, strict=True)
            ),
            age=self.ages.of_all([belief.name for belief in self.file.beliefs]),
            effects=tuple(self.effects),
            declarations=tuple(
                d if d is s else replace(d, value=s.value) for d, s in zip(self.file.declarations, stated, strict=True)
            ),
        )
        if self.causes is None:
            return replace(file, hypotheses=tuple(self.written))
        causes = zip(self.file.causes or (), self.causes, strict=True)
        return replace(file, causes=tuple(_typed_cause(cause, typed.states) for cause, typed in causes))

    def faults(self) -> Iterator[Fault]:
        """Yield every fault of the graph, the model, and what they say of each other.

        A name that stands nowhere is no fault while it may be one of those that could not be read.
        """
        lacking = {section for section in _NAMED if self._lacks(section)}
        if self._lacks(*(f"actions[{i}].status" for i in range(len(self.actions)))):
            lacking.add("actions")
        if self.tables is None:
            lacking.add("hypotheses")
        for fault in self._judged(all_names="hypotheses" not in lacking):
            if not lacking.intersection(fault.sections):
                yield fault

    def _judged(self, *, all_names: bool) -> Iterator[Fault]:
        file, alarm, alarms = self.file, self.alarm, self.alarms
        yield from graph_faults(file.beliefs, self.actions, self.probes, file.edges, self.operations)
        if not all_names:
            alarm, alarms = alarm and self._possible(alarm), {n: self._possible(one) for n, one in alarms.items()}
        # Of hypotheses that could not all be read, neither their number nor their sum is known.
        unsure = self._lacks_priors or self._lacks("hypotheses") or (self.causes is not None and not all_names)
        for fault in model_faults(self.hypotheses, {}, alarm, self.declarations, alarms):
            if fault.where != "hypotheses" or not unsure:
                yield fault
        for probe, kernel in self.kernels.items():
            if kernel is not None:
                yield from self._kernel_faults(place("kernels", probe), kernel, all_names)
        kernels = dict.fromkeys(self.kernels, _ANY_KERNEL)
        if self._lacks("kernels"):
            kernels |= dict.fromkeys((probe.name for probe in self.probes), _ANY_KERNEL)
        yield from reference_faults(
            self.hypotheses, kernels, alarm, self.declarations, file.beliefs, self.probes, alarms
        )
        flat, plan = (None, self.restart) if isinstance(self.restart, Plan) else (self.restart, None)
        yield from terminal_faults(file.sensing_budget, flat, file.escalate)
        executed = {action.name for action in self.actions if action.executed}
        yield from plan_faults(self.plans, plan, self.known, executed, len(self.names))
        if file.coverage is not None and not self.report.faulty("coverage"):
            yield from coverage_faults(file.coverage)

    def _possible(self, alarm: Alarm) -> Alarm:
        """Return an alarm that may be possible under a hypothesis that could not be read, for all we know."""
        return replace(alarm, likelihood={n: alarm.likelihood.get(n) or 1.0 for n in self.names}, again=None)

    def _kernel_faults(self, where: str, kernel: Kernel, all_names: bool) -> Iterator[Fault]:
        """Yield what is wrong with the rows that could be read."""
        entry = rows_of(kernel)
        unread = {name for name, row in entry.items() if row is UNREAD}
        rows = {n: standing_in(r) for n, r in entry.items() if n not in unread and (all_names or n in self.names)}
        if isinstance(kernel, Discrete) and self._lacks(f"{where}.outcomes") and not kernel.outcomes:
            width = len(next(iter(rows.values()), ()))  # as many as the first row has; those that differ are not judged
            kernel = Discrete([f"unreadable name {i}" for i in range(width)], {})
            unread |= {name for name, row in rows.items() if len(row) != width}
            rows = {name: row for name, row in rows.items() if name not in unread}
        wanted = [name for name in self.names if name not in unread and (all_names or name in rows)]
        if rows or all_names:
            yield from with_rows(kernel, rows).faults(where, wanted)


def _typed(entry: Any, declared: Value | None) -> Value:
    """Return a value of the kind that is declared, as far as it is one."""
    if isinstance(declared, str):
        return entry.text if isinstance(entry, WrittenFloat) else str(entry)
    meant = number_in(entry) if isinstance(entry, str) and declared is not None else None
    if isinstance(entry, str) and meant is None:
        return entry
    return float(entry) if meant is None else meant


def _typed_cause(cause: WrittenCause, states: Mapping[str, CauseState]) -> WrittenCause:
    return replace(cause, truth=states[""].truth) if cause.states is None else replace(cause, states=states)


def _as(kind: type[T], entry: Any, **changes: Any) -> T:
    """Return an object of a class with the attributes of one that has more of them."""
    own: Any = kind
    return kind(**({field.name: getattr(entry, field.name) for field in fields(own)} | changes))


def _age_faults(file: ProblemFile, entry: Ages) -> Iterator[Fault]:
    """Yield ages that are none, and those of beliefs that are not there."""
    known, own = [belief.name for belief in file.beliefs], file.age if isinstance(file.age, Mapping) else {}
    numbers: dict[str, Any] = {place("age", belief): age for belief, age in own.items()} or {"age": file.age}
    for where, age in numbers.items():
        if isinstance(age, float | int) and age < 0.0:
            yield Fault(where, f"{age!r} is not an age", "give a number of at least 0")
    for belief in dict.fromkeys((*own, *entry.by_belief)):
        if belief not in known:
            where, remedy = place("age", belief), "rename or remove it"
            yield Fault(where, f"{belief!r} is not a belief", remedy, belief, known, ("beliefs",))


def _contradictions(file: ProblemFile, report: FaultReport) -> Iterator[Fault]:
    """Yield what contradicts itself within one entry, or in what the file has at all."""
    if file.hypotheses is None and file.causes is None:
        report.unread.add("hypotheses")
        yield Fault("hypotheses", "it is missing", "add the key 'hypotheses' or 'causes'")
    elif file.hypotheses is not None and file.causes is not None:
        yield Fault("causes", "there are hypotheses too", "keep one of the two: hypotheses follow from causes")
    if file.together is not None and file.causes is None:
        yield Fault("together", "there are no causes", "list causes, or remove the key")
    if file.alarm is not None and not report.lacks("alarm.likelihood", "alarm.noisy_or"):
        if file.alarm.noisy_or is not None and file.alarm.likelihood:
            yield Fault("alarm.noisy_or", "there is a likelihood too", "keep one of the two")
        elif file.alarm.noisy_or is None and not file.alarm.likelihood:
            report.unread.add("alarm.likelihood")
            yield Fault("alarm.likelihood", "it is missing", "add the key 'likelihood', or 'noisy_or'")
    for i, action in enumerate(file.actions):
        if action.takes and action.operations:
            said = "it is undone by operations, each of which takes its own time"
            yield Fault(f"actions[{i}].takes", said, "give `takes` to the operations instead")
    for i, cause in enumerate(file.causes or ()):
        own = {"prior": cause.prior, "rate": cause.rate, "failed": cause.failed, "truth": cause.truth}
        for key, entry in own.items() if cause.states is not None else ():
            if entry:
                yield Fault(f"causes[{i}].{key}", "the cause has states too", "say it of each state")
        if cause.states is None and cause.prior is None and cause.rate is None:
            yield Fault(f"causes[{i}].prior", "it is missing", "add the key 'prior', 'rate' or 'states'")
