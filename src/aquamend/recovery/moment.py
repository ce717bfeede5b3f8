"""The problem of one moment: a task's template, with what has really been done and declared by then.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from aquamend.errors import AquaMendError, Fault, UnknownValue
from aquamend.files import with_declared
from aquamend.problem import Ages, Plan, Problem
from aquamend.problem.graph import Action, Belief, Edge, RecoveryGraph, Value
from aquamend.problem.model import Declaration, Hypothesis
from aquamend.problem.model.spreads import differs
from aquamend.recovery.situation import still_executed

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
        graph=replace(graph, beliefs=beliefs, actions=tuple(_actions(graph, moment)), edges=edges),
        model=model,
        plans=tuple(still_executed(plan, moment.executed) for plan in problem.plans),
        restart=still_executed(problem.restart, moment.executed)
        if isinstance(problem.restart, Plan)
        else problem.restart,
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


def check_sets(template: Template, base: Problem) -> None:
    """Refuse a fixed template that means nothing once an action has set a belief: ``InvalidProblem``."""
    for action in base.graph.actions if not callable(template) else ():
        for belief, value in action.sets.items():
            with_declared(base, {belief: value})


def template_faults(problem: Problem) -> Iterator[Fault]:
    """Yield what keeps a problem from being the template of a whole task."""
    for i, action in enumerate(problem.graph.actions):
        if action.reversible and action.undo is None and not action.operations:
            yield Fault(
                f"actions[{i}]",
                f"{action.name!r} says neither undo nor operations, and may come to be executed",
                "say what undoing it costs (undo: 0 if nothing), or reversible: false",
            )
    for belief in problem.redeclared:
        yield Fault(
            f"redeclared.{belief}",
            "the problem is that of a recovery under way",
            "give the one that it began with",
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


def _actions(graph: RecoveryGraph, moment: Present) -> Iterator[Action]:
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
