"""Whether the job was done well: the dose in the right cup, everything in its place, nothing spilled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.declared import Declared, ordered
from aquamend.worlds.pouring.episode import DOSE_G
from aquamend.worlds.pouring.failures import BINDING_TOLERANCE_MM, QUANTITY_TOLERANCE_G
from aquamend.worlds.pouring.robot import Robot
from aquamend.worlds.pouring.truth import displaced_mm

SPILL_TOLERANCE_G = 0


@dataclass(frozen=True, slots=True)
class Quality:
    """What a judge measures at the end, with the truth at hand."""

    received_g: Mapping[str, float]
    """By cup: what it holds more than before the pour."""
    wanted: str
    """The cup that was really least full."""
    displaced_mm: float
    """How far the worst placed cup stands from where it is declared to stand."""
    spilled_g: int
    hand_empty: bool

    @property
    def faults(self) -> tuple[str, ...]:
        """What is not as it should be, in words."""
        found = []
        for cup, grams in self.received_g.items():
            due = DOSE_G if cup == self.wanted else 0.0
            if abs(grams - due) > QUANTITY_TOLERANCE_G:
                found.append(f"{cup} received {grams:.0f} g instead of {due:.0f} g")
        if self.displaced_mm > BINDING_TOLERANCE_MM:
            found.append(f"a cup stands {self.displaced_mm:.0f} mm from its declared place")
        if self.spilled_g > SPILL_TOLERANCE_G:
            found.append(f"{self.spilled_g} g spilled")
        if not self.hand_empty:
            found.append("the hand still holds a vessel")
        return tuple(found)

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


def quality_of(robot: Robot, declared: Declared, before_pouring_g: Mapping[str, float]) -> Quality:
    """Return how the pour turned out."""
    simulation, least = robot.simulation, min(before_pouring_g.values())
    # Where two cups were equally least full, either was right to choose.
    right = before_pouring_g[declared.target] == least
    return Quality(
        received_g={cup: simulation.grams(cup) - before_pouring_g[cup] for cup in dim.CUPS},
        wanted=declared.target if right else ordered(before_pouring_g)[0],
        displaced_mm=max(displaced_mm(simulation, cup, declared.place[cup]) for cup in dim.CUPS),
        spilled_g=simulation.spilled_g(),
        hand_empty=robot.holding is None,
    )
