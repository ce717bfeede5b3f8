"""A problem in the words of the file it was read from, with what has changed since: its causes, rules and spreads.

What is written that way is read back as a check: only words that mean exactly the problem are used. Where they cannot,
because more has changed than a file can say in those words, the problem is written as what it stands for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aquamend.files.format import ProblemFile, Restarting, TimedAction, TimedProbe, WrittenCause, WrittenPlan
from aquamend.problem import Plan, Problem
from aquamend.problem.building import Effect
from aquamend.problem.graph import Action, Belief, Edge, Operation, Probe, RecoveryGraph, Value
from aquamend.problem.model import Declaration, Hypothesis, JointModel, OneOf
from aquamend.problem.model.kernels import rows_by_name
from aquamend.problem.model.spreads import differs


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
        plans = _same_plans(problem.plans, self.plans)
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


SAME = ("name", "unit", "sensing_budget", "escalate", "corrections", "coverage")
"""What a file and a problem both say, in the same way."""


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


def _same_plans(now: Sequence[Plan], before: Sequence[Plan]) -> bool:
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
