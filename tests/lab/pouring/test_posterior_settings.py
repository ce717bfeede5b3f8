"""The five posterior settings of the paper's sensitivity study, against numbers worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend.belief import InformationState, Observation
from aquamend.problem import Problem
from aquamend.problem.graph import Belief, Probe, RecoveryGraph
from aquamend.problem.model import Alarm, Declaration, Discrete, Hypothesis, JointModel
from aquamend_lab.pouring.model.alarm_problem import PosteriorSetting, distorted

SQRT2, SQRT3, SQRT5 = 2**0.5, 3**0.5, 5**0.5


def alarmed(prior=(0.5, 0.2, 0.3, 0.0), alarm=(1.0, 1.0, 1.0, 1.0)):
    """Return a state with declarations invalid in (h1) and (h1, h2); h0 and h3 leave both valid."""
    graph = RecoveryGraph([Belief("b", 1.0)], (), [Probe("p", 0.1)], [("p", "b", "detection")])
    names = ["h0", "h1", "h2", "h3"]
    model = JointModel(
        [Hypothesis(name, p) for name, p in zip(names, prior, strict=True)],
        {"p": Discrete(["y", "n"], {name: [0.2 * i, 1 - 0.2 * i] for i, name in enumerate(names)})},
        Alarm(dict(zip(names, alarm, strict=True))),
        [Declaration("d", "b", invalid_in=("h1",)), Declaration("e", "b", invalid_in=("h1", "h2"))],
    )
    return InformationState.alarmed(Problem(graph, model))


@pytest.mark.parametrize(
    ("setting", "weights"),
    [
        ("original", (0.5, 0.2, 0.3, 0.0)),
        ("concentrated", (25, 4, 9, 0)),
        ("dispersed", (SQRT5, SQRT2, SQRT3, 0)),
        ("negative", (0.5, 0.05, 0.075, 0.0)),
        ("positive", (0.5, 0.8, 1.2, 0.0)),
    ],
)
def test_each_setting_weights_the_posterior_as_the_paper_says(setting, weights):
    posterior = distorted(alarmed(), PosteriorSetting(setting)).posterior
    np.testing.assert_allclose(posterior, np.array(weights) / sum(weights), rtol=1e-12)


def test_a_state_that_two_declarations_find_invalid_is_biased_once():
    """h1 breaks both declarations and h2 one: B(s) is an indicator, not a count."""
    posterior = distorted(alarmed(), PosteriorSetting.POSITIVE_BIAS).posterior
    assert posterior[1] / posterior[2] == pytest.approx(0.2 / 0.3)


def test_the_distortion_applies_to_the_posterior_after_the_alarm():
    state = alarmed(prior=(0.25, 0.25, 0.25, 0.25), alarm=(0.5, 0.1, 0.2, 0.2))
    np.testing.assert_allclose(
        distorted(state, PosteriorSetting.CONCENTRATED).posterior, np.array([25, 1, 4, 4]) / 34, rtol=1e-12
    )


def test_the_original_setting_is_the_identity():
    state = alarmed()
    assert distorted(state, PosteriorSetting.ORIGINAL) is state


def test_later_evidence_updates_the_distorted_posterior_with_the_ordinary_kernel():
    state = distorted(alarmed(), PosteriorSetting.NEGATIVE_BIAS)
    weights = np.array([0.5, 0.05, 0.075, 0.0]) * [1.0, 0.8, 0.6, 0.4]
    np.testing.assert_allclose(state.after(Observation("p", "n")).posterior, weights / weights.sum(), rtol=1e-12)
    assert state.alarm_heard


@settings(max_examples=100, deadline=None)
@given(
    weights=st.lists(st.integers(0, 20), min_size=4, max_size=4).filter(any), setting=st.sampled_from(PosteriorSetting)
)
def test_a_setting_keeps_zero_at_zero_order_within_a_class_and_total_mass(weights, setting):
    p = np.array(weights) / sum(weights)
    state = alarmed(prior=tuple(p.tolist()))
    after = distorted(state, setting).posterior
    assert after.sum() == pytest.approx(1)
    np.testing.assert_array_equal(after == 0, state.posterior == 0)
    for same_class in ([0, 3], [1, 2]):
        a, b = same_class
        assert np.sign(np.round(after[a] - after[b], 12)) == np.sign(np.round(p[a] - p[b], 12))


@settings(max_examples=100, deadline=None)
@given(weights=st.lists(st.integers(1, 20), min_size=4, max_size=4))
def test_the_biases_multiply_the_odds_of_invalidity_by_four_and_by_a_quarter(weights):
    state = alarmed(prior=tuple((np.array(weights) / sum(weights)).tolist()))

    def odds(s):
        return (s.posterior[1] + s.posterior[2]) / (s.posterior[0] + s.posterior[3])

    assert odds(distorted(state, PosteriorSetting.POSITIVE_BIAS)) == pytest.approx(4 * odds(state))
    assert odds(distorted(state, PosteriorSetting.NEGATIVE_BIAS)) == pytest.approx(odds(state) / 4)
    back = distorted(distorted(state, PosteriorSetting.POSITIVE_BIAS), PosteriorSetting.NEGATIVE_BIAS)
    np.testing.assert_allclose(back.posterior, state.posterior, rtol=1e-12)


@settings(max_examples=50, deadline=None)
@given(weights=st.lists(st.integers(1, 20), min_size=4, max_size=4))
def test_dispersing_undoes_concentrating(weights):
    state = alarmed(prior=tuple((np.array(weights) / sum(weights)).tolist()))
    both = distorted(distorted(state, PosteriorSetting.CONCENTRATED), PosteriorSetting.DISPERSED)
    np.testing.assert_allclose(both.posterior, state.posterior, rtol=1e-9)
