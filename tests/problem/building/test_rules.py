"""The most specific rule decides, in a list the first; two that contradict each other are named."""

import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import cases

from aquamend.codec import FirstThatHolds
from aquamend.codec.plain_text import yaml_data
from aquamend.errors import InvalidProblem, UnknownCondition
from aquamend.problem.building import Vocabulary, table
from aquamend.problem.building.rules import resolved

NAMES = ["nothing", "slip", "glare", "slip + glare"]
WORDS = {
    "nothing": np.array([True, False, False, False]),
    "slip": np.array([False, True, False, True]),
    "glare": np.array([False, False, True, True]),
    "pose": np.array([False, True, True, True]),
}
HERE = Vocabulary(NAMES, WORDS)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("default", [1, 1, 1, 1]), ("slip", [0, 1, 0, 1]), ("not slip", [1, 0, 1, 0]), ("slip & glare", [0, 0, 0, 1]),
        ("slip | glare", [0, 1, 1, 1]), ("slip & not glare | nothing", [1, 1, 0, 0]), ("slip + glare", [0, 0, 0, 1]),
        (" slip&glare ", [0, 0, 0, 1]),
    ],
)  # fmt: skip
def test_conditions_hold_where_they_say(condition, holds):
    assert HERE.where(condition).tolist() == [bool(h) for h in holds]


@pytest.mark.parametrize("condition", ["slpi", "slip &", "", "not", "not not slip", "|", "slip & (glare)", "a=b"])
def test_a_condition_that_means_nothing_is_refused(condition):
    with pytest.raises(UnknownCondition):
        HERE.where(condition)


def test_a_misspelt_word_is_answered_with_the_one_that_was_meant():
    with pytest.raises(UnknownCondition, match="'glrae' names no cause, belief or hypothesis; did you mean 'glare'"):
        HERE.where("slip & glrae")


def test_a_rule_for_fewer_hypotheses_goes_first_in_whatever_order():
    rules = {"slip": 2, "default": 0, "pose": 1, "slip & glare": 3}
    for keys in (list(rules), list(rules)[::-1]):
        assert list(resolved({key: rules[key] for key in keys}, HERE)) == [0, 2, 1, 3]


def test_the_default_gives_way_to_a_rule_that_always_holds_too():
    for rules in ({"default": 0, "slip | not slip": 1}, {"slip | not slip": 1, "default": 0}):
        assert list(resolved(rules, HERE)) == [1, 1, 1, 1]


def test_a_comparison_with_what_failed_without_a_value_everywhere_holds_nowhere():
    lost = Vocabulary(NAMES, WORDS, truth={"level": np.array([None] * 4)})
    for condition in ("level > 3", "level = 3", "level = full", "level < level"):
        assert not lost.where(condition).any()
    assert lost.where("not level > 3").all()


def test_two_rules_that_contradict_each_other_are_named_with_a_hypothesis():
    with pytest.raises(InvalidProblem, match=r"'slip' and 'glare' both hold under 'slip \+ glare'.*'slip & glare'"):
        table({"default": 0, "slip": 1, "glare": 2}, HERE)


def test_two_rules_that_say_the_same_do_not_contradict_each_other():
    assert list(table({"default": 0, "slip": 1, "glare": 1}, HERE).values()) == [0, 1, 1, 1]


def test_a_hypothesis_of_which_nothing_is_said_is_named():
    with pytest.raises(
        InvalidProblem, match="nothing is said of hypothesis 'nothing'; add a rule for it, or a default"
    ):
        table({"pose": 1}, HERE)


def test_in_a_list_the_first_rule_that_holds_decides_however_narrow_the_others_are():
    rules = FirstThatHolds([("pose", 1), ("slip & glare", 3), ("default", 0), ("nothing", 2)])
    assert list(resolved(rules, HERE)) == [0, 1, 1, 1]
    assert not resolved(rules, HERE).clashes


def test_a_condition_that_stands_twice_in_a_list_decides_where_it_stands_first():
    rules = FirstThatHolds([("slip", 1), ("default", 0), ("slip", 2)])
    assert list(resolved(rules, HERE)) == [0, 1, 0, 1]
    assert FirstThatHolds(rules.pairs) == rules
    assert pickle.loads(pickle.dumps(rules)) == rules


def test_a_list_that_leaves_a_hypothesis_out_is_refused():
    with pytest.raises(InvalidProblem, match="nothing is said of hypothesis 'nothing'"):
        table(FirstThatHolds([("pose", 1)]), HERE)


def test_the_fault_of_overlapping_rules_writes_them_out_as_a_list_that_works():
    rules = {"default": [1.0, 0.0], "slip": [0.5, 0.5], "glare": [0.25, 0.75], "slip & not glare": [0, 1]}
    with pytest.raises(InvalidProblem) as caught:
        table(rules, HERE, where="kernels.look.likelihood")
    (fault,) = caught.value.faults
    (listed,) = re.findall(r"in the order that you mean: (\[\[.*\]\]); or add a rule", fault.remedy)
    pairs = yaml_data(listed)
    assert [condition for condition, _ in pairs] == ["slip & not glare", "slip", "glare", "default"]
    assert list(table(FirstThatHolds(pairs), HERE).values()) == [[1, 0], [0, 1], [0.25, 0.75], [0.5, 0.5]]


def test_every_pair_of_contradicting_rules_is_named_in_one_fault():
    with pytest.raises(InvalidProblem) as caught:
        table({"default": 0, "slip": 1, "glare": 2, "pose & not nothing": 3, "slip + glare | nothing": 4}, HERE)
    (fault,) = caught.value.faults
    assert "'slip' and 'glare' both hold under 'slip + glare'" in fault.problem
    assert "so do 'slip' and 'slip + glare | nothing' under 'slip + glare'" in fault.problem


atoms = st.sampled_from(["default", "nothing", "slip", "glare", "pose", "slip + glare", "not slip", "not pose"])
conditions = st.lists(st.lists(atoms, min_size=1, max_size=2).map(" & ".join), min_size=1, max_size=2).map(" | ".join)


@settings(max_examples=cases(200, 3000), deadline=None)
@given(st.lists(st.tuples(conditions, st.integers(0, 5)), min_size=1, max_size=6))
def test_a_list_says_of_each_hypothesis_what_reading_it_from_the_top_says(pairs):
    def said(s):
        return next((row for condition, row in pairs if HERE.where(condition)[s]), None)

    assert list(resolved(FirstThatHolds(pairs), HERE)) == [said(s) for s in range(len(NAMES))]


@settings(max_examples=cases(100, 2000), deadline=None)
@given(st.dictionaries(conditions, st.integers(0, 5), min_size=1, max_size=5))
def test_rules_that_do_not_contradict_each_other_say_the_same_as_the_list_of_them(rules):
    found = resolved(rules, HERE)
    if not found.clashes:
        assert list(resolved(FirstThatHolds(found.by_specificity()), HERE)) == list(found)
