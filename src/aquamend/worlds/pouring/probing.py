"""What was seen, told in the words of the model."""

from __future__ import annotations

import math

from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.declared import Declared
from aquamend.worlds.pouring.model import localise_outcome
from aquamend.worlds.pouring.robot import Robot, nearest_place


def offsets_mm(robot: Robot, declared: Declared) -> tuple[float, ...]:
    """Return how far every cup was found from the middle of its place, in the order of the roles."""
    return tuple(
        round(
            1000 * math.hypot(robot.believed_m[cup][0] - dim.PLACES_X[declared.place[cup]], robot.believed_m[cup][1]), 1
        )
        for cup in declared.order
    )


def localised_as(robot: Robot, declared: Declared) -> str:
    """Return what finding the cups said: every cup on its own place, or two exchanged."""
    role_at = {declared.place[cup]: role for role, cup in enumerate(declared.order)}
    seen = [
        role_at.get(nearest_place(robot.seen_m[cup][0]), role) if cup in robot.seen_m else role
        for role, cup in enumerate(declared.order)
    ]
    return localise_outcome(seen, declared)
