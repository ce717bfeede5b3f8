"""What is physically so: how much is in each cup, where it stands, and what is wrong with the camera."""

from __future__ import annotations

import string
from dataclasses import dataclass

TOLERANCE_ML = 3.0
"""A declared amount this close to the true one still serves the task."""

CUPS = string.ascii_uppercase
"""Cups are named by what was declared of them: A is the least full, the target."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Cups by identity. Before anything happens, every cup holds what was declared and stands at its own place."""

    declared_ml: tuple[float, ...]
    """What the robot measured and believes, least first."""
    amount_ml: tuple[float, ...]
    place: tuple[int, ...]
    """Where each cup stands; cup i belongs at place i."""
    camera_bias_ml: tuple[float, ...]
    """What the camera reads too much of each cup."""
    camera_frozen: tuple[bool, ...]
    """Cups of which the camera keeps showing an old picture."""
    camera_sees: tuple[int, ...]
    """Which cup the camera takes for cup i."""

    @classmethod
    def as_declared(cls, declared_ml: tuple[float, ...]) -> Scene:
        """Return the scene in which all that was declared is true."""
        n = len(declared_ml)
        own = tuple(range(n))
        return cls(declared_ml, declared_ml, own, (0.0,) * n, (False,) * n, own)

    @property
    def n_cups(self) -> int:
        """Number of cups."""
        return len(self.declared_ml)

    @property
    def camera_healthy(self) -> bool:
        """Whether nothing is wrong with the camera."""
        own = tuple(range(self.n_cups))
        return not any(self.camera_bias_ml) and not any(self.camera_frozen) and self.camera_sees == own

    def cup_at(self, place: int) -> int:
        """Return which cup stands at a place."""
        return self.place.index(place)

    def camera_reading_ml(self, cup: int) -> float:
        """Return what the camera reads for a cup, without noise; it finds cups by their looks, wherever they stand."""
        if self.camera_frozen[cup]:
            return self.declared_ml[cup]
        seen = self.camera_sees[cup]
        return self.amount_ml[seen] + self.camera_bias_ml[cup]

    def scale_reading_ml(self, place: int) -> float:
        """Return what the scale under a place reads, without noise: whatever stands there."""
        return self.amount_ml[self.cup_at(place)]

    def failed(self) -> tuple[str, ...]:
        """Return the beliefs that are not true, by looking at what is."""
        cups = range(self.n_cups)
        wrong = [f"amount_{CUPS[i]}" for i in cups if abs(self.amount_ml[i] - self.declared_ml[i]) > TOLERANCE_ML]
        wrong += [f"rank_{CUPS[i]}" for i in cups if i and self.amount_ml[i] <= self.amount_ml[0]]
        wrong += [f"place_{CUPS[i]}" for i in cups if self.place[i] != i]
        if self.cup_at(0) != 0 or min(self.amount_ml) < self.amount_ml[0]:
            wrong.append("target")
        if not self.camera_healthy:
            wrong.append("camera")
        return tuple(wrong)

    def failed_after_restart(self) -> tuple[str, ...]:
        """Return what is still not true after everything was measured anew by the same camera and decided again.

        Where cups stand is then known. What a faulty camera says is believed again.
        """
        read = [self.camera_reading_ml(i) for i in range(self.n_cups)]
        chosen = min(range(self.n_cups), key=read.__getitem__)
        wrong = [f"amount_{CUPS[i]}" for i, r in enumerate(read) if abs(r - self.amount_ml[i]) > TOLERANCE_ML]
        fuller = [(read[i] > read[0]) == (self.amount_ml[i] > self.amount_ml[0]) for i in range(self.n_cups)]
        wrong += [f"rank_{CUPS[i]}" for i in range(1, self.n_cups) if not fuller[i]]
        if self.amount_ml[chosen] > min(self.amount_ml):
            wrong.append("target")
        if not self.camera_healthy:
            wrong.append("camera")
        return tuple(wrong)
