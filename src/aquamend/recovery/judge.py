"""What is really wrong in the end, and the score: known to simulators alone, never to a robot."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from aquamend.policies.policy import Policy
from aquamend.problem import Problem
from aquamend.recovery.drivers import drive
from aquamend.recovery.history import Recovery
from aquamend.recovery.log.log import Log
from aquamend.recovery.receipts import Charge, Receipt, charged
from aquamend.recovery.robot import Robot
from aquamend.recovery.safety_rules import UNATTENDED
from aquamend.recovery.session import Session


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


def recovered(policy: Policy, world: Simulated, *, log: Log | None = None, session: str | None = None) -> Judged:
    """Let a policy recover in a simulated world, where nobody is asked, and have it judged.

    Whatever goes wrong in the policy is raised. With a ``log`` the session is kept there, under its name.
    """
    begun = Session.begin(world.alarm(), policy, log=log, name=session, rules=UNATTENDED, attended=False, strict=True)
    recovery = drive(begun, world)
    return Judged(recovery, world.judge(recovery))


def residuals(problem: Problem, kept: Iterable[str], declared: Iterable[str] = ()) -> tuple[Receipt, ...]:
    """Return the receipts for beliefs kept wrong and for those newly declared wrong.

    Only what was kept as it was may be something that may not be kept.
    """
    beliefs = {belief.name: belief for belief in problem.graph.beliefs}
    losses = {name: beliefs[name].residual if beliefs[name].may_keep else math.inf for name in kept}
    losses |= {name: beliefs[name].residual for name in declared}
    return tuple(Receipt(Charge.RESIDUAL, name, loss) for name, loss in losses.items())
