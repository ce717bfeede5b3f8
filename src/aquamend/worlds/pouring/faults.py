"""What may be wrong with the robot's camera. A fault sits in the sensor, never in the world it looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aquamend.worlds.pouring.simulation import Simulation


@dataclass(frozen=True, slots=True, eq=False)
class CameraFaults:
    """Every fault the camera has now; by default none. They persist: looking again shows the same."""

    bias_g: Mapping[str, float] = field(default_factory=dict)
    """Added to the level read for a cup."""
    exchanged: tuple[str, str] | None = None
    """Two cups whose crops are mixed up: the level of one is read for the other. The map of the table stays right."""
    frozen: Simulation | None = None
    """An earlier branch of the table that the camera still shows."""
    occluded: tuple[str, ...] = ()
    """Vessels that something hides from the camera."""

    @property
    def sound(self) -> bool:
        """Whether there is nothing wrong with the camera."""
        return not self.bias_g and self.exchanged is None and self.frozen is None and not self.occluded

    def shown(self, simulation: Simulation) -> Simulation:
        """Return the table that the camera shows when it looks at this one."""
        return simulation if self.frozen is None else self.frozen

    def crop_of(self, cup: str) -> str:
        """Return the cup that is looked at when this one is asked for."""
        if self.exchanged is None or cup not in self.exchanged:
            return cup
        first, second = self.exchanged
        return second if cup == first else first


SOUND = CameraFaults()
"""A camera with nothing wrong."""
