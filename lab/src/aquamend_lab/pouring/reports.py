"""What a monitor may say when it raises an alarm. Public: the robot hears it, and its model of alarms is about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Signal(StrEnum):
    """What the monitor watches."""

    POSITION = "position"
    """Where the camera sees a cup."""
    LEVEL = "level"
    """How full it looks."""
    LOAD = "load"
    """What the scale under it carries more or less than when it was measured."""
    SIGHT = "sight"
    """Whether it is seen at all."""
    STAMP = "stamp"
    """How old the camera's frames say they are."""
    ROUTINE = "routine check"
    """Nothing of these: a check that comes due."""


SIGNED = (Signal.LEVEL, Signal.LOAD)
"""Those that can be too high or too low."""
OF_A_CUP = (Signal.POSITION, Signal.LEVEL, Signal.LOAD, Signal.SIGHT)
"""Those that point at a cup."""


@dataclass(frozen=True, slots=True)
class Report:
    """What the monitor says: the signal furthest beyond what it tolerates."""

    signal: Signal
    cup: str = ""
    """The cup that it points at, where it does."""
    excess: float = 0.0
    """Deviation from what is declared, with its sign: millimetres, grams or seconds."""

    @property
    def sign(self) -> str:
        """Whether there is more or less than declared; nothing where there is no such thing."""
        return "" if self.signal not in SIGNED else "+" if self.excess >= 0 else "-"

    def __str__(self) -> str:
        amount = f"{abs(self.excess):.0f}"
        return {
            Signal.POSITION: f"{self.cup} seems to stand {amount} mm off",
            Signal.LEVEL: f"{self.cup} looks {amount} g {'fuller' if self.excess > 0 else 'emptier'} than declared",
            Signal.LOAD: f"the scale under {self.cup} carries {amount} g {'more' if self.excess > 0 else 'less'}",
            Signal.SIGHT: f"{self.cup} is out of sight",
            Signal.STAMP: f"the camera's frames are {abs(self.excess):.1f} s old",
            Signal.ROUTINE: "routine check: nothing conspicuous",
        }[self.signal]


ROUTINE = Report(Signal.ROUTINE)
"""The report of a check that found nothing."""
