"""Residual rollback risk: hand-worked values, and how its three estimates relate to it."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend.belief import InformationState, Observation
from aquamend.decision.rollback_risk import (
    beam_rollback_risk,
    exact_rollback_risk,
    independent_rollback_risk,
    monte_carlo_rollback_risk,
)
from aquamend.problem import Problem
from aquamend.problem.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.problem.model import Discrete, Hypothesis, JointModel

PROXIES = [
    exact_rollback_risk,
    independent_rollback_risk,
    beam_rollback_risk,
    lambda state: monte_carlo_rollback_risk(state, rng=np.random.default_rng(0)),
]


def three_cups(hypotheses, *, reversible=True, kernels=None):
    """Return a state with beliefs A and B, whose undoing shares a rinse (2), and C, undone alone (5).

    B_A = 2 + 1 (own spill), B_B = 2, B_C = 5.
    """
    graph = RecoveryGraph(
        [Belief("A", 9.0), Belief("B", 9.0), Belief("C", 9.0)],
        [
            Action("pour A", operations=("rinse", "wipe"), executed=True),
            Action("pour B", operations=("rinse",), executed=True),
            Action("pour C", undo=5.0, executed=True, reversible=reversible),
        ],
        [Probe(name, 0.1) for name in kernels or {}],
        [
            ("A", "pour A", "belief_to_action"),
            ("B", "pour B", "belief_to_action"),
            ("C", "pour C", "belief_to_action"),
            *((name, "A", "detection") for name in kernels or {}),
        ],
        [Operation("rinse", 2.0), Operation("wipe", 1.0)],
    )
    model = JointModel([Hypothesis(str(i), p, failed) for i, (p, failed) in enumerate(hypotheses)], kernels or {})
    return InformationState.start(Problem(graph, model))


def independent_state(q, *, shared=True):
    """Return a state whose beliefs fail independently, each under an action of its own and perhaps a shared rinse."""
    names = [f"b{i}" for i in range(len(q))]
    graph = RecoveryGraph(
        [Belief(name, 5.0) for name in names],
        [
            Action(f"a{i}", operations=("rinse",), executed=True)
            if shared and i < 2
            else Action(f"a{i}", undo=1.0 + i, executed=True)
            for i in range(len(q))
        ],
        [],
        [(name, f"a{i}", "belief_to_action") for i, name in enumerate(names)],
        [Operation("rinse", 2.0)] if shared else [],
    )
    hypotheses = []
    for failed in itertools.product([False, True], repeat=len(q)):
        prior = math.prod(x if f else 1 - x for x, f in zip(q, failed, strict=True))
        hypotheses.append(Hypothesis(f"{failed}", prior, [n for n, f in zip(names, failed, strict=True) if f]))
    return InformationState.start(Problem(graph, JointModel(hypotheses)))


def test_shared_operations_are_charged_once_per_failure_set():
    state = three_cups([(0.5, ()), (0.2, ("A",)), (0.2, ("A", "B")), (0.1, ("B", "C"))])
    # B({A}) = 3, B({A, B}) = 3, B({B, C}) = 7.
    assert exact_rollback_risk(state) == pytest.approx(0.2 * 3 + 0.2 * 3 + 0.1 * 7)


def test_the_independent_proxy_counts_a_shared_operation_once_per_belief():
    state = three_cups([(0.5, ()), (0.2, ("A",)), (0.2, ("A", "B")), (0.1, ("B", "C"))])
    assert independent_rollback_risk(state) == pytest.approx(0.4 * 3 + 0.3 * 2 + 0.1 * 5)


def test_hypotheses_with_the_same_failures_are_one_failure_set():
    state = three_cups([(0.3, ("A",)), (0.3, ("A",)), (0.4, ())])
    assert exact_rollback_risk(state) == pytest.approx(0.6 * 3)
    assert beam_rollback_risk(state, width=2) == pytest.approx(0.6 * 3)


def test_a_possible_irreversible_failure_makes_the_risk_infinite():
    state = three_cups([(0.9, ()), (0.1, ("C",))], reversible=False)
    assert exact_rollback_risk(state) == independent_rollback_risk(state) == beam_rollback_risk(state) == math.inf


def test_an_excluded_irreversible_failure_costs_nothing():
    state = three_cups([(0.9, ("B",)), (0.1, ("C",))], reversible=False)
    state = replace(state, posterior=np.array([1.0, 0.0]))
    assert [proxy(state) for proxy in PROXIES] == pytest.approx([2.0] * 4)


def test_after_a_contradiction_everything_is_rolled_back():
    state = three_cups([(1.0, ("B",))], kernels={"look": Discrete(["yes", "no"], {"0": [1, 0]})})
    state = state.after(Observation("look", "no"))
    assert exact_rollback_risk(state) == beam_rollback_risk(state) == 8.0
    assert independent_rollback_risk(state) == 10.0


def test_sensing_leaves_the_expected_risk_as_it_is():
    """E[U(x') | x, m] = U(x): a probe moves no cost, so the fall of U is no value of information (Section 3.3)."""
    likelihood = {"0": [0.9, 0.1], "1": [0.2, 0.8], "2": [0.4, 0.6]}
    hypotheses = [(0.5, ()), (0.2, ("A",)), (0.3, ("A", "B"))]
    state = three_cups(hypotheses, kernels={"look": Discrete(["low", "high"], likelihood)})
    expected = 0.0
    for outcome in ("low", "high"):
        observation = Observation("look", outcome)
        expected += float(state.posterior @ state.likelihood(observation)) * exact_rollback_risk(
            state.after(observation)
        )
    assert expected == pytest.approx(exact_rollback_risk(state))


@settings(max_examples=50, deadline=None)
@given(q=st.lists(st.floats(0.01, 0.99), min_size=2, max_size=4))
def test_the_independent_proxy_is_exact_for_disjoint_operations_and_an_upper_bound_otherwise(q):
    disjoint = independent_state(q, shared=False)
    assert independent_rollback_risk(disjoint) == pytest.approx(exact_rollback_risk(disjoint))
    sharing = independent_state(q)
    assert independent_rollback_risk(sharing) >= exact_rollback_risk(sharing) - 1e-12


@settings(max_examples=50, deadline=None)
@given(q=st.lists(st.floats(0.01, 0.99), min_size=2, max_size=5), extra=st.integers(0, 3))
def test_a_beam_as_wide_as_the_support_is_exact(q, extra):
    state = independent_state(q)
    assert beam_rollback_risk(state, width=2 ** len(q) + extra) == pytest.approx(exact_rollback_risk(state))


def test_a_narrow_beam_keeps_the_likeliest_sets_and_normalises_their_weight():
    state = independent_state([0.4, 0.1, 0.3], shared=False)
    # Likeliest: {} 0.378, {0} 0.252, {2} 0.162, {0, 2} 0.108; undoing costs 1, 2, 3.
    assert beam_rollback_risk(state, width=1) == 0.0
    assert beam_rollback_risk(state, width=2) == pytest.approx(0.252 / 0.63)
    assert beam_rollback_risk(state, width=4) == pytest.approx((0.252 + 0.162 * 3 + 0.108 * 4) / 0.9)


def test_the_beam_crosses_common_causes_along_correlation_edges():
    """A and B fail together or not at all, so that no single flip leads from one supported set to the other."""
    state = three_cups([(0.6, ()), (0.3, ("A", "B")), (0.1, ("A", "B", "C"))])
    assert beam_rollback_risk(state, width=2) == pytest.approx(0.3 / 0.9 * 3)


def test_the_beam_starts_again_where_no_move_leads_on():
    state = three_cups([(0.6, ()), (0.4, ("A", "B", "C"))])
    assert beam_rollback_risk(state, width=2) == pytest.approx(exact_rollback_risk(state))


def test_monte_carlo_converges_and_repeats_with_the_generator():
    state = independent_state([0.4, 0.1, 0.3])
    exact = exact_rollback_risk(state)
    many = monte_carlo_rollback_risk(state, rng=np.random.default_rng(7), samples=200_000)
    assert many == pytest.approx(exact, abs=0.02)
    runs = [monte_carlo_rollback_risk(state, rng=np.random.default_rng(7)) for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0] == pytest.approx(exact, abs=0.3)


def test_nothing_can_be_estimated_from_nothing():
    state = independent_state([0.4, 0.1])
    with pytest.raises(ValueError, match="width 0"):
        beam_rollback_risk(state, width=0)
    with pytest.raises(ValueError, match="0 samples"):
        monte_carlo_rollback_risk(state, rng=np.random.default_rng(0), samples=0)
