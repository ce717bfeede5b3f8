"""Certificates: lower ≤ optimum ≤ upper, and what information costs at least."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend.belief import InformationState, Monitored, Observation
from aquamend.decision.terminal import best_terminal
from aquamend.planning import exact
from aquamend.planning.bounds import (
    Bounds,
    capacity,
    informed_losses,
    listed_losses,
    quick_bounds,
    rate_distortion_bound,
    settles,
)
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


def test_quick_bounds_bracket_the_optimum_where_corrections_need_values_and_support(referenced):
    for seed in range(250):
        state, reference = referenced(seed)
        bounds, optimum = quick_bounds(state), reference.optimum()
        assert bounds.lower <= optimum + 1e-9, seed
        assert bounds.upper >= optimum - 1e-9, seed


def test_a_contradicted_model_allows_its_worst_case_decision_and_no_more(make_state):
    for seed in range(60):
        state = make_state(seed)
        for view in state.legal:
            never = [
                o for o, p in zip(view.channel.outcomes, state.posterior @ view.channel.table, strict=True) if p == 0
            ]
            if never:
                after = state.after(Observation(view.name, never[0]))
                loss = best_terminal(after).loss
                assert quick_bounds(after) == Bounds(loss, loss)
                return
    raise AssertionError("no state with an impossible answer")


@pytest.mark.parametrize("seed", range(30))
def test_the_rate_distortion_bound_is_below_the_optimum_from_the_first_iterate_on(seed):
    state = random_state(seed)
    losses = listed_losses(state)
    channels = state.problem.model.channels
    price = min(probe.cost / max(capacity(channels[probe.name].table), 1e-12) for probe in state.problem.graph.probes)
    for iterations in (1, 5, 200):
        bound = rate_distortion_bound(state.posterior, losses, price, iterations=iterations)
        assert bound <= optimum(state) + 1e-9
    assert bound >= float(state.posterior @ informed_losses(state)) - 1e-9


def test_the_rate_distortion_bound_is_below_the_optimum_where_corrections_need_values_and_support(referenced):
    """Every decision that may ever be taken is listed, support left out."""
    useful = 0
    for seed in range(100):
        state, reference = referenced(seed)
        losses = listed_losses(state)
        nats = [capacity(view.channel.table) for view in state.legal]
        prices = [view.cost / n for view, n in zip(state.legal, nats, strict=True) if n > 1e-12]
        if losses is None or not prices or math.isinf(reference.optimum()):
            continue
        bound = rate_distortion_bound(state.posterior, losses, min(prices))
        assert bound <= reference.optimum() + 1e-9, seed
        useful += bound > 0.0
    assert useful > 20


@pytest.mark.filterwarnings("error")
def test_a_decision_whose_share_vanishes_ends_the_iteration_and_not_the_bound():
    """Information is cheap and two hypotheses nearly impossible: the decisions that these need fade away."""
    posterior = np.array([1e-300, 7e-301, 1.0 - 8e-7, 8e-7])
    losses = np.array(
        [
            [7.7, 20.9, 28.5, 21.3, 29.7, 24.7],
            [math.inf, math.inf, math.inf, 13.6, 22.0, 24.7],
            [35.4, 48.7, 20.8, 49.0, 57.5, 24.7],
            [43.1, 13.2, 63.9, 56.7, 22.0, 24.7],
        ]
    )
    clairvoyant = float(posterior @ losses.min(axis=1))
    stop = min(float(posterior @ column) for column in losses.T if np.isfinite(column).all())
    assert clairvoyant - 1e-9 <= rate_distortion_bound(posterior, losses, 0.15) <= stop


def test_capacity_of_a_binary_symmetric_channel_is_known():
    error = 0.1
    known = math.log(2) + error * math.log(error) + (1 - error) * math.log(1 - error)
    assert capacity(np.array([[0.9, 0.1], [0.1, 0.9]])) == pytest.approx(known, abs=1e-9)
    assert capacity(np.array([[0.5, 0.5], [0.5, 0.5]])) == pytest.approx(0.0, abs=1e-12)


def test_bounds_tighten_and_never_cross():
    joined = Bounds(1.0, 3.0) & Bounds(2.0, 2.5)
    assert joined == Bounds(2.0, 2.5)
    assert (Bounds(2.0, 3.0) & Bounds(0.0, 1.9999999)).lower <= 1.9999999
    assert Bounds(math.inf, math.inf).gap == 0.0


def test_informed_losses_are_finite_and_below_what_any_decision_costs(referenced):
    for seed in range(100):
        state, _ = referenced(seed)
        losses = informed_losses(state)
        assert np.isfinite(losses).all()
        assert (losses >= 0).all()
        assert float(state.posterior @ losses) <= best_terminal(state).loss + 1e-9, seed


def test_a_set_of_hypotheses_that_settles_leaves_one_decision_best_under_every_mixture(referenced):
    """The settled loss is then linear: any mixture of the members costs what each of them would, known."""
    settled = 0
    for seed in range(200):
        state, _ = referenced(seed)
        n = len(state.posterior)
        rng = np.random.default_rng(seed)
        allowed = rng.random((6, n)) < 0.4
        found = settles(state, allowed)
        ruled = any(belief.needs_support for belief in state.problem.graph.beliefs)
        assert not (ruled and found.any()), seed  # what may be done then also hangs on who has spoken
        for members in allowed[found]:
            weights = rng.dirichlet(np.ones(n)) * (members & (state.posterior > 0))
            mixed = InformationState(state.problem, weights / weights.sum(), monitored=(Monitored("alarm"),))
            known = float(mixed.posterior @ informed_losses(state))
            assert best_terminal(mixed).loss == pytest.approx(known, abs=1e-9), seed
            settled += 1
    assert settled > 50
