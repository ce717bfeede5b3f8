"""A check before an action: may it be done now, though no alarm has rung?

As a context manager or a decorator, a guard lets the action be done only where the answer is to go on, and tracks it.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from aquamend.belief import InformationState
from aquamend.decision.step_words import Wording
from aquamend.decision.steps import Advice, Continue, Step
from aquamend.errors import AquaMendError
from aquamend.policies import Best, Policy
from aquamend.policies.decision_report import DecisionReport, decision_report
from aquamend.policies.policy import CertifyingPolicy
from aquamend.problem import Problem
from aquamend.problem.building.compensations import before_action, leading_to
from aquamend.problem.graph import Edge, RecoveryGraph
from aquamend.text import quantity

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Check:
    """The answer to whether an action may be done now; true where it is to go on."""

    action: str
    report: DecisionReport | None = None
    """All numbers, as a table in a notebook; None where nothing that it rests on costs anything."""

    @property
    def advice(self) -> Advice:
        """Go on, measure first, go back, or ask."""
        return Advice.GO_ON if self.report is None or self.report.advice is None else self.report.advice

    @property
    def step(self) -> Step:
        """What to do first; carrying on, where the answer is to go on."""
        return Continue() if self.report is None else self.report.step

    @property
    def loss(self) -> float:
        """What that costs, in expected loss: what the policy guarantees where it can, also by what it does next."""
        if self.report is None:
            return 0.0
        return self.report.bounds.upper if self.report.certified else self.report.loss

    @property
    def loss_of_going_on(self) -> float:
        """What it costs to go on with everything as it is; infinite where that may not be."""
        return 0.0 if self.report is None else self.report.loss_of(Continue())

    def __bool__(self) -> bool:
        return self.advice is Advice.GO_ON

    def __str__(self) -> str:
        if self.report is None:
            return f"before {self.action!r}: go on; nothing that it rests on costs anything"
        state = self.report.state
        unit, step = state.problem.unit, Wording(state).full(self.step)
        said = f"before {self.action!r}: {self.advice}: {step}, which costs {quantity(self.loss, unit)}"
        if self:
            return said
        forbidden = math.isinf(self.loss_of_going_on)
        going_on = "is not allowed" if forbidden else f"costs {quantity(self.loss_of_going_on, unit)}"
        return f"{said}; going on {going_on}"

    def _repr_html_(self) -> str:
        return str(self) if self.report is None else self.report._repr_html_()


class NotNow(AquaMendError):
    """An action that is not to be done now: something is to be measured, corrected or asked first."""

    def __init__(self, check: Check) -> None:
        self.check = check
        super().__init__(str(check))


def check_action(problem: Problem, action: str, *, silent: Sequence[str] = (), policy: Policy | None = None) -> Check:
    """Return whether an action may be done now, in the problem of this moment."""
    state = InformationState.alarmed(before_action(problem, action), (), silent=silent)
    by = Best() if policy is None else policy
    # Who certifies has its bounds from deciding; they cost nothing more.
    bounded = isinstance(by, CertifyingPolicy)
    return Check(action, decision_report(state, by, name=type(by).__name__, bounded=bounded))


def may_matter(graph: RecoveryGraph, action: str, unsaid: Iterable[Edge] = ()) -> bool:
    """Whether some belief that leads to an action costs anything if it has failed, or needs support."""
    graph = replace(graph, edges=(*graph.edges, *(edge for edge in unsaid if edge not in graph.edges)))
    leading = set(leading_to(graph, action))
    own = [belief for belief in graph.beliefs if belief.name in leading]
    return any(belief.residual > 0.0 or not belief.may_keep or belief.needs_support for belief in own)


class _Tracks(Protocol):
    def check(self, action: str) -> Check: ...

    def action(self, name: str) -> AbstractContextManager[None]: ...


class Guard:
    """Lets an action be done, and tracks it, only where the check before it says to go on; else raises `NotNow`."""

    def __init__(self, tracker: _Tracks, action: str, check: Callable[[], Check]) -> None:
        self._tracker, self._action, self._check = tracker, action, check
        self._open: list[AbstractContextManager[None]] = []

    def __enter__(self) -> Check:
        check = self._check()
        if not check:
            raise NotNow(check)
        run = self._tracker.action(self._action)
        run.__enter__()
        self._open.append(run)
        return check

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._open.pop().__exit__(kind, error, trace)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorate the function, or coroutine function, that performs the action."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise AquaMendError(f"a generator is no action: guard {self._action!r} inside it, with tracker.guard(...)")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: P.args, **kwargs: P.kwargs) -> Any:
                with Guard(self._tracker, self._action, self._check):
                    return await function(*args, **kwargs)

            return cast("Callable[P, R]", awaited)

        @functools.wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            with Guard(self._tracker, self._action, self._check):
                return function(*args, **kwargs)

        return called
