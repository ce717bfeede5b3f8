"""What each ablation takes away, seen in the posterior it decides by and in what it does."""

import numpy as np
import pytest
from tests.worlds.taking import answer

from aquamend.benchmarks.t4.ablations import (
    ABLATIONS,
    BEAM_WIDTH,
    SAMPLES,
    PowerPerCost,
    everything_external,
    likeliest_few,
    no_sensing_errors,
    overconfident,
    product_of_marginals,
    sampled,
)
from aquamend.benchmarks.t4.variations import ablation
from aquamend.decision import Reprobe
from aquamend.decision.probe_value import probe_values
from aquamend.inference import InformationState, Observation
from aquamend.model import Cause
from aquamend.policies import AquaMend
from aquamend.recovery import recover
from aquamend.testing import check_policy

STATES = [ablation(0, number).state for number in range(12)]


def mass_on(state, weights, cause):
    causes = [Cause(h.cause) is cause for h in state.problem.model.hypotheses]
    return float((weights / weights.sum())[causes].sum())


@pytest.mark.parametrize("state", STATES[:6])
def test_without_attribution_only_changes_of_the_world_are_left(state):
    assert mass_on(state, everything_external(state), Cause.EXTERNAL) == pytest.approx(1.0)
    assert state.attribution[Cause.EXTERNAL] < 0.95


@pytest.mark.parametrize("state", STATES[:6])
def test_without_source_separation_no_sensor_is_ever_wrong(state):
    weights = no_sensing_errors(state)
    assert mass_on(state, weights, Cause.SELF_ERROR) == 0.0
    assert mass_on(state, weights, Cause.FALSE_ALARM) > state.attribution[Cause.FALSE_ALARM]


@pytest.mark.parametrize("state", STATES[:6])
def test_the_proxies_are_what_they_are_called(state):
    assert np.count_nonzero(likeliest_few(state)) == BEAM_WIDTH
    assert likeliest_few(state).sum() < 1.0
    assert sampled(state).sum() == SAMPLES
    assert np.array_equal(sampled(state), sampled(state)), "the same draws for the same evidence"
    assert np.all(product_of_marginals(state)[state.posterior == 0] == 0)


def test_overconfidence_squares_the_alarm_posterior_and_conditions_as_it_should():
    state = STATES[1]
    squared = overconfident(state)
    assert squared == pytest.approx(state.posterior**2)
    world = ablation(0, 1).truths[0].enter()
    after = state.after(Observation("look_A", answer(world, "look_A")))
    likelihood = after.posterior / state.posterior
    expected = state.posterior**2 * likelihood
    assert overconfident(after) / overconfident(after).sum() == pytest.approx(expected / expected.sum())


def test_detection_power_chooses_only_among_probes_that_pay():
    seen = 0
    for state in STATES:
        step = PowerPerCost().next_step(state)
        values = probe_values(state)
        if isinstance(step, Reprobe):
            seen += 1
            assert values.net_benefit[values.branches.probes.index(step.probe)] > 0
        else:
            assert not (values.net_benefit > 1e-9).any()
    assert seen > 3


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_ablation_keeps_the_contract_of_policies_and_changes_something(name):
    assert check_policy(ABLATIONS[name](), [STATES[0].problem]).states >= 1
    differs = 0
    for number in range(60):
        scenario = ablation(1, number)
        ours, theirs = (recover(p, scenario.truths[0].enter()) for p in (AquaMend(), ABLATIONS[name]()))
        differs += (ours.evidence, ours.decision) != (theirs.evidence, theirs.decision)
    assert differs > 0


def test_a_posterior_that_nothing_is_left_of_is_left_alone():
    state = STATES[0]
    only_faults = np.array([Cause(h.cause) is Cause.SELF_ERROR for h in state.problem.model.hypotheses], dtype=float)
    certain = InformationState(state.problem, only_faults / only_faults.sum())
    assert ABLATIONS["no-source-separation"]().next_step(certain) == AquaMend().next_step(certain)
