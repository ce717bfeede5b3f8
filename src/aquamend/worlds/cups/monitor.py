"""The monitor: when it raises an alarm, and which cup it points at."""

from __future__ import annotations

from dataclasses import dataclass

from aquamend.worlds.cups.events import Event, Family


@dataclass(frozen=True, slots=True)
class Monitor:
    """How often each kind of event raises an alarm, and how well the alarm points at where it happened."""

    hit_physical: float = 0.9
    """Cups moved or water added."""
    hit_sensing: float = 0.6
    """A camera that is wrong shows itself less."""
    false_alarm: float = 0.15
    """An alarm although nothing happened."""
    points_right: float = 0.8
    """Where one cup is concerned, the alarm points at it; at any cup alike otherwise."""

    def raises(self, event: Event) -> float:
        """Return how likely an event raises an alarm."""
        match event.family:
            case Family.FALSE_ALARM:
                return self.false_alarm
            case Family.DRIFT:
                return self.hit_sensing
            case _:
                return self.hit_physical

    def points_at(self, cup: int, event: Event, n_cups: int) -> float:
        """Return how likely an alarm raised by the event points at a cup."""
        if not event.cups:
            return 1.0 / n_cups
        own = 1.0 / len(event.cups) if cup in event.cups else 0.0
        return self.points_right * own + (1.0 - self.points_right) / n_cups
