"""The most specific rule decides, and two that contradict each other are named."""

import numpy as np
import pytest

from aquamend.errors import InvalidProblem, UnknownCondition
from aquamend.modelling import Vocabulary, table
from aquamend.modelling.rules import resolved

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
