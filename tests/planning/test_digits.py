"""Relaxed evidence: every digit conserves weight, and keeping more apart never lowers a bound."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend import (
    Action,
    Belief,
    Gaussian,
    Hypothesis,
    InformationState,
    JointModel,
    Mixture,
    Probe,
    Problem,
    RecoveryGraph,
)
from aquamend.decision.endings import endings_of
from aquamend.decision.probe_value import could_answer
from aquamend.planning.bounds import informed_losses
from aquamend.planning.digits import (
    Labels,
    counted_digit,
    endless_digit,
    labels_of,
    reading_digit,
    revealing_digit,
    state_key,
    useful_states,
)
from aquamend.planning.relaxed_plan import relaxed_plan
from tests.planning.conftest import random_state


def labels_of_channel(channel, posterior):
    mass = np.bincount(channel.of, weights=posterior, minlength=channel.n_labels).astype(float)
    return Labels(channel.of, np.zeros((channel.n_labels, 0)), mass, np.zeros(channel.n_labels, dtype=bool))


@given(seed=st.integers(0, 10_000), n_kept=st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_a_lottery_has_the_true_posterior_as_its_average(seed, n_kept):
    rng = np.random.default_rng(seed)
    labels = labels_of(rng.dirichlet(np.ones(3), 4), rng.dirichlet(np.ones(4)))
    states = [np.ones(len(labels.prior))]
    while len(states) < n_kept:
        options = [option for s in states for option in useful_states(labels, s, {state_key(v) for v in states})]
        states.append(max(options, key=lambda option: option[0])[1])
    d = endless_digit(labels, states)
    moved = d.transition @ d.vectors + d.settled
    # One use of a probe conserves each label's weight: its outcomes' probabilities sum to one.
    assert moved == pytest.approx(d.vectors[: d.n_live], abs=1e-9)


def test_a_revealing_digit_conserves_weight_too():
    labels = labels_of(np.array([[0.9, 0.1], [0.2, 0.8], [0.9, 0.1]]), np.full(3, 1 / 3))
    d = revealing_digit(labels)
    assert d.transition @ d.vectors + d.settled == pytest.approx(np.ones((1, 2)))


def test_more_evidence_kept_apart_never_lowers_the_bound():
    state = random_state(3, uses=math.inf)
    problem = state.problem
    names = state.legal_probes
    cost = np.array([problem.graph.probes[problem.graph.probe_index[n]].cost for n in names])
    labels = [labels_of(problem.model.channels[n].table, state.posterior) for n in names]
    coarse = [revealing_digit(label) for label in labels]
    finer = [endless_digit(label, [np.ones(len(label.prior))]) for label in labels]
    bounds = [
        relaxed_plan(
            state.posterior, endings_of(problem), could_answer(state), informed_losses(state), digits, cost
        ).lower
        for digits in (coarse, finer)
    ]
    assert bounds[0] <= bounds[1] + 1e-9


def test_a_counted_digit_lets_every_answer_through_unchanged():
    labels = labels_of(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.5, 0.5]))
    d = counted_digit(labels, 2)
    assert d.transition @ d.vectors == pytest.approx(d.vectors[: d.n_live])
    assert d.n_live == 3


def test_relaxed_evidence_bounds_the_optimum_where_corrections_need_values_and_support(referenced):
    for seed in range(100):
        state, reference = referenced(seed)
        if not state.legal or math.isinf(reference.optimum()):
            continue
        cost = np.array([view.cost for view in state.legal])
        labels = [labels_of(view.channel.table, state.posterior) for view in state.legal]
        arguments = state.posterior, endings_of(state.problem), could_answer(state), informed_losses(state)
        for digits in (
            [revealing_digit(label) for label in labels],
            [endless_digit(label, [np.ones(len(label.prior))]) for label in labels],
            [counted_digit(label, int(v.uses_left)) for label, v in zip(labels, state.legal, strict=True)],
        ):
            assert relaxed_plan(*arguments, digits, cost).lower <= reference.optimum() + 1e-9, seed


def scale_state(seed: int, uses: float = 1) -> InformationState:
    """Three weights and one scale: which of two beliefs failed, if any."""
    rng = np.random.default_rng(seed)
    graph = RecoveryGraph(
        [Belief("a", residual=8.0), Belief("b", residual=5.0)],
        [Action("lift", undo=float(rng.uniform(1, 4)), executed=True)],
        [Probe("weigh", cost=0.2, max_uses=uses)],
        [("weigh", "a", "detection"), ("a", "lift", "belief_to_action"), ("b", "lift", "belief_to_action")],
    )
    rows = np.column_stack([rng.uniform(0, 4, 3), rng.uniform(0.5, 1.5, 3)])
    priors = rng.dirichlet(np.full(3, 2.0))
    failed = [(), ("a",), ("b",)]
    hypotheses = [Hypothesis(f"h{s}", float(p), f) for s, (p, f) in enumerate(zip(priors, failed, strict=True))]
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses, {"weigh": Gaussian(rows)})))


KERNELS = {
    "gaussian": Gaussian({"a": (0.0, 1.0), "b": (3.0, 0.5), "c": (0.0, 1.0)}),
    "no outliers": Gaussian({"a": (0.0, 1.0), "b": (3.0, 0.5), "c": (0.0, 1.0)}, outliers=0.0),
    "glitches": Gaussian({"a": (0.0, 1.0), "b": (3.0, 0.5), "c": (0.0, 1.0)}, outliers=0.05),
    "mixture": Mixture({"a": [[1.0, 0.0, 1.0]], "b": [[0.4, 3.0, 0.5], [0.6, -2.0, 1.0]], "c": [[1.0, 0.0, 1.0]]}),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_readings", [1, 5, 40])
@pytest.mark.parametrize("again", [True, False])
def test_telling_readings_conserves_each_labels_weight(kernel, n_readings, again):
    channel = KERNELS[kernel].channel(["a", "b", "c"])
    labels = labels_of_channel(channel, np.array([0.3, 0.3, 0.4]))
    d = reading_digit(labels, channel, np.linspace(-1, 4, n_readings), again=again)
    assert d.transition @ d.vectors + d.settled == pytest.approx(d.vectors[: d.n_live], abs=1e-9)
    assert d.n_live == (1 + n_readings if again else 1)


def test_more_readings_told_apart_never_hurt_much_and_help_in_the_end():
    state = scale_state(1, uses=2)
    problem = state.problem
    channel = problem.model.channels["weigh"]
    labels = labels_of_channel(channel, state.posterior)
    arguments = state.posterior, endings_of(problem), could_answer(state), informed_losses(state)
    bounds = [
        relaxed_plan(*arguments, [d], np.array([0.2])).lower
        for d in (revealing_digit(labels), reading_digit(labels, channel, np.linspace(-2, 6, 50), again=True))
    ]
    assert bounds[0] <= bounds[1] + 1e-9
