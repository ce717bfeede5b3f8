"""M1-Depth: the paper's construction, and one that keeps its purpose at any size."""

import math

import numpy as np
import pytest

from aquamend.belief import InformationState
from aquamend.planning.exact import solve
from aquamend.policies import evaluate, policy_named
from aquamend_lab.benchmarks import m1
from aquamend_lab.benchmarks.m1 import M1_DEPTH, M1_DEPTH_SCALED
from aquamend_lab.benchmarks.play import play


def test_costs_and_weights_are_the_papers():
    for seed in range(30):
        for number, n in enumerate(m1.DEPTH_SIZES):
            problem = m1.make_depth(seed, number).state.problem
            middle = 0.3 + 1.5 / n
            assert all(0.97 * middle <= p.cost <= 1.03 * middle for p in problem.graph.probes)
            assert all(1.8 <= a.undo <= 2.2 for a in problem.graph.actions)
            assert {b.residual for b in problem.graph.beliefs} == {4.0}
            assert problem.restart == 99.0
            prior = problem.model.prior
            assert prior.max() / prior.min() <= 1.25 / 0.75


def test_every_realisation_is_scored_with_its_posterior_weight():
    scenario = m1.make_depth(0, 3)
    assert [t.weight for t in scenario.truths] == pytest.approx(scenario.state.problem.model.prior)
    assert scenario.group == {"n": 6}


@pytest.mark.parametrize("n", [2, 3, 6, 20])
def test_expected_probes_of_a_search_is_the_mean_over_positions(n):
    found_after = [*range(1, n), n - 1]  # the last is found without a probe of its own
    assert m1.expected_probes(n) == pytest.approx(sum(found_after) / n)


@pytest.mark.parametrize("number", range(5))
def test_scaled_searching_pays_at_every_size(number):
    scenario = m1.make_scaled(0, number)
    table = solve(scenario.state)
    assert table is not None
    assert table.loss < 3.95


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "policy", "risk", "success"),
    [
        (3, "aquamend", 3.48, 0.72),
        (4, "lookahead-2", 3.65, 0.60),
        (5, "lookahead-3", 3.84, 0.34),
        (6, "exact", 3.73, 1.0),
    ],
)
def test_means_over_a_hundred_seeds_are_near_those_of_many(n, policy, risk, success):
    records = [M1_DEPTH.make(seed, n - 3) for seed in range(100)]
    played = [play(s, policy) for s in records]
    assert math.fsum(r["expected_risk"] for r in played) / 100 == pytest.approx(risk, abs=0.06)
    assert math.fsum(r["success"] for r in played) / 100 == pytest.approx(success, abs=0.13)


def test_realised_cost_weighted_over_all_truths_is_the_expected_risk():
    for number in range(4):
        for record in M1_DEPTH.play(5, number, M1_DEPTH.policies).records:
            assert record["loss"] == pytest.approx(record["expected_risk"])
            assert record["success"] == pytest.approx(record["expected_success"])
            assert math.fsum(r["weight"] for r in record["realisations"]) == pytest.approx(1.0)


def test_beyond_the_horizon_only_the_certified_planners_see_that_searching_pays():
    scenario = M1_DEPTH_SCALED.make(0, 4)  # n = 8
    played = {name: play(scenario, name) for name in ("aquamend", "lookahead-3", "certified", "exact")}
    assert played["aquamend"]["loss"] == played["lookahead-3"]["loss"] == pytest.approx(4.0)
    assert played["certified"]["loss"] == pytest.approx(played["exact"]["loss"], abs=0.01)
    assert played["exact"]["loss"] < 3.9
    assert played["certified"]["lower"] <= played["exact"]["loss"] <= played["certified"]["upper"] + 1e-9


def test_decisions_are_timed_apart_from_the_records():
    played = M1_DEPTH.play(0, 0, ("aquamend", "exact"))
    assert all(t["decision_ms"] > 0 and t["peak_kib"] > 0 for t in played.timings)
    assert not any("decision_ms" in record for record in played.records)


def test_who_is_told_the_truth_or_refuses_is_not_timed():
    played = M1_DEPTH.play(0, 1, ("oracle", "structured", "aquamend"))
    assert [t["policy"] for t in played.timings] == ["aquamend"]
    assert [("error" in r) for r in played.records] == [False, True, False]


@pytest.mark.parametrize(
    ("n", "policy", "most"), [(3, "aquamend", 0.45), (4, "lookahead-2", 0.15), (5, "lookahead-3", 0.05)]
)
def test_a_uniform_posterior_comes_nowhere_near_the_papers_success_rates(n, policy, most):
    succeeded = []
    for seed in range(100):
        state = m1.make_depth(seed, n - 3).state
        uniform = InformationState(state.problem, np.full(n, 1 / n))
        succeeded.append(evaluate(policy_named(policy), uniform).success)
    assert np.mean(succeeded) < most < {3: 0.8, 4: 0.6, 5: 0.4}[n]
