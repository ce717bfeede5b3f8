"""Certificates: lower ≤ optimum ≤ upper, whatever the problem, however little time."""

import math

import numpy as np
import pytest
from aquamend.decision.terminal_table import terminal_losses, terminal_table
from aquamend.planning.rate_distortion import capacity, rate_distortion_bound
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend import (
    Action,
    AquaMend,
    Belief,
    Discrete,
    Exact,
    Gaussian,
    Hypothesis,
    InformationState,
    JointModel,
    Probe,
    Problem,
    RecoveryGraph,
    evaluate,
)
from aquamend.decision import probe_values
from aquamend.planning import anytime, exact
from aquamend.planning.anytime import plan_anytime
from aquamend.planning.bounds import Bounds, informed_losses, quick_bounds
from aquamend.planning.digits import (
    counted_digit,
    endless_digit,
    labels_of,
    reading_digit,
    revealing_digit,
    state_key,
    useful_states,
)
from aquamend.planning.relaxed_plan import relaxed_plan
from aquamend.policies import Lookahead
from tests.planning.conftest import random_state


def optimum(state: InformationState) -> float:
    return exact.solve(state).loss


@given(seed=st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_quick_bounds_bracket_the_optimum(seed):
    state = random_state(seed)
    bounds = quick_bounds(state)
    assert bounds.lower <= optimum(state) + 1e-9
    assert bounds.upper >= optimum(state) - 1e-9


@given(seed=st.integers(0, 10_000), first=st.sampled_from([2, 20, 2000]))
@settings(max_examples=40, deadline=None)
def test_anytime_bounds_bracket_the_optimum_at_every_size(seed, first):
    state = random_state(seed)
    original = anytime.FIRST_CELLS
    anytime.FIRST_CELLS = first
    try:
        plan = plan_anytime(state, gap=0.5, deadline_s=5.0)
    finally:
        anytime.FIRST_CELLS = original
    assert plan.bounds.lower <= optimum(state) + 1e-9
    assert plan.bounds.upper >= optimum(state) - 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_counting_all_uses_closes_the_gap(seed):
    state = random_state(seed, uses=1)
    plan = plan_anytime(state)
    assert plan.bounds.lower == pytest.approx(optimum(state), abs=1e-7)
    assert plan.bounds.upper == pytest.approx(optimum(state), abs=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_endless_yes_or_no_probes_get_a_certified_gap(seed):
    state = endless_state(seed)
    plan = plan_anytime(state, gap=0.01, deadline_s=20.0)
    assert plan.bounds.gap <= 0.01
    if plan.probe is not None:
        assert plan.probe in state.legal_probes
        assert plan.bounds.upper < terminal_value(state)


def endless_state(seed: int) -> InformationState:
    """One of four beliefs failed, or none; each has a noisy yes-or-no probe that may be repeated without end."""
    rng = np.random.default_rng(seed)
    beliefs = [f"b{i}" for i in range(4)]
    graph = RecoveryGraph(
        beliefs=[Belief(b, residual=float(rng.uniform(5, 12))) for b in beliefs],
        actions=[Action(f"a{j}", undo=float(rng.uniform(1, 4)), executed=True) for j in range(3)],
        probes=[Probe(f"p{b}", cost=float(rng.uniform(0.2, 0.5)), max_uses=math.inf) for b in beliefs],
        edges=[(b, f"a{j}", "belief_to_action") for i, b in enumerate(beliefs) for j in {i % 3, (i + 1) % 3}],
    )
    right = rng.uniform(0.75, 0.95, (4, 2))
    kernels = {
        f"p{b}": Discrete(["no", "yes"], np.array([[1 - r[0], r[0]] if s == i else [r[1], 1 - r[1]] for s in range(5)]))
        for i, (b, r) in enumerate(zip(beliefs, right, strict=True))
    }
    priors = rng.dirichlet(np.full(5, 3.0))
    failed = [*((b,) for b in beliefs), ()]
    hypotheses = [Hypothesis(f"h{s}", float(p), f) for s, (p, f) in enumerate(zip(priors, failed, strict=True))]
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses, kernels), restart=20.0))


def terminal_value(state: InformationState) -> float:
    table = terminal_table(state.problem)
    return float(table.values((state.posterior @ table.features)[None, :])[0])


@pytest.mark.parametrize("seed", range(8))
def test_no_policy_beats_the_lower_bound(seed):
    state = random_state(seed)
    lower = plan_anytime(state, gap=0.1).bounds.lower
    for policy in (AquaMend(), Lookahead(2), Exact()):
        assert evaluate(policy, state).expected_loss >= lower - 1e-9


@pytest.mark.parametrize("seed", range(30))
def test_the_rate_distortion_bound_is_below_the_optimum_from_the_first_iterate_on(seed):
    state = random_state(seed)
    losses = terminal_losses(state.problem)
    tables = state.problem.model.tables
    price = min(
        probe.cost / max(capacity(tables[probe.name].likelihood), 1e-12) for probe in state.problem.graph.probes
    )
    for iterations in (1, 5, 200):
        bound = rate_distortion_bound(state.posterior, losses, price, iterations=iterations)
        assert bound <= optimum(state) + 1e-9
    assert bound >= float(state.posterior @ informed_losses(state)) - 1e-9


def test_capacity_of_a_binary_symmetric_channel_is_known():
    error = 0.1
    known = math.log(2) + error * math.log(error) + (1 - error) * math.log(1 - error)
    assert capacity(np.array([[0.9, 0.1], [0.1, 0.9]])) == pytest.approx(known, abs=1e-9)
    assert capacity(np.array([[0.5, 0.5], [0.5, 0.5]])) == pytest.approx(0.0, abs=1e-12)


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
    labels = [labels_of(problem.model.tables[n].likelihood, state.posterior) for n in names]
    coarse = [revealing_digit(label) for label in labels]
    finer = [endless_digit(label, [np.ones(len(label.prior))]) for label in labels]
    bounds = [
        relaxed_plan(state.posterior, terminal_table(problem), informed_losses(state), digits, cost).lower
        for digits in (coarse, finer)
    ]
    assert bounds[0] <= bounds[1] + 1e-9


def test_a_counted_digit_lets_every_answer_through_unchanged():
    labels = labels_of(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.5, 0.5]))
    d = counted_digit(labels, 2)
    assert d.transition @ d.vectors == pytest.approx(d.vectors[: d.n_live])
    assert d.n_live == 3


def test_bounds_tighten_and_never_cross():
    joined = Bounds(1.0, 3.0) & Bounds(2.0, 2.5)
    assert joined == Bounds(2.0, 2.5)
    assert (Bounds(2.0, 3.0) & Bounds(0.0, 1.9999999)).lower <= 1.9999999
    assert Bounds(math.inf, math.inf).gap == 0.0


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


@pytest.mark.parametrize("seed", range(12))
def test_one_use_of_a_scale_is_bounded_by_its_exact_value_and_closely(seed):
    state = scale_state(seed)
    values = probe_values(state)
    exact_loss = min(values.stop_loss, float(values.expected_loss[0]))
    bounds = plan_anytime(state).bounds
    assert bounds.lower <= exact_loss + 1e-9
    assert bounds.upper == pytest.approx(exact_loss, abs=1e-9)
    assert bounds.gap <= 0.03 * exact_loss


@pytest.mark.parametrize("n_readings", [1, 5, 40])
@pytest.mark.parametrize("again", [True, False])
def test_telling_readings_conserves_each_labels_weight(n_readings, again):
    labels = labels_of(np.array([[0.0, 1.0], [3.0, 0.5], [0.0, 1.0]]), np.array([0.3, 0.3, 0.4]))
    d = reading_digit(labels, np.linspace(-1, 4, n_readings), again=again)
    assert d.transition @ d.vectors + d.settled == pytest.approx(d.vectors[: d.n_live], abs=1e-9)
    assert d.n_live == (1 + n_readings if again else 1)


def test_more_readings_told_apart_never_hurt_much_and_help_in_the_end():
    state = scale_state(1, uses=2)
    problem = state.problem
    table = problem.model.tables["weigh"]
    labels = labels_of(np.column_stack([table.mean, table.sd]), state.posterior)
    arguments = state.posterior, terminal_table(problem), informed_losses(state)
    bounds = [
        relaxed_plan(*arguments, [d], np.array([0.2])).lower
        for d in (revealing_digit(labels), reading_digit(labels, np.linspace(-2, 6, 50), again=True))
    ]
    assert bounds[0] <= bounds[1] + 1e-9
