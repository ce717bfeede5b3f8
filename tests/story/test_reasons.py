from dataclasses import replace

import pytest

from aquamend.belief import InformationState, Observation
from aquamend.decision.steps import Continue, Escalate, NewDeclaration, Reprobe, Restart, RollBack, Wording
from aquamend.policies import policy_named
from aquamend.policies.decision_report import alternatives, decision_report
from aquamend.problem.model import Discrete
from aquamend.story.reasons import reasons


def why(state, name="aquamend"):
    report = decision_report(state, policy_named(name), name=name)
    return reasons(report, alternatives(report))


def test_every_step_has_words(lid_state):
    words = Wording(lid_state())
    steps = [
        Reprobe("look"), RollBack(("lid",), ("lift",)), RollBack((), (), plan="p"), Continue(), Restart(), Escalate()
    ]  # fmt: skip
    assert [words.brief(step) for step in steps] == [
        "run probe look", "roll back lid", "follow plan p", "continue as is", "restart from the beginning",
        "escalate to a person",
    ]  # fmt: skip
    assert words.full(steps[1]) == "roll back lid (undo lift)"
    assert words.full(steps[3]) == "continue as is"


def test_what_is_declared_is_said_with_its_value(cup_state):
    new = (NewDeclaration("level", 45.123456789), NewDeclaration("target", "B"))
    words = Wording(cup_state())
    assert (
        words.scope(RollBack(("level", "target"), ("grasp",), new)) == "undo grasp; declare level: 45.1235, target: B"
    )
    assert words.scope(RollBack(("level", "target"), (), new)) == "declare level: 45.1235, target: B"


def test_the_likeliest_culprit_is_named_first(many_state):
    state = many_state.after(Observation("p7", "odd"))
    names = tuple(belief.name for belief in state.problem.graph.beliefs)
    assert Wording(state).brief(RollBack(names)) == "roll back b7, b0, b1 and 37 more"


def test_a_probe_that_tells_nothing_saves_nothing(lid_state):
    state = lid_state(Discrete(["yes", "no"], {"on": [0.5, 0.5], "off": [0.5, 0.5]}))
    assert "look, costs 0.5 s and saves nothing." in why(state)
    assert "only nothing" not in why(state)


def test_a_dearer_choice_does_not_tie(lid_state):
    text = why(lid_state(), "restart")
    assert "ties" not in text
    assert "No probe is worth its cost" not in text


@pytest.mark.parametrize(
    ("name", "ahead"), [("certified", True), ("exact", True), ("lookahead-2", True), ("greedy", False)]
)
def test_whether_a_policy_plans_ahead_comes_from_the_policy(lid_state, name, ahead):
    text = why(lid_state(), name)
    assert (f"Policy {name} plans further ahead than the table below" in text) == ahead
    assert (f"Policy {name} decides by its own rule, not by the table below" in text) != ahead


def test_answers_that_lead_to_other_values_are_told_apart(cup_state):
    state = cup_state()
    *others, off = state.problem.model.hypotheses
    off = replace(off, truth={"level": 45.0, "target": "C"})
    model = replace(state.problem.model, hypotheses=[*others, off])
    state = InformationState.alarmed(replace(state.problem, model=model)).after(Observation("look", "high"))
    text = why(state)
    assert "18 (36%) → roll back level, target (undo grasp; declare level: 45, target: C)" in text
    assert "roll back level, target (undo grasp; declare level: 45, target: B); 18" in text
