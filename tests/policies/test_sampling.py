"""Sampled recoveries agree with what is known exactly, and pairs vary less than policies do."""

import numpy as np
import pytest

from aquamend import (
    Action,
    AquaMend,
    Belief,
    Discrete,
    Gaussian,
    Hypothesis,
    InformationState,
    JointModel,
    Probe,
    Problem,
    RecoveryGraph,
    evaluate,
    policy_named,
)  # fmt: skip
from aquamend.decision import probe_values
from aquamend.policies.evaluation import paired_difference, sampled_value


def state(kernel):
    graph = RecoveryGraph(
        [Belief("b", 20.0)],
        [Action("a", undo=6.0, executed=True)],
        [Probe("look", 0.5)],
        [("look", "b", "detection"), ("b", "a", "belief_to_action")],
    )
    hypotheses = [Hypothesis("good", 0.6), Hypothesis("bad", 0.4, ["b"])]
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses, {"look": kernel})))


def test_one_reading_costs_what_integration_says():
    here = state(Gaussian({"good": [0, 1], "bad": [2, 1]}))
    exact = float(probe_values(here).expected_loss[0])
    found = sampled_value(AquaMend(), here, episodes=1000)
    assert abs(found.expected_loss - exact) < 2 * found.half_width
    assert found.half_width < 0.3
    assert found.expected_probes == 1.0


def test_outcomes_cost_what_the_tree_says():
    here = state(Discrete(["y", "n"], {"good": [0.8, 0.2], "bad": [0.1, 0.9]}))
    exact, found = evaluate(AquaMend(), here), sampled_value(AquaMend(), here, episodes=1000)
    assert abs(found.expected_loss - exact.expected_loss) < 2 * found.half_width
    assert found.success == pytest.approx(exact.success, abs=0.04)
    assert found.expected_undone == pytest.approx(exact.expected_undone, abs=0.05)


def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    here = state(Gaussian({"good": [0, 1], "bad": [2, 1]}))
    exact = float(probe_values(here).expected_loss[0])
    inside = [
        abs((s := sampled_value(AquaMend(), here, episodes=60, seed=k)).expected_loss - exact) < s.half_width
        for k in range(20)
    ]
    assert np.mean(inside) >= 0.8


def test_the_same_seed_gives_the_same_numbers_and_pairs_cancel():
    here = state(Gaussian({"good": [0, 1], "bad": [2, 1]}))
    one, again = (sampled_value(AquaMend(), here, episodes=100) for _ in range(2))
    assert one.losses.tolist() == again.losses.tolist()
    assert paired_difference(one, sampled_value(policy_named("all-candidates"), here, episodes=100)) == (0.0, 0.0)
