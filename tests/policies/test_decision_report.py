import json
import math
import pickle
from dataclasses import replace

import pytest

from aquamend.belief import InformationState, Observation
from aquamend.decision import price
from aquamend.decision.steps import Continue, Escalate, NewDeclaration, Reprobe, Restart, RollBack
from aquamend.errors import BadStep, IllegalProbe
from aquamend.policies import POLICIES, policy_named
from aquamend.policies.decision_report import DecisionReport, alternatives, carried_out, decision_report, labels
from aquamend.problem.graph import Action, Probe
from aquamend.problem.model import Coverage, Declaration, FitGroup


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
    from aquamend.problem.model import Discrete

    state = lid_state(Discrete(["yes", "no"], {"on": [1, 0], "off": [0, 1]}))
    report = report_of(state.after(Observation("look", "yes")).after(Observation("look", "no")))
    assert report.beliefs[0].failure_probability is None
    assert report.declarations[0].in_force.invalid is None
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
    stop = price(lid_state(), decision)
    assert (stop.recovery, stop.residual) == (recovery, pytest.approx(residual))


def test_versions_are_named_only_where_names_collide():
    declared = [Declaration("a", "b"), Declaration("c", "b", version=2), Declaration("a", "b", version=3)]
    assert labels(declared) == ("a v1", "c", "a v3")


def test_a_report_survives_pickling_and_plain_data(cup_state):
    report = report_of(cup_state().after(Observation("weigh", "45")))
    report.robustness  # noqa: B018 - what was computed must not get in the way
    again = pickle.loads(pickle.dumps(report))
    data = json.loads(json.dumps(report.to_data()))
    rebuilt = DecisionReport.from_data(InformationState.from_data(report.state.problem, data["state"]), data)
    for other in (again, rebuilt):
        assert (other.step, other.bounds, other.considered) == (report.step, report.bounds, report.considered)
        assert other.loss == report.loss
        assert other.to_data() == report.to_data()


def test_a_step_is_completed_with_what_it_implies(cup_state):
    state = cup_state().after(Observation("weigh", "45"))
    step = carried_out(state, RollBack(("level", "target")), name="mine")
    new = (NewDeclaration("level", 45.0), NewDeclaration("target", "B"))
    assert step == RollBack(("level", "target"), ("grasp",), new)
    given = RollBack(("level",), ("aim", "grasp"), (NewDeclaration("level", 45.0),))
    assert carried_out(state, given, name="mine") == replace(given, undo=("grasp", "aim"))


def test_a_step_that_may_not_be_taken_is_an_error(lid_state):
    spent = lid_state().after(Observation("look", "no")).after(Observation("look", "no"))
    with pytest.raises(IllegalProbe, match="all 2 uses are spent"):
        carried_out(spent, Reprobe("look"), name="mine")
    with pytest.raises(BadStep, match="'mine' returned 'look'"):
        carried_out(spent, "look", name="mine")


def test_a_linear_chain_is_shown_with_its_own_undo_set_and_loss(lid_state):
    problem = lid_state().problem
    actions = [*problem.graph.actions, Action("wave", undo=1, executed=True)]
    state = InformationState.alarmed(replace(problem, graph=replace(problem.graph, actions=actions)))
    state = state.after(Observation("look", "no")).after(Observation("look", "no"))
    report = report_of(state, "linear-chain")
    assert report.step == RollBack(("lid",), ("lift", "wave"))
    assert (report.chosen.recovery, report.loss, report.stop.loss) == (4.0, 4.0, 3.0)
    rows = [
        (row.step.undo, row.loss, row.chosen) for row in alternatives(report).rows if isinstance(row.step, RollBack)
    ]
    assert rows == [(("lift",), 3.0, False), (("lift", "wave"), 4.0, True)]


def test_probes_that_the_screen_drops_are_known(lid_state):
    problem = lid_state().problem
    graph = replace(
        problem.graph,
        probes=[*problem.graph.probes, Probe("touch", 0.9)],
        edges=[*problem.graph.edges, ("touch", "lid", "detection")],
    )
    kernels = {**problem.model.kernels, "touch": problem.model.kernels["look"]}
    groups = tuple(FitGroup(name, ("look", "touch"), (), ()) for name in ("one", "two"))
    covered = replace(
        problem, graph=graph, model=replace(problem.model, kernels=kernels), coverage=Coverage("now", ("now",), groups)
    )
    report = report_of(InformationState.alarmed(covered))
    assert report.screened_out == ("touch",)
    assert (report.considered.legal, report.considered.evaluated, report.considered.screened) == (2, 1, 1)
    assert [line.screened_out for line in report.probes] == [False, True]
    assert report_of(InformationState.alarmed(covered), "all-candidates").screened_out == ()
