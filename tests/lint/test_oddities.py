"""Each oddity is found where it is, with its price, and nothing is found where all is well."""

import math

import numpy as np
import pytest

from aquamend import (
    Action,
    Alarm,
    Belief,
    Discrete,
    Hypothesis,
    InformationState,
    JointModel,
    Plan,
    Probe,
    Problem,
    RecoveryGraph,
)  # fmt: skip
from aquamend.cli.new import Outline, template
from aquamend.codec.plain_text import yaml_data
from aquamend.files import parse_problem
from aquamend.lint import findings

SHARP = {"ok": [0.99, 0.01], "one": [0.05, 0.95], "two": [0.2, 0.8]}


def state(*, rows=SHARP, probe_cost=0.5, reversible=True, restart=None, priors=(0.6, 0.2, 0.2), alarm=None, plans=()):
    graph = RecoveryGraph(
        [Belief("x", 40.0), Belief("y", 30.0)],
        [
            Action("a", undo=5.0 if reversible else None, executed=True, reversible=reversible),
            Action("b", undo=7.0, executed=True),
        ],
        [Probe("look", probe_cost)],
        [
            ("look", "x", "detection"), ("look", "y", "detection"), ("x", "a", "belief_to_action"),
            ("y", "b", "belief_to_action"),
        ],
    )  # fmt: skip
    hypotheses = [
        Hypothesis(name, p, failed)
        for name, p, failed in zip(("ok", "one", "two"), priors, ([], ["x"], ["y"]), strict=True)
    ]
    model = JointModel(hypotheses, {"look": Discrete(["fine", "not"], rows)}, alarm and Alarm(alarm))
    return InformationState.alarmed(Problem(graph, model, restart=restart, plans=plans))


def found(**given):
    return {finding.code: finding for finding in findings(state(**given))}


def test_a_sensible_problem_has_nothing_odd():
    assert found() == {}
    assert findings(InformationState.alarmed(parse_problem(yaml_data(template(Outline()))))) == []


def test_hypotheses_that_no_probe_separates_cost_what_knowing_would_save():
    rows = {"ok": [0.99, 0.01], "one": [0.05, 0.95], "two": [0.05, 0.95]}
    # Of one and two together (0.2 each): undoing both costs 0.4 · 12, knowing which 0.2 · 5 + 0.2 · 7.
    assert found(rows=rows)["inseparable"].cost == pytest.approx(0.4 * 12 - 0.2 * 5 - 0.2 * 7)


def test_a_probe_that_tells_nothing_costs_what_it_costs():
    assert found(rows={name: [0.5, 0.5] for name in SHARP})["uninformative"].cost == pytest.approx(0.5)


def test_a_probe_dearer_than_all_knowledge_never_pays():
    # Undoing both costs at most 12 more than knowing, whatever is true.
    assert found(probe_cost=15.0)["never-pays"].cost == pytest.approx(3.0)


def test_a_probe_that_is_too_dear_here_is_said_to_be_so_here():
    # Stopping now costs 0.2 · 40 → undo a (5) and 0.2 · 30 → keep y (6): 11. Knowing leaves 0.2 · 5 + 0.2 · 7.
    assert found(probe_cost=10.0)["cannot-pay-now"].cost == pytest.approx(10.0 - (11.0 - 2.4))


def test_a_belief_that_nobody_can_correct_costs_its_expected_residual():
    odd = found(reversible=False)
    assert odd["incorrigible"].cost == pytest.approx(8.0)
    assert "a cannot be undone" in odd["incorrigible"].message
    assert "incorrigible" not in found(reversible=False, plans=[Plan("by hand", [9.0] * 3, ("x",))])


def test_a_restart_that_cannot_be_costs_what_it_would_have_saved():
    # Without undoing a: 8 for x, 6 for y. A restart at 10 would have saved 4.
    assert found(reversible=False, restart=10.0)["restart-impossible"].cost == pytest.approx(4.0)
    assert "restart-impossible" not in found(restart=10.0)
    # Ruled out by the alarm, the third hypothesis counts nothing: 0.25 · 40 for x against 8.
    restart = Plan("restart", np.array([8.0, 8.0, np.inf]))
    alarm = {"ok": 1.0, "one": 1.0, "two": 0.0}
    assert found(reversible=False, restart=restart, alarm=alarm)["restart-impossible"].cost == pytest.approx(2.0)


def test_a_decision_on_a_knifes_edge_is_named():
    # The probe is worth 0.5 on the dot where its cost is what it saves.
    from aquamend.decision import probe_values

    values = probe_values(state(probe_cost=0.0))
    worth = values.stop_loss - float(values.expected_loss[0])
    edge = found(probe_cost=worth - 0.01)["knifes-edge"]
    assert edge.cost == pytest.approx(0.01)


def test_an_alarm_that_the_priors_make_rare_is_named():
    odd = found(priors=(0.98, 0.01, 0.01), alarm={"ok": 0.001, "one": 0.9, "two": 0.9})["alarm-contradicts-priors"]
    posterior = [0.00098 / 0.01898, 0.009 / 0.01898]
    continuing = 70.0 * posterior[1]
    assert odd.cost == pytest.approx(continuing - 12.0)
    assert math.isfinite(odd.cost)
