"""The task that every body shares: who rests on whom, when a value is wrong, what a restart declares."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aquamend_lab.pouring.discrete import fresh_task
from aquamend_lab.pouring.task import (
    ACTIONS,
    CAMERA,
    FAULTY,
    SCALES,
    SOUND,
    TARGET,
    Instruments,
    Measurement,
    Prices,
    Sense,
    Stage,
    binding,
    cups_of,
    decided,
    look,
    quantity,
    weigh,
)

TASK = fresh_task((100.0, 130.0, 170.0))
DECLARED = TASK.values(TASK.declared)


@pytest.mark.parametrize(
    ("stage", "done"),
    [
        (Stage.DECIDED, ()),
        (Stage.LIFTED, ("lift",)),
        (Stage.BESIDE, ("lift", "move")),
        (Stage.COMMITTING, ("lift", "move")),
        (Stage.POURED, ("lift", "move", "pour")),
    ],
)
def test_what_the_arm_has_done_by_each_stage(stage, done):
    task = replace(TASK, stage=stage)
    assert tuple(action.name for action in task.graph().executed) == done
    assert task.safe_stop_cost == (3.0 if done else 0.0)


def test_measuring_and_deciding_are_no_actions():
    assert tuple(action.name for action in TASK.graph().actions) == ACTIONS


def test_every_belief_declares_a_value_and_needs_support_to_be_kept_or_declared_again():
    graph = TASK.graph()
    residuals = {belief.name: belief.residual for belief in graph.beliefs}
    assert residuals == {
        **{quantity(x): 10.0 for x in "ABC"},
        **{binding(x): 20.0 for x in "ABC"},
        TARGET: 80.0,
        CAMERA: 40.0,
    }
    for belief in graph.beliefs:
        assert belief.needs_support
        assert belief.declared == DECLARED[belief.name]


def test_only_what_the_target_rests_on_has_anything_to_undo():
    graph = replace(TASK, stage=Stage.POURED).graph()
    for name in (quantity("A"), quantity("C"), TARGET, binding("A")):
        assert graph.closure([name]) == ("move", "pour")
    for name in (binding("B"), binding("C"), CAMERA):
        assert graph.closure([name]) == ()


def test_on_the_chain_graph_correcting_what_an_action_rests_on_undoes_all_that_was_executed():
    fine, chain = (replace(TASK, stage=Stage.POURED, linear_chain=linear).graph() for linear in (False, True))
    for belief in chain.beliefs:
        undone = chain.closure([belief.name])
        assert undone == (("lift", "move", "pour") if fine.closure([belief.name]) else ())


def test_shared_work_is_paid_once():
    graph = replace(TASK, stage=Stage.BESIDE, shared_work=4.0).graph()
    assert graph.rollback_cost(["move"]) == 6.5
    assert graph.rollback_cost(["lift", "move"]) == 9.5


def test_each_body_has_its_own_prices():
    prices = Prices(look=0.2, undo=dict.fromkeys(ACTIONS, 1.0), redo={"move": 2.0})
    task = replace(TASK, stage=Stage.BESIDE, prices=prices)
    assert task.graph().rollback_cost(["lift", "move"]) == 4.0
    assert task.restart_cost == pytest.approx(4.6)


def test_a_restart_is_infinitely_dear_after_an_irreversible_pour():
    assert replace(TASK, stage=Stage.POURED, pour_reversible=False).restart_cost == math.inf


def test_names_are_made_and_told_in_one_place():
    assert TASK.measurements[look("B")] == Measurement(Sense.LOOK, "B")
    assert TASK.measurements[weigh("C")].cup == "C"
    assert all(m.name == name for name, m in TASK.measurements.items())
    assert cups_of(TASK.graph()) == TASK.cups == ("A", "B", "C")


@given(st.floats(-20, 20), st.floats(-200, 200))
def test_amounts_and_places_are_wrong_beyond_their_tolerance_alone(grams, millimetres):
    said = DECLARED | {quantity("C"): 170.0 + grams, binding("B"): 150.0 + millimetres}
    wrong = TASK.wrong(said, TASK.declared)
    assert (quantity("C") in wrong) == (abs(170.0 + grams - 170.0) > 3.0 + 1e-9)
    assert (binding("B") in wrong) == (abs(150.0 + millimetres - 150.0) > 30.0 + 1e-9)
    assert set(wrong) <= {quantity("C"), binding("B")}


def test_the_target_is_a_cup_so_moving_it_leaves_it_right():
    moved = replace(TASK.declared, position_mm=(150.0, 0.0, 300.0))
    assert TASK.wrong(DECLARED, moved) == (binding("A"), binding("B"))


@given(st.lists(st.floats(10, 300), min_size=3, max_size=3), st.permutations([0.0, 150.0, 300.0]))
def test_what_is_decided_declares_what_is_read_and_the_least_of_it_and_trusts_the_camera(readings, places):
    said = decided(TASK.cups, readings, places)
    assert (said.quantity_g, said.position_mm) == (tuple(readings), tuple(places))
    assert readings[TASK.cups.index(said.target)] == min(readings)
    assert said.camera == SOUND
    assert CAMERA in TASK.wrong(TASK.values(said), replace(said, camera=FAULTY))


def test_amounts_rest_on_looks_of_the_camera_and_the_target_on_all_of_them():
    support = {d.belief: list(d.support) for d in TASK.declarations()}
    assert support[quantity("A")] == [look("A")]
    assert support[TARGET] == [look(x) for x in "ABC"]
    assert {probes(TASK)[look(x)].source for x in "ABC"} == {CAMERA}


def test_stopping_leaves_what_is_wrong_and_with_a_wrong_camera_all_that_was_read_by_it():
    assert TASK.left_by_stopping([binding("B")]) == (binding("B"),)
    read = (*map(quantity, "ABC"), TARGET, CAMERA)
    assert TASK.left_by_stopping([CAMERA]) == read
    assert TASK.left_wrong(read) == 3 * 10.0 + 80.0 + 40.0, "the paper's 150"


def probes(task):
    return {probe.name: probe for probe in task.graph().probes}


def test_a_cup_can_be_weighed_in_place_only_where_it_stands_on_a_scale():
    task = replace(TASK, instruments=Instruments(weighable=("B",)))
    assert (TASK.weighable, task.weighable) == (("A", "B", "C"), ("B",))
    assert {cup: probes(task)[weigh(cup)].max_uses for cup in "ABC"} == {"A": 0, "B": 1, "C": 0}


def test_scales_that_may_be_off_are_a_source_that_costs_nothing_by_itself():
    task = replace(TASK, instruments=Instruments(scales_may_be_off=True))
    assert (probes(TASK)[weigh("A")].source, probes(task)[weigh("A")].source) == (None, SCALES)
    graph = task.graph()
    (belief,) = [b for b in graph.beliefs if b.name == SCALES]
    assert (belief.residual, belief.declared) == (0.0, SOUND)
    assert weigh("A") in graph.supporting_probes[CAMERA], "a scale checks the camera"
    assert SCALES not in {d.belief for d in task.declarations()}
    assert SCALES not in TASK.values(TASK.declared)
