"""The scenes that can be shown, by name."""

from __future__ import annotations

import numpy as np

from aquamend.errors import UnknownName
from aquamend.worlds.pouring.configurations import Physical
from aquamend.worlds.pouring.drawing import READS_LOW, draw_perturbation, draw_scene
from aquamend.worlds.pouring.episode import Episode, Stage
from aquamend.worlds.pouring.perturbations import (
    AddWater,
    BiasedCamera,
    FalseAlarm,
    FrozenCamera,
    MixedUpCamera,
    Perturbation,
    SwapCups,
)

SCENES: dict[str, str] = {
    "swap": Physical.SWAP_RIVAL,
    "add-water": Physical.MUCH,
    "drift": READS_LOW,
    "false-alarm": Physical.NOTHING,
}
STAGES = {"early": Stage.MOVED, "late": Stage.POURED}
SEED = 4_200_001
"""Seeds of shown scenes begin with this number, which neither calibration nor a suite uses."""


def demo_episode(scene: str, stage: str, seed: int) -> Episode:
    """Return the episode of a scene; a pure function of its arguments.

    A drifting camera reads the second emptiest cup too low: early on it may well pass for the emptiest.
    """
    if scene not in SCENES:
        raise UnknownName("scene", scene, SCENES)
    if stage not in STAGES:
        raise UnknownName("stage", stage, STAGES)
    rng = np.random.default_rng((SEED, seed))
    table = draw_scene(rng)
    cups = sorted(table.vessels[:3], key=lambda vessel: vessel.grams)
    happening = draw_perturbation(SCENES[scene], table, rng, cup=cups[1].name if scene == "drift" else None)
    return Episode(table, STAGES[stage], happening, (SEED, seed))


def what_happened(perturbation: Perturbation) -> tuple[str, str]:
    """Return a title and a sentence about what really happened."""
    match perturbation:
        case AddWater(cup=cup, grams=grams):
            return f"Somebody adds water to {cup}", f"{grams} g of water are poured into {cup} behind the robot's back."
        case SwapCups(one=one, other=other):
            return f"Somebody swaps {one} and {other}", f"{one} and {other} change places, each with its water."
        case BiasedCamera(cup=cup, bias_g=bias):
            reads = "high" if bias > 0 else "low"
            return f"The camera reads {cup} too {reads}", f"All along it has read {cup} {abs(bias):.1f} g too {reads}."
        case MixedUpCamera(one=one, other=other):
            return f"The camera mixes up {one} and {other}", "It reads the level of one for the other."
        case FrozenCamera():
            return "The camera freezes", "It goes on showing its last picture."
        case FalseAlarm(signal=signal, cup=cup):
            return "Nothing happens", f"The monitor's {signal} signal of {cup} blinks for a moment; all is well."
