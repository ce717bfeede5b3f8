"""Independent parts that share costs are planned exactly, however often their probes may be repeated."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from aquamend import Action, Belief, Discrete, Hypothesis, InformationState, JointModel, Probe, Problem, RecoveryGraph
from aquamend.decision.terminal import best_terminal
from aquamend.planning.bounds import Bounds
from aquamend.planning.exact import solve
from aquamend.planning.parts import automaton, independent_parts, parts_plan, shared_sets, stop_values


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


def planned(state: InformationState, sweeps: int = 60) -> Bounds:
    parts = independent_parts(state)
    plan = parts_plan(state, parts, [automaton(state, part) for part in parts])
    for _ in range(sweeps):
        for _ in plan.sweep():
            assert plan.bounds.lower == 0.0  # nothing is certified below while cells still fall
    plan.check()
    return plan.bounds


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("restart", [None, 3.0, 12.0, 40.0])
@pytest.mark.parametrize("hard", [False, True])
def test_parts_that_share_costs_are_planned_exactly(seed, restart, hard):
    state = independent_state(seed, shared=True, restart=restart, hard=hard)
    bounds, optimum = planned(state), solve(state).loss
    assert bounds.lower <= optimum + 1e-9
    assert bounds.upper == pytest.approx(optimum, abs=1e-9)
    assert bounds.gap < 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_what_is_certified_after_one_sweep_holds(seed):
    state = independent_state(seed, shared=True)
    bounds, optimum = planned(state, sweeps=1), solve(state).loss
    assert bounds.lower <= optimum + 1e-9
    assert bounds.upper >= optimum - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_stopping_is_priced_as_everywhere_else(seed):
    state = independent_state(seed, shared=True)
    parts = independent_parts(state)
    automata = [automaton(state, part) for part in parts]
    values = stop_values(state, parts, automata, shared_sets(state))
    for cell in np.ndindex(values.shape):
        joint = np.ones(len(state.posterior))
        for part, own, at in zip(parts, automata, cell, strict=True):
            joint *= (own.posterior[at])[part.label]
        posterior = joint / joint.sum()
        assert values[cell] == pytest.approx(best_terminal(replace(state, posterior=posterior)).loss, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_a_state_is_closed_only_where_no_probe_of_its_part_is_worth_its_price(seed):
    """All evidence states against those that are open: the optimum is the same."""
    state = independent_state(seed, shared=True)
    closed = sum(int(np.isinf(automaton(state, part).cost).all(axis=0).sum()) for part in independent_parts(state))
    assert closed > 0
    assert planned(state).upper == pytest.approx(solve(state).loss, abs=1e-9)


def test_the_evidence_of_repeatable_probes_has_few_states():
    """The example of the module: from q = 0.3, closed after one "no" and after two "yes"."""
    graph = RecoveryGraph(
        [Belief("a", residual=6.0), Belief("b", residual=6.0)],
        [Action("own", undo=2.0, executed=True), Action("shared", undo=1.0, executed=True)],
        [Probe("p", cost=0.4, max_uses=math.inf)],
        [("a", "own", "belief_to_action"), ("a", "shared", "belief_to_action"), ("b", "shared", "belief_to_action")],
    )
    rows = [[0.9, 0.1], [0.1, 0.9], [0.9, 0.1], [0.1, 0.9]]
    failed = [(), ("a",), ("b",), ("a", "b")]
    prior = [0.35, 0.15, 0.35, 0.15]
    hypotheses = [Hypothesis(str(k), p, f) for k, (p, f) in enumerate(zip(prior, failed, strict=True))]
    state = InformationState.start(Problem(graph, JointModel(hypotheses, {"p": Discrete(["no", "yes"], rows)})))
    part = next(part for part in independent_parts(state) if part.probes)
    own = automaton(state, part)
    assert sorted((own.posterior @ part.failed)[:, 0]) == pytest.approx([0.0455, 0.3, 0.7941, 0.9720], abs=1e-3)
    assert np.isfinite(own.cost[0]).tolist() == [True, False, True, False]


def test_beliefs_of_one_cause_are_one_part():
    graph = RecoveryGraph([Belief("a", residual=3.0), Belief("b", residual=3.0)], probes=[Probe("p", 0.1)])
    rows = Discrete(["y", "n"], [[0.9, 0.1], [0.1, 0.9]])
    model = JointModel([Hypothesis("fine", 0.6), Hypothesis("both", 0.4, ["a", "b"])], {"p": rows})
    state = InformationState.start(Problem(graph, model))
    assert len(independent_parts(state)) == 1


def test_every_belief_and_probe_is_in_exactly_one_part():
    state = independent_state(3, shared=True)
    parts = independent_parts(state)
    assert sorted(i for part in parts for i in part.beliefs) == list(range(len(state.problem.graph.beliefs)))
    assert sorted(view.name for part in parts for view in part.probes) == sorted(state.legal_probes)


@pytest.mark.parametrize("seed", range(6))
def test_a_shared_operation_may_cost_nothing(seed):
    state = independent_state(seed, shared=True)
    graph = state.problem.graph
    free = [replace(action, undo=0.0) if action.name.startswith("s") else action for action in graph.actions]
    state = InformationState.alarmed(replace(state.problem, graph=replace(graph, actions=free)))
    assert planned(state).upper == pytest.approx(solve(state).loss, abs=1e-9)


def test_a_problem_of_which_nothing_can_be_wrong_has_no_parts():
    graph = RecoveryGraph([Belief("a", residual=3.0)])
    state = InformationState.start(Problem(graph, JointModel([Hypothesis("fine", 1.0)])))
    assert independent_parts(state) == []


@pytest.mark.parametrize("prior", [1e-3, 1e-8, 1e-10, 1e-15, 1e-100])
def test_beliefs_that_depend_on_one_another_however_improbably_are_one_part(prior):
    """Both fail together or not at all; alone, each pair of failures looks independent to within the prior."""
    graph = RecoveryGraph([Belief("a", residual=3.0), Belief("b", residual=3.0)])
    model = JointModel([Hypothesis("fine", 1 - prior), Hypothesis("both", prior, ["a", "b"])])
    assert len(independent_parts(InformationState.start(Problem(graph, model)))) <= 1


def test_beliefs_that_never_fail_together_though_each_may_are_not_independent():
    graph = RecoveryGraph([Belief("a", residual=3.0), Belief("b", residual=3.0)])
    hypotheses = [Hypothesis("fine", 1 - 2e-10), Hypothesis("a", 1e-10, ["a"]), Hypothesis("b", 1e-10, ["b"])]
    assert len(independent_parts(InformationState.start(Problem(graph, JointModel(hypotheses))))) <= 1
