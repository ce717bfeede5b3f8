"""The bound from beliefs one by one: never above the optimum, and the optimum where beliefs have nothing in common."""

import itertools
import math
import random

import numpy as np
import pytest

from aquamend import Action, Belief, Discrete, Hypothesis, InformationState, JointModel, Probe, Problem, RecoveryGraph
from aquamend.files import parse_problem
from aquamend.planning.bounds import one_by_one_bound
from aquamend.planning.exact import solve
from tests.reference.generator import extra_problem, random_problem, valued_problem
from tests.tiers import cases


def beliefs_apart(seed: int, *, joint: bool, restart: float = math.inf) -> InformationState:
    """Beliefs that share no work, each with probes of its own; they fail together in some way, or independently."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    patterns = np.array(list(itertools.product((0, 1), repeat=n)))
    q = rng.uniform(0.05, 0.6, n)
    weight = rng.dirichlet(np.full(len(patterns), 0.7)) if joint else np.where(patterns == 1, q, 1 - q).prod(axis=1)
    about = [int(rng.integers(n)) for _ in range(int(rng.integers(1, 4)))]
    tables = [rng.dirichlet(np.ones(int(rng.integers(2, 4))), 2) for _ in about]
    graph = RecoveryGraph(
        [Belief(f"b{i}", float(rng.uniform(2, 20)), may_keep=rng.random() > 0.15) for i in range(n)],
        [
            Action(f"a{i}", undo=float(rng.uniform(0.5, 9)), executed=True, reversible=rng.random() > 0.15)
            for i in range(n)
        ],
        probes=[
            Probe(f"p{m}", float(rng.uniform(0.05, 0.8)), max_uses=int(rng.integers(1, 3))) for m in range(len(about))
        ],
        edges=[(f"b{i}", f"a{i}", "belief_to_action") for i in range(n)],
    )
    hypotheses = [
        Hypothesis("".join(map(str, row)), float(w), tuple(f"b{i}" for i in np.flatnonzero(row)))
        for row, w in zip(patterns, weight / weight.sum(), strict=True)
    ]
    kernels = {
        f"p{m}": Discrete([f"y{o}" for o in range(table.shape[1])], table[patterns[:, i]])
        for m, (i, table) in enumerate(zip(about, tables, strict=True))
    }
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses, kernels), restart=restart, escalate=40.0))


def optimum(state: InformationState) -> float:
    table = solve(state)
    assert table is not None
    return table.loss


@pytest.mark.parametrize("restart", [math.inf, 6.0])
def test_it_is_never_above_the_optimum_of_beliefs_that_share_no_work(restart: float) -> None:
    bounds = []
    for seed in range(cases(150, 3000)):
        state = beliefs_apart(seed, joint=True, restart=restart)
        bound, best = one_by_one_bound(state), optimum(state)
        assert bound <= best + 1e-9 * (1.0 + best if math.isfinite(best) else 1.0), seed
        bounds.append(bound / best if 0.0 < best < math.inf else 0.0)
    assert np.median(bounds) > 0.5


def test_it_is_the_optimum_where_beliefs_are_independent_and_nothing_else_ends() -> None:
    met = 0
    for seed in range(cases(60, 600)):
        state = beliefs_apart(seed, joint=False)
        plain = Problem(state.problem.graph, state.problem.model)
        state = InformationState.alarmed(plain)
        best = optimum(state)
        if math.isfinite(best) and sum(view.most_runs for view in state.legal) <= 4:  # with more, it looks less far
            assert one_by_one_bound(state) == pytest.approx(best, rel=1e-9), seed
            met += 1
    assert met


def test_it_is_never_above_the_optimum_of_any_problem() -> None:
    applied = 0
    for seed in range(cases(300, 4000)):
        data = (random_problem, valued_problem, extra_problem)[seed % 3](random.Random(seed))
        state = InformationState.alarmed(parse_problem(data))
        table = solve(state)
        if table is not None:
            bound = one_by_one_bound(state)
            applied += bound > 0.0
            assert bound <= table.loss + 1e-9 * (1.0 + table.loss if math.isfinite(table.loss) else 1.0), seed
    assert applied


def test_where_a_probe_tells_of_two_beliefs_it_says_nothing() -> None:
    state = beliefs_apart(0, joint=True)
    problem = state.problem
    n = len(problem.model.hypotheses)
    rows = np.column_stack([np.linspace(0.1, 0.9, n), np.linspace(0.9, 0.1, n)])
    kernels = dict.fromkeys(problem.model.kernels, Discrete(["no", "yes"], rows))
    mixed = Problem(problem.graph, JointModel(problem.model.hypotheses, kernels), escalate=40.0)
    assert n > 2
    assert one_by_one_bound(InformationState.alarmed(mixed)) == 0.0
