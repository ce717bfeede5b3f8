"""The five steps, as values and as plain data."""

import json

import pytest

from aquamend.decision.steps import (
    Continue,
    Escalate,
    NewDeclaration,
    Reprobe,
    Restart,
    RollBack,
    step_from_data,
    step_kind,
    step_to_data,
)
from aquamend.errors import InvalidData

STEPS = [
    Reprobe("look"),
    RollBack(("b",)),
    RollBack(("b", "c"), ("a",)),
    RollBack(
        ("b", "c", "d"),
        ("a",),
        (NewDeclaration("b", 45.0), NewDeclaration("c", "B")),
    ),
    RollBack(("b",), ("a",), plan="swap cups"),
    Continue(),
    Restart(),
    Escalate(),
]


def test_every_step_has_its_name_in_the_decision_format():
    steps = [Reprobe("p"), RollBack(("b",)), Continue(), Restart(), Escalate()]
    assert [step_kind(step) for step in steps] == ["reprobe", "roll_back", "continue", "restart", "escalate"]


def test_steps_are_values():
    assert Reprobe("p") == Reprobe("p")
    assert len({RollBack(("b",)), RollBack(("b",)), Continue(), Continue()}) == 2
    assert RollBack(("b",), declare=(NewDeclaration("b", "A"),)) != RollBack(
        ("b",), declare=(NewDeclaration("b", "B"),)
    )


@pytest.mark.parametrize("step", STEPS)
def test_a_step_written_as_plain_data_is_read_back(step):
    assert step_from_data(json.loads(json.dumps(step_to_data(step)))) == step


def test_a_step_is_written_in_the_words_of_the_decision_format():
    assert step_to_data(STEPS[3]) == {
        "kind": "roll_back",
        "correct": ["b", "c", "d"],
        "undo": ["a"],
        "declare": {"b": {"value": 45.0}, "c": {"value": "B"}},
    }
    assert step_to_data(Reprobe("look")) == {"kind": "reprobe", "probe": "look"}
    assert step_to_data(Continue()) == {"kind": "continue", "correct": [], "undo": []}
    assert step_to_data(Restart()) == {"kind": "restart"}


def test_an_unknown_kind_of_step_lists_the_five():
    with pytest.raises(InvalidData, match=r"'dance'.*reprobe, roll_back, continue, restart, escalate"):
        step_from_data({"kind": "dance"})
