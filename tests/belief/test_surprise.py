"""How improbable answers were, by the whole model."""

from dataclasses import replace

import pytest

from aquamend.belief import InformationState, Monitored, Observation, chance_of, heard, surprises
from aquamend.problem import Problem
from aquamend.problem.graph import Belief, Probe, RecoveryGraph
from aquamend.problem.model import Discrete, Gaussian, Hypothesis, JointModel


@pytest.fixture
def state():
    """Return a level that a scale reads (10 or 20, sd 1) and a lamp that is green in nine of ten cases or always."""
    graph = RecoveryGraph(
        [Belief("level", 5.0, declared=10.0, tolerance=1.0)],
        (),
        [Probe("weigh", 0.1, max_uses=3), Probe("lamp", 0.1)],
        [("weigh", "level", "detection"), ("lamp", "level", "detection")],
    )
    kernels = {
        "weigh": Gaussian({"same": (10.0, 1.0), "more": (20.0, 1.0)}),
        "lamp": Discrete(["green", "red"], {"same": [0.9, 0.1], "more": [1.0, 0.0]}),
    }
    model = JointModel([Hypothesis("same", 0.8), Hypothesis("more", 0.2, truth={"level": 20.0})], kernels)
    return InformationState.alarmed(Problem(graph, model))


def test_the_chance_of_an_outcome_is_its_predictive_probability(state):
    assert chance_of(state, Observation("lamp", "red")) == pytest.approx(0.8 * 0.1)


def test_the_chance_of_a_number_is_that_of_one_at_least_as_far_out_on_either_side(state):
    # Below 8: 0.8 of P(Z < -2); "more" adds next to nothing.
    assert chance_of(state, Observation("weigh", 8.0)) == pytest.approx(2 * 0.8 * 0.0227501, rel=1e-4)
    assert chance_of(state, Observation("weigh", 12.0)) > 0.3, "between the two it is not in a tail"
    assert 0.0 < chance_of(state, Observation("weigh", 1050.0)) < 1e-9


def test_an_answer_is_judged_by_what_was_known_when_it_came(state):
    after = state.after(Observation("weigh", 10.0)).after(Observation("weigh", 20.0))
    first, second = heard(after)
    assert first.chance > 0.1
    assert second.chance < 1e-3
    assert [one.observation.outcome for one in surprises(after)] == [20.0]
    assert surprises(after, below=1e-15) == ()


def test_an_answer_that_is_no_outcome_has_no_chance_and_contradicts_the_model(state):
    after = state.contradicted_by(Observation("lamp", "blue"))
    assert (after.contradiction, heard(after)[-1].chance) == (Observation("lamp", "blue"), 0.0)
    assert after.attribution["unknown"] == 1.0
    again = after.contradicted_by(Observation("lamp", "violet"))
    assert again.contradiction == Observation("lamp", "blue"), "the first one counts"


def test_the_alarm_itself_is_no_surprise(state):
    assert heard(state) == ()
    assert surprises(replace(state, monitored=(Monitored("alarm"),))) == ()
