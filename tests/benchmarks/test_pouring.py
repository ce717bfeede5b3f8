"""The suite of the pouring robot: balanced scenes, drawn from seeds of their own."""

from collections import Counter
from types import SimpleNamespace

import pytest

pytest.importorskip("mujoco")

from aquamend.benchmarks import pouring
from aquamend.benchmarks.catalogue import SUITES
from aquamend.benchmarks.pouring import FAMILIES, NAME, POURING, STAGES
from aquamend.worlds.pouring.episode import Stage
from aquamend.worlds.pouring.perturbations import AddWater, BiasedCamera, FalseAlarm, SwapCups

KINDS = {"false alarm": FalseAlarm, "add water": AddWater, "swap": SwapCups, "drift": BiasedCamera}


class Drawn(Exception):
    """Raised with the episode of a scene in place of simulating it."""


@pytest.fixture(scope="module")
def episodes():
    """Return the episodes of the whole suite, none of them simulated."""

    def drawn(episode):
        raise Drawn(episode)

    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pouring, "until_alarm", drawn)
        for number in range(POURING.scenarios):
            with pytest.raises(Drawn) as caught:
                pouring.make(0, number)
            found.append(caught.value.args[0])
    return found


def by_amount(episode):
    return [vessel.name for vessel in sorted(episode.scene.vessels[:3], key=lambda vessel: vessel.grams)]


def of_family(episodes, family):
    return [episode for episode in episodes if isinstance(episode.perturbation, KINDS[family])]


def test_the_suite_is_in_the_catalogue_with_32_scenes():
    assert SUITES[NAME] is POURING
    assert POURING.scenarios == 32


def test_every_family_comes_four_times_at_every_stage(episodes):
    counted = Counter((type(episode.perturbation), episode.stage) for episode in episodes)
    assert counted == {(KINDS[family], stage): 4 for family in FAMILIES for stage in STAGES}


def test_families_and_stages_take_turns_so_that_a_part_of_the_suite_is_balanced_too(episodes):
    for first in range(0, len(episodes), 8):
        part = {(type(episode.perturbation), episode.stage) for episode in episodes[first : first + 8]}
        assert len(part) == 8


def test_water_is_added_to_the_emptiest_cup_and_changes_the_order_half_the_time(episodes):
    crossed = 0
    for episode in of_family(episodes, "add water"):
        held = {vessel.name: vessel.grams for vessel in episode.scene.vessels}
        target, rival, _ = by_amount(episode)
        assert episode.perturbation.cup == target
        crossed += held[target] + episode.perturbation.grams > held[rival]
    assert crossed == 4


def test_the_emptiest_cup_and_its_rival_are_swapped(episodes):
    for episode in of_family(episodes, "swap"):
        assert {episode.perturbation.one, episode.perturbation.other} == set(by_amount(episode)[:2])


def test_the_camera_misreads_the_emptiest_cup_early_and_the_next_one_late(episodes):
    for episode in of_family(episodes, "drift"):
        which = 0 if episode.stage is Stage.MOVED else 1
        assert episode.perturbation.cup == by_amount(episode)[which]


@pytest.mark.parametrize("stage", STAGES)
def test_the_camera_reads_high_as_often_as_low(episodes, stage):
    signs = [episode.perturbation.bias_g > 0 for episode in of_family(episodes, "drift") if episode.stage is stage]
    assert sorted(signs) == [False, False, True, True]


def test_no_two_scenes_are_alike(episodes):
    assert len({episode.scene for episode in episodes}) == len({episode.seed for episode in episodes}) == 32


def test_water_in_reserve_is_enough_for_every_scene(episodes):
    for episode in of_family(episodes, "add water"):
        assert episode.perturbation.grams <= episode.scene.reserve_g


def test_everybody_who_takes_part_by_default_is_known():
    POURING.check_policies(list(POURING.policies))


@pytest.mark.slow
def test_a_scene_is_played_by_hand_and_every_second_is_accounted_for():
    played = POURING.play(0, 2, ("aquamend", "restart"))
    for record in played.records:
        found = SimpleNamespace(**record)
        assert not hasattr(found, "error")
        assert found.group == {"stage": "T1", "family": "swap"}
        parts = found.sensing + found.rollback + found.continuation + found.residual
        assert found.loss == pytest.approx(parts)
        assert found.rollback >= 0
        assert found.continuation > 10
        assert found.steps
        assert found.cause == "external"
        assert found.expected_risk is None
    assert [record["policy"] for record in played.records] == ["aquamend", "restart"]
    assert played.records[0]["success"] == 1.0
    assert played.annotation is not None
