"""Steps, readings and primitives in words that say no more than the robot can know."""

import numpy as np
import pytest

pytest.importorskip("mujoco")


from aquamend.belief import InformationState, Observation
from aquamend.decision import Continue, Escalate, NewDeclaration, Reprobe, Restart, RollBack
from aquamend.recovery import Charge, Measure, Receipt
from aquamend_lab.pouring.model.configurations import CameraState, Configuration, Happening, Scales
from aquamend_lab.pouring.phrases import PROBES, explanations, primitive, probed, step_name

DECLARED_G = {"A": 18.0, "B": 16.4, "C": 30.0}


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Reprobe("look_A"), "look at A"),
        (Reprobe("localise"), "find the cups"),
        (Continue(), "go on as planned"),
        (Escalate(), "stop safely, call a person"),
        (Restart(), "start over"),
        (RollBack((), plan="by hand"), "by hand"),
        (RollBack(()), "undo nothing"),
        (RollBack(("binding_A", "binding_C"), ("move",)), "draw back; A and C exchanged"),
        (RollBack(("binding_B",), ("lift", "move")), "draw back, put the pitcher down; B elsewhere"),
        (RollBack(("target",), ("pour",), (NewDeclaration("target", "B"),)), "pour back; pour into B"),
        (RollBack(("camera", "scales")), "undo nothing; distrust the camera; distrust a scale"),
    ],
)
def test_a_step_says_what_hand_and_eye_do(step, words, state):
    assert step_name(step, state) == words


def test_a_place_that_is_declared_again_is_no_move(state):
    graph = state.problem.graph
    at = {cup: graph.beliefs[graph.belief_index[f"binding_{cup}"]].declared for cup in "ABC"}
    same = RollBack(("binding_A",), (), (NewDeclaration("binding_A", at["A"]),))
    other = RollBack(("binding_A",), (), (NewDeclaration("binding_A", at["B"]),))
    assert step_name(same, state) == "undo nothing; A in place"
    assert step_name(other, state) == "undo nothing; A elsewhere"


def test_an_amount_is_reported_as_it_is_declared(state):
    step = RollBack(("quantity_B",), (), (NewDeclaration("quantity_B", 25.47),))
    assert step_name(step, state) == "undo nothing; B holds 25.5 g"


def test_every_probe_of_the_model_has_a_name(state):
    names = [PROBES[probe.name] for probe in state.problem.graph.probes if probe.max_uses != 0 or "weigh" in probe.name]
    assert len(set(names)) == len(names) == 8


def test_a_pour_is_what_left_the_pitcher_not_what_a_cup_received():
    leaf = Receipt(Charge.CONTINUATION, "pour into A", 12.0, finding="20.1 g poured")
    words = primitive(leaf, DECLARED_G)
    assert words.finding == "20.1 g left the pitcher over where A is believed to stand"
    assert "A" not in words.what


@pytest.mark.parametrize(
    ("what", "finding", "title", "text"),
    [
        ("move to B", "beside B", "carry the pitcher to where B is believed to stand", ""),
        ("grasp B", "B gripped", "grasp what stands where B is believed to stand", "something is between the fingers"),
        ("lift B", "B lifted, it feels like 38 g", "lift what was grasped as B", "it feels like 38 g"),
        ("place B", "B stands on place 2", "set down what was grasped as B", "something stands on place 2"),
        ("look at A", "A looks like 27.6 g", "look at A", "A looks like 27.6 g; 18.0 g were declared"),
    ],
)
def test_a_primitive_says_what_the_robot_can_know(what, finding, title, text):
    words = primitive(Receipt(Charge.CONTINUATION, what, 1.0, finding=finding), DECLARED_G)
    assert (words.what, words.finding) == (title, text)


def reading(probe, found, alarmed, *, poured=None):
    declared = {f"quantity_{cup}": grams for cup, grams in DECLARED_G.items()}
    declared |= {f"binding_{cup}": 1000 * alarmed.body.believed_m[cup][0] for cup in "ABC"} | {"camera": "sound"}
    return probed(probe, Measure(probe).done(found), declared, poured or {}, alarmed.body)


def test_what_was_expected_stands_beside_what_was_read(alarmed):
    assert reading("look_A", 27.6, alarmed) == "look at A: 27.6 g; 18.0 g were declared"
    assert reading("check_camera", "faulty", alarmed) == "the camera's self test: faulty; sound was declared"
    assert reading("weigh_B", 27.7, alarmed) == "the scale at B's place reads 27.7 g; 16.4 g were declared"
    assert reading("localise", "all in place", alarmed) == "finding the cups: all in place, as expected"
    located = reading("localise", "A and B exchanged", alarmed)
    assert located == "finding the cups: A and B exchanged; all in place was expected"


def test_a_scale_is_reported_by_its_place_where_another_cup_was_seen_there(alarmed):
    one, other = (alarmed.episode.trouble.one, alarmed.episode.trouble.other)
    assert reading(f"weigh_{one}", 27.7, alarmed).startswith(
        f"the scale at {other}'s place, where {one} was seen, reads 27.7 g"
    )


def test_what_the_robot_has_poured_itself_is_reported(alarmed):
    told_ = reading("look_A", 18.2, alarmed, poured={"A": 20.1})
    assert told_ == "look at A: 18.2 g, less the 20.1 g believed poured there; 18.0 g were declared"


def test_a_probe_that_failed_says_why(alarmed):
    failed = probed("weigh_A", Measure("weigh_A").failed("place 1 has no scale"), {}, {}, alarmed.body)
    assert failed == "weigh A on its scale: failed, place 1 has no scale"


def test_explanations_are_a_distribution_in_the_same_order_at_every_state(state, model):
    later = state.after(Observation("look_B", 25.0))
    for found in (explanations(state, model), explanations(later, model)):
        assert sum(found.values()) == pytest.approx(1.0)
    assert list(explanations(state, model)) == list(explanations(later, model))


@pytest.mark.parametrize(
    ("configuration", "explanation"),
    [
        (Configuration(), "nothing is wrong"),
        (Configuration(scales=Scales.OFF), "only a scale is off"),
        (Configuration(Happening.LITTLE, scales=Scales.OFF), "water added to {target}, still the least full"),
        (Configuration(Happening.MUCH), "water added to {target}, no longer the least full"),
        (Configuration(Happening.SWAPPED), "{target} and {rival} swapped"),
        (Configuration(camera=CameraState.MISREADS_RIVAL), "the camera misreads a cup"),
        (Configuration(camera=CameraState.FROZEN), "the camera is frozen"),
        (Configuration(Happening.SWAPPED, CameraState.FROZEN), "two things at once"),
    ],
)
def test_every_configuration_counts_for_the_explanation_that_fits_it(state, model, configuration, explanation):
    certain = np.array([float(supposed.configuration == configuration) for supposed in model.supposed])
    target, rival, _ = model.order
    found = explanations(InformationState(state.problem, certain / certain.sum()), model)
    assert found[explanation.format(target=target, rival=rival)] == pytest.approx(1.0)
