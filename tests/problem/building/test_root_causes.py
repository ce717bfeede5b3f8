"""Joint hypotheses follow from causes, and what is left out is known."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend import (
    Action,
    Alarm,
    Belief,
    Cause,
    Discrete,
    InformationState,
    Observation,
    Probe,
    Problem,
    RecoveryGraph,
)
from aquamend.decision import best_terminal
from aquamend.errors import InvalidProblem
from aquamend.planning.bounds import effect_of_left_out
from aquamend.problem.building import CauseState, Effect, RootCause, generated, joint_model

BELIEFS = [Belief("pose", 10.0), Belief("map", 20.0), Belief("level", 5.0, declared=18.0, tolerance=3.0)]


def faults(*causes, **given):
    with pytest.raises(InvalidProblem) as caught:
        generated(causes, BELIEFS, **given)
    return str(caught.value)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=6), st.integers(1, 6))
def test_priors_are_products_and_what_is_left_out_is_the_rest(priors, together):
    causes = [RootCause.single(f"c{i}", p) for i, p in enumerate(priors)]
    made = generated(causes, [], together=together)
    total = 0.0
    for present in itertools.product([False, True], repeat=len(priors)):
        p = math.prod(q if here else 1 - q for q, here in zip(priors, present, strict=True))
        total += p if sum(present) > together else 0.0
    assert made.left_out == pytest.approx(total, abs=1e-9)
    assert sum(h.prior for h in made.hypotheses) == pytest.approx(1.0)
    nothing = math.prod(1 - q for q in priors) / (1 - total)
    assert made.hypotheses[0].name == "nothing"
    assert made.hypotheses[0].prior == pytest.approx(nothing)


def test_where_all_may_come_together_nothing_is_left_out_not_even_by_rounding():
    causes = [RootCause.single("a", 0.1), RootCause.single("b", 0.7), RootCause.single("c", 0.3)]
    assert generated(causes, []).left_out == 0.0
    assert generated(causes, [], together=3).left_out == 0.0


def test_states_exclude_each_other_and_a_prior_may_depend_on_an_earlier_cause():
    shelf = RootCause("shelf", {"moved": CauseState(0.2, ["map"]), "gone": CauseState(0.1, ["map"])}, Cause.EXTERNAL)
    misread = RootCause.single("misread", {"default": 0.1, "shelf=moved": 0.5}, ["pose"], kind=Cause.SELF_ERROR)
    prior = {h.name: h.prior for h in generated([shelf, misread], BELIEFS).hypotheses}
    assert prior == pytest.approx(
        {
            "nothing": 0.63, "shelf=moved": 0.1, "shelf=gone": 0.09, "misread": 0.07,
            "shelf=moved + misread": 0.1, "shelf=gone + misread": 0.01,
        }
    )  # fmt: skip


def test_a_combination_breaks_what_its_causes_break_and_has_their_kind_if_they_agree():
    made = generated(
        [
            RootCause.single("slip", 0.1, ["pose"], kind=Cause.SELF_ERROR),
            RootCause.single("shelf", 0.1, ["map"], kind=Cause.EXTERNAL),
        ],
        BELIEFS,
    )
    assert [(h.name, h.failed, h.cause) for h in made.hypotheses] == [
        ("nothing", (), Cause.FALSE_ALARM),
        ("slip", ("pose",), Cause.SELF_ERROR),
        ("shelf", ("map",), Cause.EXTERNAL),
        ("slip + shelf", ("pose", "map"), Cause.UNKNOWN),
    ]


def test_a_cause_may_be_certain_or_impossible():
    made = generated([RootCause.single("sure", 1.0), RootCause.single("never", 0.0)], [])
    assert {h.name: h.prior for h in made.hypotheses if h.prior > 0.0} == {"sure": 1.0}


def test_what_is_none_of_the_alarm_s_business_does_not_change_the_kind_of_a_combination():
    shadow = RootCause.single("shadow", 0.3, kind=Cause.FALSE_ALARM)
    bumped = RootCause.single("bumped", 0.1, failed=["pose"], kind=Cause.EXTERNAL)
    for causes in ((shadow, bumped), (bumped, shadow)):
        kinds = {h.name: h.cause for h in generated(causes, BELIEFS).hypotheses}
        assert set(kinds.values()) == {Cause.FALSE_ALARM, Cause.EXTERNAL}
        assert [name for name, kind in kinds.items() if kind is Cause.FALSE_ALARM] == ["nothing", "shadow"]


def test_values_that_contradict_each_other_need_an_effect():
    added, drunk = (
        RootCause.single("added", 0.1, truth={"level": 45.0}),
        RootCause.single("drunk", 0.1, truth={"level": 5.0}),
    )
    assert "'added' and 'drunk' both hold under 'added + drunk'" in faults(added, drunk)
    made = generated([added, drunk], BELIEFS, effects=[Effect("added & drunk", truth={"level": 30.0})])
    assert [h.truth.get("level") for h in made.hypotheses] == [None, 45.0, 5.0, 30.0]
    assert made.vocabulary.where("level=30").tolist() == [False, False, False, True]
    assert made.vocabulary.where("level").tolist() == [False, True, True, True]


def test_an_impossible_combination_is_no_hypothesis():
    made = generated([RootCause.single("a", 0.5), RootCause.single("b", {"default": 0.5, "a": 0.0})], BELIEFS)
    assert [h.name for h in made.hypotheses] == ["nothing", "a", "b"]


@pytest.mark.parametrize(
    ("causes", "said"),
    [
        ([], "there are none"),
        ([RootCause.single("a", 0.1), RootCause.single("a", 0.1)], "'a' is given twice"),
        ([RootCause.single("pose", 0.1)], "'pose' is a belief too"),
        ([RootCause.single("a & b", 0.1)], "would be misread"),
        ([RootCause.single("nothing", 0.1)], "would be misread"),
        ([RootCause.single("a", 1.5)], "1.5 is not a probability"),
        ([RootCause("a", {"x": CauseState(0.7), "y": CauseState(0.7)})], "probability 1.4 together"),
        ([RootCause.single("a", {"b": 0.1, "default": 0.2}), RootCause.single("b", 0.1)], "listed before 'a'"),
        ([RootCause.single("a", 0.1), RootCause.single("b", {"a": 0.1})], "nothing is said of 'nothing'"),
        ([RootCause.single(f"c{i}", 0.1) for i in range(30)], "say how many causes may come together: 6 is the most"),
    ],
)
def test_causes_that_cannot_be_meant_are_refused(causes, said):
    assert said in faults(*causes)


def test_a_fault_says_of_which_state_of_which_cause_it_is():
    assert "causes[1].prior: 1.5" in faults(RootCause.single("a", 0.1), RootCause.single("b", 1.5))
    assert "causes[1].states.x.prior: 1.5" in faults(RootCause.single("a", 0.1), RootCause("b", {"x": CauseState(1.5)}))


def test_twenty_causes_three_at_a_time_are_a_model_of_1351_hypotheses():
    beliefs = [Belief(f"b{i}", 10.0) for i in range(20)]
    graph = RecoveryGraph(
        beliefs, [Action("a", undo=3.0, executed=True)], [Probe("p", 1.0)],
        [("p", "b0", "detection"), ("b0", "a", "belief_to_action")],
    )  # fmt: skip
    model = joint_model(
        graph,
        [RootCause.single(f"c{i}", 0.02, [f"b{i}"]) for i in range(20)],
        together=3,
        kernels={"p": Discrete(["y", "n"], {"default": [0.9, 0.1], "b0": [0.1, 0.9], "c1 & b0": [0.5, 0.5]})},
        alarm=Alarm({"default": 0.9, "nothing": 0.1}),
    )
    assert len(model.names) == 1 + 20 + 190 + 1140


def full_and_truncated(priors, residuals, together):
    beliefs = [Belief(f"b{i}", r) for i, r in enumerate(residuals)]
    actions = [Action(f"a{i}", undo=3.0, executed=True) for i in range(len(residuals))]
    edges = [(f"b{i}", f"a{i}", "belief_to_action") for i in range(len(residuals))]
    graph = RecoveryGraph(beliefs, actions, [Probe("look", 0.1)], [*edges, ("look", "b0", "detection")])
    causes = [RootCause.single(f"c{i}", p, [f"b{i}"]) for i, p in enumerate(priors)]
    alarm = Alarm({"default": 0.9, "nothing": 0.2})
    look = {"look": Discrete(["fine", "odd"], {"default": [0.999, 0.001], "c0 & c1": [0.0, 1.0]})}
    models = [joint_model(graph, causes, kernels=look, together=k, alarm=alarm) for k in (len(priors), together)]
    return [Problem(graph, model) for model in models]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0.01, 0.6), st.floats(0.0, 50.0)), min_size=2, max_size=5), st.integers(1, 4))
def test_the_loss_changes_by_no_more_than_the_bound_says(given_, together):
    priors, residuals = zip(*given_, strict=True)
    full, truncated = full_and_truncated(priors, residuals, together)
    known = set(truncated.model.names)
    out = np.array([name not in known for name in full.model.names])
    here, there = (InformationState.alarmed(problem) for problem in (full, truncated))
    for heard in (None, Observation("look", "fine"), Observation("look", "odd")):
        state, cut = (here, there) if heard is None else (here.after(heard), there.after(heard))
        effect = effect_of_left_out(truncated, cut.chance_of_evidence)
        if effect is None:
            assert best_terminal(state).loss == pytest.approx(best_terminal(cut).loss)
        else:
            assert abs(best_terminal(state).loss - best_terminal(cut).loss) <= effect.loss + 1e-9
            assert state.posterior[out].sum() <= effect.by_now + 1e-12


def test_forty_causes_four_at_once_are_all_combined():
    made = generated([RootCause.single(f"c{i}", 0.02) for i in range(40)], [], together=4)
    assert len(made.hypotheses) == sum(math.comb(40, k) for k in range(5))
    assert (np.count_nonzero(made.present, axis=1) <= 4).all()
    assert len({*made.vocabulary.names}) == len(made.hypotheses)


def test_combinations_come_by_how_many_causes_are_present_then_in_file_order_the_last_state_changing_fastest():
    states = {"low": CauseState(0.1), "high": CauseState(0.2)}
    causes = [RootCause.single("a", 0.1), RootCause("b", states), RootCause("c", states)]
    listed = [(0, 0, 0)]
    for count in (1, 2, 3):
        for chosen in itertools.combinations(range(3), count):
            for own in itertools.product(*(range(1, len(causes[c].states) + 1) for c in chosen)):
                row = [0, 0, 0]
                for c, state in zip(chosen, own, strict=True):
                    row[c] = state
                listed.append(tuple(row))
    assert [*map(tuple, generated(causes, []).present.tolist())] == listed
