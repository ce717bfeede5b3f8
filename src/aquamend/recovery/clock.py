"""Time as a session sees it: an argument of every call, read from two clocks, since each of them can be wrong alone."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from aquamend.errors import AquaMendError

EARLIEST, LATEST = -62_135_596_800, 253_402_300_799
"""Times of the years 1 to 9999, in seconds since 1970: others cannot be written."""


@dataclass(frozen=True, slots=True)
class Instant:
    """A moment, by the calendar and by a clock that nobody sets."""

    wall: float
    """Seconds since 1970. Somebody may set this clock, but it goes on while the machine is off."""
    steady: float | None = None
    """Seconds since the machine was started; None: unknown."""
    boot: str = ""
    """Which start of which machine ``steady`` counts from."""

    @classmethod
    def now(cls) -> Instant:
        """Read the clocks of this machine."""
        return cls(time.time(), _steady(), _boot())

    def seconds_since(self, earlier: Instant) -> float:
        """Return how long ago another moment was, by the clock that says more; never less than nothing.

        Within one start of the machine both clocks are read, so that setting the calendar back gains no time; across a
        restart only the calendar is left.
        """
        passed = self.wall - earlier.wall
        if self.boot == earlier.boot and self.steady is not None and earlier.steady is not None:
            passed = max(passed, self.steady - earlier.steady)
        return max(0.0, passed)


Time = float | Instant | None
"""When something happened: seconds since 1970, a reading of both clocks, or None for now."""


def as_instant(at: Time) -> Instant:
    """Return a moment that was given as one, or in seconds; this one if none was given."""
    if at is None:
        return Instant.now()
    moment = at if isinstance(at, Instant) else Instant(float(at))
    if not EARLIEST <= moment.wall <= LATEST:
        raise AquaMendError(f"{moment.wall!r} is no time between the years 1 and 9999; give seconds since 1970")
    return moment


def _steady() -> float:
    """Return seconds that go on while the machine sleeps, where it can tell."""
    try:
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    except (AttributeError, OSError):
        return time.monotonic()


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return f"about {time.time() - time.monotonic():.0f}"
