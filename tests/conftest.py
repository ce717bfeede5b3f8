"""Random problems and an enumeration of their terminal decisions, shared by the tests of the core."""

import math
import random
from collections.abc import Callable
from itertools import combinations

import pytest

from aquamend.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.inference import InformationState
from aquamend.model import Alarm, Discrete, Gaussian, Hypothesis, JointModel
from aquamend.problem import Problem


@pytest.fixture(scope="session")
def random_problem() -> Callable[..., Problem]:
    """Return a maker of small problems; ``exact`` ones have dyadic numbers, so that equal losses are equal bits."""
    return _random_problem


@pytest.fixture(scope="session")
def enumerated_stop() -> Callable[[InformationState], tuple[float, object]]:
    """Return V_stop and its decision by trying all 2^n correction sets: names, ``"restart"`` or ``"escalate"``."""
    return _enumerated_stop


@pytest.fixture(scope="session")
def reachable() -> Callable[[RecoveryGraph, str], set[str]]:
    """Return the executed actions that a depth-first search from a belief finds."""
    return _reachable


def _random_problem(
    rng: random.Random, *, exact: bool = False, gaussian: bool = False, beliefs: int = 5, probes: int = 3
) -> Problem:
    def amount(most: int) -> float:
        return rng.randrange(4 * most + 1) / 4 if exact else rng.uniform(0, most)

    def distribution(size: int) -> list[float]:
        if exact:
            cuts = sorted(rng.randrange(17) for _ in range(size - 1))
            return [(b - a) / 16 for a, b in zip([0, *cuts], [*cuts, 16], strict=True)]
        weights = [rng.choice([0.0, rng.random(), rng.random()]) for _ in range(size)]
        weights[rng.randrange(size)] += 0.5
        return [w / math.fsum(weights) for w in weights]

    def some(letter: str, least: int, most: int) -> list[str]:
        return [f"{letter}{i}" for i in range(max(rng.randint(least, most), rng.randint(least, most)))]

    b, a, p, o, h = some("b", 1, beliefs), some("a", 0, 5), some("p", 0, probes), some("o", 0, 3), some("h", 1, 6)
    edges = [(x, y, "inference") for x, y in combinations(b, 2) if rng.random() < 0.25]
    edges += [(x, y, "belief_to_action") for x in b for y in a if rng.random() < 0.4]
    edges += [(x, y, rng.choice(["action_causal", "temporal"])) for x, y in combinations(a, 2) if rng.random() < 0.25]
    measured = {name: rng.choice(b) for name in p}
    edges += [(x, y, rng.choice(["detection", "aggregation"])) for x, y in measured.items()]

    def action(name: str) -> Action:
        executed, reversible = rng.random() < 0.8, rng.random() < 0.93
        if o and rng.random() < 0.4:
            used = tuple(rng.sample(o, rng.randint(1, len(o))))
            return Action(name, operations=used, executed=executed, reversible=reversible)
        return Action(name, undo=1 + amount(7), executed=executed, reversible=reversible)

    graph = RecoveryGraph(
        [Belief(name, amount(12), may_keep=rng.random() < 0.9) for name in b],
        [action(name) for name in a],
        [Probe(name, amount(1) / 4, max_uses=rng.choice([1, 1, 2])) for name in p],
        edges,
        [Operation(name, amount(4)) for name in o],
    )
    priors = distribution(len(h))
    failed = {n: [x for x in b if rng.random() < 0.35] if i or rng.random() < 0.2 else [] for i, n in enumerate(h)}
    hypotheses = [Hypothesis(n, q, failed[n]) for n, q in zip(h, priors, strict=True)]
    kernels = {}
    for name, belief in measured.items():
        fine, odd = (rng.choice([0.0, 1 / 16, 0.25]) for _ in range(2))
        if gaussian and (name == "p0" or rng.random() < 0.5):
            kernels[name] = Gaussian({n: (2 * (belief in failed[n]) + rng.random(), rng.uniform(0.5, 2)) for n in h})
        elif rng.random() < 0.7:
            rows = {n: [odd, 1 - odd] if belief in failed[n] else [1 - fine, fine] for n in h}
            kernels[name] = Discrete(["fine", "odd"], rows)
        else:
            size = rng.randint(1, 3)
            kernels[name] = Discrete([f"y{i}" for i in range(size)], {n: distribution(size) for n in h})
    alarm = None if exact or rng.random() < 0.5 else Alarm({n: rng.uniform(0.1, 1) for n in h}, b[:1])
    return Problem(
        graph,
        JointModel(hypotheses, kernels, alarm),
        sensing_budget=amount(1) / 2 if rng.random() < 0.3 else math.inf,
        restart=amount(20) if rng.random() < 0.4 else None,
        escalate=amount(25) if rng.random() < 0.6 else None,
    )


def _reachable(graph: RecoveryGraph, belief: str) -> set[str]:
    found, frontier = set(), [belief]
    while frontier:
        name = frontier.pop()
        if name not in found:
            found.add(name)
            frontier += [target for source, target, _ in graph.edges if source == name]
    return {action.name for action in graph.actions if action.executed and action.name in found}


def _enumerated_stop(state: InformationState) -> tuple[float, object]:
    graph, problem = state.problem.graph, state.problem
    operations = {operation.name: operation.cost for operation in graph.operations}
    actions = {action.name: action for action in graph.actions}
    masses = list(zip(problem.model.hypotheses, state.posterior, strict=True))
    q = {b.name: math.fsum(float(p) for h, p in masses if b.name in h.failed) for b in graph.beliefs}

    def loss(correct: tuple[Belief, ...]) -> float:
        undone = set().union(*(_reachable(graph, belief.name) for belief in correct))
        if any(not actions[name].reversible for name in undone):
            return math.inf
        own = [actions[name].undo or 0.0 for name in undone]
        shared = {operation for name in undone for operation in actions[name].operations}
        kept = [belief for belief in graph.beliefs if belief not in correct and q[belief.name] > 0]
        residual = [q[belief.name] * belief.residual if belief.may_keep else math.inf for belief in kept]
        return math.fsum([*own, *(operations[name] for name in shared), *residual])

    sets = [chosen for size in range(len(graph.beliefs) + 1) for chosen in combinations(graph.beliefs, size)]
    options: list[tuple[float, object]] = [(loss(chosen), tuple(belief.name for belief in chosen)) for chosen in sets]
    if problem.restart is not None and all(action.reversible or not action.executed for action in graph.actions):
        options.append((problem.restart, "restart"))
    options.append((math.inf if problem.escalate is None else problem.escalate, "escalate"))
    least = min(value for value, _ in options)
    return next(option for option in options if option[0] <= least + 1e-9) if least < math.inf else options[-1]
