"""Bayes' rule on problems whose posteriors are known."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend.belief import InformationState, Observation
from aquamend.problem.model import Discrete, Gaussian

LISTEN = Discrete(["left", "right"], {"ok": [0.85, 0.15], "bad": [0.15, 0.85]})


def test_a_mammogram_with_nine_per_cent_false_alarms_leaves_cancer_at_nine_per_cent(start):
    state = start({}, bad=0.01, alarm=(0.096, 0.8)).after_alarm()
    assert state.failure_probabilities[0] == pytest.approx(0.008 / (0.008 + 0.09504))


def test_the_tiger_is_heard_twice_on_the_right_with_probability_0_97(start):
    state = start({"listen": LISTEN}, uses=3)
    heard = state.after(Observation("listen", "right"))
    assert heard.posterior[1] == pytest.approx(0.85)
    assert heard.after(Observation("listen", "right")).posterior[1] == pytest.approx(0.7225 / 0.745)


def test_contrary_answers_cancel(start):
    state = start({"listen": LISTEN}, uses=3, bad=0.3)
    both = state.after(Observation("listen", "right")).after(Observation("listen", "left"))
    np.testing.assert_allclose(both.posterior, state.posterior, rtol=1e-14)


def test_a_gaussian_reading_multiplies_the_odds_by_the_density_ratio(start):
    state = start({"weigh": Gaussian({"ok": (0.0, 1.0), "bad": (2.0, 2.0)})}, bad=0.25)
    after = state.after(Observation("weigh", 1.5))
    ratio = math.exp(1.5**2 / 2 - 0.25**2 / 2) / 2
    assert after.posterior[1] / after.posterior[0] == pytest.approx(ratio / 3)


def test_a_gaussian_reading_may_be_written_as_text(start):
    state = start({"weigh": Gaussian({"ok": (0.0, 1.0), "bad": (2.0, 2.0)})})
    written, read = state.after(Observation("weigh", "1.5")), state.after(Observation("weigh", 1.5))
    np.testing.assert_array_equal(written.posterior, read.posterior)


@pytest.mark.parametrize("reading", [-2.0, 0.3, 1.9, 4.5])
def test_a_gaussian_reading_is_the_limit_of_ever_finer_bins(start, reading):
    mean_sd = {"ok": (0.0, 1.0), "bad": (2.0, 2.0)}
    half = 1e-4

    def inside(mean, sd):
        low, high = (math.erf((reading + side - mean) / sd / math.sqrt(2)) for side in (-half, half))
        return (high - low) / 2

    rows = {name: [inside(*row), 1 - inside(*row)] for name, row in mean_sd.items()}
    binned = start({"weigh": Discrete(["in", "out"], rows)}).after(Observation("weigh", "in"))
    exact = start({"weigh": Gaussian(mean_sd)}).after(Observation("weigh", reading))
    np.testing.assert_allclose(binned.posterior, exact.posterior, rtol=1e-6)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), gaussian=st.booleans())
def test_the_order_of_possible_evidence_does_not_matter(random_problem, seed, gaussian):
    rng = random.Random(seed)
    state = InformationState.alarmed(random_problem(rng, gaussian=gaussian, probes=4))
    evidence = _possible_answers(state, rng)
    shuffled = rng.sample(evidence, len(evidence))
    forth, back = state, state
    for one, other in zip(evidence, shuffled, strict=True):
        forth, back = forth.after(one), back.after(other)
    np.testing.assert_allclose(forth.posterior, back.posterior, rtol=1e-9, atol=1e-15)
    assert forth.posterior.sum() == pytest.approx(1)
    assert forth.spent == pytest.approx(back.spent)


def _possible_answers(state, rng):
    """Return answers that one fixed hypothesis may give, each probe once."""
    graph = state.problem.graph
    truth = rng.choice(np.flatnonzero(state.posterior > 0).tolist())
    answers, left = [], state.problem.sensing_budget
    for name in state.legal_probes:
        left -= graph.probes[graph.probe_index[name]].cost
        if left < 0:
            break
        drawn = np.random.default_rng(rng.randrange(10**9))
        answers.append(Observation(name, state.problem.model.channels[name].sample(truth, drawn)))
    return answers


def test_alarm_and_answers_may_come_in_any_order(start):
    state = start({"listen": LISTEN}, alarm=(0.2, 0.9), bad=0.3)
    answer = Observation("listen", "left")
    first, last = state.after_alarm().after(answer), state.after(answer).after_alarm()
    np.testing.assert_allclose(first.posterior, last.posterior, rtol=1e-14)


def test_whether_evidence_contradicts_the_model_does_not_depend_on_its_order(start):
    kernels = {
        "weigh": Gaussian({"ok": (0.0, 1.0), "bad": (10.0, 1.0)}),
        "look": Discrete(["y", "n"], {"ok": [1, 0], "bad": [0, 1]}),
    }
    state, light, failed = start(kernels), Observation("weigh", 0.0), Observation("look", "n")
    forth, back = state.after(light).after(failed), state.after(failed).after(light)
    assert (forth.contradiction is None) == (back.contradiction is None)


def test_two_improbable_answers_do_not_vanish_in_each_other(start):
    """Each leaves the odds of ok at 1e-200; together they leave 1e-400, which no float holds but the least."""
    rare = {name: Discrete(["y", "n"], {"ok": [1e-200, 1.0], "bad": [1.0, 0.0]}) for name in ("look", "peek")}
    state = start(rare)
    twice = state.after(Observation("look", "y")).after(Observation("peek", "y"))
    assert twice.contradiction is None
    assert 0.0 < twice.posterior[0] < 1e-300
    assert twice.posterior[1] == 1.0
    tiny = {name: Discrete(["y", "n"], {"ok": [1e-200, 1.0], "bad": [2e-200, 1.0]}) for name in ("look", "peek")}
    state = start(tiny).after(Observation("look", "y")).after(Observation("peek", "y"))
    assert state.contradiction is None
    np.testing.assert_allclose(state.posterior, [0.2, 0.8])


@pytest.mark.parametrize("faint", [1e-300, 1e-310])
def test_a_faint_alarm_updates_as_a_loud_one_does(start, faint):
    heard = start({}, alarm=(faint, 3 * faint)).after_alarm()
    np.testing.assert_allclose(heard.posterior, [0.25, 0.75], rtol=1e-9)


def test_an_alarm_that_only_a_hardly_possible_hypothesis_raises_decides_for_that(start):
    assert start({}, bad=1e-200, alarm=(0.0, 1e-150)).after_alarm().posterior.tolist() == [0.0, 1.0]


def test_an_answer_that_is_hardly_possible_where_only_a_hardly_possible_hypothesis_gives_it_decides_for_that(start):
    kernel = Discrete(["y", "n"], {"ok": [0.0, 1.0], "bad": [1e-200, 1.0]})
    after = start({"look": kernel}, bad=1e-200).after(Observation("look", "y"))
    assert after.contradiction is None
    assert after.posterior.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("reading", [30.0, -50.0, 1e6])
def test_one_outlying_reading_leaves_the_posterior_as_it_was(start, reading):
    """Farther from every hypothesis than any of them explains, a reading is a glitch and speaks for none."""
    state = start({"weigh": Gaussian({"ok": (0.0, 1.0), "bad": (4.0, 1.5)})}, bad=0.3, uses=2)
    after = state.after(Observation("weigh", reading))
    assert after.contradiction is None
    np.testing.assert_allclose(after.posterior, state.posterior, atol=1e-6)
    sound, later = state.after(Observation("weigh", 4.0)), after.after(Observation("weigh", 4.0))
    np.testing.assert_allclose(sound.posterior, later.posterior, atol=1e-6)
