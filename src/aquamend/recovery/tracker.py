"""The graph from what really ran: a tracker beside the task, which knows the problem whenever an alarm comes.

It also checks an action before it begins: may it be done now, though no alarm has rung? A guard lets the action be done
only where the answer is to go on.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, cast

from aquamend.belief import InformationState
from aquamend.decision.steps import Advice, Continue, Step, Wording
from aquamend.errors import AquaMendError
from aquamend.files import with_declared
from aquamend.files.atomic import write_atomically
from aquamend.policies import Best, Policy
from aquamend.policies.decision_report import DecisionReport, decision_report
from aquamend.policies.policy import CertifyingPolicy
from aquamend.problem import Problem
from aquamend.problem.building.compensations import before_action, leading_to
from aquamend.problem.graph import Edge, RecoveryGraph, Value
from aquamend.problem.model import Declaration
from aquamend.recovery.acts import Act, Receipt
from aquamend.recovery.clock import Time, as_instant
from aquamend.recovery.plain import from_json, to_json
from aquamend.recovery.situation import (
    Template,
    base_problem,
    check_template,
    check_value,
    plain_value,
    problem_at,
    same_names,
)
from aquamend.recovery.task_record import ActionStatus, Execution, TaskRecord
from aquamend.text import quantity

P = ParamSpec("P")
R = TypeVar("R")

_UNDER_WAY: ContextVar[tuple[Execution, ...]] = ContextVar("_UNDER_WAY", default=())
"""What is under way in this thread or asyncio task, outermost first."""


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


class Tracker:
    """What a task has really declared and done so far.

    It begins where nothing has been done, whatever status the template gives its actions, and where nothing has been
    declared: until then, a belief is assumed to have the template's value, in version 0 and resting on nothing.

    An action counts as executed from the moment it begins until it is undone. One that ends in an exception counts
    too, since nobody knows how far it came; a task that does know says ``undone``. A value read through the tracker
    while an action is under way makes the action rest on that belief; if the template knows no path from the one to
    the other, the dependence is in ``unsaid``, and in every problem from then on.

    All methods may be called from any thread. What is under way is kept for each thread and each asyncio task, and is
    inherited by asyncio tasks and ``asyncio.to_thread``; a bare thread names the action (``value(..., by="grasp")``).
    What the values of a template mean is said in ``aquamend.recovery.situation``.

    Where causes of the template come at a rate (per second), the tracker knows how old each belief is: since it was
    declared, or, where it was derived, as old as the oldest that it was derived from. What nobody has declared is as
    old as the template says, and has aged since the tracker was made. Every time may be given, as an `Instant` or in
    seconds since 1970; unless given, it is now.
    """

    def __init__(self, template: Template, *, at: Time = None) -> None:
        self._template = template
        self._base = base_problem(template, {})
        check_template(template, self._base)
        self._lock = threading.RLock()
        self._record = TaskRecord(self._base, as_instant(at))
        self._path: Path | None = None
        self._checks: dict[object, Check] = {}
        """The last answers to checks, by what they hang on."""
        self._checked_at = 0
        self._mattering: dict[tuple[str, int], bool] = {}

    @classmethod
    def at(cls, problem: Problem) -> Tracker:
        """Return a tracker that stands where a problem stands: its declarations made, its executed actions done."""
        tracker = cls(problem)
        for d in problem.declarations:
            now = Declaration(d.belief, d.belief, d.version, d.value, support=d.support)
            tracker._record.versions[d.belief] = [now]
        for action in problem.graph.executed:  # what they set is among the problem's declarations
            tracker._record.begin(action.name).status = ActionStatus.DONE
        tracker._record.changes += 1
        return tracker

    @classmethod
    def kept(cls, template: Template, path: str | os.PathLike[str]) -> Tracker:
        """Return a tracker that writes every change to a file before going on, and begins with what is there."""
        file = Path(path)
        try:
            tracker = cls.from_data(template, from_json(file.read_bytes())) if file.exists() else cls(template)
        except AquaMendError as error:
            raise AquaMendError(f"{file}: {error}; restore it from a copy, or begin the task again") from None
        tracker._path = file
        return tracker

    # Declaring and reading

    def declare(
        self,
        belief: str,
        value: Value | None = None,
        *,
        evidence: Iterable[str] = (),
        inferred_from: Iterable[str] = (),
        at: Time = None,
    ) -> Declaration:
        """Declare a belief from now on, in a new version, resting on these probes and derived from these beliefs.

        Without a value it is declared again as it stands. A value that no hypothesis of a fixed template allows is
        refused, and so is a derivation in a circle.
        """
        with self._changing() as record:
            now = record.in_force(belief)
            value = now.value if value is None else plain_value(belief, value)
            support = dict.fromkeys(record.probe(name) for name in evidence)
            if value is not None and value != now.value:
                self._check(belief, value)
            sources = [record.belief(source) for source in inferred_from]
            record.infer(sources, belief)
            record.date(belief, as_instant(at), sources=() if support else sources)
            return record.declare(belief, value, support)

    def value(self, belief: str, *, by: str | None = None) -> Value:
        """Return what is declared of a belief; the actions under way here, or the one named, now rest on it."""
        with self._lock:
            record = self._record
            now = record.in_force(belief)
            if now.value is None:
                raise AquaMendError(f"nobody has declared a value of {belief!r} yet; declare it before reading it")
            here = [run.action for run in _UNDER_WAY.get() if record.going(run)]
            new = [record.read(action, now) for action in (here if by is None else [record.action(by)])]
            if any(new):
                record.changes += 1
                self._write()
            return now.value

    def __getitem__(self, belief: str) -> Value:
        return self.value(belief)

    def declaration(self, belief: str) -> Declaration:
        """Return the version in force of a belief."""
        with self._lock:
            return self._record.in_force(belief)

    def versions(self, belief: str) -> tuple[Declaration, ...]:
        """Return what was declared of a belief, the oldest first; of very many, the last thousand."""
        with self._lock:
            return tuple(self._record.versions.get(self._record.belief(belief), ()))

    def read_by(self, action: str) -> tuple[Declaration, ...]:
        """Return the versions that an action read when it last ran: what it really rests on."""
        with self._lock:
            return self._record.read_by(action)

    @property
    def unsaid(self) -> tuple[Edge, ...]:
        """Dependences that were seen and that the template does not know; add them to it."""
        with self._lock:
            return tuple(self._record.unsaid)

    # Acting

    @contextmanager
    def action(self, name: str) -> Iterator[None]:
        """Track an action: begun, and done at the end of the block; interrupted where an exception ends it."""
        run = self._begin(name)
        try:
            yield
        except BaseException:
            self._end(run, ActionStatus.INTERRUPTED)
            raise
        self._end(run, ActionStatus.DONE)

    def acts(self, name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Decorate the function, or coroutine function, that performs an action."""
        self._record.action(name)

        refused = f"a generator is no action: track {name!r} inside it, with tracker.action(...)"
        return lambda function: _within(lambda: self.action(name), function, refused)

    def begin(self, name: str) -> None:
        """Say that an action begins now."""
        self._begin(name)

    def done(self, name: str) -> None:
        """Say that an action is done, whether or not it was said that it began."""
        with self._changing() as record:
            record.end(name, ActionStatus.DONE)

    def interrupted(self, name: str) -> None:
        """Say that an action has ended somewhere before its end."""
        with self._changing() as record:
            record.end(name, ActionStatus.INTERRUPTED)

    def undone(self, name: str) -> None:
        """Say that nothing of an action is left: it was undone, or never got anywhere."""
        with self._changing() as record:
            if (run := record.take_back(name)) is not None:
                run.status = ActionStatus.PLANNED

    def status(self, name: str) -> ActionStatus:
        """Return how far an action has come."""
        with self._lock:
            return self._record.status(name)

    @property
    def executed(self) -> tuple[str, ...]:
        """The actions begun and not undone, in the order in which they began."""
        with self._lock:
            return tuple(self._record.runs)

    # Recovering

    def problem(self, *, at: Time = None) -> Problem:
        """Return the problem of this moment."""
        with self._lock:
            moment = self._record.moment(as_instant(at))
        return problem_at(self._template, moment)

    def alarm(self, *rung: str, silent: Iterable[str] = (), at: Time = None) -> InformationState:
        """Return the state that a recovery starts from: the problem of this moment, and what its monitors say.

        ``rung`` may be left out where there is only one; ``silent`` were watching and have not rung.
        """
        problem = self.problem(at=at)
        if not rung and len(problem.model.monitors) > 1:
            listed = ", ".join(map(repr, problem.model.monitors))
            raise AquaMendError(f"this problem has several alarms; say which one has rung: {listed}")
        state = InformationState.alarmed(problem, rung or None, silent=silent)
        with self._changing() as record:
            record.measured.clear()
        return state

    def check(self, action: str, *, silent: Iterable[str] = (), policy: Policy | None = None, at: Time = None) -> Check:
        """Return whether an action may be done now, though no alarm has rung: go on, measure first, go back or ask.

        Only beliefs that lead to it count, at the price of going on with them where they have failed. While nothing
        has changed since, the answer is kept, unless beliefs age; by ``best`` unless a policy is given.
        """
        with self._lock:
            record = self._record
            if record.action(action) in record.runs:
                raise AquaMendError(f"{action!r} is executed already; check it before it begins")
            quiet = tuple(silent)
            # Of a template that is a function nothing is known before it is asked; silence has to be possible.
            known = isinstance(self._template, Problem) and self._base.corrections and not quiet
            if known and not self._may_matter(action):
                return Check(action)
            key = action, quiet, policy
            if record.ageing:
                return check_action(self.problem(at=at), action, silent=quiet, policy=policy)
            if self._checked_at != record.changes:
                self._checks, self._checked_at = {}, record.changes
            if key not in self._checks:
                self._checks[key] = check_action(self.problem(), action, silent=quiet, policy=policy)
            return self._checks[key]

    def _may_matter(self, action: str) -> bool:
        """Whether a belief that leads to an action costs anything; asked once for the dependences seen so far."""
        key = action, len(self._record.unsaid)
        if key not in self._mattering:
            self._mattering[key] = may_matter(self._base.graph, action, self._record.unsaid)
        return self._mattering[key]

    def guard(self, action: str, *, silent: Iterable[str] = (), policy: Policy | None = None, at: Time = None) -> Guard:
        """Guard an action, as a context manager or decorator that tracks it, or raises `NotNow` where it may not be."""
        self._record.action(action)
        quiet = tuple(silent)
        return Guard(self, action, lambda: self.check(action, silent=quiet, policy=policy, at=at))

    def apply(self, act: Act, receipt: Receipt | None = None, *, at: Time = None) -> None:
        """Take in what a recovery has done, so that the problem of the next alarm is right.

        Call it once the act is done; with a receipt, what failed is taken in as that: something that was to be undone
        is not, something that was to be done may be half done. A plan and a restart are undone here, so apply them
        first; what the robot then does and declares is tracked like the rest of the task. The same act may be applied
        again, where a program has died and nobody knows whether it got that far.
        """
        with self._changing() as record:
            record.take(act, as_instant(at), failed=receipt is not None and not receipt.succeeded)

    def to_data(self) -> dict[str, Any]:
        """Return all of it as plain data, without its template."""
        with self._lock:
            return self._record.to_data()

    @classmethod
    def from_data(cls, template: Template, data: object) -> Tracker:
        """Return the tracker that plain data describe; what was under way then has been interrupted."""
        tracker = cls(template)
        tracker._record.restore(data)
        tracker.problem()  # data that belong to another template show here
        return tracker

    # What all of these are made of

    @contextmanager
    def _changing(self) -> Iterator[TaskRecord]:
        """Give the record to change it; the change is on disk before anybody else sees it."""
        with self._lock:
            self._record.changes += 1
            yield self._record
            self._write()

    def _write(self) -> None:
        if self._path is None:
            return
        write_atomically(self._path, to_json(self._record.to_data()).encode())

    def _check(self, belief: str, value: Value) -> None:
        """Refuse a value that cannot be meant, before anything is changed."""
        if isinstance(self._template, Problem):
            check_value(with_declared(self._base, self._record.brought_about()), belief, value)
            return
        declared = {b: versions[-1].value for b, versions in self._record.versions.items()}
        values = {b: v for b, v in {**declared, belief: value}.items() if v is not None}
        if not same_names(base_problem(self._template, values), self._base):
            raise AquaMendError("the template has other beliefs, actions or probes for other values; keep their names")

    def _begin(self, name: str) -> Execution:
        with self._changing() as record:
            run = record.begin(name)
        going = (other for other in _UNDER_WAY.get() if other.status is ActionStatus.UNDER_WAY)
        _UNDER_WAY.set((*going, run))  # nobody says here that those which ``done`` has ended are over
        return run

    def _end(self, run: Execution, status: ActionStatus) -> None:
        """End a run, unless something else has become of the action meanwhile."""
        with self._changing() as record:
            if record.going(run):
                record.finish(run, status)
        _UNDER_WAY.set(tuple(other for other in _UNDER_WAY.get() if other is not run))


class Guard:
    """Lets an action be done, and tracks it, only where the check before it says to go on; else raises `NotNow`."""

    def __init__(self, tracker: Tracker, action: str, check: Callable[[], Check]) -> None:
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
        refused = f"a generator is no action: guard {self._action!r} inside it, with tracker.guard(...)"
        return _within(lambda: Guard(self._tracker, self._action, self._check), function, refused)


def _within(
    context: Callable[[], AbstractContextManager[object]], function: Callable[P, R], refused: str
) -> Callable[P, R]:
    """Return a function, or coroutine function, each call of which is in a context of its own."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise AquaMendError(refused)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: P.args, **kwargs: P.kwargs) -> Any:
            with context():
                return await function(*args, **kwargs)

        return cast("Callable[P, R]", awaited)

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        with context():
            return function(*args, **kwargs)

    return called
