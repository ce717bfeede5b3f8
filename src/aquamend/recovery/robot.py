"""What a robot is to a recovery: something that raises an alarm, measures and acts."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, runtime_checkable

from aquamend.inference import InformationState
from aquamend.recovery.acts import Act, Measure
from aquamend.recovery.receipts import Receipt


@runtime_checkable
class Robot(Protocol):
    """Any object with these three methods is a robot. It need not know what is true.

    Whatever it raises, an act that it began is in doubt: a robot that can tell whether an act was done has a method
    ``verify(act) -> Receipt | None`` beside these; without it, such a recovery is handed over to a person.
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


class AsyncRobot(Protocol):
    """The same for ``asyncio``: each method is a coroutine function."""

    def alarm(self) -> Awaitable[InformationState]:
        """Return the public evidence."""

    def measure(self, step: Measure) -> Awaitable[Receipt]:
        """Run a probe."""

    def perform(self, act: Act) -> Awaitable[Receipt]:
        """Do one thing."""
