"""Compensations: making up for what was done on a wrong belief, instead of undoing it.

A set K of compensations together with a set S of beliefs corrected by undoing is one ending,

    ℓ(K, S; s) = Σ_{k ∈ K} c_k + C_R(D(S)) + Σ_i L_i Z_i(s) w_i ,

with w_i the product of 1 − p_k over the compensations of K that correct belief i, and of 1 − P_i if i ∈ S. One payment
may correct several beliefs, and a belief may be corrected in several ways: that is no minimum cut any more. The endings
are enumerated, and each becomes a plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from aquamend.arrays import Floats
from aquamend.codec import Cost, Name, Probability
from aquamend.errors import Fault, InvalidProblem
from aquamend.problem import Plan, Problem

MOST_PLANS = 2_000
"""Most endings that compensations may add."""


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
    faults = list(compensation_faults(problem, compensations))
    if faults:
        raise InvalidProblem(faults)
    return replace(problem, plans=(*problem.plans, *_plans(problem, compensations)), compensations=tuple(compensations))


def compensation_faults(problem: Problem, compensations: Sequence[Compensation]) -> Iterator[Fault]:
    """Yield what is wrong with compensations."""
    seen = {plan.name for plan in problem.plans}
    for k, one in enumerate(compensations):
        where = f"compensations[{k}]"
        if one.name in seen:
            yield Fault(f"{where}.name", f"{one.name!r} is given twice, among plans and compensations", "rename it")
        seen.add(one.name)
        if not (one.cost >= 0.0 and math.isfinite(one.cost)):
            yield Fault(f"{where}.cost", f"{one.cost!r} is not a finite cost", "give a number of at least 0")
        if not 0.0 < one.succeeds <= 1.0:
            problem_ = f"{one.succeeds!r} is not a chance of success"
            yield Fault(f"{where}.succeeds", problem_, "give a number above 0 and up to 1")
        if not one.correct:
            yield Fault(f"{where}.correct", "it is empty", "name the beliefs that it corrects")
        for j, name in enumerate(one.correct):
            if name not in problem.graph.belief_index:
                at, valid = f"{where}.correct[{j}]", problem.graph.belief_index
                yield Fault(at, f"{name!r} is not a belief", "rename or remove it", name, valid, ("beliefs",))


def _plans(problem: Problem, compensations: Sequence[Compensation]) -> list[Plan]:
    found: list[Plan] = []
    for count in range(1, len(compensations) + 1):
        for chosen in combinations(compensations, count):
            for plan in _with_undoing(problem, chosen):
                found.append(plan)
                if len(found) > MOST_PLANS:
                    problem_ = f"they make more than {MOST_PLANS:,} ways of ending, which are listed one by one"
                    raise InvalidProblem([Fault("compensations", problem_, "give fewer, or give plans instead")])
    return found


def _with_undoing(problem: Problem, chosen: Sequence[Compensation]) -> Iterator[Plan]:
    """Yield a plan for every distinct closure of the beliefs that these compensations leave."""
    graph = problem.graph
    made = {name for one in chosen for name in one.correct}
    if any(b.needs_support and b.name not in made for b in graph.beliefs):
        return  # whether it may be kept depends on the posterior, which a plan's loss cannot
    sure = {name for one in chosen if one.succeeds == 1.0 for name in one.correct}  # the others may be undone as well
    open_ = [
        i
        for i, belief in enumerate(graph.beliefs)
        if problem.corrections
        and belief.name not in sure
        and not belief.declares
        and belief.residual > 0.0
        and problem.failed[:, i].any()
        and graph.belief_charges[i] != 0
        and graph.charged(graph.belief_charges[i]) < math.inf
    ]
    unions = {0: None}
    for i in open_:
        unions.update(dict.fromkeys([union | graph.belief_charges[i] for union in unions]))
        if len(unions) > MOST_PLANS:
            break
    free = {i for i, b in enumerate(graph.beliefs) if b.name not in sure and graph.belief_charges[i] == 0}
    for union in unions:
        undone = [i for i in open_ if graph.belief_charges[i] & ~union == 0]
        yield _plan(problem, chosen, undone, [i for i in sorted(free) if _assured(problem, i)], graph.charged(union))


def _assured(problem: Problem, i: int) -> bool:
    return problem.corrections and not problem.graph.beliefs[i].declares


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
