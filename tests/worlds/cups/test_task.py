"""What rests on what: closures at every stage, in both granularities, and what undoing them costs."""

import math

import pytest

from aquamend.worlds.cups import CupTask, Stage
from aquamend.worlds.cups.task import PREFIX

TABLE = (100.0, 130.0, 170.0)
MEASURED = ("measure_A", "measure_B", "measure_C")


def graph(stage=Stage.POURED, **options):
    return CupTask(TABLE, stage=stage, **options).graph()


@pytest.mark.parametrize("stage", Stage)
def test_measuring_is_done_first_and_the_arm_as_far_as_the_stage_says(stage):
    assert tuple(action.name for action in graph(stage).executed) == MEASURED + PREFIX[stage]


@pytest.mark.parametrize(
    ("stage", "arm"),
    [
        (Stage.DECIDED, ("decide",)),
        (Stage.MOVED, ("decide", "grasp", "move")),
        (Stage.POURED, ("decide", "grasp", "move", "pour")),
    ],
)
def test_closures_by_stage(stage, arm):
    fine = graph(stage)
    for belief in ("target", "rank_B", "rank_C", "place_A"):
        assert fine.closure([belief]) == arm
    assert fine.closure(["amount_B"]) == ("measure_B",)
    assert fine.closure(["camera"]) == MEASURED
    assert fine.closure(["place_B"]) == fine.closure(["place_C"]) == ()
    assert fine.closure(["amount_A", "rank_B", "target"]) == ("measure_A", *arm)


@pytest.mark.parametrize("stage", Stage)
def test_on_the_chain_a_correction_undoes_everything_from_its_first_action_on(stage):
    chain, arm = graph(stage, linear_chain=True), PREFIX[stage]
    assert chain.closure(["amount_A"]) == chain.closure(["camera"]) == MEASURED + arm
    assert chain.closure(["amount_B"]) == MEASURED[1:] + arm
    assert chain.closure(["amount_C"]) == MEASURED[2:] + arm
    assert chain.closure(["target"]) == arm


def test_the_causal_closure_is_never_larger_than_the_chain():
    for stage in Stage:
        fine, chain = graph(stage), graph(stage, linear_chain=True)
        for belief in fine.beliefs:
            assert set(fine.closure([belief.name])) <= set(chain.closure([belief.name]))


def test_what_undoing_costs_by_hand():
    fine = graph()
    assert fine.correction_cost(["amount_A"]) == 2.0
    assert fine.correction_cost(["camera"]) == 6.0
    assert fine.correction_cost(["target"]) == 1.0 + 3.0 + 2.5 + 6.0
    assert fine.correction_cost(["amount_A", "camera", "target"]) == 6.0 + 12.5
    assert graph(Stage.DECIDED).correction_cost(["target"]) == 1.0


def test_a_pour_that_cannot_be_taken_back_makes_correcting_the_target_infeasible_once_poured():
    poured = graph(pour_reversible=False)
    assert poured.irreversible_executed == ("pour",)
    for belief in ("target", "rank_B", "place_A"):
        assert poured.correction_cost([belief]) == math.inf
    assert poured.correction_cost(["amount_A", "camera", "place_B"]) == 6.0
    assert math.isfinite(graph(Stage.MOVED, pour_reversible=False).correction_cost(["target"]))


def test_on_the_chain_nothing_measured_can_be_corrected_after_an_irreversible_pour():
    chain = graph(pour_reversible=False, linear_chain=True)
    assert chain.correction_cost(["amount_C"]) == math.inf
    assert chain.correction_cost(["place_B"]) == 0.0


def test_shared_work_is_charged_once_for_the_table_and_once_for_the_pitcher():
    shared = graph(Stage.MOVED, shared_work=4.0)
    assert shared.correction_cost(["amount_A"]) == 4.0 + 2.0
    assert shared.correction_cost(["amount_A", "amount_B"]) == 4.0 + 2.0 + 2.0
    assert shared.correction_cost(["target"]) == 4.0 + 1.0 + 3.0 + 2.5
    assert shared.correction_cost(["amount_A", "target"]) == 6.0 + 10.5
    assert shared.correction_cost([belief.name for belief in shared.beliefs]) == 4.0 + 6.0 + 4.0 + 6.5


def test_every_belief_can_be_looked_into():
    fine = graph()
    assert all(fine.supporting_probes[belief.name] for belief in fine.beliefs)
    assert fine.direct_probes["amount_A"] == ("look_A", "weigh_A")
    assert fine.direct_probes["rank_C"] == ("look_A", "look_C", "weigh_A", "weigh_C")


def test_there_may_be_more_cups():
    five = CupTask((100.0, 130.0, 150.0, 170.0, 190.0), stage=Stage.MOVED).graph()
    assert len(five.beliefs) == 5 + 4 + 5 + 2
    assert five.closure(["camera"]) == tuple(f"measure_{x}" for x in "ABCDE")
    assert five.closure(["rank_E"]) == ("decide", "grasp", "move")
