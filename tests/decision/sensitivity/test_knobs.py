"""A knob turns one number and nothing else, and its ticks are where the decision changes."""

import math

import pytest

from aquamend import AquaMend, InformationState, load_problem
from aquamend.decision.sensitivity.knobs import Turns, knobs_of, ticks, turned
from aquamend.errors import AquaMendError, UnknownName
from aquamend.problem import Problem
from aquamend.problem.model import Gaussian, Mixture
from aquamend.story.of_decision import brief


@pytest.fixture(scope="module")
def pouring() -> Problem:
    return load_problem("examples/pouring.yaml")


def wrong(problem, belief):
    return float(problem.failed[:, problem.graph.belief_index[belief]] @ problem.model.prior)


def test_every_knob_stands_at_what_the_problem_says(pouring):
    settings = {knob.key: knob.now for knob in knobs_of(pouring)}
    same = turned(pouring, settings)
    assert [b.residual for b in same.graph.beliefs] == [b.residual for b in pouring.graph.beliefs]
    assert [p.cost for p in same.graph.probes] == [p.cost for p in pouring.graph.probes]
    assert same.model.prior == pytest.approx(pouring.model.prior)
    before, after = InformationState.alarmed(pouring), InformationState.alarmed(same)
    assert AquaMend().next_step(after) == AquaMend().next_step(before)


@pytest.mark.parametrize("p", [0.01, 0.3, 0.9])
def test_a_prior_becomes_what_it_is_turned_to_and_proportions_stay(pouring, p):
    other = turned(pouring, {"prior camera": p})
    assert wrong(other, "camera") == pytest.approx(p)
    is_wrong = pouring.failed[:, pouring.graph.belief_index["camera"]] > 0
    for part in (is_wrong, ~is_wrong):
        before, after = pouring.model.prior[part], other.model.prior[part]
        assert after / after.sum() == pytest.approx(before / before.sum())


def test_two_priors_are_both_met(pouring):
    other = turned(pouring, {"prior camera": 0.3, "prior place_A": 0.2})
    assert wrong(other, "camera") == pytest.approx(0.3, abs=1e-6)
    assert wrong(other, "place_A") == pytest.approx(0.2, abs=1e-6)


def test_costs_are_what_they_are_turned_to(pouring):
    other = turned(pouring, {"cost look": 3.0, "residual camera": 7.0, "undo pour_back": 9.0})
    assert next(p.cost for p in other.graph.probes if p.name == "look") == 3.0
    assert next(b.residual for b in other.graph.beliefs if b.name == "camera") == 7.0
    assert next(o.cost for o in other.graph.operations if o.name == "pour_back") == 9.0


def test_quality_is_a_power_of_the_likelihood(pouring):
    table = pouring.model.channels["look"].table
    squared = turned(pouring, {"quality look": 2.0}).model.channels["look"].table
    assert squared == pytest.approx(table**2 / (table**2).sum(axis=1, keepdims=True))


def test_quality_of_a_reading_divides_its_deviation_by_the_root(lid_state):
    for kernel in (
        Gaussian({"on": (0.0, 1.0), "off": (2.0, 1.0)}),
        Mixture({n: [(1.0, 0.0, 1.0)] for n in ("on", "off")}),
    ):
        problem = lid_state(kernel).problem
        assert turned(problem, {"quality look": 4.0}).model.channels["look"].sd == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"cost nothing": 1.0}, UnknownName), ({"cost look": math.inf}, AquaMendError),
        ({"prior camera": 1.5}, AquaMendError), ({"quality look": 0.0}, AquaMendError),
        ({"cost look": -1.0}, AquaMendError),
    ],
)  # fmt: skip
def test_what_cannot_be_turned_is_refused(pouring, settings, error):
    with pytest.raises(error, match="knob"):
        turned(pouring, settings)


@pytest.mark.parametrize("turns", [Turns.COST, Turns.QUALITY, Turns.PRIOR])
def test_the_decision_differs_on_the_two_sides_of_a_tick_as_it_says(pouring, turns):
    def decided(knob, value):
        state = InformationState.alarmed(turned(pouring, {knob.key: value}))
        return brief(AquaMend().next_step(state), state)

    found = 0
    for knob in [knob for knob in knobs_of(pouring) if knob.turns is turns][:3]:
        width = (knob.high - knob.low) / 12 / 2**7
        for tick in ticks(knob, lambda value, knob=knob: decided(knob, value)):
            found += 1
            assert decided(knob, tick.at - width) == tick.before
            assert tick.before != tick.after
            assert decided(knob, tick.at + width) != tick.before
    assert found or turns is Turns.COST
