"""The scenes that can be shown: pure functions of their names and a seed."""

from dataclasses import replace

import pytest

pytest.importorskip("mujoco")

from aquamend.errors import UnknownName
from aquamend_lab.pouring.mujoco.trouble import (
    AddWater,
    BiasedCamera,
    FrozenCamera,
    MixedUpCamera,
    Occlusion,
    Spike,
    SwapCups,
)
from aquamend_lab.pouring.phrases import SCENES, STAGES, demo_episode, what_happened
from aquamend_lab.pouring.task import Signal, Stage

KINDS = {
    "swap": SwapCups,
    "add-water": AddWater,
    "drift": BiasedCamera,
    "false-alarm": Spike,
    "frozen": FrozenCamera,
    "mixed-up": MixedUpCamera,
}


@pytest.mark.parametrize("scene", SCENES)
def test_an_episode_is_a_pure_function_of_scene_stage_and_seed(scene):
    assert demo_episode(scene, "early", 3) == demo_episode(scene, "early", 3)
    assert demo_episode(scene, "early", 3) != demo_episode(scene, "early", 4)


@pytest.mark.parametrize("scene", SCENES)
def test_a_scene_shows_what_its_name_says(scene):
    assert isinstance(demo_episode(scene, "early", 0).trouble, KINDS[scene])


def test_every_stage_has_a_name():
    assert {name: demo_episode("swap", name, 0).stage for name in STAGES} == {
        "t0": Stage.DECIDED,
        "early": Stage.LIFTED,
        "late": Stage.BESIDE,
        "poured": Stage.POURED,
    }


def test_an_unknown_scene_or_stage_is_answered_with_the_known_ones():
    with pytest.raises(UnknownName, match=r"scene 'nonsense'.*'swap', 'add-water', 'drift', 'false-alarm'"):
        demo_episode("nonsense", "early", 0)
    with pytest.raises(UnknownName, match=r"stage 'noon'.*'t0', 'early', 'late', 'poured'"):
        demo_episode("swap", "noon", 0)


@pytest.mark.parametrize(
    ("trouble", "title", "detail"),
    [
        (AddWater("A", 7), "adds water to A", "7 g"),
        (SwapCups("A", "C"), "swaps A and C", "change places"),
        (BiasedCamera("B", 8.5), "reads B too high", "8.5 g too high"),
        (BiasedCamera("B", -8.5), "reads B too low", "8.5 g too low"),
        (MixedUpCamera("A", "B"), "mixes up A and B", "level of one for the other"),
        (FrozenCamera(), "freezes", "this picture"),
        (Occlusion("C"), "Nothing happens", "C is out of the camera's sight"),
        (Spike(Signal.LOAD, "C", 1.5), "Nothing happens", "load signal of C"),
        (Spike(Signal.STAMP, "", 1.5), "Nothing happens", "stamp signal jumps"),
    ],
)
def test_everything_that_may_happen_can_be_described(trouble, title, detail):
    described = what_happened(replace(demo_episode("swap", "t0", 0), trouble=trouble, scale_off_g={}))
    assert title in described[0]
    assert detail in described[1]
    assert "scale of place" not in described[1]


def test_a_scale_that_is_off_is_reported():
    episode = replace(demo_episode("swap", "t0", 0), scale_off_g={1: -7.25})
    assert what_happened(episode)[1].endswith("The scale of place 2 has read 7.2 g too little all along.")
