"""The problem as it stands now: at one moment of a task, and in the middle of a recovery.

``problem_at`` is a task's template with what has really been done and declared by then; ``problem_after`` is that of a
recovery with what was undone, declared, done again, or cannot be done.

What the hypotheses of a template mean when other values are declared than it says. A template that is a function of
the values is asked for the problem of the values declared now, and is taken at its word. A fixed one describes states
of the world, and its kernels do: a hypothesis that is silent about a belief means the value that the *template*
declares. As long as the value declared now is the same within the tolerance, it stays silent; where another one is
declared, the belief is wrong under every hypothesis under which that is not true. Reading the silence as "whatever is
declared now is right" would contradict the kernels: a probe that reads the template's value would confirm another one.
A value that is true under no hypothesis at all cannot be meant.

An action that sets a belief changes the world: from then on, until it is undone, silence means the value that was set,
and what follows the truth follows that.

Of a belief without values the file only says under which hypotheses it fails: that holds for whatever is declared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TypeVar

import numpy as np

from aquamend.arrays import Floats
from aquamend.belief import InformationState
from aquamend.belief.support import evidence_on
from aquamend.errors import AquaMendError, Fault, InvalidProblem, UnknownValue
from aquamend.files import with_declared
from aquamend.problem import RESTART, Ages, Plan, Problem, Redeclared
from aquamend.problem.graph import Action, Belief, Edge, Probe, RecoveryGraph, Value
from aquamend.problem.model import Declaration, Hypothesis, JointModel
from aquamend.problem.model.spreads import differs
from aquamend.recovery.acts import Act, Declare, Follow, Measure, Redo, Undo

AnyAct = TypeVar("AnyAct", bound=Act)

Template = Problem | Callable[[Mapping[str, Value]], Problem]
"""A problem, or a function that gives the problem for the values declared so far, by belief (none to begin with)."""


@dataclass(frozen=True, slots=True)
class Present:
    """What has happened by now, as far as a recovery is concerned."""

    declared: Mapping[str, Declaration] = field(default_factory=dict)
    """The version in force, of every belief that was declared since the task began."""
    executed: tuple[str, ...] = ()
    """Actions begun and not undone, in the order in which they began."""
    undone: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Operations of executed actions that have been performed already."""
    unsaid: tuple[Edge, ...] = ()
    """Dependences that the template does not know."""
    ages: Ages | None = None
    """How long ago beliefs were measured; None where nobody counts."""
    brought: Mapping[str, Value] = field(default_factory=dict)
    """What actions have set, by belief: a fixed template that is silent about a belief then means this."""


def problem_at(template: Template, moment: Present) -> Problem:
    """Return the problem of a moment."""
    problem = base_problem(template, {b: d.value for b, d in moment.declared.items() if d.value is not None})
    if not callable(template):
        problem = with_declared(problem, moment.brought)
    if problem.ageing is not None and moment.ages is not None:
        problem = problem.ageing.problem(moment.ages)
    graph = problem.graph
    beliefs = tuple(_declared(belief, moment) for belief in graph.beliefs)
    edges = (*graph.edges, *(edge for edge in moment.unsaid if edge not in graph.edges))
    model = replace(
        problem.model,
        hypotheses=tuple(_meant(h, graph, moment) for h in problem.model.hypotheses),
        declarations=tuple(_declarations(problem, moment)),
    )
    return replace(
        problem,
        graph=replace(graph, beliefs=beliefs, actions=tuple(_executed_and_planned(graph, moment)), edges=edges),
        model=model,
        plans=tuple(_still_executed(plan, moment.executed) for plan in problem.plans),
        restart=_restart(problem, moment.executed),
    )


def base_problem(template: Template, values: Mapping[str, Value]) -> Problem:
    """Return the template for these values; one that cannot serve at every moment of a task is refused."""
    if not callable(template):
        return template
    problem = template(dict(values))
    if not isinstance(problem, Problem):
        raise AquaMendError(f"the template returned {problem!r} for {dict(values)!r}; return a Problem")
    for belief in problem.graph.beliefs:
        wanted = values.get(belief.name)
        if wanted is not None and belief.declared is not None and belief.declared != wanted:
            raise AquaMendError(
                f"the template was asked for {belief.name!r} = {wanted!r} and declares {belief.declared!r}; "
                "build the problem for the values given"
            )
    return problem


def check_template(template: Template, base: Problem) -> None:
    """Refuse what cannot be the template of a whole task, or means nothing once an action has set a belief."""
    for action in base.graph.actions if not callable(template) else ():
        for belief, value in action.sets.items():
            with_declared(base, {belief: value})
    if faults := list(_template_faults(base)):
        raise InvalidProblem(faults)


def _template_faults(problem: Problem) -> Iterator[Fault]:
    for i, action in enumerate(problem.graph.actions):
        if action.reversible and action.undo is None and not action.operations:
            yield Fault(
                f"actions[{i}]",
                f"{action.name!r} says neither undo nor operations, and may come to be executed",
                "say what undoing it costs (undo: 0 if nothing), or reversible: false",
            )
    for belief in problem.redeclared:
        yield Fault(
            f"redeclared.{belief}", "the problem is that of a recovery under way", "give the one that it began with"
        )


def check_value(problem: Problem, belief: str, value: Value) -> None:
    """Refuse a value of a belief that no hypothesis of a fixed template allows."""
    spec = problem.graph.beliefs[problem.graph.belief_index[belief]]
    if spec.declared is None:
        return
    values = (spec.declared, *(hypothesis.true_of(spec) for hypothesis in problem.model.hypotheses))
    known = dict.fromkeys(value for value in values if value is not None)
    if all(differs(value, other, spec.tolerance) for other in known):
        raise UnknownValue(belief, value, known)


def plain_value(belief: str, value: object) -> Value:
    """Return a value as text or a plain number; refuse what is neither."""
    if isinstance(value, str):
        return value
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise AquaMendError(f"{belief!r} cannot be declared {value!r}, which is neither text nor a number")
    return number


def same_names(one: Problem, other: Problem) -> bool:
    """Whether two problems have the same beliefs, actions and probes, by name."""
    return set(one.graph.successors) == set(other.graph.successors)


def assumed(problem: Problem, belief: str) -> Declaration:
    """Return what the template assumes of a belief before anybody has declared it: version 0, resting on nothing."""
    return Declaration(belief, belief, 0, problem.graph.beliefs[problem.graph.belief_index[belief]].declared)


def leads_to(graph: RecoveryGraph, source: str, target: str, more: Mapping[str, Sequence[str]] | None = None) -> bool:
    """Whether there is a path from one node to another, along the graph's edges and these more."""
    waiting, seen = [source], {source}
    while waiting:
        name = waiting.pop()
        if name == target:
            return True
        new = [n for n in (*graph.successors[name], *(more or {}).get(name, ())) if n not in seen]
        seen.update(new)
        waiting += new
    return False


def _declared(belief: Belief, moment: Present) -> Belief:
    now = moment.declared.get(belief.name)
    if now is None or now.value is None or belief.declared is None:
        return belief
    return replace(belief, declared=now.value)


def _moved(belief: Belief, moment: Present) -> bool:
    """Whether another value is declared than the template says."""
    now = _declared(belief, moment).declared
    return now is not None and differs(now, belief.declared, belief.tolerance)


def _meant(hypothesis: Hypothesis, graph: RecoveryGraph, moment: Present) -> Hypothesis:
    """Return a hypothesis that says what it was silent about, where the declared value is another by now."""
    said = {
        belief.name: belief.declared
        for belief in graph.beliefs
        if belief.declared is not None
        and belief.name not in (*hypothesis.truth, *hypothesis.failed)
        and _moved(belief, moment)
    }
    return replace(hypothesis, truth={**hypothesis.truth, **said}) if said else hypothesis


def _executed_and_planned(graph: RecoveryGraph, moment: Present) -> Iterator[Action]:
    """Yield what was executed, in the order in which it was, and then what is planned."""
    by_name = {action.name: action for action in graph.actions}
    for name in moment.executed:
        action = replace(by_name[name], executed=True)
        gone = moment.undone.get(name, ())
        if gone and action.operations:  # what has been undone of it already costs nothing more
            left = tuple(operation for operation in action.operations if operation not in gone)
            action = replace(action, operations=left, undo=None if left else 0.0)
        yield action
    for action in graph.actions:
        if action.name not in moment.executed:
            yield replace(action, executed=False)


def _declarations(problem: Problem, moment: Present) -> Iterator[Declaration]:
    """Yield every statement as it stands: what is declared now, in which version, on whose evidence."""
    for statement in _statements(problem, moment):
        belief = problem.graph.beliefs[problem.graph.belief_index[statement.belief]]
        now = moment.declared.get(belief.name) or assumed(problem, belief.name)
        value = statement.value if now.value is None else now.value
        # Where it would be invalid was said of the template's value; of another one, it follows from what is true.
        invalid_in = None if _moved(belief, moment) else statement.invalid_in
        yield replace(statement, version=now.version, value=value, support=now.support, invalid_in=invalid_in)


def _statements(problem: Problem, moment: Present) -> Iterator[Declaration]:
    """Yield the template's declarations, one for each name, and one for every other belief that was declared."""
    known = {declaration.name: declaration for declaration in problem.model.declarations}
    yield from known.values()
    spoken_of = {declaration.belief for declaration in known.values()}
    for belief in problem.graph.beliefs:
        if belief.name not in spoken_of and (not known or belief.name in moment.declared):
            failed = tuple(h.name for h in problem.model.hypotheses if belief.name in h.failed)
            yield Declaration(belief.name, belief.name, invalid_in=None if belief.declared is not None else failed)


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
    actions = tuple(_undone_and_redone(problem, changes, first))
    in_vain = _never(changes, Undo)
    operations = tuple(replace(o, cost=math.inf) if o.name in in_vain else o for o in problem.graph.operations)
    graph = replace(problem.graph, actions=actions, operations=operations, probes=tuple(_probes(state, changes)))
    executed = {action.name for action in actions if action.executed}
    never = _never(changes, Follow)
    redone = {b: v for act in _done(changes, Redo) for b, v in _sets(act, first).items()}
    return replace(
        problem,
        graph=graph,
        sensing_budget=max(0.0, problem.sensing_budget - _spent_on_nothing(changes)),
        plans=tuple(_still_executed(plan, executed) for plan in problem.plans if plan.name not in never),
        restart=None if RESTART in never else _restart(problem, executed),
        model=_brought_about(problem, redone),
        redeclared={**problem.redeclared, **dict(_redeclared(state, changes, first))},
    )


def _never(changes: Sequence[Change], kind: type[Act]) -> set[str]:
    return {change.act.name for change in changes if change.came is Came.NEVER and isinstance(change.act, kind)}


def _done(changes: Sequence[Change], kind: type[AnyAct]) -> Iterator[AnyAct]:
    return (change.act for change in changes if change.came is Came.DONE and isinstance(change.act, kind))


def _undone_and_redone(problem: Problem, changes: Sequence[Change], first: Problem) -> Iterator[Action]:
    """Yield the actions: undone where every operation of an undoing was done, executed again where they were redone."""
    original = {action.name: action for action in first.graph.actions}
    operations = {act.operation for act in _done(changes, Undo)}
    wanted = {name for act in _done(changes, Undo) for name in act.actions}
    redone = {act.action for act in _done(changes, Redo)}
    undone = {name for act in _done(changes, Follow) for name in act.undo}
    never = _never(changes, Undo)
    for action in problem.graph.actions:
        shared = tuple(name for name in action.operations if name not in operations)
        alone = not action.operations
        if action.name in redone:
            yield replace(original[action.name], executed=True)
        elif not action.executed:
            yield action
        elif action.name in undone or (
            action.name in wanted and not shared and (not alone or action.name in operations)
        ):
            yield replace(original[action.name], executed=False)
        elif alone:
            yield replace(action, undo=math.inf) if action.name in never else action
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
    """Yield what is declared again by now: by the recovery itself, by an action done again, or put right by a plan."""
    problem, graph = state.problem, state.problem.graph

    def again(belief: str, value: Value | None, support: tuple[str, ...] = ()) -> tuple[str, Redeclared]:
        before = problem.redeclared.get(belief)
        return belief, Redeclared(value, support, 1 if before is None else before.times + 1)

    for change in changes:
        match change:
            case Change(Redo() as act, Came.DONE):
                for belief, value in _sets(act, first).items():
                    yield again(belief, value)
            case Change(Follow(plan, correct), Came.DONE):
                followed = problem.followed(plan)
                for belief in correct:  # what it may have left wrong stays as it was
                    if followed is None or belief not in followed.unsure:
                        yield again(belief, None)
            case Change(Declare(belief, value) as act, Came.DONE):
                speaking = evidence_on(state, graph.belief_index[belief], wrong_under(problem, act))
                yield again(belief, value, tuple(graph.probes[m].name for m in speaking))
            case _:
                pass


def _sets(act: Redo, first: Problem) -> Mapping[str, Value]:
    """Return what an action that was done again has set."""
    return next(action.sets for action in first.graph.actions if action.name == act.action)


def _still_executed(plan: Plan, executed: Container[str]) -> Plan:
    """Return a plan where these actions are executed: it undoes no others."""
    return replace(plan, undo=tuple(name for name in plan.undo if name in executed))


def _restart(problem: Problem, executed: Container[str]) -> Plan | float | None:
    return _still_executed(problem.restart, executed) if isinstance(problem.restart, Plan) else problem.restart
