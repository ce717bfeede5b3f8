"""The monitor: which cup an alarm points at, given what happened."""

from __future__ import annotations

from dataclasses import dataclass

from aquamend_lab.pouring.discrete.events import Event


@dataclass(frozen=True, slots=True)
class DiscreteMonitor:
    """How well an alarm points at where something happened. Only what raises an alarm ever becomes an episode."""

    points_right: float = 0.8
    """Where certain cups are concerned, the alarm points at one of them; at any cup alike otherwise."""

    def points_at(self, cup: int, event: Event, n_cups: int) -> float:
        """Return how likely an alarm raised by the event points at a cup."""
        if not event.cups:
            return 1.0 / n_cups
        own = 1.0 / len(event.cups) if cup in event.cups else 0.0
        return self.points_right * own + (1.0 - self.points_right) / n_cups
