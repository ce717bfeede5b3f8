import math

import pytest

from aquamend.decision.steps import Continue, Escalate, Reprobe, Restart, RollBack
from aquamend.explanation.report import decision_report, labels, stop_of
from aquamend.inference import Observation
from aquamend.model import Declaration
from aquamend.policies import POLICIES, policy_named


def report_of(state, name="aquamend"):
    return decision_report(state, policy_named(name), name=name)


def test_the_report_holds_the_step_and_what_it_was_weighed_against(lid_state):
    report = report_of(lid_state())
    assert report.step == report.least == Reprobe("look")
    assert report.chosen is None
    assert report.stop.decision == RollBack(("lid",), ("lift",))
    assert (report.loss, report.stop.loss) == (pytest.approx(2.44), 3.0)


def test_a_belief_line_says_what_correcting_it_undoes(lid_state):
    (line,) = report_of(lid_state()).beliefs
    assert (line.name, line.suspected, line.residual, line.undo, line.undo_cost) == ("lid", True, 10, ("lift",), 3)
    assert line.failure_probability == pytest.approx(0.4)


def test_a_failure_that_may_not_be_kept_has_an_infinite_residual(lid_state):
    assert report_of(lid_state(may_keep=False)).beliefs[0].residual == math.inf


def test_a_contradicted_state_has_no_probabilities_and_no_legal_probe(lid_state):
    from aquamend.model import Discrete

    state = lid_state(Discrete(["yes", "no"], {"on": [1, 0], "off": [0, 1]}))
    report = report_of(state.after(Observation("look", "yes")).after(Observation("look", "no")))
    assert report.beliefs[0].failure_probability is None
    assert report.declarations[0].invalidity is None
    assert report.probes[0].why_illegal
    assert report.robustness is None


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "structured"])
def test_every_policy_can_be_reported_on(lid_state, name):
    report = report_of(lid_state(), name)
    assert report.is_least == (report.loss == pytest.approx(2.44))
    assert report.bounds.lower <= report.bounds.upper


def test_what_would_flip_a_step_is_asked_only_of_the_least_loss(lid_state):
    assert report_of(lid_state()).robustness is not None
    assert report_of(lid_state(), "no-reprobe").robustness is None


@pytest.mark.parametrize(
    ("decision", "recovery", "residual"),
    [
        (Continue(), 0.0, 4.0),
        (RollBack(("lid",), ("lift",)), 3.0, 0.0),
        (Restart(), math.inf, 0.0),
        (Escalate(), math.inf, 0.0),
    ],
)
def test_any_terminal_decision_can_be_priced(lid_state, decision, recovery, residual):
    stop = stop_of(lid_state(), decision)
    assert (stop.recovery, stop.residual) == (recovery, pytest.approx(residual))


def test_versions_are_named_only_where_names_collide():
    declared = [Declaration("a", "b"), Declaration("c", "b", version=2), Declaration("a", "b", version=3)]
    assert labels(declared) == ("a v1", "c", "a v3")
