"""The paper's planning-depth diagnostic: one of n candidates changed, and probes that pay only in sequence."""

import random
from functools import cache

import pytest

from aquamend.belief import InformationState
from aquamend.decision import Continue, Reprobe
from aquamend.policies import AquaMend, Exact, Lookahead, NoReprobe, evaluate
from aquamend.problem import Problem
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Discrete, Hypothesis, JointModel


def m1_depth(n, seed):
    """Return the paper's construction: costs and posterior weights drawn, residual 4 and restart 99 fixed."""
    rng = random.Random(1000 * n + seed)
    names = [f"b{i}" for i in range(n)]
    weights = [rng.uniform(0.75, 1.25) for _ in names]
    graph = RecoveryGraph(
        [Belief(name, 4.0) for name in names],
        [Action(f"undo {name}", undo=rng.uniform(1.8, 2.2), executed=True) for name in names],
        [Probe(f"probe {name}", (0.3 + 1.5 / n) * rng.uniform(0.97, 1.03)) for name in names],
        [
            edge
            for name in names
            for edge in ((f"probe {name}", name, "detection"), (name, f"undo {name}", "belief_to_action"))
        ],
    )
    hypotheses = [Hypothesis(name, w / sum(weights), (name,)) for name, w in zip(names, weights, strict=True)]
    kernels = {
        f"probe {name}": Discrete(["unchanged", "changed"], {h: [h != name, h == name] for h in names})
        for name in names
    }
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses, kernels), restart=99.0))


@cache
def mean_loss(policy, n, seeds=100):
    return sum(evaluate(policy, m1_depth(n, seed)).expected_loss for seed in range(seeds)) / seeds


class _Fresh:
    """Exact with a plan table a problem; equal to itself so that means are cached."""

    def next_step(self, state):
        return EXACT.next_step(state)


EXACT, FRESH = Exact(), _Fresh()


@pytest.mark.parametrize(("n", "golden"), [(3, 3.29), (4, 3.46), (5, 3.60), (6, 3.73)])
def test_the_complete_plan_loses_what_the_paper_reports(n, golden):
    assert mean_loss(FRESH, n) == pytest.approx(golden, abs=0.05)


@pytest.mark.parametrize("seed", range(10))
def test_six_candidates_defeat_every_horizon_up_to_three(seed):
    """Nobody sees far enough, so all accept the one certain residual of 4."""
    state = m1_depth(6, seed)
    for policy in (NoReprobe(), AquaMend(), Lookahead(2), Lookahead(3)):
        assert policy.next_step(state) == Continue()
        assert evaluate(policy, state).expected_loss == pytest.approx(4.0)
        assert evaluate(policy, state).success == pytest.approx(0.0)
    assert isinstance(EXACT.next_step(state), Reprobe)
    assert evaluate(EXACT, state).success == pytest.approx(1.0)


@pytest.mark.parametrize("n", [3, 4, 5])
def test_a_longer_horizon_loses_less_and_n_minus_one_probes_suffice(n):
    means = [mean_loss(Lookahead(depth), n, 30) for depth in range(1, n)]
    assert means == sorted(means, reverse=True)
    assert means[-1] == pytest.approx(mean_loss(FRESH, n, 30), abs=1e-9)
    assert means[0] > means[-1] + 0.05


def test_the_complete_plan_needs_at_most_n_minus_one_probes():
    for n in (3, 4, 5, 6):
        state = m1_depth(n, 0)
        assert 1 < evaluate(EXACT, state).expected_probes < n - 1
        assert evaluate(EXACT, state).expected_undone == pytest.approx(1.0)
