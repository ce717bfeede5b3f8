"""What each ablation takes away, seen in the posterior it decides by and in what it does."""

from dataclasses import replace

import numpy as np
import pytest

from aquamend.belief import InformationState, Observation
from aquamend.belief.state import normalised
from aquamend.policies import TwoStep
from aquamend.problem.model import Cause
from aquamend.recovery import Measure, recovered
from aquamend_lab.benchmarks.t4_episodes import ablation
from aquamend_lab.benchmarks.t4_suites import (
    ABLATIONS,
    BEAM_WIDTH,
    SAMPLES,
    everything_external,
    likeliest_few,
    no_sensing_errors,
    overconfident,
    product_of_marginals,
    sampled_posterior,
)

STATES = [s.state for s in (ablation(0, number) for number in range(12)) if s.features["family"] != "swap"][:4]


def mass_on(state, weights, cause):
    causes = [Cause(h.cause) is cause for h in state.problem.model.hypotheses]
    return float((weights / weights.sum())[causes].sum())


@pytest.mark.parametrize("state", STATES)
def test_without_attribution_only_changes_of_the_world_are_left(state):
    assert mass_on(state, everything_external(state), Cause.EXTERNAL) == pytest.approx(1.0)
    assert state.attribution[Cause.EXTERNAL] < 0.95


@pytest.mark.parametrize("state", STATES)
def test_without_source_separation_no_sensor_is_ever_wrong(state):
    weights = no_sensing_errors(state)
    assert mass_on(state, weights, Cause.SELF_ERROR) == 0.0
    assert mass_on(state, weights, Cause.FALSE_ALARM) > state.attribution[Cause.FALSE_ALARM]


@pytest.mark.parametrize("state", STATES)
def test_the_proxies_are_what_they_are_called(state):
    assert np.count_nonzero(likeliest_few(state)) == BEAM_WIDTH
    assert likeliest_few(state).sum() < 1.0
    assert sampled_posterior(state).sum() == SAMPLES
    assert np.array_equal(sampled_posterior(state), sampled_posterior(state)), "the same draws for the same evidence"
    assert np.all(product_of_marginals(state)[state.posterior == 0] == 0)


def test_the_independence_proxy_keeps_what_is_left_beside_a_failure_that_is_all_but_certain():
    """One less a probability that rounds to one is nothing or a rounding error; neither is what the marginals say."""
    state = STATES[0]
    sound = state.problem.failed[:, state.problem.graph.belief_index["camera"]] == 0
    posterior = normalised(state.posterior * np.where(sound, 1e-30, 1.0))
    weights = product_of_marginals(replace(state, posterior=posterior, origin=None))
    assert 0.0 < weights[sound].sum() / weights.sum() < 1e-25


def test_overconfidence_squares_the_alarm_posterior_and_conditions_as_it_should():
    state = STATES[1]
    alarm = InformationState.alarmed(state.problem).posterior
    assert overconfident(state) == pytest.approx(state.posterior * alarm)
    world = ablation(0, 1).truths[0].enter()
    after = state.after(Observation("look_A", world.measure(Measure("look_A")).finding))
    expected = state.posterior * alarm * after.posterior / state.posterior
    assert overconfident(after) / overconfident(after).sum() == pytest.approx(expected / expected.sum())


@pytest.mark.slow
@pytest.mark.parametrize("name", ABLATIONS)
def test_every_ablation_changes_something(name):
    differs = 0
    for number in range(40):
        truth = ablation(1, number).truths[0]
        ours, theirs = (recovered(p, truth.enter()).recovery for p in (TwoStep(), ABLATIONS[name]()))
        differs += ours.steps != theirs.steps
    assert differs > 0


def test_a_posterior_that_nothing_is_left_of_is_left_alone():
    state = STATES[0]
    only_faults = np.array([Cause(h.cause) is Cause.SELF_ERROR for h in state.problem.model.hypotheses], dtype=float)
    certain = InformationState(state.problem, only_faults / only_faults.sum())
    assert ABLATIONS["no-source-separation"]().next_step(certain) == TwoStep().next_step(certain)
