"""What rests on what: undoing touches what depends on a wrong belief, and a chain undoes all that came later."""

import pytest
from tests.worlds.pouring.episodes import DECLARED, FITTED, POURED, SECONDS

from aquamend.worlds.pouring.episode import Stage
from aquamend.worlds.pouring.recovery_graph import MOST_USES, recovery_graph


def graph(stage=Stage.MOVED, *, linear_chain=False):
    return recovery_graph(POURED if stage is Stage.POURED else DECLARED, stage, FITTED, linear_chain=linear_chain)


@pytest.mark.parametrize(
    ("stage", "executed"),
    [(Stage.DECIDED, set()), (Stage.MOVED, {"fetch", "move"}), (Stage.POURED, {"fetch", "move", "pour"})],
)
def test_the_hands_actions_are_executed_as_far_as_the_stage_goes(stage, executed):
    done = {action.name for action in graph(stage).executed}
    assert done & {"fetch", "move", "pour", "place"} == executed
    assert {"measure_A", "measure_B", "measure_C", "locate", "trust", "decide"} <= done


def test_a_wrong_target_does_not_undo_the_grasp():
    undone = graph().closure(["target"])
    assert "fetch" not in undone
    assert {"decide", "move"} <= set(undone)


def test_the_linear_chain_undoes_the_grasp_for_a_wrong_target():
    assert "fetch" in graph(linear_chain=True).closure(["target"])


def test_a_late_wrong_target_undoes_the_pour():
    assert "pour" in graph(Stage.POURED).closure(["target"])


def test_where_another_cup_stands_is_no_reason_to_move():
    assert "move" not in graph().closure(["binding_C"])
    assert "move" in graph().closure(["binding_B"])


def test_a_wrong_quantity_is_weighed_anew_and_nothing_is_moved():
    assert graph(Stage.POURED).closure(["quantity_C"]) == ("measure_C",)


def test_distrusting_the_camera_undoes_every_measurement_with_it():
    assert set(graph().closure(["camera"])) == {"trust", "measure_A", "measure_B", "measure_C"}


def test_undoing_early_costs_less_than_undoing_late():
    early, late = (graph(stage).correction_cost(["target"]) for stage in (Stage.MOVED, Stage.POURED))
    assert early == pytest.approx(4 * 1.0 + SECONDS["move"])
    assert late == pytest.approx(early + SECONDS["pour back"] + 1.0 + SECONDS["fetch"] + SECONDS["pour"])


def test_the_linear_chain_pays_once_for_putting_the_pitcher_back_and_fetching_it():
    fine, chain = (graph(Stage.POURED, linear_chain=chain) for chain in (False, True))
    assert chain.correction_cost(["target"]) == pytest.approx(fine.correction_cost(["target"]))


def test_weighing_is_paid_once_where_two_corrections_want_it():
    both = graph().correction_cost(["quantity_A", "target"])
    assert both == graph().correction_cost(["target"])


def test_every_cup_has_a_belief_of_its_own_and_every_rival_a_rank():
    names = [belief.name for belief in graph().beliefs]
    ranks = [name for name in names if name.startswith("rank")]
    assert ranks == ["rank_A", "rank_C"]
    assert len(names) == 3 + 2 + 3 + 1 + 1


def test_no_probe_may_be_repeated_until_it_is_certain():
    assert {probe.max_uses for probe in graph().probes} == {MOST_USES}
