"""Gaussian probes priced by intervals, against quadrature and ever finer bins."""

import math
import random

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.stats import norm

from aquamend.decision import probe_values
from aquamend.decision import terminal_table as compiled
from aquamend.decision.gaussian import interval_likelihood, normal_cdf
from aquamend.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.inference import InformationState
from aquamend.model import Discrete, Gaussian, Hypothesis, JointModel
from aquamend.model.kernels import NormalTable
from aquamend.problem import Problem


def weighing(seed, kernel=None):
    """Return three beliefs of which two share an operation, four hypotheses and one Gaussian probe."""
    rng = random.Random(seed)
    graph = RecoveryGraph(
        [Belief(name, rng.uniform(2, 12)) for name in "xyz"],
        [
            Action("ax", operations=("arm",), executed=True),
            Action("ay", operations=("arm", "hand"), executed=True),
            Action("az", undo=rng.uniform(0, 4), executed=True),
        ],
        [Probe("weigh", 0.1)],
        [(name, f"a{name}", "belief_to_action") for name in "xyz"],
        [Operation("arm", rng.uniform(0, 3)), Operation("hand", rng.uniform(0, 3))],
    )
    weights = [rng.random() for _ in range(4)]
    failed = [(), ("x",), ("y", "z"), ("x", "y")]
    hypotheses = [Hypothesis(f"h{i}", w / sum(weights), failed[i]) for i, w in enumerate(weights)]
    rows = np.array([[rng.uniform(-3, 3), rng.uniform(0.4, 2)] for _ in range(4)])
    model = JointModel(hypotheses, {"weigh": Gaussian(rows) if kernel is None else kernel(rows)})
    return InformationState.alarmed(Problem(graph, model, escalate=9.0)), rows


def best_joint_losses(state, joint):
    """Return each row's least joint loss over all eight correction sets and escalation, written out."""
    graph, mass = state.problem.graph, joint.sum(axis=1)
    residual = np.array([belief.residual for belief in graph.beliefs])
    losses = [9.0 * mass]
    for correct in np.ndindex(2, 2, 2):
        chosen = np.array(correct, dtype=bool)
        cost = graph.correction_cost([b.name for b, c in zip(graph.beliefs, chosen, strict=True) if c])
        losses.append(cost * mass + joint @ state.problem.failed @ (residual * ~chosen))
    return np.min(losses, axis=0)


@pytest.mark.parametrize("seed", range(25))
def test_the_expected_loss_is_the_integral_over_all_readings(seed):
    state, rows = weighing(seed)
    readings = np.linspace((rows[:, 0] - 9 * rows[:, 1]).min(), (rows[:, 0] + 9 * rows[:, 1]).max(), 100_001)
    joint = state.posterior * norm.pdf(readings[:, None], rows[:, 0], rows[:, 1])
    integral = simpson(best_joint_losses(state, joint), x=readings)
    assert probe_values(state).expected_loss[0] == pytest.approx(0.1 + integral, abs=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_bins_lose_information_and_ever_finer_ones_ever_less(seed):
    exact = probe_values(weighing(seed)[0]).expected_loss[0]
    losses = []
    for n in (1, 4, 16, 64, 256):  # each grid refines the one before

        def binned(rows, n=n):
            cuts = np.linspace(-8, 8, n + 1)[1:-1]
            return Discrete([str(i) for i in range(n)], interval_likelihood(NormalTable(rows[:, 0], rows[:, 1]), cuts))

        losses.append(probe_values(weighing(seed, binned)[0]).expected_loss[0])
    assert losses == sorted(losses, reverse=True) or np.all(np.diff(losses) <= 1e-9)
    assert losses[-1] >= exact - 1e-9
    assert losses[-1] == pytest.approx(exact, abs=2e-2)


@pytest.mark.parametrize("seed", range(8))
def test_a_cut_group_prices_a_gaussian_probe_a_little_above_the_integral_and_never_below(seed, monkeypatch):
    exact = probe_values(weighing(seed)[0]).expected_loss[0]
    monkeypatch.setattr(compiled, "MOST_CLOSURES", 0)
    state, _ = weighing(seed)
    assert compiled.terminal_table(state.problem).cuts
    assert -1e-9 <= probe_values(state).expected_loss[0] - exact < 0.05


def test_a_single_threshold_is_found_to_the_last_digits(lid):
    """Correct if q(y)·10 > 3; with equal deviations the odds cross at y = 1 + ln(0.6·0.3 / 0.4·0.7) / 2."""
    state = lid({"weigh": Gaussian({"on": (0.0, 1.0), "off": (2.0, 1.0)})})
    branches = probe_values(state).branches
    cut = 1 + math.log(0.6 * 0.3 / (0.4 * 0.7)) / 2
    half = 1 + math.log(0.6 / 0.4) / 2  # and the declaration is rejected from q(y) = 1/2 on
    on = branches.likelihood[:, 0]
    np.testing.assert_allclose(np.cumsum(on)[:-1], norm.cdf([cut, half]), atol=1e-12)


def test_intervals_of_a_normal_distribution_sum_to_one_and_keep_their_digits_in_both_tails():
    table = NormalTable(np.array([0.0]), np.array([1.0]))
    rows = interval_likelihood(table, np.array([-12.0, -10.0, 10.0, 12.0]))
    assert rows.sum() == pytest.approx(1, abs=1e-15)
    assert rows[0, 0] == pytest.approx(norm.cdf(-12), rel=1e-9)
    assert rows[0, 1] == pytest.approx(norm.cdf(-10), rel=1e-9)
    assert rows[0, 3] == pytest.approx(norm.sf(10), rel=1e-9)
    assert rows[0, 4] == pytest.approx(norm.sf(12), rel=1e-9)


@pytest.mark.parametrize("size", [7, 30_000])
def test_the_distribution_function_is_the_same_by_either_route(size):
    z = np.linspace(-9, 9, size).reshape(1, -1)
    np.testing.assert_allclose(normal_cdf(z), norm.cdf(z), rtol=1e-12)


def test_readings_are_not_cut_where_no_decision_depends_on_them(lid):
    state = lid({"weigh": Gaussian({"on": (0.0, 1.0), "off": (0.0, 1.0)})})
    assert len(probe_values(state).branches.likelihood) == 1
    resolved = lid({"weigh": Gaussian({"on": (0.0, 1.0), "off": (5.0, 1.0)})}, q=0.0)
    assert len(probe_values(resolved).branches.likelihood) == 1
