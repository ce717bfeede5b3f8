"""Spreads, effects and comparisons: what is true under every hypothesis."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aquamend import Belief, Hypothesis, Probe, RecoveryGraph
from aquamend.errors import InvalidProblem
from aquamend.files import read_problem
from aquamend.problem.building import CauseState, Effect, RootCause, expanded, generated, joint_model
from aquamend.problem.building.rule_tables import FollowedTruth, belief_followed
from aquamend.problem.model import Discrete, Gaussian, Normal, OneOf, Uniform, ValueOf
from aquamend.problem.model.spreads import spread_faults, values_of_spread

LEVEL = Belief("level", 10.0, declared=18.0, tolerance=3.0)
OTHER = Belief("other", 10.0, declared=30.0, tolerance=3.0)
TARGET = Belief("target", 80.0, declared="A")
BELIEFS = (LEVEL, OTHER, TARGET)


def test_a_normal_spread_comes_in_steps_of_two_thirds_of_the_tolerance():
    steps = values_of_spread(Normal(40.0, 14.0), LEVEL)
    every = [40.0 + 2.0 * k for k in range(-21, 22)]
    assert list(steps.values) == [value for value in every if abs(value - 18.0) > 3.0]
    density = np.array([math.exp(-0.5 * ((value - 40.0) / 14.0) ** 2) for value in steps.values])
    assert steps.shares == pytest.approx(density / density.sum())
    assert steps.width == 2.0


def test_values_of_a_spread_are_as_a_person_would_write_them():
    belief = Belief("level", declared=180.0, tolerance=10.0)
    assert {40.0, 60.0, 100.0, 160.0} <= set(values_of_spread(Normal(100.0, 20.0), belief).values)
    tenths = values_of_spread(Uniform(0.1, 0.9, step=0.1), Belief("share", declared=5.0))
    assert tenths.values == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def test_a_uniform_spread_is_even_and_reaches_its_upper_end():
    steps = values_of_spread(Uniform(20.0, 24.0, step=0.5), LEVEL)
    assert steps.values == (21.5, 22.0, 22.5, 23.0, 23.5, 24.0)
    assert steps.shares == pytest.approx([1 / 6] * 6)


def test_listed_values_share_by_weight_and_stand_for_themselves():
    steps = values_of_spread(OneOf({1.0: 3.0, 2.0: 1.0}), LEVEL)
    assert (steps.values, steps.shares, steps.width) == ((1.0, 2.0), (0.75, 0.25), 0.0)


@pytest.mark.parametrize(
    ("spread", "belief", "said"),
    [
        (OneOf((20.0, 45.0)), LEVEL, "20 is within 3 of the 18 declared"),
        (OneOf(("A",)), TARGET, "A is what 'target' declares"),
        (OneOf({40.0: 0.0}), LEVEL, "the weight 0.0 is not above 0"),
        (OneOf(()), LEVEL, "there are none"),
        (OneOf((40.0, 40.0)), LEVEL, "'40' is given twice"),
        (Normal(18.0, 1.0), LEVEL, "every value is within 3 of the 18 declared"),
        (Normal(18.0, -1.0), LEVEL, "is not a mean and a standard deviation"),
        (Uniform(3.0, 2.0), LEVEL, "is no range"),
        (Uniform(2.0, 3.0), Belief("b", declared=1.0), "there is no step, and the tolerance of 'b' is 0"),
        (Uniform(2.0, 3.0), TARGET, "uniform is for numbers"),
        (Uniform(0.0, 1e9), LEVEL, "more than 50,000 values"),
    ],
)
def test_a_spread_that_says_nothing_is_a_fault(spread, belief, said):
    (fault,) = spread_faults("here", spread, belief)
    assert said in str(fault)


def test_a_spread_stands_for_one_hypothesis_for_each_value():
    made = expanded([Hypothesis("fine", 0.7), Hypothesis("added", 0.3, truth={"level": OneOf((40.0, 45.0))})], BELIEFS)
    assert [h.name for h in made.hypotheses] == ["fine", "added (level=40)", "added (level=45)"]
    assert [h.prior for h in made.hypotheses] == pytest.approx([0.7, 0.15, 0.15])
    assert made.vocabulary.where("added").tolist() == [False, True, True]
    assert made.vocabulary.where("added (level=45)").tolist() == [False, False, True]


def test_spreads_of_one_hypothesis_multiply():
    story = Hypothesis("moved", 1.0, truth={"level": OneOf((1.0, 2.0)), "other": OneOf((5.0, 6.0, 7.0))})
    names = [h.name for h in expanded([story], BELIEFS).hypotheses]
    assert names[0] == "moved (level=1, other=5)"
    assert len(set(names)) == 6


def test_spreads_of_causes_present_together_multiply():
    causes = [
        RootCause.single("added", 0.5, truth={"level": OneOf((40.0, 45.0))}),
        RootCause("drunk", {"a": CauseState(0.25, truth={"other": OneOf((1.0, 2.0))})}),
    ]
    made = generated(causes, BELIEFS)
    assert len(made.hypotheses) == 1 + 2 + 2 + 4
    assert math.fsum(h.prior for h in made.hypotheses) == pytest.approx(1.0)
    both = made.vocabulary.where("added & drunk=a")
    assert made.hypotheses[int(both.argmax())].name == "added + drunk=a (level=40, other=1)"
    assert made.present.shape == (9, 2)


def test_too_many_values_say_where_they_come_from():
    wide = {b: Uniform(100.0, 400.0, step=1.0) for b in ("level", "other")}
    with pytest.raises(InvalidProblem, match="90,601 from 'moved' \\(301 of level · 301 of other\\)"):
        expanded([Hypothesis("moved", 1.0, truth=wide)], BELIEFS)


def test_an_effect_compares_what_is_true_and_the_last_that_holds_decides():
    hypotheses = [
        Hypothesis("fine", 0.5),
        Hypothesis("added", 0.3, truth={"level": OneOf((25.0, 45.0))}),
        Hypothesis("broken", 0.2, failed=("level",)),
    ]
    effects = [
        Effect("level > other", truth={"target": "B"}),
        Effect("target = B & level >= 45", truth={"target": "C"}),
        Effect("broken", failed=("target",)),
    ]
    made = expanded(hypotheses, BELIEFS, effects)
    assert [h.true_of(TARGET) for h in made.hypotheses] == ["A", "A", "C", None]
    assert made.vocabulary.where("not level > other").tolist() == [True, True, False, True]
    assert made.vocabulary.where("level = other").tolist() == [False] * 4
    assert made.vocabulary.where("target").tolist() == [False, False, True, True]


def test_two_causes_may_contradict_each_other_where_an_effect_decides():
    causes = [
        RootCause.single("added", 0.5, truth={"level": 45.0}),
        RootCause.single("gone", 0.5, failed=["level"]),
    ]
    with pytest.raises(InvalidProblem, match="'added' and 'gone' both hold under 'added \\+ gone'"):
        generated(causes, BELIEFS)
    made = generated(causes, BELIEFS, effects=[Effect("added & gone", truth={"level": 60.0})])
    assert {h.name: h.true_of(LEVEL) for h in made.hypotheses} == {
        "nothing": 18.0, "added": 45.0, "gone": None, "added + gone": 60.0,
    }  # fmt: skip


GRAPH = RecoveryGraph(BELIEFS, probes=[Probe("weigh", 1.0), Probe("tag", 1.0)], edges=[("weigh", "level", "detection")])
STORIES = [
    Hypothesis("fine", 0.5),
    Hypothesis("added", 0.3, truth={"level": Normal(40.0, 2.0), "target": OneOf(("B", "C"))}),
    Hypothesis("off", 0.1, truth={"target": "B"}),
    Hypothesis("lost", 0.1, failed=("target",)),
]


def model(**kernels):
    every = {"weigh": Gaussian({"default": (18.0, 1.0)}), "tag": ValueOf("target", 0.9)}
    return joint_model(GRAPH, hypotheses=STORIES, kernels={**every, **kernels})


def test_a_mean_follows_the_truth_and_is_as_wide_as_its_step():
    found = model(weigh=Gaussian({"default": ("level", 0.7), "off": ("2 * level + 9", 0.7)}))
    rows = found.kernels["weigh"].mean_sd
    assert list(rows["fine"]) == [18.0, 0.7]
    assert list(rows["off"]) == [45.0, 0.7]
    mean, sd = rows["added (level=42, target=C)"]
    assert (mean, sd) == (42.0, pytest.approx(math.sqrt(0.7**2 + 2.0**2 / 12.0)))


@pytest.mark.parametrize("belief", ["level", "level-1", "level 2e"])
@given(factor=st.floats(1e-9, 1e9), offset=st.floats(-1e9, 1e9).filter(bool))
def test_a_mean_is_read_as_learning_writes_it_however_small_its_numbers(belief, factor, offset):
    beliefs = dict.fromkeys(["level", "level-1", "level 2e"])
    text = f"{belief} {'-' if offset < 0 else '+'} {abs(offset):.8g}"
    assert belief_followed(text, beliefs) == FollowedTruth(belief, 1.0, float(f"{offset:.8g}"))
    assert belief_followed(f"{factor:.8g} * {text}", beliefs) == FollowedTruth(
        belief, float(f"{factor:.8g}"), float(f"{offset:.8g}")
    )


def test_a_probe_that_answers_a_value_errs_evenly():
    tag = model(tag=ValueOf("target", 0.9, none=0.04)).kernels["tag"]
    assert list(tag.outcomes) == ["A", "B", "C", "none"]
    assert tag.likelihood["fine"] == pytest.approx([0.9, 0.03, 0.03, 0.04])
    assert tag.likelihood["added (level=40, target=C)"] == pytest.approx([0.03, 0.03, 0.9, 0.04])
    assert tag.likelihood["lost"] == pytest.approx([0.32, 0.32, 0.32, 0.04])


def test_rows_of_its_own_go_before():
    tag = model(tag=ValueOf("target", 0.9, likelihood={"off": [0.0, 0.5, 0.5]})).kernels["tag"]
    assert list(tag.likelihood["off"]) == [0.0, 0.5, 0.5]
    assert tag.likelihood["fine"] == pytest.approx([0.9, 0.05, 0.05])
    assert isinstance(tag, Discrete)


@pytest.mark.parametrize(
    ("mean", "said"),
    [("levle + 2", "neither a number nor a belief with one"), ("target", "'target' declares no number")],
)
def test_a_mean_that_follows_nothing_is_a_fault(mean, said):
    with pytest.raises(InvalidProblem, match=said):
        model(weigh=Gaussian({"default": (mean, 0.7)}))


def test_where_a_belief_failed_without_a_value_a_row_of_its_own_is_needed():
    gone = [*STORIES[:3], Hypothesis("lost", 0.1, failed=("level",))]
    with pytest.raises(InvalidProblem, match="'level' failed without a value under 'lost'"):
        joint_model(GRAPH, hypotheses=gone, kernels={"weigh": Gaussian({"default": ("level", 0.7)})})
    own = joint_model(
        GRAPH, hypotheses=gone, kernels={"weigh": Gaussian({"default": ("level", 0.7), "lost": (0.0, 50.0)})}
    )
    assert list(own.kernels["weigh"].mean_sd["lost"]) == [0.0, 50.0]


LEVELS = """
format: aquamend-problem/1
beliefs: [{name: level, residual: 10, declared: 18.0, tolerance: 3.0}, {name: target, residual: 3, declared: A}]
probes: [{name: look, cost: 0.2}]
edges: [[look, level, detection]]
hypotheses: [{name: fine, prior: 0.5}, {name: more, prior: 0.5, truth: {level: 30.5}}]
kernels: {look: {of: level, right: 0.9}}
"""


def test_a_text_that_is_true_of_a_number_is_one_fault_also_where_a_mean_follows_it():
    text = LEVELS.replace("30.5", "much").replace("{of: level, right: 0.9}", "{gaussian: {default: [level, 2.0]}}")
    with pytest.raises(InvalidProblem, match="'much' is not a number") as caught:
        read_problem(text)
    assert len(caught.value.faults) == 1


@pytest.mark.parametrize("said", ["30.5", "30.50", "3.05e1", 30.5])
def test_a_probe_of_a_number_understands_it_however_it_is_written(said):
    channel = read_problem(LEVELS).model.channels["look"]
    assert (channel.parse(said), channel.parse("30.6"), channel.parse("nan")) == ("30.5", None, None)


def test_a_probe_of_a_text_takes_it_as_it_is_written():
    text = LEVELS.replace("of: level", "of: target").replace("truth: {level: 30.5}", 'truth: {target: "07"}')
    channel = read_problem(text.replace("look, level", "look, target")).model.channels["look"]
    assert (channel.parse("07"), channel.parse("7"), channel.parse(7.0)) == ("07", None, None)


@pytest.mark.parametrize(
    ("condition", "remedy"),
    [
        ("(level > 20)", "without parentheses"),
        ("not (level > 20)", "without parentheses"),
        ("target != A", "write `not BELIEF = VALUE`"),
        ("level == 30", "write a single ="),
        ("level > 20 and target = A", "write & for and"),
        ("level > target", "name causes, hypotheses and beliefs"),
        ("target < level", "name causes, hypotheses and beliefs"),
        ("more (level=31)", "name causes, hypotheses and beliefs"),
    ],
)
def test_a_condition_of_another_language_is_a_fault_that_says_what_to_write(condition, remedy):
    with pytest.raises(InvalidProblem, match=re.escape(remedy)):
        read_problem(f"{LEVELS}effects: [{{when: '{condition}', truth: {{target: B}}}}]")
