"""Detect by power per cost, then measure again what has lost its support."""

import math

import pytest

from aquamend.belief import InformationState, Observation
from aquamend.decision import Continue, Escalate, Reprobe, RollBack
from aquamend.decision.steps import NewDeclaration
from aquamend.policies import PowerPerCost, TwoStep
from aquamend.problem import Problem
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Declaration, Discrete, Hypothesis, JointModel

CAMERA_OFF = RollBack(("camera",), (), (NewDeclaration("camera", "off"),))


def table(*, both=0.01, budget=math.inf, scales=("weigh",), answers=()):
    """Return a level that was read by a camera which may be off; a check of it, and scales that need no camera.

    ``both``: how probably the camera is off and the level has changed too.
    """
    graph = RecoveryGraph(
        [
            Belief("level", 10.0, declared="low", needs_support=True),
            Belief("camera", 40.0, declared="sound", needs_support=True),
        ],
        [Action("pour", undo=6.0, executed=True)],
        [Probe("look", 1.0, source="camera"), Probe("check", 0.2), *(Probe(name, 1.5) for name in scales)],
        [("look", "level", "detection"), ("check", "camera", "detection"),
         *((name, "level", "detection") for name in scales), ("level", "pour", "belief_to_action")],
    )  # fmt: skip
    hypotheses = [
        Hypothesis("nothing", 0.4 - both),
        Hypothesis("water", 0.3, truth={"level": "high"}),
        Hypothesis("camera off", 0.3, truth={"camera": "off"}),
        Hypothesis("both", both, truth={"camera": "off", "level": "high"}),
    ]
    seen = {"nothing": [1, 0], "water": [0, 1], "camera off": [0, 1], "both": [0, 1]}
    kernels = {
        "look": Discrete(["low", "high"], seen),
        "check": Discrete(["sound", "off"], seen | {"water": [1, 0]}),
        **{name: Discrete(["low", "high"], seen | {"camera off": [1, 0]}) for name in scales},
    }
    declared = [Declaration("level", "level", support=["look"]), Declaration("camera", "camera", support=["check"])]
    state = InformationState.alarmed(
        Problem(graph, JointModel(hypotheses, kernels, declarations=declared), sensing_budget=budget)
    )
    for probe, outcome in answers:
        state = state.after(Observation(probe, outcome))
    return state


def test_it_detects_as_power_per_cost_does_until_all_is_decided():
    assert TwoStep().next_step(table()) == PowerPerCost().next_step(table()) == Reprobe("check")
    seen = table(answers=[("check", "sound")])
    assert TwoStep().next_step(seen) == PowerPerCost().next_step(seen) == Reprobe("look")


def test_what_lost_its_support_with_its_source_is_measured_by_something_else():
    """The level has changed in 1 of 31 cases, which is all but cleared; but only the rejected camera says so."""
    rejected = table(answers=[("check", "off")])
    assert PowerPerCost().next_step(rejected) == Escalate(), "nothing is admissible, and it asks no more"
    assert TwoStep().next_step(rejected) == Reprobe("weigh")
    assert TwoStep().next_step(rejected.after(Observation("weigh", "low"))) == CAMERA_OFF


def test_the_cheapest_probe_that_can_be_relied_on_is_used_and_each_one_once():
    rejected = table(scales=("weigh", "balance"), answers=[("check", "off")])
    assert TwoStep().next_step(rejected) == Reprobe("weigh"), "the look is cheaper, and its source is rejected"


@pytest.mark.parametrize("options", [{"budget": 1.0}, {"scales": ()}])
def test_where_nothing_that_can_be_relied_on_is_left_it_takes_the_best_ending(options):
    assert TwoStep().next_step(table(**options, answers=[("check", "off")])) == Escalate()


def test_what_cannot_be_wrong_needs_no_support_and_is_not_measured_again():
    assert TwoStep().next_step(table(both=0.0, answers=[("check", "off")])) == CAMERA_OFF


def test_with_support_for_all_it_goes_on():
    assert TwoStep().next_step(table(answers=[("check", "sound"), ("look", "low")])) == Continue()


def test_once_the_evidence_contradicts_the_model_it_ends():
    contradicted = table(answers=[("check", "sound"), ("look", "low"), ("weigh", "high")])
    assert contradicted.contradiction is not None
    assert not isinstance(TwoStep().next_step(contradicted), Reprobe)
