"""A model that cannot be meant is refused, with the place, the value and what to do."""

import math

import numpy as np
import pytest

from aquamend.errors import InvalidProblem
from aquamend.problem.model import Alarm, Declaration, Discrete, Gaussian, Hypothesis, JointModel

TWO = [Hypothesis("ok", 0.5), Hypothesis("bad", 0.5)]


def faults_of(hypotheses=TWO, kernels=None, alarm=None, declarations=()):
    with pytest.raises(InvalidProblem) as error:
        JointModel(hypotheses, kernels or {}, alarm, declarations)
    return [(fault.where, fault.problem) for fault in error.value.faults]


def test_a_model_needs_a_hypothesis():
    assert faults_of([]) == [("hypotheses", "there are none")]


def test_priors_must_sum_to_one():
    assert faults_of([Hypothesis("ok", 0.5), Hypothesis("bad", 0.4)]) == [("hypotheses", "the priors sum to 0.9")]


@pytest.mark.parametrize("prior", [-0.5, 1.5, math.nan])
def test_a_prior_is_a_probability(prior):
    faults = faults_of([Hypothesis("ok", prior), Hypothesis("bad", 1 - prior)])
    assert ("hypotheses[0].prior", f"{prior!r} is not a probability") in faults


def test_a_hypothesis_name_is_given_once():
    assert ("hypotheses[1].name", "'ok' is given twice") in faults_of([Hypothesis("ok", 0.5), Hypothesis("ok", 0.5)])


def test_a_cause_is_one_of_the_four():
    with pytest.raises(InvalidProblem, match="external, self_error, false_alarm, unknown"):
        JointModel([Hypothesis("ok", 1.0, cause="gremlins")])


def test_every_hypothesis_has_a_row_and_every_row_a_hypothesis():
    kernel = Discrete(["y", "n"], {"ok": [1, 0], "good": [0, 1]})
    assert faults_of(kernels={"look": kernel}) == [
        ("kernels.look.likelihood", "hypothesis 'bad' has no row"),
        ("kernels.look.likelihood.good", "'good' is not a hypothesis"),
    ]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ([0.5, 0.4], "[0.5, 0.4] sums to 0.9"),
        ([1.5, -0.5], "[1.5, -0.5] has an entry that is not a probability"),
        ([math.nan, 1.0], "[nan, 1.0] has an entry that is not a probability"),
        ([1.0], "[1.0] has 1 numbers"),
    ],
)
def test_a_row_of_outcomes_is_a_distribution(row, problem):
    kernel = Discrete(["y", "n"], {"ok": [1, 0], "bad": row})
    assert faults_of(kernels={"look": kernel}) == [("kernels.look.likelihood.bad", problem)]


@pytest.mark.parametrize("outcomes", [[], ["y", "y"]])
def test_outcomes_are_named_once_each(outcomes):
    faults = faults_of(kernels={"look": Discrete(outcomes, {"ok": [1, 0], "bad": [0, 1]})})
    assert faults[0][0] == "kernels.look.outcomes"


@pytest.mark.parametrize("row", [(0.0, 0.0), (0.0, -1.0), (math.nan, 1.0), (0.0, math.inf), (math.inf, 1.0)])
def test_a_gaussian_row_is_a_mean_and_a_positive_standard_deviation(row):
    faults = faults_of(kernels={"weigh": Gaussian({"ok": (0.0, 1.0), "bad": row})})
    assert [where for where, _ in faults] == ["kernels.weigh.gaussian.bad"]


@pytest.mark.parametrize(
    ("kernel", "place"),
    [
        (Discrete(["y", "n"], np.array([[1.0, 0.0]])), "kernels.p.likelihood"),
        (Discrete(["y", "n"], np.array([[1.0], [1.0]])), "kernels.p.likelihood"),
        (Discrete(["y", "n"], np.array([[1.0, 0.0], [0.5, 0.4]])), "kernels.p.likelihood[1]"),
        (Gaussian(np.array([[0.0, 1.0], [0.0, 0.0]])), "kernels.p.gaussian[1]"),
        (Gaussian(np.zeros(2)), "kernels.p.gaussian"),
    ],
)
def test_an_array_kernel_is_checked_like_a_named_one(kernel, place):
    assert [where for where, _ in faults_of(kernels={"p": kernel})] == [place]


def test_an_alarm_that_was_raised_must_be_possible():
    hypotheses = [Hypothesis("ok", 1.0), Hypothesis("bad", 0.0)]
    (fault,) = faults_of(hypotheses, alarm=Alarm({"ok": 0.0, "bad": 1.0}))
    assert fault[0] == "alarm.likelihood"
    assert "probability 0" in fault[1]


def test_an_alarm_that_is_hardly_possible_is_possible():
    hypotheses = [Hypothesis("ok", 1.0), Hypothesis("bad", 1e-200)]
    JointModel(hypotheses, {}, Alarm({"ok": 0.0, "bad": 1e-150}))


@pytest.mark.parametrize("likelihood", [-0.1, 1.1, math.nan])
def test_an_alarm_likelihood_is_a_probability(likelihood):
    assert faults_of(alarm=Alarm({"ok": 1.0, "bad": likelihood})) == [
        ("alarm.likelihood.bad", f"{likelihood!r} is not a probability")
    ]


def test_an_alarm_says_its_likelihood_under_every_hypothesis():
    assert faults_of(alarm=Alarm({"ok": 1.0})) == [("alarm.likelihood", "hypothesis 'bad' has no row")]


def test_a_declaration_version_is_given_once_and_names_known_hypotheses():
    old = Declaration("least", "b")
    JointModel(TWO, declarations=[old, Declaration("least", "b", version=2)])
    assert [where for where, _ in faults_of(declarations=[old, old])] == ["declarations[1]"]
    faults = faults_of(declarations=[Declaration("least", "b", invalid_in=("bad", "worse"))])
    assert faults == [("declarations[0].invalid_in[1]", "'worse' is not a hypothesis")]


def test_all_faults_are_reported_at_once():
    faults = faults_of(
        [Hypothesis("ok", 0.5), Hypothesis("bad", 0.4)],
        {"look": Discrete(["y", "n"], {"ok": [1, 1], "bad": [2, 0]})},
        Alarm({"ok": 2.0, "bad": 1.0}),
    )
    assert len(faults) == 4
