import pytest

from aquamend.decision.steps import Continue, Reprobe, RollBack
from aquamend.explanation.alternatives import alternatives, unavailable
from aquamend.explanation.report import decision_report
from aquamend.inference import Observation
from aquamend.policies import policy_named


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
