"""The scenes that can be shown, by name."""

from __future__ import annotations

from typing import assert_never

import numpy as np

from aquamend.errors import UnknownName
from aquamend_lab.pouring.mujoco.episode import Episode
from aquamend_lab.pouring.mujoco.trouble import (
    AddWater,
    BiasedCamera,
    FrozenCamera,
    Mishap,
    MixedUpCamera,
    Occlusion,
    Spike,
    SwapCups,
    draw_scales_off,
    draw_scene,
    draw_trouble,
)
from aquamend_lab.pouring.task import Stage

SCENES = {
    "swap": Mishap.SWAP_RIVAL,
    "add-water": Mishap.MUCH,
    "drift": Mishap.BIAS,
    "false-alarm": Mishap.SPIKE,
    "frozen": Mishap.FROZEN,
    "mixed-up": Mishap.MIXED_UP,
}
STAGES = {"t0": Stage.DECIDED, "early": Stage.LIFTED, "late": Stage.BESIDE, "poured": Stage.POURED}
SEED = 4_200_001
"""Seeds of shown scenes begin with this number, which neither calibration nor a suite uses."""


def demo_episode(scene: str, stage: str, seed: int) -> Episode:
    """Return the episode of a scene; a pure function of its arguments."""
    if scene not in SCENES:
        raise UnknownName("scene", scene, SCENES)
    if stage not in STAGES:
        raise UnknownName("stage", stage, STAGES)
    rng = np.random.default_rng((SEED, seed))
    table = draw_scene(rng)
    trouble = draw_trouble(SCENES[scene], table, rng)
    return Episode(table, STAGES[stage], trouble, (SEED, seed), draw_scales_off(table, rng))


def what_happened(episode: Episode) -> tuple[str, str]:
    """Return a title and a sentence or two about what really happened."""
    title, text = _trouble(episode)
    for place, grams in episode.scale_off_g.items():
        reads = "much" if grams > 0 else "little"
        text += f" The scale of place {place + 1} has read {abs(grams):.1f} g too {reads} all along."
    return title, text


def _trouble(episode: Episode) -> tuple[str, str]:
    match episode.trouble:
        case AddWater(cup=cup, grams=grams):
            return f"Somebody adds water to {cup}", f"{grams} g of water are poured into {cup} behind the robot's back."
        case SwapCups(one=one, other=other):
            return f"Somebody swaps {one} and {other}", f"{one} and {other} change places, each with its water."
        case BiasedCamera(cup=cup, bias_g=bias):
            reads = "high" if bias > 0 else "low"
            return f"The camera reads {cup} too {reads}", f"From now on it reads {cup} {abs(bias):.1f} g too {reads}."
        case MixedUpCamera(one=one, other=other):
            return f"The camera mixes up {one} and {other}", "From now on it reads the level of one for the other."
        case FrozenCamera():
            return "The camera freezes", "From now on it goes on showing this picture."
        case Occlusion(cup=cup):
            return "Nothing happens", f"For a moment {cup} is out of the camera's sight; all is well."
        case Spike(signal=signal, cup=cup):
            of = f" of {cup}" if cup else ""
            return "Nothing happens", f"The monitor's {signal} signal{of} jumps for a moment; all is well."
        case trouble:
            assert_never(trouble)
