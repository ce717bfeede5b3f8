"""What moved when: a record from which a test can tell that no two acts were ever under way at once."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from itertools import combinations

from aquamend.recovery import Act, Declare, HandOver


@dataclass(frozen=True, slots=True)
class Motion:
    """One act that moved something, from when to when."""

    act: Act
    began: int
    """Its place among all beginnings and ends: no clock is needed to tell what came first."""
    ended: int | None = None
    """The same for its end; None while it moves."""

    def overlaps(self, other: Motion) -> bool:
        """Whether both moved at the same time."""
        first, second = sorted((self, other), key=lambda motion: motion.began)
        return first.ended is None or first.ended > second.began


class Motions:
    """Everything that has moved, noted by what moves it, from any thread. Declaring and handing over move nothing.

    Once the recovery has ended, ``close`` it: what begins after that has no business to.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._motions: list[Motion] = []
        self._places = 0
        self._closed: int | None = None

    def begin(self, act: Act) -> int | None:
        """Note that something begins to move; return the number to end it by, None for what moves nothing."""
        if isinstance(act, Declare | HandOver):
            return None
        with self._changed:
            self._motions.append(Motion(act, self._place()))
            self._changed.notify_all()
            return len(self._motions) - 1

    def end(self, number: int | None) -> None:
        """Note that it moves no more; a second time says nothing new."""
        with self._changed:
            if number is not None and self._motions[number].ended is None:
                self._motions[number] = replace(self._motions[number], ended=self._place())
                self._changed.notify_all()

    def close(self) -> None:
        """Note that the recovery has ended."""
        with self._changed:
            self._closed = self._place()

    @property
    def all(self) -> tuple[Motion, ...]:
        """Every motion, in the order in which they began."""
        with self._changed:
            return tuple(self._motions)

    @property
    def under_way(self) -> tuple[Act, ...]:
        """What moves now."""
        return tuple(motion.act for motion in self.all if motion.ended is None)

    @property
    def at_once(self) -> tuple[tuple[Act, Act], ...]:
        """Acts that moved at the same time, in pairs: there should be none."""
        return tuple((one.act, other.act) for one, other in combinations(self.all, 2) if one.overlaps(other))

    @property
    def after_the_end(self) -> tuple[Act, ...]:
        """What began to move after the end: there should be nothing."""
        return tuple(motion.act for motion in self.all if self._closed is not None and motion.began > self._closed)

    def wait_for(self, what: str, *, timeout_s: float) -> None:
        """Wait until an act of this text moves; a ``TimeoutError`` if it does not within so many seconds."""
        with self._changed:
            moving = self._changed.wait_for(
                lambda: any(str(one.act) == what and one.ended is None for one in self._motions), timeout_s
            )
        if not moving:
            raise TimeoutError(f"{what!r} has not begun within {timeout_s:g} s")

    def wait_until_still(self, *, timeout_s: float) -> None:
        """Wait until nothing moves; a ``TimeoutError`` if something still does after so many seconds."""
        with self._changed:
            still = self._changed.wait_for(lambda: all(one.ended is not None for one in self._motions), timeout_s)
        if not still:
            raise TimeoutError(f"{', '.join(map(str, self.under_way))}: still under way after {timeout_s:g} s")

    def _place(self) -> int:
        self._places += 1
        return self._places
