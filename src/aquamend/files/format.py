"""What a problem file says beyond the objects it describes; the file as a whole; a problem in the words of its file.

What is written in those words, its causes, rules and spreads with what has changed since, is read back as a check: only
words that mean exactly the problem are used. Where they cannot, because more has changed than a file can say in them,
the problem is written as what it stands for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np

from aquamend.codec import (
    TRUE_VALUE,
    UNREAD,
    Cost,
    FaultReport,
    Finite,
    Form,
    Label,
    Loss,
    Name,
    Probability,
    form_of,
    number_or_table,
)
from aquamend.codec.annotations import entries, one_of
from aquamend.codec.forms import FINITE, LOSS, PROBABILITY, SHARED, Schema, never_null
from aquamend.codec.plain_data import shown_value
from aquamend.problem import Plan, Problem
from aquamend.problem.building.compensations import Compensation
from aquamend.problem.building.root_causes import CauseState
from aquamend.problem.building.truths import Effect
from aquamend.problem.graph import Action, Belief, Edge, Operation, Probe, RecoveryGraph, Value
from aquamend.problem.model import Alarm, Cause, Coverage, Declaration, Hypothesis, JointModel, Kernel, OneOf, Spread
from aquamend.problem.model.kernels import KERNELS, rows_by_name
from aquamend.problem.model.spreads import differs

FORMAT = "aquamend-problem/1"
SAME = ("name", "unit", "sensing_budget", "escalate", "corrections", "coverage")
"""What a file and a problem both say, in the same way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedAction(Action):
    """An action whose undoing takes time."""

    takes: Loss = 0.0
    """How long undoing it takes, in the unit of delay; 0 unless given."""
    redo_takes: Loss = 0.0
    """How long doing it again takes; 0 unless given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedOperation(Operation):
    """An operation that takes time."""

    takes: Loss = 0.0
    """How long it takes, in the unit of delay; 0 unless given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedProbe(Probe):
    """A probe that takes time, and may err in the same way again."""

    takes: Loss = 0.0
    """How long one use takes, in the unit of delay; 0 unless given."""
    persistent: Probability = 0.0
    """The share of its error that is the same at every use; 0 unless given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedCompensation(Compensation):
    """A compensation that takes time."""

    takes: Loss = 0.0
    """How long it takes, in the unit of delay; 0 unless given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarting:
    """Starting over, by what is left after it."""

    loss: Annotated[float | Mapping[str, float], number_or_table(LOSS)]
    """The expected loss that is left after it: one number, or one for each hypothesis."""
    correct: Sequence[Name] = ()
    """The beliefs that are right after it."""
    undo: Sequence[Name] = ()
    """The executed actions that it undoes."""
    takes: Loss = 0.0
    """How long it takes, in the unit of delay; 0 unless given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPlan(Restarting):
    """A further way of ending."""

    name: Name
    """Its name, which no other plan has."""
    last_resort: bool = False
    """True: it is considered only where nothing else is admissible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCause:
    """A cause: with a single state of its own, or with several by name."""

    name: Name
    """What happened; no other cause and no belief has this name."""
    kind: Cause = Cause.UNKNOWN
    """Who is to blame; unknown unless given."""
    prior: Annotated[float | Mapping[str, float], number_or_table(PROBABILITY)] | None = None
    """How probable it is; or rules for that, by conditions on causes listed before."""
    rate: Annotated[float | Mapping[str, float], number_or_table(FINITE)] | None = None
    """In place of a prior, how often it comes in a unit of time; or rules for it. What is older is likelier wrong."""
    failed: Sequence[Name] = ()
    """The beliefs that it makes wrong, of those that declare no value."""
    truth: Mapping[Name, Annotated[Value, TRUE_VALUE] | Spread] = field(default_factory=dict)
    """What it makes true of beliefs that declare a value."""
    states: Mapping[Name, CauseState] | None = None
    """The ways in which it may be present, if there are several."""


def _read_format(value: Any, where: str, report: FaultReport) -> Any:
    if value == FORMAT:
        return FORMAT
    report.add(where, f"{shown_value(value)} is not a format this version reads", f"write {FORMAT}")
    return UNREAD


_FORMAT = Form(_read_format, lambda: {"const": FORMAT}, instead=FORMAT)
KERNEL = one_of(KERNELS, "it does not say how the probe answers")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemFile:
    """A problem as a file writes it."""

    format: Annotated[str, _FORMAT]
    """The format of this file."""
    name: Label = "recovery problem"
    """What to call the problem."""
    unit: Label = ""
    """The unit of every cost and loss, for display."""
    beliefs: Sequence[Belief]
    """What the robot holds true and acted on."""
    actions: Sequence[TimedAction] = ()
    """What was done, or is planned, because of the beliefs."""
    operations: Sequence[TimedOperation] = ()
    """Movements that undoing several actions may share."""
    probes: Sequence[TimedProbe] = ()
    """Measurements that can be made now."""
    edges: Sequence[Edge] = ()
    """What rests on what: a source, a target and the kind of the edge."""
    hypotheses: Sequence[Hypothesis] | None = None
    """All that may be the case, of which one is true."""
    causes: Sequence[WrittenCause] | None = None
    """What may have happened, in place of hypotheses, which follow."""
    together: int | None = None
    """How many causes may be present at once; all of them unless given."""
    age: Finite | Mapping[Name, Finite] | None = None
    """How long ago beliefs were measured, all or each by its name, for causes with a rate."""
    effects: Sequence[Effect] = ()
    """What follows from conditions, in this order: the last that holds decides."""
    kernels: Mapping[Name, Annotated[Kernel, KERNEL]] = field(default_factory=dict)
    """For every probe by its name, how it answers under each hypothesis."""
    alarm: Alarm | None = None
    """What the monitor said; it changes the priors once."""
    alarms: Mapping[Name, Alarm] = field(default_factory=dict)
    """Several monitors by name, in place of `alarm`: each says by itself whether it has rung."""
    declarations: Sequence[Declaration] = ()
    """Statements made from evidence, whose standing is asked."""
    sensing_budget: Cost = math.inf
    """The most that all probes together may cost; infinite unless given."""
    restart: Cost | Restarting | None = None
    """Starting over: its cost, if that corrects everything, or else its loss and what it corrects and undoes."""
    escalate: Cost | None = None
    """The loss of handing over to a person."""
    plans: Sequence[WrittenPlan] = ()
    """Further ways of ending, each with a loss of its own."""
    compensations: Sequence[TimedCompensation] = ()
    """Ways of making up for what was done, without undoing."""
    delay: Loss = 0.0
    """The loss for each unit of time that the recovery takes; 0 unless given."""
    corrections: bool = True
    """False: the recovery ends by a plan, a restart or a person, not by a correction."""
    coverage: Coverage | None = None
    """Calibration records that tell where probes may be left out."""


def sections() -> list[str]:
    """Return the keys at the top of a file, in order."""
    return list(entries(ProblemFile))


def problem_schema() -> Schema:
    """Return the JSON Schema (draft 2020-12) of the problem file.

    It tells which keys there are and what kind of value each has. Whether names, probabilities and edges fit together
    is more than a schema can say; `load_problem` says it.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "AquaMend problem",
        "description": "One recovery problem: what is believed, done, measurable and possibly wrong.",
        **never_null(form_of(ProblemFile).schema()),
        "anyOf": [{"required": [key]} for key in ("hypotheses", "causes")],
        "$defs": SHARED,
    }


def schema_text(schema: Schema) -> str:
    """Return a schema as text."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True, eq=False)
class Written:
    """What a file says, and the problem that it said before anything changed."""

    file: ProblemFile
    graph: RecoveryGraph
    model: JointModel
    plans: Sequence[Plan]
    restart: float | Plan | None

    @classmethod
    def of(cls, file: ProblemFile, problem: Problem) -> Problem:
        """Return the problem that keeps the file it was read from."""
        return replace(problem, written=cls(file, problem.graph, problem.model, problem.plans, problem.restart))

    def unchanged(self, problem: Problem) -> bool:
        """Whether all is as it was read, but for what one number or word says."""
        return (
            problem.graph is self.graph
            and problem.model is self.model
            and problem.plans is self.plans
            and problem.restart is self.restart
        )

    def updated(self, problem: Problem) -> ProblemFile:
        """Return the file with what has changed, in its own words as far as these can say it."""
        file, graph = self.file, problem.graph
        if problem.model.hypotheses is not self.model.hypotheses:
            file = _still_meaning(file, graph.beliefs)
        plans = same_plans(problem.plans, self.plans)
        return replace(
            file,
            beliefs=graph.beliefs,
            actions=_each(_action, graph.actions, self.graph.actions, file.actions),
            operations=_each(_priced, graph.operations, self.graph.operations, file.operations),
            probes=_each(_priced, graph.probes, self.graph.probes, file.probes),
            edges=tuple(Edge(*edge) for edge in graph.edges),
            declarations=self._declarations(problem.model.declarations),
            plans=file.plans if plans else tuple(self._plan(plan, problem) for plan in problem.plans),
            compensations=file.compensations if plans else (),
            restart=self._restart(problem),
            **{key: getattr(problem, key) for key in SAME},
        )

    def _declarations(self, now: Sequence[Declaration]) -> tuple[Declaration, ...]:
        """Return the declarations, invalid under the conditions of the file where these say what is invalid now."""
        before = [(d.name, d.belief, d.invalid_in) for d in self.model.declarations]
        found = []
        for place, declaration in enumerate(now):
            own = declaration.name, declaration.belief, declaration.invalid_in
            if own in before:
                i = place if before[place : place + 1] == [own] else before.index(own)
                declaration = replace(declaration, invalid_in=self.file.declarations[i].invalid_in)
            found.append(declaration)
        return tuple(found)

    def _plan(self, plan: Plan, problem: Problem) -> WrittenPlan:
        """Return a plan: by the rules of its loss, where that is what it was."""
        for own, before in zip(self.file.plans, self.plans, strict=False):
            if own.name == plan.name and np.array_equal(before.loss, plan.loss):
                return replace(own, correct=plan.correct, undo=plan.undo, last_resort=plan.last_resort)
        return listed_plan(plan, problem.model.names)

    def _restart(self, problem: Problem) -> float | Restarting | None:
        own, now, before = self.file.restart, problem.restart, self.restart
        plans = isinstance(now, Plan) and isinstance(before, Plan) and np.array_equal(before.loss, now.loss)
        if plans and isinstance(own, Restarting) and isinstance(now, Plan):
            return replace(own, correct=now.correct, undo=now.undo)
        return listed_restart(now, problem.model.names)

    def with_declared(self, values: Mapping[str, Value]) -> ProblemFile:
        """Return the file with other values declared: what is silent about these beliefs then means the new ones."""
        beliefs = [replace(b, declared=values.get(b.name, b.declared)) for b in self.file.beliefs]
        known = {belief.name: belief for belief in beliefs if belief.name in values}

        def freed(entry: Any) -> Any:
            truth = {name: _failing(true, known.get(name)) for name, true in entry.truth.items()}
            return replace(entry, truth={name: true for name, true in truth.items() if true is not None})

        causes = self.file.causes and tuple(
            replace(freed(cause), states=cause.states and {name: freed(s) for name, s in cause.states.items()})
            for cause in self.file.causes
        )
        hypotheses = self.file.hypotheses and tuple(map(freed, self.file.hypotheses))
        return replace(self.file, beliefs=beliefs, causes=causes, hypotheses=hypotheses)


def _failing(true: Any, belief: Belief | None) -> Any:
    """Return what may be true of a belief, less listed values with which it has not failed; None if none is left."""
    if belief is None or belief.declared is None or not isinstance(true, OneOf):
        return true
    kept = [value for value in true.values if differs(value, belief.declared, belief.tolerance)]
    if isinstance(true.values, Mapping):
        return OneOf({value: true.values[value] for value in kept}) if kept else None
    return OneOf(tuple(kept)) if kept else None


def listed_restart(restart: float | Plan | None, names: Sequence[str]) -> float | Restarting | None:
    """Return a restart as a file has it, its losses by the names of the hypotheses."""
    return Restarting(**_ending(restart, names)) if isinstance(restart, Plan) else restart


def listed_plan(plan: Plan, names: Sequence[str]) -> WrittenPlan:
    """Return a plan as a file has it, its losses by the names of the hypotheses."""
    return WrittenPlan(name=plan.name, last_resort=plan.last_resort, **_ending(plan, names))


def _ending(plan: Plan, names: Sequence[str]) -> dict[str, Any]:
    losses = np.asarray(plan.loss, dtype=float).tolist()
    loss = losses[0] if len(set(losses)) == 1 else dict(zip(names, losses, strict=True))
    return {"loss": loss, "correct": plan.correct, "undo": plan.undo}


def with_listed_kernels(file: ProblemFile, problem: Problem, probes: Sequence[str]) -> ProblemFile:
    """Return the file with a row for every hypothesis in the kernels of these probes."""
    own = {name: rows_by_name(problem.model.kernels[name], problem.model.names) for name in probes}
    return replace(file, kernels={**file.kernels, **own})


# What has changed


def _each(make: Any, now: Sequence[Any], before: Sequence[Any], written: Sequence[Any]) -> tuple[Any, ...]:
    """Return nodes as a file has them: with the time that they take, where that is part of what they still cost."""
    was, said = {node.name: node for node in before}, {node.name: node for node in written}
    return tuple(make(node, was[node.name], said[node.name]) if node.name in was else node for node in now)


def _action(now: Action, before: Action, said: TimedAction) -> Action:
    """Return an action by what it costs and how long it takes, or by the two together if that has changed."""
    changed: dict[str, Any] = {}
    if now.undo != before.undo or now.operations != before.operations:
        changed |= {"undo": now.undo, "operations": now.operations, "takes": 0.0}
    if now.redo != before.redo:
        changed |= {"redo": now.redo, "redo_takes": 0.0}
    same = {key: getattr(now, key) for key in ("executed", "reversible", "undo_succeeds", "sets")}
    return replace(said, **same, **changed)


def _priced(now: Probe | Operation, before: Probe | Operation, said: Any) -> Any:
    """Return a probe or an operation, likewise."""
    if now == before:
        return said
    changed = {} if now.cost == before.cost else {"cost": now.cost, "takes": 0.0}
    if isinstance(said, TimedProbe):
        keys = ("modality", "max_uses", "source", "requires", "forbids")
        changed |= {key: getattr(now, key) for key in keys}
    return replace(said, **changed)


def same_plans(now: Sequence[Plan], before: Sequence[Plan]) -> bool:
    """Whether all plans are the same, in the same order."""
    return len(now) == len(before) and all(map(same_plan, now, before))


def same_plan(one: Plan, other: Plan) -> bool:
    """Whether two plans are one."""
    keys = ("name", "correct", "undo", "last_resort")
    alike = all(getattr(one, key) == getattr(other, key) for key in keys)
    return alike and dict(one.unsure) == dict(other.unsure) and np.array_equal(one.loss, other.loss)


# What a hypothesis is silent about


def _still_meaning(file: ProblemFile, beliefs: Sequence[Belief]) -> ProblemFile:
    """Return a file that says what it was silent about, of beliefs that are declared to be something else by now."""
    now = {belief.name: belief.declared for belief in beliefs}
    moved = {b.name: b.declared for b in file.beliefs if b.declared is not None and b.declared != now.get(b.name)}
    if not moved:
        return file
    if file.hypotheses is not None:
        return replace(file, hypotheses=tuple(_outspoken(h, moved) for h in file.hypotheses))
    first = [Effect(_silent(file.causes or (), name), truth={name: value}) for name, value in moved.items()]
    return replace(file, effects=(*first, *file.effects))


def _outspoken(hypothesis: Hypothesis, moved: Mapping[str, Value]) -> Hypothesis:
    said = {n: v for n, v in moved.items() if n not in hypothesis.truth and n not in hypothesis.failed}
    return replace(hypothesis, truth={**hypothesis.truth, **said})


def _silent(causes: Sequence[WrittenCause], belief: str) -> str:
    """Return the condition under which no cause says anything of a belief."""
    return " & ".join(f"not {label}" for label in _speaking(causes, belief)) or "default"


def _speaking(causes: Sequence[WrittenCause], belief: str) -> Iterator[str]:
    for cause in causes:
        states: Mapping[str, Any] = {"": cause} if cause.states is None else cause.states
        for name, state in states.items():
            if belief in state.truth or belief in state.failed:
                yield f"{cause.name}={name}" if name else cause.name
