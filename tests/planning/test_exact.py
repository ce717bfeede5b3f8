"""The evidence lattice against plain recursion."""

import math

import numpy as np
import pytest

from aquamend import Exact, InformationState, Observation, Reprobe, evaluate
from aquamend.decision import best_terminal
from aquamend.planning import exact
from aquamend.planning.lattice import digit, lattice


def recursive_optimum(state: InformationState, depth: float = math.inf) -> float:
    best = best_terminal(state).loss
    if depth == 0:
        return best
    for probe in state.legal_probes:
        table = state.problem.model.tables[probe]
        loss = state.problem.graph.probes[state.problem.graph.probe_index[probe]].cost
        for outcome, p in zip(table.outcomes, state.posterior @ table.likelihood, strict=True):
            if p > 0:
                loss += p * recursive_optimum(state.after(Observation(probe, outcome)), depth - 1)
        best = min(best, loss)
    return best


@pytest.mark.parametrize("seed", range(25))
def test_the_lattice_gives_the_same_optimum_as_plain_recursion(make_state, seed):
    state = make_state(seed, uses=1 if seed % 2 else 2)
    assert exact.solve(state).loss == pytest.approx(recursive_optimum(state), abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_depth_limit_counts_probes_from_the_root(make_state, seed, depth):
    state = make_state(seed)
    assert exact.solve(state, depth=depth).loss == pytest.approx(recursive_optimum(state, depth), abs=1e-9)


@pytest.mark.parametrize("seed", range(15))
def test_a_sensing_budget_binds_inside_the_plan(make_state, seed):
    state = make_state(seed, budget=0.9)
    assert exact.solve(state).loss == pytest.approx(recursive_optimum(state), abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_following_the_exact_policy_costs_what_the_plan_promised(make_state, seed):
    state = make_state(seed)
    assert evaluate(Exact(), state).expected_loss == pytest.approx(exact.solve(state).loss, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_a_plan_made_at_the_root_answers_like_one_made_at_the_descendant(make_state, seed):
    policy, state = Exact(), make_state(seed)
    while isinstance(step := policy.next_step(state), Reprobe):
        table = state.problem.model.tables[step.probe]
        likely = table.outcomes[int(np.argmax(state.posterior @ table.likelihood))]
        state = state.after(Observation(step.probe, likely))
        fresh = Exact()
        assert policy.next_step(state) == fresh.next_step(state)
        assert policy.bounds(state).upper == pytest.approx(fresh.bounds(state).upper, abs=1e-9)


def test_a_probe_has_one_state_per_multiset_of_answers():
    assert len(digit(2, 3).counts) == math.comb(5, 2)
    assert len(digit(3, 2).counts) == math.comb(5, 3)
    assert len(digit(0, 1).counts) == 1


def test_every_cell_is_in_exactly_one_layer_and_children_are_one_layer_down():
    shape = lattice((2, 1, 0), (2, 1, 1), 99)
    cells = np.concatenate([layer.cells for layer in shape.layers])
    assert sorted(cells) == list(range(shape.n_cells))
    layer_of = {int(c): k for k, layer in enumerate(shape.layers) for c in layer.cells}
    for k, layer in enumerate(shape.layers):
        real = layer.children[layer.children < shape.n_cells]
        assert all(layer_of[int(c)] == k + 1 for c in real)


def test_too_many_evidence_states_are_refused_rather_than_tried(make_state, monkeypatch):
    monkeypatch.setattr(exact, "MOST_CELLS", 3)
    assert exact.solve(make_state(0)) is None
