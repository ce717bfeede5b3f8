"""Causes with a rate overtake what was measured a while ago, and leave alone what was measured after them."""

import math
import random

import numpy as np
import pytest
from tests.reference import generator
from tests.reference.moments import aged
from tests.reference.worlds import worlds_of
from tests.tiers import cases

from aquamend.errors import BadArgument, InvalidProblem
from aquamend.files import parse_problem
from aquamend.problem import Ages


def data(**rest):
    """Return a problem with three beliefs that one cause makes wrong."""
    return {
        "format": "aquamend-problem/1",
        "beliefs": [{"name": "a"}, {"name": "b"}, {"name": "c", "declared": 1}],
        "causes": [{"name": "came", "rate": 0.01, "failed": ["a", "b"], "truth": {"c": 2}}],
        "age": {"a": 10, "b": 30, "c": 10},
    } | rest


def priors(problem):
    return {h.name: pytest.approx(h.prior) for h in problem.model.hypotheses}


def test_what_is_older_is_likelier_overtaken():
    problem = parse_problem(data(age=50))
    assert priors(problem) == {"nothing": math.exp(-0.5), "came": 1 - math.exp(-0.5)}
    assert priors(problem.ageing.problem(Ages(100.0)))["came"] == 1 - math.exp(-1.0)


def test_what_was_measured_after_it_is_not_made_wrong():
    problem = parse_problem(data())
    assert priors(problem) == {
        "nothing": math.exp(-0.3),
        "came": 1 - math.exp(-0.1),
        "came (before a)": math.exp(-0.1) - math.exp(-0.3),
    }
    wrong = {h.name: (h.failed, dict(h.truth)) for h in problem.model.hypotheses}
    assert wrong == {"nothing": ((), {}), "came": (("a", "b"), {"c": 2.0}), "came (before a)": (("b",), {})}


def test_states_share_what_came_by_their_rates():
    states = {"x": {"rate": 0.01, "failed": ["a"]}, "y": {"rate": 0.03, "failed": ["b"]}}
    problem = parse_problem(data(causes=[{"name": "came", "states": states}], age=20))
    came = 1 - math.exp(-0.04 * 20)
    assert priors(problem) == {"nothing": 1 - came, "came=x": came / 4, "came=y": 3 * came / 4}


def test_a_rate_may_hang_on_causes_listed_before():
    causes = [
        {"name": "people", "prior": 0.5},
        {"name": "came", "rate": {"people": 0.1, "default": 0.0}, "failed": ["a"]},
    ]
    problem = parse_problem(data(causes=causes, age=10))
    came = 1 - math.exp(-1.0)
    assert priors(problem) == {"nothing": 0.5, "people": 0.5 * (1 - came), "people + came": 0.5 * came}


def test_conditions_speak_of_a_cause_whenever_it_came():
    alarm = {"likelihood": {"came": 0.9, "default": 0.1}}
    problem = parse_problem(data(alarm=alarm))
    assert problem.model.alarm_likelihood.tolist() == [0.1, 0.9, 0.9]


def test_a_cause_that_makes_nothing_wrong_by_itself_has_the_age_of_all():
    effects = [{"when": "came", "truth": {"c": 5}}]
    causes = [{"name": "came", "rate": 0.01}]
    assert priors(parse_problem(data(causes=causes, effects=effects, age=30)))["came"] == 1 - math.exp(-0.3)
    with pytest.raises(InvalidProblem, match="since when it may have come"):
        parse_problem(data(causes=causes, effects=effects))


def test_given_ages_stand_in_for_those_of_the_file():
    assert priors(parse_problem(data(), ages=50))["came"] == 1 - math.exp(-0.5)
    younger = parse_problem(data(), ages={"b": 10})
    assert priors(younger) == {"nothing": math.exp(-0.1), "came": 1 - math.exp(-0.1)}
    mixed = parse_problem(data(), ages=Ages(20, {"a": 0}))
    assert priors(mixed) == {"nothing": math.exp(-0.2), "came (before a)": 1 - math.exp(-0.2)}


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ({"age": {"a": 10}}, r"causes\[0\]\.rate: nothing says how long ago 'b' was measured; give `age`"),
        ({"age": -3}, "age: -3.0 is not an age"),
        ({"age": {"a": 1, "b": 1, "c": -1}}, r"age\.c: -1.0 is not an age"),
        ({"age": {"a": 1, "b": 1, "c": 1, "cc": 1}}, r"age\.cc: 'cc' is not a belief"),
        ({"causes": [{"name": "x", "rate": -1, "failed": ["a"]}]}, r"causes\[0\]\.rate: -1.0 is not a rate"),
        ({"causes": [{"name": "x", "rate": "inf", "failed": ["a"]}]}, r"causes\[0\]\.rate"),
        ({"causes": [{"name": "x", "rate": 1, "prior": 0.5}]}, "there is a prior too"),
        ({"causes": [{"name": "x", "failed": ["a"]}]}, "add the key 'prior', 'rate' or 'states'"),
        ({"causes": [{"name": "x", "states": {"u": {"rate": 1}, "v": {"prior": 0.1}}}], "age": 1}, "all states a rate"),
        (
            {"causes": [{"name": "x", "states": {"u": {"failed": ["a"]}}}]},
            r"causes\[0\]\.states\.u\.prior: it is missing",
        ),
        ({"causes": [{"name": "x", "rate": 1, "states": {"u": {"rate": 1}}}]}, "say it of each state"),
    ],
)
def test_faults_of_rates_and_ages_say_what_to_do(rest, said):
    with pytest.raises(InvalidProblem, match=said):
        parse_problem(data(**rest))


def test_an_age_is_a_finite_number_of_at_least_zero():
    for wrong in (-1.0, math.inf, math.nan):
        with pytest.raises(BadArgument, match="finite number"):
            Ages(wrong)


def by_what_is_wrong(names, failed, prior):
    """Return the probability of each set of wrong beliefs."""
    found = {}
    for row, p in zip(failed, prior, strict=True):
        key = frozenset(name for name, wrong in zip(names, row, strict=True) if wrong)
        found[key] = found.get(key, 0.0) + p
    return {key: p for key, p in found.items() if p > 0}


def test_random_rates_and_ages_give_what_brute_force_gives():
    for seed in range(cases(100, 2000)):
        rng = random.Random(seed)
        file = generator.aged_problem(rng)
        problem, worlds = parse_problem(file), worlds_of(aged(file))
        names = [belief["name"] for belief in file["beliefs"]]
        wanted = by_what_is_wrong(
            names, [[w.fails(b) for b in file["beliefs"]] for w in worlds], [w.prior for w in worlds]
        )
        found = by_what_is_wrong(names, problem.failed > 0, problem.model.prior)
        assert found == {key: pytest.approx(p, abs=1e-12) for key, p in wanted.items()}, seed


def test_a_belief_measured_now_has_not_been_overtaken_and_a_cause_that_rests_leaves_nothing_wrong():
    for seed in range(30):
        file = generator.aged_problem(random.Random(seed))
        problem = parse_problem(file, ages=0)
        timed = [cause for cause in file["causes"] if "rate" in str(cause)]
        if len(timed) == len(file["causes"]):
            np.testing.assert_array_equal(problem.model.prior @ problem.failed, 0.0)
