import math
from dataclasses import replace

import numpy as np
import pytest

from aquamend.belief import Observation
from aquamend.decision import probe_values
from aquamend.decision.steps import Continue, Escalate, NewDeclaration, Reprobe, Restart, RollBack
from aquamend.policies import policy_named
from aquamend.policies.decision_report import alternatives, answers_to, decision_report, interval_labels, split_of
from aquamend.problem import Plan
from aquamend.problem.model import Discrete
from aquamend.story.reasons import unavailable


def report_of(state, name="aquamend"):
    return decision_report(state, policy_named(name), name=name)


def test_all_alternatives_stand_in_the_order_of_their_loss(lid_state):
    rows = alternatives(report_of(lid_state())).rows
    assert [row.step for row in rows] == [Reprobe("look"), RollBack(("lid",), ("lift",)), Continue()]
    assert [row.chosen for row in rows] == [True, False, False]
    look = rows[0]
    assert (look.sensing, look.recovery, look.residual) == (0.5, pytest.approx(1.14), pytest.approx(0.8))


def test_a_large_problem_shows_the_best_and_counts_the_rest(many_state):
    table = alternatives(report_of(many_state), most=5)
    assert len(table.rows) == 6, "the best way to stop is always among them"
    shown = sum(isinstance(row.step, Reprobe) for row in table.rows)
    assert shown + table.hidden_probes == 40
    assert not table.all_corrections
    assert sum(row.chosen for row in table.rows) == 1


def test_the_choice_of_a_policy_is_shown_however_dear(many_state):
    rows = alternatives(report_of(many_state, "rollback-only"), most=3).rows
    assert rows[-1].chosen
    assert len(rows[-1].step.correct) == 40


def test_what_cannot_be_done_has_a_reason(lid_state):
    state = lid_state(may_keep=False, reversible=False)
    state = state.after(Observation("look", "no")).after(Observation("look", "no"))
    found = {item.what: item.why for item in unavailable(report_of(state))}
    assert set(found) == {"probe look", "continue", "roll back lid"}
    assert "lift cannot be undone" in found["roll back lid"]
    assert "lid may have failed" in found["continue"]


def test_a_plan_of_the_problem_s_own_is_not_taken_apart(lid_state):
    state = lid_state()
    plan = Plan("wipe", np.array([1.0, 2.0]), undo=("lift",))
    state = replace(state, problem=replace(state.problem, plans=[plan], restart=Plan("restart", np.array([5.0, 7.0]))))
    rows = {type(row.step): row for row in alternatives(report_of(state, "no-reprobe")).rows if row.recovery is None}
    assert set(rows) == {RollBack, Restart, Reprobe}, "what follows the probe is a plan too"
    assert rows[RollBack].loss == pytest.approx(1.4)
    assert rows[Restart].loss == pytest.approx(5.8)
    assert rows[RollBack].residual is None


def test_a_last_resort_is_listed_only_where_it_is_taken(lid_state):
    state = lid_state(may_keep=False, reversible=False)
    plan = Plan("stop safely", np.array([30.0, 40.0]), last_resort=True)
    found = report_of(replace(state, problem=replace(state.problem, plans=[plan])), "no-reprobe")
    assert found.step == RollBack((), (), plan="stop safely")
    assert "plan stop safely" not in {item.what for item in unavailable(found)}
    easy = lid_state()
    found = report_of(replace(easy, problem=replace(easy.problem, plans=[plan])), "no-reprobe")
    assert {item.what for item in unavailable(found)} == {"plan stop safely"}
    assert not any(getattr(row.step, "plan", None) for row in alternatives(found).rows)


def test_a_belief_without_support_says_so(cup_state):
    state = cup_state(may_keep=True).after(Observation("look", "high")).after(Observation("test", "bad"))
    found = {item.what: item.why for item in unavailable(report_of(state, "no-reprobe"))}
    assert "no usable evidence supports target" in found["continue"]
    assert "supports no value" in found["roll back target"]


def test_after_an_answer_that_is_declared_which_it_makes_most_probable(cup_state):
    (low, high) = answers_to(cup_state(), "weigh")
    assert low.stop.decision == Continue()
    assert high.stop.decision.declare == (NewDeclaration("level", 45.0), NewDeclaration("target", "B"))


def test_after_an_answer_its_support_is_counted(cup_state):
    """Once the camera tests bad, nothing that it saw supports a target, and a person is called."""
    (good, bad) = answers_to(cup_state(), "test")
    assert good.stop.decision == Continue()
    assert bad.stop.decision == Escalate()
    (low, _) = answers_to(cup_state().after(Observation("test", "bad")), "weigh")
    assert low.stop.decision == RollBack(("camera",), ("aim",), (NewDeclaration("camera", "biased"),))


def test_each_outcome_has_its_chance_and_the_decision_after_it(lid_state):
    yes, no = answers_to(lid_state(), "look")
    assert (yes.label, yes.stop.decision) == ("yes", Continue())
    assert (yes.probability, yes.stop.loss) == (pytest.approx(0.62), pytest.approx(0.8 / 0.62))
    assert (no.label, no.stop.decision) == ("no", RollBack(("lid",), ("lift",)))
    assert (no.probability, no.stop.loss) == (pytest.approx(0.38), pytest.approx(3.0))


def test_the_three_parts_of_a_probe_add_up_to_its_expected_loss(lid_state, gaussian_state, many_state):
    for state in (lid_state(), gaussian_state, many_state):
        values = probe_values(state)
        for probe, loss in zip(values.branches.probes, values.expected_loss, strict=True):
            total = state.probe(probe).cost + math.fsum(split_of(state, probe))
            assert total == pytest.approx(loss, rel=1e-9)


def test_the_parts_add_up_where_an_answer_leaves_a_failure_less_probable_than_any_number(lid):
    """It may not be kept, and no answer rules it out, so that each leads to undoing."""
    look = Discrete(["good", "bad"], {"on": [0.5, 0.5], "off": [1e-200, 1.0]})
    state = lid({"look": look}, q=1e-200, undo=7.0, may_keep=False)
    assert split_of(state, "look") == (7.0, 0.0)
    assert probe_values(state).expected_loss == pytest.approx([0.5 + 7.0])
    assert {answer.stop.decision.correct for answer in answers_to(state, "look")} == {("lid",)}


def test_readings_with_the_same_decision_are_one_answer(gaussian_state):
    low, high = answers_to(gaussian_state, "look")
    # Rolling back pays once q · 10 > 3, so at the reading x with (2/3) exp(2x - 2) = 3/7.
    cut = 1.0 + 0.5 * math.log(9 / 14)
    assert low.label == f"below {cut:.1f}"
    assert high.label == f"above {cut:.1f}"
    assert (low.stop.decision, high.stop.decision) == (Continue(), RollBack(("lid",), ("lift",)))
    assert low.probability + high.probability == pytest.approx(1.0)
    below = [0.5 * math.erfc(-(cut - mean) / math.sqrt(2)) for mean in (0.0, 2.0)]
    assert low.probability == pytest.approx(0.6 * below[0] + 0.4 * below[1])


def test_intervals_are_named_as_finely_as_the_sensor_measures():
    assert interval_labels(np.array([149.93, 160.0]), 15.0) == ("below 150", "150 to 160", "above 160")
    assert interval_labels(np.array([149.93]), 0.01) == ("below 149.930", "above 149.930")
    assert interval_labels(np.array([]), 0.01) == ("any reading",)
