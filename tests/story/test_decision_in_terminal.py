import io
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from aquamend import load_problem
from aquamend.belief import InformationState, Observation
from aquamend.policies import Evaluation, policy_named
from aquamend.policies.decision_report import decision_report
from aquamend.problem.building.compensations import before_action
from aquamend.story.decision_in_terminal import print_decision, print_evaluations
from aquamend.text import end_of


def text_of(state, *, name="aquamend", width=80, file="file.yaml"):
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False, emoji=False)
    print_decision(decision_report(state, policy_named(name), name=name), console, file=file)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [50, 60, 80, 120])
def test_a_large_problem_fits_and_says_how_much_is_left_out(many_state, width):
    text = text_of(many_state, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert len(text.splitlines()) < (180 if width < 60 else 130)
    assert "… and 28 more beliefs under suspicion" in " ".join(text.split())
    assert "more probes" in text


def test_readings_are_told_apart_by_what_follows_from_them(gaussian_state):
    text = " ".join(text_of(gaussian_state).split())
    assert "below 0.8" in text
    assert "above 0.8" in text


def test_a_policy_that_plans_ahead_says_so(lid_state):
    text = " ".join(text_of(lid_state(), name="lookahead-2").split())
    assert "Policy lookahead-2 plans further ahead than the table below" in text


def test_nothing_finite_is_said_plainly(lid_state):
    text = " ".join(text_of(lid_state(may_keep=False, reversible=False)).split())
    assert "No decision has a finite loss" in text
    assert "No finite loss can be guaranteed." in text


def test_a_long_path_keeps_its_end(lid_state):
    assert end_of("/a/long/way/to/lid.yaml", 10) == "…/lid.yaml"
    assert "…" in text_of(lid_state(), file="/x" * 100 + "/lid.yaml").splitlines()[1]
    assert text_of(lid_state(), file="/x" * 100 + "/lid.yaml").splitlines()[1].endswith("lid.yaml")


def test_what_is_declared_stands_beside_what_is_undone(cup_state):
    state = cup_state().after(Observation("weigh", "45"))
    text = " ".join(text_of(state, name="no-reprobe").split())
    assert "▶ Next step roll back level, target Undo grasp Declare level: 45, target: B Why" in text
    assert "▶ roll back level, target 0 4.00" in text
    assert "undo grasp; declare level: 45, target: B" in text
    assert "for values that may be left wrong" in text


def test_declarations_in_doubt_are_said_with_what_the_evidence_supports(cup_state):
    text = " ".join(text_of(cup_state().after(Observation("weigh", "45"))).split())
    assert "A is least full: target A, wrong with 94%. The evidence now supports B (wrong with 6.4%" in text
    shaken = cup_state().after(Observation("test", "bad"))
    text = " ".join(text_of(shaken).split())
    assert "its evidence look is of no use: camera has failed with 70%" in text


def test_beliefs_without_values_need_no_support(lid_state):
    assert "Declarations" not in text_of(lid_state())


def test_an_unresolved_cause_is_said_as_such(cup_state, lid_state):
    assert "Likely cause false alarm 60% · external 40%" in " ".join(text_of(lid_state()).split())
    torn = replace(cup_state(), posterior=np.array([0.3, 0.4, 0.3]))
    text = " ".join(text_of(torn).split())
    assert "Likely cause unresolved, none is likelier than not: external 40% · self error 30%" in text


def test_where_no_monitor_has_rung_nobody_gave_a_false_alarm():
    problem = load_problem("examples/delivery_robot.yaml")
    for state, words in (
        (InformationState.alarmed(problem, "barometer"), "false alarm"),
        (InformationState.alarmed(problem, ()), "nothing wrong"),
        (InformationState.alarmed(before_action(problem, "hand_over"), ()), "nothing wrong"),
    ):
        assert {word for word in ("false alarm", "nothing wrong") if word in text_of(state)} == {words}


def test_the_same_number_reads_the_same_whatever_its_last_bit():
    from aquamend.text import percent

    for exact in (0.245, 0.335, 0.0845, 0.125):
        assert len({percent(exact + bit) for bit in (-1e-16, -3e-17, 0.0, 3e-17, 1e-16)}) == 1


def evaluated(width, **more):
    from aquamend.problem import Problem
    from aquamend.problem.graph import Belief, RecoveryGraph
    from aquamend.problem.model import Hypothesis, JointModel

    found = {
        name: Evaluation(i + 1.0, 1.0, 2.0, 0.5) for i, name in enumerate(["troubleshooting", "mine.robot:Careful"])
    }
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False, emoji=False)
    problem = Problem(RecoveryGraph([Belief("b", 1)], [], [], []), JointModel([Hypothesis("h", 1.0)]))
    print_evaluations(problem, found, console, file="file.yaml", **more)
    return console.file.getvalue()


def test_policy_names_do_not_vanish_at_50_columns():
    text = evaluated(50)
    assert "troubleshooting" in text
    assert "mine.robot:Caref" in text
    assert "troubleshooting leaves nothing wrong." in text
    assert "what is wrong" in evaluated(80)
    assert max(map(len, text.splitlines())) <= 50


def test_nobody_is_crowned_where_a_policy_is_missing():
    assert "▶" in evaluated(80)
    text = evaluated(80, missing=["exact"])
    assert "▶" not in text
    assert "No best is named: exact could not be evaluated." in text
