"""One problem: where graph and model must agree, and what else may end the recovery."""

import math

import numpy as np
import pytest

from aquamend.errors import InvalidProblem
from aquamend.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.model import Alarm, Declaration, Discrete, Hypothesis, JointModel
from aquamend.problem import Plan, Problem

LOOK = Discrete(["y", "n"], {"ok": [1, 0], "bad": [0, 1]})


def problem(*, action=None, kernel=LOOK, failed=("b",), alarm=None, declarations=(), probe="look", **rest):
    graph = RecoveryGraph(
        [Belief("b", 1.0), Belief("c", 1.0)],
        [action or Action("a", undo=1.0, executed=True)],
        [Probe("look", 0.1)],
        [("look", "b", "detection"), ("b", "a", "belief_to_action")],
    )
    hypotheses = [Hypothesis("ok", 0.5), Hypothesis("bad", 0.5, failed)]
    return Problem(graph, JointModel(hypotheses, {probe: kernel}, alarm, declarations), **rest)


@pytest.mark.parametrize(
    ("changes", "places"),
    [
        ({"failed": ("b", "x")}, ["hypotheses[1].failed[1]"]),
        ({"probe": "peek"}, ["kernels.peek", "probes[0]"]),
        ({"alarm": Alarm({"ok": 1, "bad": 1}, ["c", "x"])}, ["alarm.suspects[1]"]),
        ({"declarations": [Declaration("d", "x")]}, ["declarations[0].belief"]),
        ({"declarations": [Declaration("d", "b", support=("look", "x"))]}, ["declarations[0].support[1]"]),
        ({"sensing_budget": -1.0}, ["sensing_budget"]),
        ({"restart": math.nan}, ["restart"]),
        ({"escalate": -0.5}, ["escalate"]),
        ({"plans": [Plan("p", np.zeros(3))]}, ["plans[0].loss"]),
        ({"plans": [Plan("p", np.zeros(2)), Plan("q", np.array([0.0, -1.0]))]}, ["plans[1].loss"]),
        ({"plans": [Plan("p", np.array([0.0, math.nan]))]}, ["plans[0].loss"]),
    ],
)
def test_what_graph_and_model_disagree_on_is_named(changes, places):
    with pytest.raises(InvalidProblem) as error:
        problem(**changes)
    assert [fault.where for fault in error.value.faults] == places


def test_without_declarations_every_belief_declares_itself():
    b, c = problem().declarations
    assert (b.name, b.belief, b.version) == ("b", "b", 1)
    assert (b.invalid_in, b.support) == (("bad",), ("look",))
    assert (c.invalid_in, c.support) == ((), ())


def test_given_declarations_replace_the_default_ones():
    given = Declaration("least", "b", invalid_in=("bad",))
    assert problem(declarations=[given]).declarations == (given,)


def test_an_executed_irreversible_action_makes_restarting_infeasible():
    assert problem(restart=5.0).restart_loss == 5.0
    assert problem(restart=5.0, action=Action("a", executed=True, reversible=False)).restart_loss == math.inf
    assert problem(restart=5.0, action=Action("a", reversible=False)).restart_loss == 5.0


def test_what_is_not_given_is_infinite():
    assert problem().restart_loss == math.inf
    assert problem().escalate_loss == math.inf
    assert problem(escalate=3.0).escalate_loss == 3.0
