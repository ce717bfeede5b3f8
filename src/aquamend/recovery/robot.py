"""What a robot is to a recovery: something that raises an alarm, measures and acts."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, runtime_checkable

from aquamend.belief import InformationState
from aquamend.recovery.acts import Act, Measure
from aquamend.recovery.receipts import Receipt


@runtime_checkable
class Robot(Protocol):
    """Any object with these three methods is a robot. It need not know what is true.

    Only one act is under way at a time, and ``Declare`` and ``HandOver`` move nothing. Two more methods make a robot
    safe: ``stop(act)``, without which an act that takes too long ends the recovery, and ``verify(act)``, without which
    an act whose receipt got lost does.
    """

    def alarm(self) -> InformationState:
        """Return the public evidence: the state that the recovery starts from, the alarm conditioned on."""

    def measure(self, step: Measure) -> Receipt:
        """Run a probe; return ``step.done(answer)``, or ``step.failed(why)`` where no answer came."""

    def perform(self, act: Act) -> Receipt:
        """Do one thing; return ``act.done()``, or ``act.failed(why)`` where it was not or only partly done."""


@runtime_checkable
class Verifying(Protocol):
    """A robot that can find out whether an act was done whose receipt got lost."""

    def verify(self, act: Act) -> Receipt | None:
        """Return the receipt of an act that was begun: done or failed; None where there is no telling."""


@runtime_checkable
class Stoppable(Protocol):
    """A robot that can stop an act under way; ``stop`` is called from another thread than the act."""

    def stop(self, act: Act) -> Receipt | None:
        """Stop an act, and return its receipt once nothing moves any more; None where it may still move.

        The receipt says ``done`` where it had been done by then, and ``failed`` where it was not, or only partly. Of an
        act that the robot does not know, return None: its call may still be on its way.
        """


class AsyncRobot(Protocol):
    """The same for ``asyncio``: each method is a coroutine function."""

    def alarm(self) -> Awaitable[InformationState]:
        """Return the public evidence."""

    def measure(self, step: Measure) -> Awaitable[Receipt]:
        """Run a probe."""

    def perform(self, act: Act) -> Awaitable[Receipt]:
        """Do one thing."""
