"""Before an action: the problem of whether it may be done now, though no alarm has rung.

Only beliefs from which the action can be reached count. The others cost nothing either way, and need no support. A
belief without a declared value on which nothing executed rests cannot be corrected: there is nothing to undo, and
nothing else to declare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aquamend.errors import AquaMendError, UnknownName
from aquamend.problem import Problem
from aquamend.problem.building.compensations import with_compensations
from aquamend.problem.graph import RecoveryGraph


def leading_to(graph: RecoveryGraph, action: str) -> tuple[str, ...]:
    """Return the beliefs from which an action can be reached, in graph order."""
    if action not in (names := [one.name for one in graph.actions]):
        raise UnknownName("action", action, names)
    reaching = {action}
    for node in reversed(graph.topological_order):
        if any(target in reaching for target in graph.successors[node]):
            reaching.add(node)
    return tuple(belief.name for belief in graph.beliefs if belief.name in reaching)


def before_action(problem: Problem, action: str) -> Problem:
    """Return the problem to decide on before an action; ``AquaMendError`` where it is executed already.

    Ask it at ``InformationState.alarmed(problem, (), silent=...)``: no monitor has rung.
    """
    graph, count = problem.graph, leading_to(problem.graph, action)
    if any(one.name == action and one.executed for one in graph.actions):
        raise AquaMendError(f"{action!r} is executed already; ask before it begins")
    beliefs = [
        belief if belief.name in count else replace(belief, residual=0.0, may_keep=True, needs_support=False)
        for belief in graph.beliefs
    ]
    guarded = replace(
        problem,
        graph=replace(graph, beliefs=beliefs, fixed=_nothing_to_undo(graph)),
        plans=[plan for plan in problem.plans if not plan.compensates],
        before=action,
    )
    return with_compensations(guarded, problem.compensations) if problem.compensations else guarded


def _nothing_to_undo(graph: RecoveryGraph) -> Sequence[str]:
    leading = graph.leading_to_executed
    return [belief.name for belief in graph.beliefs if not belief.declares and belief.name not in leading]
