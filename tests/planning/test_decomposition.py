"""Splitting shared costs between independent beliefs bounds the optimum, and is exact where nothing is shared."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from aquamend import Action, Belief, Discrete, Hypothesis, InformationState, JointModel, Probe, Problem, RecoveryGraph
from aquamend.planning.decomposition import decomposition_bound, independent_blocks
from aquamend.planning.exact import solve


def independent_state(seed: int, *, shared: bool, restart: float | None = 40.0, hard: bool = False) -> InformationState:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    names = [f"b{i}" for i in range(n)]
    actions = [Action(f"a{i}", undo=float(rng.uniform(1, 4)), executed=True) for i in range(n)]
    edges = [(f"b{i}", f"a{i}", "belief_to_action") for i in range(n)]
    if shared:
        actions += [Action(f"s{j}", undo=float(rng.uniform(1, 5)), executed=True) for j in range(2)]
        edges += [(f"b{i}", f"s{j}", "belief_to_action") for i in range(n) for j in range(2) if rng.random() < 0.7]
    if hard:
        actions.append(Action("poured", executed=True, reversible=False))
        edges.append(("b0", "poured", "belief_to_action"))
    q = rng.uniform(0.1, 0.6, n)
    patterns = np.array(list(itertools.product((0, 1), repeat=n)))
    accuracy = rng.uniform(0.7, 1.0, n)
    kernels = {
        f"p{i}": Discrete(
            ["no", "yes"],
            np.where(patterns[:, [i]] == 1, [[1 - accuracy[i], accuracy[i]]], [[accuracy[i], 1 - accuracy[i]]]),
        )
        for i in range(n)
    }
    hypotheses = [
        Hypothesis(str(row), float(p), tuple(names[i] for i in np.flatnonzero(row)))
        for row, p in zip(patterns, np.where(patterns == 1, q, 1 - q).prod(axis=1), strict=True)
    ]
    graph = RecoveryGraph(
        [Belief(name, residual=float(rng.uniform(3, 12))) for name in names],
        actions,
        [Probe(f"p{i}", cost=float(rng.uniform(0.1, 0.8)), max_uses=int(rng.integers(1, 3))) for i in range(n)],
        edges,
    )
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses, kernels), restart=restart, escalate=restart))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("restart", [None, 3.0, 40.0])
@pytest.mark.parametrize("hard", [False, True])
def test_no_split_of_shared_costs_promises_more_than_the_optimum(seed, restart, hard):
    state = independent_state(seed, shared=True, restart=restart, hard=hard)
    bound = decomposition_bound(state)
    assert 0.0 < bound <= solve(state).loss + 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_without_shared_costs_the_blocks_add_up_to_the_optimum(seed):
    state = independent_state(seed, shared=False, restart=None)
    assert decomposition_bound(state) == pytest.approx(solve(state).loss, abs=1e-9)


def test_a_better_split_is_found_than_the_even_one():
    gains = [
        decomposition_bound(state) - decomposition_bound(state, iterations=1)
        for state in (independent_state(seed, shared=True) for seed in range(12))
    ]
    assert min(gains) >= 0.0
    assert max(gains) > 0.05


def test_beliefs_of_one_cause_are_one_block_and_give_no_bound():
    graph = RecoveryGraph([Belief("a", residual=3.0), Belief("b", residual=3.0)], probes=[Probe("p", 0.1)])
    rows = Discrete(["y", "n"], [[0.9, 0.1], [0.1, 0.9]])
    model = JointModel([Hypothesis("fine", 0.6), Hypothesis("both", 0.4, ["a", "b"])], {"p": rows})
    state = InformationState.start(Problem(graph, model))
    assert len(independent_blocks(state)) == 1
    assert decomposition_bound(state) == 0.0


def test_every_belief_and_probe_is_in_exactly_one_block():
    state = independent_state(3, shared=True)
    blocks = independent_blocks(state)
    assert sorted(i for block in blocks for i in block.beliefs) == list(range(len(state.problem.graph.beliefs)))
    assert sorted(p for block in blocks for p in block.probes) == sorted(state.legal_probes)


def test_no_split_promises_more_than_the_optimum_where_corrections_need_values_and_support(referenced):
    bounded = 0
    for seed in range(150):
        state, reference = referenced(seed)
        bound = decomposition_bound(state)
        assert bound <= reference.optimum() + 1e-9, seed
        bounded += bound > 0.0
    assert bounded > 2


@pytest.mark.parametrize("seed", range(6))
def test_a_shared_operation_that_costs_nothing_is_split_too(seed):
    state = independent_state(seed, shared=True)
    graph = state.problem.graph
    free = [replace(action, undo=0.0) if action.name.startswith("s") else action for action in graph.actions]
    problem = replace(state.problem, graph=replace(graph, actions=free))
    state = InformationState.alarmed(problem)
    assert 0.0 < decomposition_bound(state) <= solve(state).loss + 1e-9


def test_a_problem_of_which_nothing_can_be_wrong_has_no_blocks():
    graph = RecoveryGraph([Belief("a", residual=3.0)])
    state = InformationState.start(Problem(graph, JointModel([Hypothesis("fine", 1.0)])))
    assert independent_blocks(state) == []
    assert decomposition_bound(state) == 0.0


@pytest.mark.parametrize("prior", [1e-3, 1e-8, 1e-10, 1e-15, 1e-100])
def test_beliefs_that_depend_on_one_another_however_improbably_are_one_block(prior):
    """Both fail together or not at all; alone, each pair of failures looks independent to within the prior."""
    graph = RecoveryGraph([Belief("a", residual=3.0), Belief("b", residual=3.0)])
    model = JointModel([Hypothesis("fine", 1 - prior), Hypothesis("both", prior, ["a", "b"])])
    assert len(independent_blocks(InformationState.start(Problem(graph, model)))) <= 1


def test_beliefs_that_never_fail_together_though_each_may_are_not_independent():
    graph = RecoveryGraph([Belief("a", residual=3.0), Belief("b", residual=3.0)])
    hypotheses = [Hypothesis("fine", 1 - 2e-10), Hypothesis("a", 1e-10, ["a"]), Hypothesis("b", 1e-10, ["b"])]
    assert len(independent_blocks(InformationState.start(Problem(graph, JointModel(hypotheses))))) <= 1
