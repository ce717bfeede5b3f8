"""What may be wrong with the robot's instruments. A fault sits in the sensor, never in the world it looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aquamend_lab.pouring.mujoco.simulation import Simulation


@dataclass(frozen=True, slots=True, eq=False)
class SensorFaults:
    """Every fault there is now; by default none. They persist: to read again shows the same."""

    bias_g: Mapping[str, float] = field(default_factory=dict)
    """Added to the level that the camera reads for a cup."""
    exchanged: tuple[str, str] | None = None
    """Two cups whose crops are mixed up: the level of one is read for the other. The map of the table stays right."""
    frozen: Simulation | None = None
    """An earlier branch of the table that the camera still shows."""
    hidden: tuple[str, ...] = ()
    """Vessels that something hides from the camera."""
    scale_off_g: Mapping[int, float] = field(default_factory=dict)
    """Added to what the scale under a place reads."""

    @property
    def camera_sound(self) -> bool:
        """Whether nothing is wrong with how the camera reads amounts; what is hidden from it, it does not misread."""
        return not self.bias_g and self.exchanged is None and self.frozen is None

    @property
    def scales_sound(self) -> bool:
        """Whether every scale reads right."""
        return not any(self.scale_off_g.values())

    def shown(self, simulation: Simulation) -> Simulation:
        """Return the table that the camera shows when it looks at this one."""
        return simulation if self.frozen is None else self.frozen

    def crop_of(self, cup: str) -> str:
        """Return the cup that is looked at when this one is asked for."""
        if self.exchanged is None or cup not in self.exchanged:
            return cup
        first, second = self.exchanged
        return second if cup == first else first


SOUND = SensorFaults()
"""Instruments with nothing wrong."""
