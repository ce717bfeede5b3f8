"""M1: the graphs are as the paper says, and the truth is distributed as the policies are told."""

import math

import numpy as np
import pytest

from aquamend.files import problem_to_data
from aquamend.planning.exact import solve
from aquamend.recovery import recovered
from aquamend_lab.benchmarks import m1
from aquamend_lab.benchmarks.m1 import COST_HIGH, COST_LOW, M1, RESIDUAL_RATIO, ROLLBACK_RATIO, random_graph
from aquamend_lab.benchmarks.play import Oracle


@pytest.fixture(scope="module")
def scenarios():
    return [m1.make(seed, number) for seed in range(3) for number in range(96)]


def test_a_scenario_is_a_pure_function_of_seed_and_number():
    for number in (0, 7, 799):
        assert problem_to_data(m1.make(2, number).state.problem) == problem_to_data(m1.make(2, number).state.problem)
        assert [t.name for t in m1.make(2, number).truths] == [t.name for t in m1.make(2, number).truths]
    assert problem_to_data(m1.make(2, 5).state.problem) != problem_to_data(m1.make(3, 5).state.problem)


def test_sizes_wirings_and_modes_are_crossed_evenly(scenarios):
    cells = [tuple(s.features[k] for k in ("nodes", "wiring", "mode")) for s in scenarios]
    assert {cells.count(cell) for cell in cells} == {len(cells) // 16}


def test_node_types_are_in_the_papers_ratio(scenarios):
    for s in scenarios:
        graph = s.state.problem.graph
        assert len(graph.probes) == round(0.4 * s.features["nodes"])
        assert 3 <= len(graph.beliefs) == max(3, len(graph.probes)) <= 5
        assert len(graph.probes) + len(graph.beliefs) + len(graph.actions) == s.features["nodes"]


def test_every_belief_has_a_probe_and_an_executed_action_that_rests_on_it(scenarios):
    for s in scenarios:
        graph = s.state.problem.graph
        assert all(graph.direct_probes[b.name] and graph.downstream(b.name) for b in graph.beliefs)


def test_costs_are_clipped_and_rollbacks_dearer_by_two_to_five(scenarios):
    probes = [p.cost for s in scenarios for p in s.state.problem.graph.probes]
    undo = [a.undo for s in scenarios for a in s.state.problem.graph.actions]
    assert min(probes) >= COST_LOW
    assert max(probes) <= COST_HIGH
    assert COST_LOW * ROLLBACK_RATIO[0] <= min(undo) < max(undo) <= COST_HIGH * ROLLBACK_RATIO[1]
    assert 2.0 < np.mean(undo) / np.mean(probes) < 5.0


def test_residuals_of_critical_beliefs_are_at_least_what_correcting_costs(scenarios):
    for s in scenarios:
        graph = s.state.problem.graph
        ratios = [b.residual / graph.correction_cost([b.name]) for b in graph.beliefs]
        assert sum(r > 0 for r in ratios) >= 3
        assert all(r == 0 or RESIDUAL_RATIO[0] <= r <= RESIDUAL_RATIO[1] for r in ratios)


def test_only_critical_beliefs_fail_and_at_most_three(scenarios):
    for s in scenarios:
        critical = {b.name for b in s.state.problem.graph.beliefs if b.residual > 0}
        assert all(set(h.failed) <= critical and len(h.failed) <= 3 for h in s.state.problem.model.hypotheses)


def test_one_alarm_in_six_is_false_and_the_rest_fail_one_to_three(scenarios):
    for s in scenarios:
        sizes = [len(h.failed) for h in s.state.problem.model.hypotheses]
        share = np.bincount(sizes, weights=s.state.problem.model.prior)
        assert share == pytest.approx([1 / 6, 5 / 18, 5 / 18, 5 / 18])


def test_the_alarm_names_some_beliefs_and_sooner_those_that_failed(scenarios):
    named = {True: [], False: []}
    for s in scenarios:
        assert s.state.triggers
        for belief in s.state.problem.graph.beliefs:
            named[belief.name in s.truths[0].failed].append(belief.name in s.state.triggers)
    assert np.mean(named[True]) > np.mean(named[False]) + 0.2


def test_correlated_pairs_fail_together_more_often():
    """With joined and unjoined pairs in one graph, the joined ones take weight from the others."""
    compared = 0
    for seed in range(20):
        graph = random_graph(np.random.default_rng(seed), nodes=12, wiring="erdos-renyi", critical=3)
        sets = m1.failure_sets(graph)
        joined = [frozenset(s) in m1.joined_pairs(graph) for s in sets if len(s) == 2]
        if all(joined) or not any(joined):
            continue
        prior = {mode: m1._prior(graph, sets, mode) for mode in m1.MODES}
        pairs = [i for i, s in enumerate(sets) if len(s) == 2]
        more = [prior["correlated"][i] > prior["independent"][i] for i in pairs]
        assert more == joined
        compared += 1
    assert compared > 5


def test_the_hidden_truth_is_distributed_as_the_public_posterior_says():
    """Mean of realised minus expected oracle cost over many scenarios is zero within sampling error."""
    differences = []
    for number in range(400):
        s = m1.make(11, number)
        state = s.state
        cost = [s.state.problem.graph.correction_cost(h.failed) for h in s.state.problem.model.hypotheses]
        differences.append(cost[s.truths[0].hypothesis] - state.posterior @ cost)
    assert abs(np.mean(differences)) < 4 * np.std(differences) / math.sqrt(len(differences))


def test_the_oracle_bounds_the_optimum_from_below_on_every_graph(scenarios):
    for s in scenarios:
        table = solve(s.state)
        assert table is not None
        known = [(t.weight, recovered(Oracle(t.failed), t.enter()).loss) for t in s.possible]
        assert math.fsum(weight * loss for weight, loss in known) <= table.loss + 1e-9


def test_the_full_suite_is_four_thousand_graphs():
    assert M1.scenarios * M1.seeds == 4000
