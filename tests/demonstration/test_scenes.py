"""The scenes that can be shown: pure functions of their names and a seed."""

import pytest

from aquamend.demonstration.scenes import SCENES, STAGES, demo_episode, what_happened
from aquamend.errors import UnknownName
from aquamend.worlds.pouring.episode import Stage
from aquamend.worlds.pouring.perturbations import (
    AddWater,
    BiasedCamera,
    FalseAlarm,
    FrozenCamera,
    MixedUpCamera,
    SwapCups,
)

KINDS = {"swap": SwapCups, "add-water": AddWater, "drift": BiasedCamera, "false-alarm": FalseAlarm}


def by_amount(episode):
    return [vessel.name for vessel in sorted(episode.scene.vessels[:3], key=lambda vessel: vessel.grams)]


@pytest.mark.parametrize("scene", SCENES)
def test_an_episode_is_a_pure_function_of_scene_stage_and_seed(scene):
    assert demo_episode(scene, "early", 3) == demo_episode(scene, "early", 3)
    assert demo_episode(scene, "early", 3) != demo_episode(scene, "early", 4)


@pytest.mark.parametrize("scene", SCENES)
def test_a_scene_shows_what_its_name_says(scene):
    assert isinstance(demo_episode(scene, "early", 0).perturbation, KINDS[scene])


def test_early_is_before_the_pour_and_late_after_it():
    assert {name: demo_episode("swap", name, 0).stage for name in STAGES} == {
        "early": Stage.MOVED,
        "late": Stage.POURED,
    }


@pytest.mark.parametrize("seed", range(5))
def test_a_swap_puts_another_cup_where_the_emptiest_stood(seed):
    episode = demo_episode("swap", "early", seed)
    assert [episode.perturbation.one, episode.perturbation.other] == by_amount(episode)[:2]


@pytest.mark.parametrize("seed", range(5))
def test_a_drifting_camera_reads_the_second_emptiest_cup_too_low(seed):
    episode = demo_episode("drift", "early", seed)
    assert episode.perturbation.cup == by_amount(episode)[1]
    assert episode.perturbation.bias_g < 0


def test_an_unknown_scene_or_stage_is_answered_with_the_known_ones():
    with pytest.raises(UnknownName, match=r"scene 'nonsense'.*'swap', 'add-water', 'drift', 'false-alarm'"):
        demo_episode("nonsense", "early", 0)
    with pytest.raises(UnknownName, match=r"stage 'noon'.*'early', 'late'"):
        demo_episode("swap", "noon", 0)


@pytest.mark.parametrize(
    ("perturbation", "title", "detail"),
    [
        (AddWater("A", 7), "adds water to A", "7 g"),
        (SwapCups("A", "C"), "swaps A and C", "change places"),
        (BiasedCamera("B", 8.5), "reads B too high", "8.5 g too high"),
        (BiasedCamera("B", -8.5), "reads B too low", "8.5 g too low"),
        (MixedUpCamera("A", "B"), "mixes up A and B", "level of one for the other"),
        (FrozenCamera(), "freezes", "last picture"),
        (FalseAlarm("load", "C", 1.5), "Nothing happens", "load signal of C"),
    ],
)
def test_everything_that_may_happen_can_be_told(perturbation, title, detail):
    told = what_happened(perturbation)
    assert title in told[0]
    assert detail in told[1]
