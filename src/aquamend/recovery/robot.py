"""What a robot is to a recovery: something that raises an alarm, measures and acts; and, in a simulation, a judge.

What is really wrong in the end, and the score, are known to judges alone, never to a robot.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from aquamend.belief import InformationState
from aquamend.problem import Problem
from aquamend.recovery.acts import Act, Charge, Measure, Receipt, charged
from aquamend.recovery.history import Recovery


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


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a recovery turned out."""

    left: tuple[str, ...]
    """Beliefs left wrong: they had failed and were left as they were, or their new value is wrong too."""
    residual: tuple[Receipt, ...]
    """What that costs."""
    success: bool
    """Nothing wrong was left, kept or newly declared, and nobody had to be called."""
    over_budget: bool = False
    """Whether more was spent on sensing than was allowed, where a world lets a robot find that out."""


@runtime_checkable
class Judge(Protocol):
    """Any object that knows the truth."""

    def judge(self, recovery: Recovery) -> Verdict:
        """Return what a recovery that has ended left wrong."""


class Simulated(Robot, Judge, Protocol):
    """A simulated robot: it acts, and afterwards owns up to what was true."""


@dataclass(frozen=True, eq=False)
class Judged:
    """A recovery with its verdict."""

    recovery: Recovery
    verdict: Verdict

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """The receipts of all that was done, and of all that was left wrong."""
        return (*self.recovery.receipts, *self.verdict.residual)

    @property
    def loss(self) -> float:
        """The complete loss: sensing, rollback, continuation and residual."""
        return charged(self.receipts)


def residuals(problem: Problem, kept: Iterable[str], declared: Iterable[str] = ()) -> tuple[Receipt, ...]:
    """Return the receipts for beliefs kept wrong and for those newly declared wrong.

    Only what was kept as it was may be something that may not be kept.
    """
    beliefs = {belief.name: belief for belief in problem.graph.beliefs}
    losses = {name: beliefs[name].residual if beliefs[name].may_keep else math.inf for name in kept}
    losses |= {name: beliefs[name].residual for name in declared}
    return tuple(Receipt(Charge.RESIDUAL, name, loss) for name, loss in losses.items())
