"""One recovery problem: a graph, a joint model, and what else may end the recovery."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Floats
from aquamend.caching import KeepsResults, computed_once
from aquamend.errors import BadArgument, Fault, UnknownName
from aquamend.problem.faults import cost_faults, refuse, unknown_among
from aquamend.problem.graph import RecoveryGraph, Value
from aquamend.problem.model.coverage import Coverage, coverage_faults
from aquamend.problem.model.hypotheses import Declaration
from aquamend.problem.model.joint_model import JointModel, reference_faults
from aquamend.problem.model.spreads import SLACK
from aquamend.text import counted, shown

RESTART = "restart"
"""The name of the restart, where a plan's would stand."""


@dataclass(frozen=True, eq=False, slots=True)
class Plan:
    """A way of ending the recovery that is priced hypothesis by hypothesis rather than by the graph."""

    name: str
    loss: Floats
    """Shape ``(n_hypotheses,)``; expected remaining loss under each; infinity where inadmissible."""
    correct: tuple[str, ...] = ()
    """Beliefs that are right after it."""
    undo: tuple[str, ...] = ()
    """Executed actions it undoes."""
    unsure: Mapping[str, float] = field(default_factory=dict)
    """Of the beliefs it corrects, those that may stay wrong, and how probably they do where they have failed."""
    last_resort: bool = False
    """Considered only where nothing else is admissible: stopping safely, say, with all that is wrong left wrong."""
    compensates: bool = False
    """Whether it was made from the problem's compensations."""

    @property
    def price(self) -> float:
        """What it costs where it leaves nothing wrong; what it costs beyond that, it leaves."""
        return float(self.loss.min())


@dataclass(frozen=True, eq=False, slots=True)
class NewValue:
    """What a corrected belief is afterwards: declared to have another value, or repaired; and where that is wrong."""

    belief: int
    value: Value | None
    """None: it declares no value, and is repaired."""
    wrong: Floats
    """e(s), shape ``(n_hypotheses,)``: the probability that the belief is wrong under each hypothesis afterwards; where
    undoing may fail, that counts: what was wrong then stays wrong."""
    if_undone: Floats
    """The same where undoing has succeeded: one where the value is not true, else zero."""


@dataclass(frozen=True, slots=True)
class Redeclared:
    """What a belief was declared to be since the alarm, in the course of a recovery."""

    value: Value | None
    """None: it was repaired; it declares no value, or a plan has made it right and nobody knows its value."""
    support: tuple[str, ...] = ()
    """The probes it rests on."""
    times: int = 1
    """How often the belief has been declared again."""


@dataclass(frozen=True, slots=True)
class Ages:
    """How long ago each belief was measured: one age for all, and others for some, in the unit of time of the rates."""

    all: float | None = None
    """Of every belief that is not named; None: unknown."""
    by_belief: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, age in (("all", self.all), *self.by_belief.items()):
            if age is not None and not 0.0 <= age < math.inf:
                raise BadArgument(f"{name!r} cannot be {age!r} old; give a finite number of at least 0")

    @classmethod
    def from_any(cls, ages: Ages | float | Mapping[str, float] | None) -> Ages:
        """Return ages that were given as one number for all, or by belief."""
        if isinstance(ages, Ages):
            return ages
        if isinstance(ages, Mapping):
            return cls(None, {belief: float(age) for belief, age in ages.items()})
        return cls(None if ages is None else float(ages))

    def of(self, belief: str) -> float | None:
        """Return the age of a belief; None where nobody knows it."""
        return self.by_belief.get(belief, self.all)

    def of_all(self, beliefs: Sequence[str]) -> float | Mapping[str, float] | None:
        """Return how old these beliefs are, as one number where they are all alike; None where nobody knows."""
        if not self.by_belief:
            return self.all
        return {belief: age for belief in beliefs if (age := self.of(belief)) is not None}

    def but(self, others: Ages) -> Ages:
        """Return these ages with others in their place: one for all replaces every one."""
        if others.all is not None:
            return others
        return Ages(self.all, {**self.by_belief, **others.by_belief})


class Ageing(Protocol):
    """A problem at any age of its beliefs."""

    @property
    def ages(self) -> Ages:
        """How old the beliefs are in the problem that it belongs to."""
        ...

    @property
    def overtaken(self) -> Mapping[str, float]:
        """How old each belief is that a cause with a rate makes wrong by itself."""
        ...

    @property
    def at_rest(self) -> Sequence[str]:
        """The causes with a rate that cannot have come at these ages."""
        ...

    def problem(self, ages: Ages) -> Problem:
        """Return the problem once beliefs are so old."""
        ...


@dataclass(frozen=True, eq=False)
class Problem(KeepsResults):
    """What may be wrong, what can be measured, and what every way of recovering costs."""

    graph: RecoveryGraph
    model: JointModel
    sensing_budget: float = math.inf
    restart: float | Plan | None = None
    """Starting over: a cost, if that corrects everything, or a plan with a loss per hypothesis; None: no option."""
    escalate: float | None = None
    """Flat loss of handing over to a person; None where nobody is there."""
    plans: Sequence[Plan] = ()
    """Terminal decisions beyond the correction sets of the graph."""
    corrections: bool = True
    """Whether the graph's correction sets are terminal decisions, beside the plans."""
    coverage: Coverage | None = None
    """Calibration records that tell where probes may be screened by their power; None: nowhere."""
    redeclared: Mapping[str, Redeclared] = field(default_factory=dict)
    """Beliefs declared again while recovering: from then on, these are what may be wrong."""
    ageing: Ageing | None = None
    """What the problem is once beliefs have grown older; None where no cause comes at a rate."""
    compensations: Sequence[Any] = ()
    """Those that plans were made from, each a `Compensation`."""
    before: str | None = None
    """The action before which it is asked whether to go on; None: an alarm has rung, and an action is no question."""
    name: str = "recovery problem"
    unit: str = ""
    written: object = None
    """What the file that it was read from says in its own words, for `problem_file` to write it again; else None."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "plans", tuple(self.plans))
        model, graph = self.model, self.graph
        faults = list(
            reference_faults(
                *(model.hypotheses, model.kernels, model.alarm, model.declarations, graph.beliefs, graph.probes),
                alarms=model.alarms,
            )
        )
        flat = None if isinstance(self.restart, Plan) else self.restart
        faults += terminal_faults(self.sensing_budget, flat, self.escalate)
        restart = self.restart if isinstance(self.restart, Plan) else None
        executed = {action.name for action in graph.executed}
        faults += plan_faults(self.plans, restart, graph.belief_index, executed, len(model.hypotheses))
        if self.coverage is not None:
            faults += coverage_faults(self.coverage)
        refuse(faults)

    def __repr__(self) -> str:
        graph, model = self.graph, self.model
        counts = [counted(len(nodes), word) for nodes, word in (
            (graph.beliefs, "belief"), (graph.actions, "action"), (graph.probes, "probe"),
        )]  # fmt: skip
        return f"<Problem {shown(self.name)!r}: {', '.join(counts)}, {counted(len(model.names), 'hypothesis')}>"

    @cached_property
    def truth(self) -> Mapping[int, NDArray[Any]]:
        """What is true of every belief that declares a value, ``(n_hypotheses,)``: numbers, or text.

        Where no value can be named, nan or None.
        """
        declared = {b.name: b.declared for b in self.graph.beliefs if b.declared is not None}
        index = self.graph.belief_index
        return {index[belief]: truth for belief, truth in self.model.columns.true_values(declared).items()}

    def wrong_where(self, belief: int, value: Value) -> Floats:
        """Return e(s), shape ``(n_hypotheses,)``: one where a value of a belief is not true, else zero."""
        truth = self.truth[belief]
        if isinstance(value, str):
            return np.asarray(truth != value, dtype=np.float64)
        with np.errstate(invalid="ignore"):  # nan is near nothing, and infinity is near itself
            near = (np.abs(truth - value) <= self.graph.beliefs[belief].tolerance + SLACK) | (truth == value)
        return np.asarray(~near, dtype=np.float64)

    def in_force(self, belief: int) -> Value | None:
        """Return what a belief is declared to be by now; None where it has no value, or nobody knows it."""
        spec = self.graph.beliefs[belief]
        new = self.redeclared.get(spec.name)
        return spec.declared if new is None else new.value

    @cached_property
    def failed(self) -> Floats:
        """Z, shape ``(n_hypotheses, n_beliefs)``; one where the hypothesis makes the belief fail, else zero."""
        index = self.graph.belief_index
        failed = np.zeros((len(index), len(self.model.hypotheses))).T  # it is filled belief by belief
        for belief, column in self.model.columns.failed.items():
            failed[:, index[belief]] = column
        for i in self.truth:
            value = self.in_force(i)
            if value is not None:
                failed[:, i] = self.wrong_where(i, value)
        for belief, new in self.redeclared.items():
            if new.value is None:  # what was repaired is right
                failed[:, index[belief]] = 0.0
        failed.setflags(write=False)
        return failed

    @computed_once
    def ringing(self, monitor: str, *, again: bool = False) -> Floats | None:
        """Return how likely a monitor is to ring under each hypothesis, ``(n_hypotheses,)``, by what is wrong now.

        None where it is to ring ``again``, with nothing corrected in between, and the model does not say how likely.
        """
        if monitor not in self.model.monitors:
            raise UnknownName("alarm", monitor, self.model.monitors)
        alarm = self.model.monitors[monitor]
        conditions = alarm.again_by if again else alarm.conditions
        if conditions is None:
            return (self.model.rung_again if again else self.model.rung).get(monitor)
        index = self.graph.belief_index
        row = conditions.row({belief: self.failed[:, index[belief]] > 0.0 for belief in conditions.beliefs})
        return np.asarray(row, dtype=np.float64)

    @cached_property
    def new_values(self) -> tuple[tuple[NewValue, ...], ...]:
        """For every belief, what correcting it may make of it, in the order in which ties resolve.

        Every other value that is true under some hypothesis; or, without a value, the repair.
        """
        return tuple(tuple(self._new_values(i)) for i in range(len(self.graph.beliefs)))

    def _new_values(self, i: int) -> Iterator[NewValue]:
        if i not in self.truth:
            yield self._new_value(i, None, np.zeros(len(self.model.hypotheses)))
            return
        for value in dict.fromkeys(self.truth[i].tolist()):
            if value is not None and value == value and value != self.in_force(i):  # nan is no value
                yield self._new_value(i, value, self.wrong_where(i, value))

    def _new_value(self, i: int, value: Value | None, wrong: Floats) -> NewValue:
        chance = self.graph.undo_chances[i]
        return NewValue(i, value, wrong if chance == 1.0 else chance * wrong + self.left_by_undoing(i), wrong)

    def left_by_undoing(self, belief: int) -> Floats:
        """Return (1 − P_i) Z_i(s), shape ``(n_hypotheses,)``: failures that stay because undoing does not succeed."""
        return np.asarray((1.0 - self.graph.undo_chances[belief]) * self.failed[:, belief])

    @cached_property
    def declarations(self) -> tuple[Declaration, ...]:
        """The declarations in force when the alarm came: those given, or else one per belief."""
        listed = self.model.declarations or [Declaration(belief.name, belief.name) for belief in self.graph.beliefs]
        resolved = []
        for declaration in listed:
            i = self.graph.belief_index[declaration.belief]
            declared = self.graph.beliefs[i].declared
            value, support = declared if declaration.value is None else declaration.value, tuple(declaration.support)
            older = declared is not None and value is not None and value != declared
            version, new = declaration.version, self.redeclared.get(declaration.belief)
            if new is not None:
                version, value, support = version + new.times, new.value, new.support
            if new is None and declaration.invalid_in is not None:
                invalid = tuple(declaration.invalid_in)
            elif new is None and older and value is not None:
                invalid = self.model.names_where(self.wrong_where(i, value))
            else:
                invalid = self.model.names_where(self.failed[:, i])
            resolved.append(replace(declaration, version=version, value=value, invalid_in=invalid, support=support))
        return tuple(resolved)

    @cached_property
    def invalid(self) -> Floats:
        """Shape ``(n_hypotheses, n_declarations)``; one where the declaration in force is invalid, else zero."""
        columns = [self.model.among(d.invalid_in or ()) for d in self.declarations]
        invalid = np.column_stack(columns) if columns else np.zeros((len(self.model.hypotheses), 0))
        invalid.setflags(write=False)
        return invalid

    @cached_property
    def evidence_for(self) -> tuple[dict[int, bool], ...]:
        """For every belief, the probes whose evidence bears on it, and whether it did so before the alarm.

        Before the alarm: those in the support of its newest declaration. After it: those that have answered and from
        which the belief is reached through beliefs.
        """
        found: list[dict[int, bool]] = []
        for belief in self.graph.beliefs:
            probes = {self.graph.probe_index[p]: False for p in self.graph.supporting_probes[belief.name]}
            own = [declaration for declaration in self.declarations if declaration.belief == belief.name]
            newest = max((declaration.version for declaration in own), default=0)
            for declaration in own:
                if declaration.version == newest:
                    probes |= {self.graph.probe_index[p]: True for p in declaration.support}
            found.append(probes)
        return tuple(found)

    def followed(self, name: str) -> Plan | None:
        """Return the plan of this name, or the restart; None where there is none."""
        own = next((plan for plan in self.plans if plan.name == name), None)
        return self.restart_plan if name == RESTART else own

    def plan_named(self, name: str) -> Plan:
        """Return one of the problem's own plans by name."""
        plans = {plan.name: plan for plan in self.plans}
        if name not in plans:
            raise UnknownName("plan", name, plans)
        return plans[name]

    @cached_property
    def restart_plan(self) -> Plan | None:
        """Starting over as a plan; None where no restart is given or an irreversible action was executed."""
        if self.restart is None or self.graph.irreversible_executed:
            return None
        if isinstance(self.restart, Plan):
            return self.restart
        everything = tuple(belief.name for belief in self.graph.beliefs)
        undone = tuple(action.name for action in self.graph.executed)
        return Plan(RESTART, np.full(len(self.model.hypotheses), float(self.restart)), everything, undone)

    @property
    def escalate_loss(self) -> float:
        """Loss of escalating: infinite where none is given."""
        return math.inf if self.escalate is None else self.escalate


def terminal_faults(sensing_budget: float, restart: float | None, escalate: float | None) -> list[Fault]:
    """Return the faults of a problem's three numbers."""
    return [*cost_faults([("sensing_budget", sensing_budget), ("restart", restart), ("escalate", escalate)])]


def plan_faults(
    plans: Sequence[Plan], restart: Plan | None, beliefs: Collection[str], executed: Collection[str], n_hypotheses: int
) -> Iterator[Fault]:
    """Yield names given twice or to the restart, losses that are none, and words about things that are not there."""
    seen: set[str] = set()
    for i, plan in enumerate(plans):
        if plan.name in seen:
            yield Fault(f"plans[{i}].name", f"{plan.name!r} is given twice", "give every plan a name of its own")
        if plan.name == RESTART:
            said = f"{RESTART!r} is what the restart is called"
            yield Fault(f"plans[{i}].name", said, "rename it, or give `restart`")
        seen.add(plan.name)
        yield from _plan_faults(f"plans[{i}]", plan, beliefs, executed, n_hypotheses)
    if restart is not None:
        yield from _plan_faults("restart", restart, beliefs, executed, n_hypotheses)


def _plan_faults(
    where: str, plan: Plan, beliefs: Collection[str], executed: Collection[str], n_hypotheses: int
) -> Iterator[Fault]:
    if np.shape(plan.loss) != (n_hypotheses,) or not bool(np.all(np.asarray(plan.loss) >= 0)):
        said = f"shape {np.shape(plan.loss)} or an entry below zero"
        yield Fault(f"{where}.loss", said, f"give one loss of at least 0 for each of the {n_hypotheses} hypotheses")
    yield from unknown_among("belief", f"{where}.correct", plan.correct, beliefs)
    for j, name in enumerate(plan.undo):
        if name not in executed:
            problem = f"{name!r} is not an executed action"
            yield Fault(f"{where}.undo[{j}]", problem, "rename or remove it", name, executed, ("actions",))
