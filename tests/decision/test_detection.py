"""Detection power C_s and the false-positive rate of a fixed declaration version."""

import random

import pytest
from scipy.stats import norm

from aquamend.decision import Detection, detection
from aquamend.decision.probe_value import branches_of
from aquamend.graph import Belief, Probe, RecoveryGraph
from aquamend.inference import InformationState, Observation, with_refreshed_declarations
from aquamend.model import Declaration, Discrete, Gaussian, Hypothesis, JointModel
from aquamend.problem import Problem

VALID_IN_ALL = Declaration("always", "lid")
INVALID_IN_ALL = Declaration("never", "lid", invalid_in=("on", "off"))


def rates(state, probe="look", declaration=None):
    declarations = state.declarations if declaration is None else [declaration]
    return detection(state, branches_of(state, [probe]), declarations)[0][0]


def look(on, off):
    return {"look": Discrete([f"y{i}" for i in range(len(on))], {"on": on, "off": off})}


def test_power_and_false_positives_by_hand(lid):
    """q(y0) = 0.08/0.62 keeps, q(y1) = 0.32/0.38 rejects."""
    seen = rates(lid(look([0.9, 0.1], [0.2, 0.8])))
    assert seen.power == pytest.approx(0.8)
    assert seen.false_positive_rate == pytest.approx(0.1)


def test_power_is_summed_over_the_outcomes_that_reject(lid):
    """At q = 0.5 the second and third outcomes favour invalidity."""
    seen = rates(lid(look([0.7, 0.1, 0.2], [0.1, 0.5, 0.4]), q=0.5))
    assert seen.power == pytest.approx(0.9)
    assert seen.false_positive_rate == pytest.approx(0.3)


def test_an_answer_that_leaves_exactly_one_half_rejects(lid):
    assert rates(lid(look([0.5, 0.5], [0.5, 0.5]), q=0.5)) == Detection(1.0, 1.0)
    assert rates(lid(look([0.5, 0.5], [0.5, 0.5]), q=0.4999)) == Detection(0.0, 0.0)
    # 0.3 · 0.1 / (0.3 · 0.1 + 0.7 · 3/70): one half but for rounding
    third = rates(lid(look([3 / 70, 67 / 70], [0.1, 0.9]), q=0.3))
    assert third.power == pytest.approx(0.1)


def test_a_condition_of_probability_zero_makes_the_rate_unavailable_rather_than_zero(lid):
    state = lid(look([0.9, 0.1], [0.2, 0.8]), q=0.5)
    assert rates(state, declaration=VALID_IN_ALL) == Detection(None, 0.0)
    assert rates(state, declaration=INVALID_IN_ALL) == Detection(1.0, None)
    assert rates(lid(look([0.9, 0.1], [0.2, 0.8]), q=0.0)) == Detection(None, 0.0)


def test_a_rate_stays_unavailable_where_the_posterior_sums_to_one_only_but_for_rounding():
    graph = RecoveryGraph([Belief("b", 1.0)], (), [Probe("look", 0.1)], [("look", "b", "detection")])
    for seed in range(100):
        rng = random.Random(seed)
        weights = {f"h{i}": rng.random() for i in range(7)}
        hypotheses = [Hypothesis(name, w / sum(weights.values()), ("b",)) for name, w in weights.items()]
        kernel = Discrete(["y", "n"], {name: [w, 1 - w] for name, w in weights.items()})
        state = InformationState.start(Problem(graph, JointModel(hypotheses, {"look": kernel})))
        seen = rates(state)
        assert seen.power == pytest.approx(1.0), seed
        assert seen.false_positive_rate is None, seed


def test_a_blind_probe_has_no_power_on_a_declaration_that_is_probably_valid(lid):
    assert rates(lid(look([0.3, 0.7], [0.3, 0.7]))) == Detection(0.0, 0.0)


def test_the_power_of_a_gaussian_probe_is_a_normal_tail(lid):
    """Equal odds are crossed at y = 1."""
    seen = rates(lid({"look": Gaussian({"on": (0.0, 1.0), "off": (2.0, 1.0)})}, q=0.5))
    assert seen.power == pytest.approx(norm.cdf(1), abs=1e-9)
    assert seen.false_positive_rate == pytest.approx(norm.cdf(-1), abs=1e-9)


def test_every_probe_tests_every_declaration(lid):
    kernels = {**look([0.9, 0.1], [0.2, 0.8]), "peek": Discrete(["a"], {"on": [1], "off": [1]})}
    state = lid(kernels, declarations=[VALID_IN_ALL, Declaration("lid on", "lid", invalid_in=("off",))])
    table = detection(state, branches_of(state, ["look", "peek"]), state.declarations)
    assert [[d.power for d in row] for row in table] == [[None, pytest.approx(0.8)], [None, 0.0]]
    assert detection(state, branches_of(state, []), state.declarations) == []


def test_a_refreshed_version_is_another_query_than_the_old_one(lid):
    kernels = {**look([0.9, 0.1], [0.2, 0.8]), "peek": Discrete(["a", "b"], {"on": [0.9, 0.1], "off": [0.1, 0.9]})}
    after = with_refreshed_declarations(lid(kernels).after(Observation("look", "y1")))
    old, (new,) = lid(kernels).declarations[0], after.declarations
    q = 0.32 / 0.38
    assert after.invalidity(old) == pytest.approx(q)
    assert after.invalidity(new) == pytest.approx(1 - q)
    # Answer a leaves the old version invalid with probability q·0.1 / (q·0.1 + (1 − q)·0.9) < 1/2.
    assert rates(after, "peek", old).power == pytest.approx(0.9)
    assert rates(after, "peek", new).power == pytest.approx(0.9)
