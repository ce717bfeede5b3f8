"""Problems changed before they are solved: compensations as plans, and whether an action may be done now.

Compensations make up for what was done on a wrong belief, instead of undoing it. A set K of them together with a set S
of beliefs corrected by undoing is one ending,

    ℓ(K, S; s) = Σ_{k ∈ K} c_k + C_R(D(S)) + Σ_i L_i Z_i(s) w_i ,

with w_i the product of 1 − p_k over the compensations of K that correct belief i, and of 1 − P_i if i ∈ S. One payment
may correct several beliefs, and a belief may be corrected in several ways: that is no minimum cut any more. The endings
are enumerated, and each becomes a plan.

Before an action, no alarm has rung, and only beliefs from which the action can be reached count. The others cost
nothing either way, and need no support. A belief without a declared value on which nothing executed rests cannot be
corrected: there is nothing to undo, and nothing else to declare.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

import numpy as np

from aquamend.arrays import Floats
from aquamend.codec import Cost, Name, Probability
from aquamend.errors import AquaMendError, Fault, InvalidProblem, UnknownName
from aquamend.problem import Plan, Problem
from aquamend.problem.faults import refuse, unknown_among
from aquamend.problem.graph import RecoveryGraph
from aquamend.problem.graph.recovery_graph import unions

MOST_PLANS = 2_000
"""Most endings that compensations may add."""
_TOO_MANY = Fault(
    "compensations",
    f"they make more than {MOST_PLANS:,} ways of ending, which are listed one by one",
    "give fewer, or give plans instead",
)


@dataclass(frozen=True, slots=True)
class Compensation:
    """Something that makes up for what was done on the strength of some beliefs, without undoing it."""

    name: Name
    """Its name, which no other compensation and no plan has."""
    cost: Cost
    """What it costs; finite."""
    correct: Sequence[Name]
    """Beliefs that are as good as right afterwards."""
    succeeds: Probability = 1.0
    """Probability that it works; where it does not, what was wrong stays wrong."""


def with_compensations(problem: Problem, compensations: Sequence[Compensation]) -> Problem:
    """Return the problem with a plan for every set of compensations, alone and with corrections by undoing."""
    refuse(compensation_faults(problem, compensations))
    sets = (chosen for k in range(1, len(compensations) + 1) for chosen in combinations(compensations, k))
    plans = list(islice((plan for chosen in sets for plan in _with_undoing(problem, chosen)), MOST_PLANS + 1))
    if len(plans) > MOST_PLANS:
        raise InvalidProblem([_TOO_MANY])
    return replace(problem, plans=(*problem.plans, *plans), compensations=tuple(compensations))


def compensation_faults(problem: Problem, compensations: Sequence[Compensation]) -> Iterator[Fault]:
    """Yield what is wrong with compensations."""
    seen = {plan.name for plan in problem.plans}
    for k, one in enumerate(compensations):
        where = f"compensations[{k}]"
        if one.name in seen:
            yield Fault(f"{where}.name", f"{one.name!r} is given twice, among plans and compensations", "rename it")
        seen.add(one.name)
        if not 0.0 <= one.cost < math.inf:
            yield Fault(f"{where}.cost", f"{one.cost!r} is not a finite cost", "give a number of at least 0")
        if not 0.0 < one.succeeds <= 1.0:
            said = f"{one.succeeds!r} is not a chance of success"
            yield Fault(f"{where}.succeeds", said, "give a number above 0 and up to 1")
        if not one.correct:
            yield Fault(f"{where}.correct", "it is empty", "name the beliefs that it corrects")
        yield from unknown_among("belief", f"{where}.correct", one.correct, problem.graph.belief_index)


def _with_undoing(problem: Problem, chosen: Sequence[Compensation]) -> Iterator[Plan]:
    """Yield a plan for every distinct closure of the beliefs that these compensations leave."""
    graph = problem.graph
    made = {name for one in chosen for name in one.correct}
    if any(b.needs_support and b.name not in made for b in graph.beliefs):
        return  # whether it may be kept depends on the posterior, which a plan's loss cannot
    sure = {name for one in chosen if one.succeeds == 1.0 for name in one.correct}  # the others may be undone as well
    charges = {i: graph.belief_charges[i] for i, b in enumerate(graph.beliefs) if b.name not in sure}
    undoable = [i for i in charges if problem.corrections and not graph.beliefs[i].declares]
    free = [i for i in undoable if charges[i] == 0]
    open_ = [
        i
        for i in undoable
        if charges[i] != 0
        and graph.beliefs[i].residual > 0.0
        and problem.failed[:, i].any()
        and graph.charged(charges[i]) < math.inf
    ]
    sets = unions([charges[i] for i in open_], MOST_PLANS)
    if sets is None:
        raise InvalidProblem([_TOO_MANY])
    for union in sets:
        yield _plan(problem, chosen, [i for i in open_ if charges[i] & ~union == 0], free, graph.charged(union))


def _plan(
    problem: Problem, chosen: Sequence[Compensation], undone: Sequence[int], free: Sequence[int], cost: float
) -> Plan:
    graph = problem.graph
    left: Floats = np.ones(len(graph.beliefs))
    for i in (*undone, *free):
        left[i] = 1.0 - graph.undo_chances[i]
    for one in chosen:
        for name in dict.fromkeys(one.correct):
            left[graph.belief_index[name]] *= 1.0 - one.succeeds
    wrong = problem.failed * left
    loss = np.full(len(wrong), cost + math.fsum(one.cost for one in chosen))
    made = {graph.belief_index[name] for one in chosen for name in one.correct} | {*undone, *free}
    for i, belief in enumerate(graph.beliefs):
        # What may not be kept has to be corrected; what a correction leaves wrong costs its residual, as everywhere.
        if math.isinf(belief.residual) or (i not in made and not belief.may_keep):
            loss = np.where(wrong[:, i] > 0.0, math.inf, loss)
        else:
            loss = loss + wrong[:, i] * belief.residual
    corrected = {name for one in chosen for name in one.correct} | {graph.beliefs[i].name for i in undone}
    corrected |= {graph.beliefs[i].name for i in free if problem.failed[:, i].any()}
    name = " and ".join(one.name for one in chosen)
    if undone:
        name += " and correct " + ", ".join(graph.beliefs[i].name for i in undone)
    correct = tuple(belief.name for belief in graph.beliefs if belief.name in corrected)
    unsure = {graph.beliefs[i].name: float(left[i]) for i in sorted(made) if left[i] > 0.0}
    undo = graph.closure([graph.beliefs[i].name for i in undone])
    return Plan(name, loss, correct, undo, unsure, compensates=True)


def leading_to(graph: RecoveryGraph, action: str) -> tuple[str, ...]:
    """Return the beliefs from which an action can be reached, in graph order."""
    if action not in (names := [one.name for one in graph.actions]):
        raise UnknownName("action", action, names)
    leading = graph.leading_to_any([action])
    return tuple(belief.name for belief in graph.beliefs if belief.name in leading)


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
    nothing_to_undo = [b.name for b in graph.beliefs if not b.declares and b.name not in graph.leading_to_executed]
    guarded = replace(
        problem,
        graph=replace(graph, beliefs=beliefs, fixed=nothing_to_undo),
        plans=[plan for plan in problem.plans if not plan.compensates],
        before=action,
    )
    return with_compensations(guarded, problem.compensations) if problem.compensations else guarded
