"""The problem as it stands in the middle of a recovery: what was undone, declared, done again, or cannot be done."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

import numpy as np

from aquamend.arrays import Floats
from aquamend.belief import InformationState
from aquamend.belief.support import evidence_on
from aquamend.problem import RESTART, Plan, Problem, Redeclared
from aquamend.problem.graph import Action, Probe, Value
from aquamend.problem.model import JointModel
from aquamend.recovery.acts import Act, Declare, Follow, Measure, Redo, Undo

IMPOSSIBLE = float("inf")


class Came(Enum):
    """What came of an act."""

    DONE = auto()
    NOT = auto()
    """It failed, and may be tried again."""
    NEVER = auto()
    """It has failed so often that it counts as impossible."""


@dataclass(frozen=True, slots=True)
class Change:
    """What an act has changed for the decisions to come."""

    act: Act
    came: Came


def problem_after(state: InformationState, changes: Sequence[Change], first: Problem) -> Problem:
    """Return the problem of a state after these changes; ``first`` is the one that the recovery began with.

    The hypotheses stay what they were: they say what had happened by the alarm. But what an action that was done again
    sets is true from then on, and what a plan has corrected for sure is right, whatever is declared of it next.
    """
    problem = state.problem
    actions = tuple(_actions(problem, changes, first))
    operations = [
        replace(operation, cost=IMPOSSIBLE) if operation.name in _never(changes, Undo) else operation
        for operation in problem.graph.operations
    ]
    graph = replace(problem.graph, actions=actions, operations=tuple(operations), probes=tuple(_probes(state, changes)))
    executed = {action.name for action in actions if action.executed}
    never = _never(changes, Follow)
    restart = problem.restart
    if isinstance(restart, Plan):
        restart = still_executed(restart, executed)
    return replace(
        problem,
        graph=graph,
        sensing_budget=max(0.0, problem.sensing_budget - _spent_on_nothing(changes)),
        plans=tuple(still_executed(plan, executed) for plan in problem.plans if plan.name not in never),
        restart=None if RESTART in never else restart,
        model=_brought_about(problem, dict(_set_again(changes, first))),
        redeclared={**problem.redeclared, **dict(_redeclared(state, changes, first))},
    )


def _never(changes: Sequence[Change], kind: type[Act]) -> set[str]:
    return {change.act.name for change in changes if change.came is Came.NEVER and isinstance(change.act, kind)}


def _done(changes: Sequence[Change]) -> Iterator[Act]:
    return (change.act for change in changes if change.came is Came.DONE)


def still_executed(plan: Plan, executed: Container[str]) -> Plan:
    """Return a plan where these actions are executed: it undoes no others."""
    return replace(plan, undo=tuple(name for name in plan.undo if name in executed))


def _actions(problem: Problem, changes: Sequence[Change], first: Problem) -> Iterator[Action]:
    """Yield the actions: undone where every operation of an undoing was done, executed again where they were redone."""
    original = {action.name: action for action in first.graph.actions}
    operations = {act.operation for act in _done(changes) if isinstance(act, Undo)}
    wanted = {name for act in _done(changes) if isinstance(act, Undo) for name in act.actions}
    redone = {act.action for act in _done(changes) if isinstance(act, Redo)}
    undone = {name for act in _done(changes) if isinstance(act, Follow) for name in act.undo}
    never = _never(changes, Undo)
    for action in problem.graph.actions:
        if action.name in redone:
            yield replace(original[action.name], executed=True)
            continue
        if not action.executed:
            yield action
            continue
        if action.name in undone:
            yield replace(original[action.name], executed=False)
            continue
        shared = tuple(name for name in action.operations if name not in operations)
        alone = not action.operations
        if action.name in wanted and not shared and (not alone or action.name in operations):
            yield replace(original[action.name], executed=False)
        elif alone:
            yield replace(action, undo=IMPOSSIBLE) if action.name in never else action
        else:  # what somebody else's undoing has done already costs nothing more
            yield replace(action, operations=shared, undo=None if shared else 0.0)


def _probes(state: InformationState, changes: Sequence[Change]) -> Iterator[Probe]:
    """Yield the probes: one that did not answer has used up a use, one that never does has none left."""
    unanswered = [c.act.name for c in changes if isinstance(c.act, Measure) and c.came is not Came.DONE]
    never = _never(changes, Measure)
    for probe in state.problem.graph.probes:
        if probe.name in never:
            yield replace(probe, max_uses=state.uses.get(probe.name, 0))
        else:
            yield replace(probe, max_uses=max(0, probe.max_uses - unanswered.count(probe.name)))


def _spent_on_nothing(changes: Sequence[Change]) -> float:
    return sum(c.act.cost for c in changes if isinstance(c.act, Measure) and c.came is not Came.DONE)


def wrong_under(problem: Problem, act: Declare) -> Floats:
    """Return e(s), shape ``(n_hypotheses,)``: one where what an act declares is not true, else zero."""
    if act.value is None:  # repaired
        return np.zeros(len(problem.model.hypotheses))
    return problem.wrong_where(problem.graph.belief_index[act.belief], act.value)


def _set_again(changes: Sequence[Change], first: Problem) -> Iterator[tuple[str, Value]]:
    """Yield what the actions that were done again have set."""
    actions = {action.name: action for action in first.graph.actions}
    for act in _done(changes):
        if isinstance(act, Redo):
            yield from actions[act.action].sets.items()


def _brought_about(problem: Problem, values: Mapping[str, Value]) -> JointModel:
    """Return the model in which these are true, whatever else is; kernels stay as they are."""
    if not values:
        return problem.model
    hypotheses = tuple(
        replace(h, failed=tuple(b for b in h.failed if b not in values), truth={**h.truth, **values})
        for h in problem.model.hypotheses
    )
    return replace(problem.model, hypotheses=hypotheses)


def _redeclared(state: InformationState, changes: Sequence[Change], first: Problem) -> Iterator[tuple[str, Redeclared]]:
    problem, graph = state.problem, state.problem.graph
    actions = {action.name: action for action in first.graph.actions}
    for act in _done(changes):
        if isinstance(act, Redo):
            for belief, value in actions[act.action].sets.items():
                yield belief, Redeclared(value, (), _times(problem, belief))
        if isinstance(act, Follow):
            for belief in _made_right(problem, act):
                yield belief, Redeclared(None, (), _times(problem, belief))
        if not isinstance(act, Declare):
            continue
        speaking = evidence_on(state, graph.belief_index[act.belief], wrong_under(problem, act))
        support = tuple(graph.probes[m].name for m in speaking)
        yield act.belief, Redeclared(act.value, support, _times(problem, act.belief))


def _times(problem: Problem, belief: str) -> int:
    """Return how often a belief has been declared again, this time included."""
    before = problem.redeclared.get(belief)
    return 1 if before is None else before.times + 1


def _made_right(problem: Problem, act: Follow) -> Iterator[str]:
    """Yield what a plan has corrected for sure; what it may have left wrong stays as it was."""
    plan = problem.followed(act.plan)
    unsure = {} if plan is None else plan.unsure
    return (belief for belief in act.correct if belief not in unsure)
