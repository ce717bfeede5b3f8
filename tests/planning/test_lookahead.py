"""Planning a fixed number of probes ahead, answer by answer."""

import math

import numpy as np
import pytest

from aquamend.belief import InformationState
from aquamend.decision import best_terminal, probe_values
from aquamend.errors import TooLarge
from aquamend.files import parse_problem
from aquamend.planning import lookahead
from aquamend.planning.bounds import quick_bounds
from aquamend.planning.exact import solve
from aquamend.planning.lookahead import lookahead_losses


def test_one_probe_ahead_is_the_one_step_value_of_every_probe(referenced):
    compared = 0
    for seed in range(150):
        state, _ = referenced(seed, gaussian=seed % 3 == 0)
        np.testing.assert_allclose(lookahead_losses(state, 1), probe_values(state).expected_loss, atol=1e-9)
        compared += len(state.legal)
    assert compared > 150


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_planning_ahead_is_the_reference_value_of_every_probe_at_that_depth(referenced, depth):
    for seed in range(100):
        state, reference = referenced(seed)
        expected = [reference.probe_loss(probe, (), depth) for probe in state.legal_probes]
        np.testing.assert_allclose(lookahead_losses(state, depth), expected, rtol=1e-9, atol=1e-9, err_msg=str(seed))


@pytest.mark.parametrize("seed", range(10))
def test_planning_by_answers_and_by_evidence_states_agree(make_state, seed):
    state = make_state(seed, budget=0.9 if seed % 2 else np.inf)
    for depth in (1, 2, 3):
        np.testing.assert_allclose(lookahead_losses(state, depth), solve(state, depth=depth).probe_losses(), atol=1e-9)


def test_a_plan_with_readings_is_worth_no_more_than_perfect_information_and_no_less_than_one_probe(valued_file):
    """Readings are told by intervals: what a plan promises can be had, and further probes never make it worse."""
    compared = 0
    for seed in range(40):
        state = InformationState.alarmed(parse_problem(valued_file(seed, gaussian=True)))
        if not state.legal or any(belief.needs_support for belief in state.problem.graph.beliefs):
            continue
        one, two = lookahead_losses(state, 1), lookahead_losses(state, 2)
        assert (two <= one + 1e-6).all(), seed
        assert (two >= quick_bounds(state).lower - 1e-9).all(), seed
        compared += 1
    assert compared > 10


def test_a_horizon_beyond_all_uses_is_the_complete_plan(make_state):
    for seed in range(6):
        state = make_state(seed, uses=1)
        best = min(best_terminal(state).loss, float(lookahead_losses(state, 50).min()))
        assert best == pytest.approx(solve(state).loss, abs=1e-9)


def test_too_long_a_plan_is_refused_rather_than_tried(make_state, monkeypatch):
    monkeypatch.setattr(lookahead, "MOST_WORK", 10.0)
    with pytest.raises(TooLarge, match="planning 2 probes ahead"):
        lookahead_losses(make_state(0), 2)
    with pytest.raises(TooLarge):
        lookahead_losses(make_state(0, uses=math.inf), 10**6)


def test_large_batches_are_worked_through_in_pieces(make_state, monkeypatch):
    whole = lookahead_losses(make_state(3), 3)
    monkeypatch.setattr(lookahead, "MOST_WEIGHTS", 40)
    np.testing.assert_allclose(lookahead_losses(make_state(3), 3), whole, rtol=1e-12)
