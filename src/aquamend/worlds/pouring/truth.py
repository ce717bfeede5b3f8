"""What is really so on a table. For worlds and scoring; nothing a policy sees is made from it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aquamend.errors import AquaMendError
from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.configurations import (
    ADDED_TO,
    BIASED,
    RIVAL,
    SWAPPED,
    TARGET,
    Configuration,
    Physical,
    Sensing,
)
from aquamend.worlds.pouring.declared import Declared
from aquamend.worlds.pouring.episode import Alarmed
from aquamend.worlds.pouring.failures import BINDING_TOLERANCE_MM, failed_beliefs
from aquamend.worlds.pouring.faults import CameraFaults
from aquamend.worlds.pouring.perturbations import (
    AddWater,
    BiasedCamera,
    FalseAlarm,
    FrozenCamera,
    MixedUpCamera,
    SwapCups,
)
from aquamend.worlds.pouring.simulation import Simulation


def really_failed(
    simulation: Simulation, declared: Declared, faults: CameraFaults, before_pouring_g: Mapping[str, float]
) -> tuple[str, ...]:
    """Return the beliefs that are really wrong."""
    return failed_beliefs(
        declared,
        now_g={cup: simulation.grams(cup) for cup in dim.CUPS},
        before_pouring_g=before_pouring_g,
        displaced={cup: displaced_mm(simulation, cup, declared.place[cup]) > BINDING_TOLERANCE_MM for cup in dim.CUPS},
        at_target_place=min(dim.CUPS, key=lambda cup: displaced_mm(simulation, cup, declared.pouring_place)),
        camera_sound=faults.sound,
    )


def displaced_mm(simulation: Simulation, cup: str, place: int) -> float:
    """Return how far a cup really stands from the middle of a place."""
    return 1000 * float(np.hypot(*(simulation.position(cup)[:2] - (dim.PLACES_X[place], 0.0))))


def true_configuration(alarmed: Alarmed) -> Configuration:
    """Return which of the 72 configurations an episode really is."""
    declared, happened = alarmed.declared, alarmed.episode.perturbation
    roles = {cup: role for role, cup in enumerate(declared.order)}
    physical, sensing = Physical.NOTHING, Sensing.SOUND
    match happened:
        case AddWater(cup=cup):
            held = alarmed.before_pouring_g
            to = [kind for kind, role in ADDED_TO.items() if role == roles[cup]]
            crossed = any(held[other] < held[cup] for other in dim.CUPS)
            physical = to[-1] if crossed or len(to) == 1 else to[0]
        case SwapCups(one=one, other=other):
            pair = tuple(sorted((roles[one], roles[other])))
            physical = next(kind for kind, swapped in SWAPPED.items() if swapped == pair)
        case BiasedCamera(cup=cup, bias_g=bias):
            sign = 1 if bias > 0 else -1
            sensing = next(kind for kind, wrong in BIASED.items() if wrong == (roles[cup], sign))
        case MixedUpCamera(one=one, other=other):
            if {roles[one], roles[other]} != {TARGET, RIVAL}:
                raise AquaMendError(
                    f"no configuration has a camera that mixes up {one} and {other}, only the two emptiest"
                )
            sensing = Sensing.MIXED_UP
        case FrozenCamera():
            sensing = Sensing.FROZEN
        case FalseAlarm():
            pass
    return Configuration(physical, sensing)
