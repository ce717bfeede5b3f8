"""What was believed, for a story: how likely everything was at a time, what was declared, and what rests on what."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from aquamend.belief import InformationState
from aquamend.decision.steps import Reprobe, RollBack, Step
from aquamend.problem import Problem
from aquamend.recovery.history import Recovery
from aquamend.story.story import Node, Statement, Update
from aquamend.text import percent, quantity, shown

MOST_EXPLANATIONS = 11
"""Explanations shown by themselves; what is left is counted together."""
UNLIKELY = 0.01
"""Explanations that never get above this are not shown by themselves."""

Explained = Callable[[InformationState], Mapping[str, float]]


def hypotheses(state: InformationState) -> Mapping[str, float]:
    """Return the probability of every hypothesis by its name; nothing where the evidence contradicts the model."""
    if state.contradiction is not None:
        return {}
    names = (hypothesis.name for hypothesis in state.problem.model.hypotheses)
    return dict(zip(names, map(float, state.posterior), strict=True))


def update_of(state: InformationState, when: str, time: float, *, explained: Explained = hypotheses) -> Update:
    """Return what is believed at a state."""
    wrong, declarations = state.invalidity, state.problem.declarations
    doubts = {one.name: None if wrong is None else float(wrong[i]) for i, one in enumerate(declarations)}
    return Update(time, when, explained(state), doubts)


def alarm_updates(state: InformationState, time: float) -> Iterator[Update]:
    """Yield what was believed before the alarm and after it, and after each answer that came with it."""
    problem = state.problem
    heard = InformationState.alarmed(problem, state.rung, silent=state.silent)
    if heard.rung:
        yield update_of(InformationState.start(problem), "before the alarm", time)
    yield update_of(heard, "after the alarm" if heard.rung else "to begin with", time)
    for observation in state.evidence:
        heard = heard.after(observation)
        yield update_of(heard, f"after {shown(observation)}", time)


def likeliest(updates: Sequence[Update]) -> tuple[Update, ...]:
    """Return the updates with the same few explanations in each, those that were ever the likeliest."""
    most: dict[str, float] = {}
    for update in updates:
        for name, p in update.explanations.items():
            most[name] = max(p, most.get(name, 0.0))
    ranked = sorted((name for name in most if most[name] >= UNLIKELY), key=lambda name: -most[name])
    kept = set(ranked[:MOST_EXPLANATIONS])
    return tuple(
        replace(update, explanations={name: p for name, p in update.explanations.items() if name in kept})
        for update in updates
    )


def statements_of(state: InformationState, wrong: Collection[str] | None = None) -> tuple[Statement, ...]:
    """Return what was declared; ``wrong`` names what was not so in truth, where somebody knows."""
    return tuple(
        Statement(
            one.name,
            "" if one.value is None else str(one.value),
            tuple(one.support),
            None if wrong is None else one.name in wrong or one.belief in wrong,
        )
        for one in state.problem.declarations
    )


def edges_of(problem: Problem) -> tuple[tuple[str, str, str], ...]:
    """Return what rests on what."""
    return tuple((edge[0], edge[1], str(edge[2])) for edge in problem.graph.edges)


def nodes_of(
    problem: Problem, recovery: Recovery | None = None, *, state: InformationState | None = None,
    step: Step | None = None, wrong: Collection[str] = (),
) -> Iterator[Node]:  # fmt: skip
    """Yield the nodes of a graph: what each costs, the doubt in a belief, and what becomes or became of it."""
    now = state or (recovery.decided_at if recovery is not None else None)
    graph, alarm, unit = problem.graph, problem.model.alarm, problem.unit
    used = {o.probe for o in now.evidence} if now is not None else set()
    used |= {s.probe for s in recovery.steps if isinstance(s, Reprobe)} if recovery is not None else set()
    undone = set(recovery.undone if recovery else step.undo if isinstance(step, RollBack) else ())
    corrected = set(recovery.corrected if recovery else step.correct if isinstance(step, RollBack) else ())
    next_probe = step.probe if isinstance(step, Reprobe) else None
    marked = {"suspected": set(alarm.suspects) if alarm else set(), "wrong": set(wrong), "corrected": corrected}
    for probe in graph.probes:
        marks = tuple(mark for mark, has in (("used", probe.name in used), ("next", probe.name == next_probe)) if has)
        yield Node(probe.name, "probe", quantity(probe.cost, unit), marks=marks)
    doubts = [None] * len(graph.beliefs) if now is None else [float(q) for q in now.failure_probabilities]
    for belief, q in zip(graph.beliefs, doubts, strict=True):
        marks = tuple(mark for mark, names in marked.items() if belief.name in names)
        yield Node(belief.name, "belief", "" if q is None else f"{percent(q)} doubt", q, marks)
    for action in graph.actions:
        if action.executed:
            cost = graph.rollback_cost([action.name])
            note = "cannot be undone" if math.isinf(cost) else f"undo {quantity(cost, unit)}"
            yield Node(action.name, "action", note, marks=("undone",) if action.name in undone else ())
        else:
            yield Node(action.name, "action", "planned", marks=("planned",))
