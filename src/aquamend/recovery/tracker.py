"""The graph from what really ran: a tracker beside the task, which knows the problem whenever an alarm comes."""

from __future__ import annotations

import functools
import inspect
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from aquamend.errors import AquaMendError, InvalidProblem, UnknownName
from aquamend.graph import Edge, EdgeKind, Value
from aquamend.inference import InformationState
from aquamend.model import Declaration
from aquamend.problem import Problem
from aquamend.recovery.acts import Act, Declare, Finish, Follow, HandOver, Measure, Redo, Undo
from aquamend.recovery.moment import (
    Moment,
    Template,
    assumed,
    base_problem,
    check_value,
    leads_to,
    plain_value,
    problem_at,
    same_names,
    template_faults,
)
from aquamend.recovery.receipts import Receipt

P = ParamSpec("P")
R = TypeVar("R")

FORMAT = "aquamend-tracker/1"

MOST_VERSIONS = 1_000
"""Versions of a belief that are remembered, beside those that an executed action has read."""


class ActionStatus(StrEnum):
    """How far an action has come. All but the planned count as executed: something of them may have happened."""

    PLANNED = "planned"
    UNDER_WAY = "under way"
    DONE = "done"
    INTERRUPTED = "interrupted"
    """It began, and ended in an exception or with the program: nobody knows how far it came."""


@dataclass(eq=False, slots=True)
class _Run:
    """One execution of an action."""

    action: str
    status: ActionStatus = ActionStatus.UNDER_WAY
    reads: dict[str, int] = field(default_factory=dict)
    """The version that it read of each belief, the last one where it read several."""
    undone: tuple[str, ...] = ()
    """Operations of its undoing that were performed, while others are left."""


_UNDER_WAY: ContextVar[tuple[_Run, ...]] = ContextVar("_UNDER_WAY", default=())
"""What is under way in this thread or asyncio task, outermost first."""


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
    What the values of a template mean is told in ``aquamend.recovery.moment``.
    """

    def __init__(self, template: Template) -> None:
        self._template = template
        self._base = base_problem(template, {})
        if faults := list(template_faults(self._base)):
            raise InvalidProblem(faults)
        self._lock = threading.RLock()
        self._versions: dict[str, list[Declaration]] = {}
        self._runs: dict[str, _Run] = {}
        self._unsaid: dict[Edge, None] = {}
        self._said: set[tuple[str, str]] = set()
        """Pairs of a belief and an action that has read it."""
        self._measured: dict[str, None] = {}
        self._path: Path | None = None

    @classmethod
    def at(cls, problem: Problem) -> Tracker:
        """Return a tracker that stands where a problem stands: its declarations made, its executed actions done."""
        tracker = cls(problem)
        for d in problem.declarations:
            tracker._versions[d.belief] = [Declaration(d.belief, d.belief, d.version, d.value, support=d.support)]
        for action in problem.graph.executed:
            tracker._runs[action.name] = _Run(action.name, ActionStatus.DONE)
        return tracker

    @classmethod
    def kept(cls, template: Template, path: str | os.PathLike[str]) -> Tracker:
        """Return a tracker that writes every change to a file before going on, and begins with what is there."""
        file = Path(path)
        tracker = cls.from_data(template, json.loads(file.read_text("utf-8"))) if file.exists() else cls(template)
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
    ) -> Declaration:
        """Declare a belief from now on, in a new version, resting on these probes and derived from these beliefs.

        Without a value it is declared again as it stands. A value that no hypothesis of a fixed template allows is
        refused, and so is a derivation in a circle.
        """
        with self._lock:
            now = self.declaration(belief)
            value = now.value if value is None else plain_value(belief, value)
            support = tuple(
                dict.fromkeys(self._known("probe", name, self._base.graph.probe_index) for name in evidence)
            )
            if value is not None and value != now.value:
                self._check(belief, value)
            for source in inferred_from:
                self._infer(self._known("belief", source, self._base.graph.belief_index), belief)
            return self._declared(belief, value, dict.fromkeys(support))

    def value(self, belief: str, *, by: str | None = None) -> Value:
        """Return what is declared of a belief; the actions under way here, or the one named, now rest on it."""
        with self._lock:
            now = self.declaration(belief)
            if now.value is None:
                raise AquaMendError(f"nobody has declared a value of {belief!r} yet; declare it before reading it")
            readers = [run.action for run in _UNDER_WAY.get() if self._going(run)]
            if by is not None:
                readers = [self._known("action", by, self._actions)]
            new = [self._read(action, now) for action in readers]
            if any(new):
                self._write()
            return now.value

    def __getitem__(self, belief: str) -> Value:
        return self.value(belief)

    def declaration(self, belief: str) -> Declaration:
        """Return the version in force of a belief."""
        with self._lock:
            self._known("belief", belief, self._base.graph.belief_index)
            versions = self._versions.get(belief)
            return versions[-1] if versions else assumed(self._base, belief)

    def versions(self, belief: str) -> tuple[Declaration, ...]:
        """Return what was declared of a belief, the oldest first; of very many, the last thousand."""
        with self._lock:
            self._known("belief", belief, self._base.graph.belief_index)
            return tuple(self._versions.get(belief, ()))

    def read_by(self, action: str) -> tuple[Declaration, ...]:
        """Return the versions that an action read when it last ran: what it really rests on."""
        with self._lock:
            self._known("action", action, self._actions)
            run = self._runs.get(action)
            reads = {} if run is None else run.reads
            return tuple(d for b, version in reads.items() for d in self._history(b) if d.version == version)

    @property
    def unsaid(self) -> tuple[Edge, ...]:
        """Dependences that were seen and that the template does not know; add them to it."""
        with self._lock:
            return tuple(self._unsaid)

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
        self._known("action", name, self._actions)

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
                raise AquaMendError(f"a generator is no action: track {name!r} inside it, with tracker.action(...)")
            if inspect.iscoroutinefunction(function):

                @functools.wraps(function)
                async def awaited(*args: P.args, **kwargs: P.kwargs) -> Any:
                    with self.action(name):
                        return await function(*args, **kwargs)

                return cast("Callable[P, R]", awaited)

            @functools.wraps(function)
            def called(*args: P.args, **kwargs: P.kwargs) -> R:
                with self.action(name):
                    return function(*args, **kwargs)

            return called

        return decorate

    def begin(self, name: str) -> None:
        """Say that an action begins now."""
        self._begin(name)

    def done(self, name: str) -> None:
        """Say that an action is done, whether or not it was said that it began."""
        with self._lock:
            run = self._runs.get(self._known("action", name, self._actions))
            if run is None or run.status is not ActionStatus.UNDER_WAY:
                run = self._begin(name)
            self._end(run, ActionStatus.DONE)

    def interrupted(self, name: str) -> None:
        """Say that an action that was under way has ended somewhere before its end."""
        with self._lock:
            run = self._runs.get(self._known("action", name, self._actions))
            self._end(run or self._begin(name), ActionStatus.INTERRUPTED)

    def undone(self, name: str) -> None:
        """Say that nothing of an action is left: it was undone, or never got anywhere."""
        with self._lock:
            self._known("action", name, self._actions)
            if self._runs.pop(name, None) is not None:
                self._write()

    def status(self, name: str) -> ActionStatus:
        """Return how far an action has come."""
        with self._lock:
            run = self._runs.get(self._known("action", name, self._actions))
            return ActionStatus.PLANNED if run is None else run.status

    @property
    def executed(self) -> tuple[str, ...]:
        """The actions begun and not undone, in the order in which they began."""
        with self._lock:
            return tuple(self._runs)

    # Recovering

    def problem(self) -> Problem:
        """Return the problem of this moment."""
        with self._lock:
            moment = Moment(
                {belief: versions[-1] for belief, versions in self._versions.items()},
                tuple(self._runs),
                {name: run.undone for name, run in self._runs.items() if run.undone},
                tuple(self._unsaid),
            )
        return problem_at(self._template, moment)

    def alarm(self) -> InformationState:
        """Return the state that a recovery starts from: the problem of this moment, the alarm conditioned on."""
        with self._lock:
            self._measured.clear()
            self._write()
        return InformationState.alarmed(self.problem())

    def apply(self, act: Act, receipt: Receipt | None = None) -> None:
        """Take in what a recovery has done, so that the problem of the next alarm is right.

        Call it once the act is done; with a receipt, what failed is taken in as that: something that was to be undone
        is not, something that was to be done may be half done. A plan and a restart are undone here, so apply them
        first; what the robot then does and declares is tracked like the rest of the task.
        """
        failed = receipt is not None and not receipt.succeeded
        with self._lock:
            match act:
                case Redo() | Finish() if failed:
                    for name in (act.action,) if isinstance(act, Redo) else act.actions:
                        self.interrupted(name)
                case _ if failed:
                    pass
                case Measure(probe):
                    self._measured[probe] = None
                    self._write()
                case Undo():
                    self._undo(act)
                case Declare(belief, value, read_by):
                    support = (read_by,) if read_by is not None else self._fresh_support(belief)
                    self._declared(belief, self.declaration(belief).value if value is None else value, support)
                case Redo() | Finish():
                    for name in (act.action,) if isinstance(act, Redo) else act.actions:
                        if self.status(name) is not ActionStatus.DONE:  # else whoever did it has said so
                            self.done(name)
                case Follow():
                    for name in act.undo:
                        self.undone(name)
                case HandOver():
                    pass

    def to_data(self) -> dict[str, Any]:
        """Return all of it as plain data, without its template."""
        with self._lock:
            return {
                "format": FORMAT,
                "declarations": {
                    belief: [{"version": d.version, "value": d.value, "support": list(d.support)} for d in versions]
                    for belief, versions in self._versions.items()
                },
                "actions": [
                    {"name": r.action, "status": str(r.status), "reads": dict(r.reads), "undone": list(r.undone)}
                    for r in self._runs.values()
                ],
                "unsaid": [[source, target, str(kind)] for source, target, kind in self._unsaid],
                "measured": list(self._measured),
            }

    @classmethod
    def from_data(cls, template: Template, data: Mapping[str, Any]) -> Tracker:
        """Return the tracker that plain data describe; what was under way then has been interrupted."""
        if data.get("format") != FORMAT:
            raise AquaMendError(f"this is {data.get('format')!r}, not {FORMAT!r}; give what to_data returned")
        tracker = cls(template)
        graph = tracker._base.graph
        for belief, versions in data["declarations"].items():
            tracker._known("belief", belief, graph.belief_index)
            tracker._versions[belief] = [
                Declaration(belief, belief, int(said["version"]), said["value"], support=tuple(said["support"]))
                for said in versions
            ]
        for entry in data["actions"]:
            name, status = tracker._known("action", entry["name"], tracker._actions), ActionStatus(entry["status"])
            status = ActionStatus.INTERRUPTED if status is ActionStatus.UNDER_WAY else status
            tracker._runs[name] = _Run(name, status, dict(entry["reads"]), tuple(entry["undone"]))
        tracker._unsaid = {Edge(source, target, EdgeKind(kind)): None for source, target, kind in data["unsaid"]}
        tracker._measured = dict.fromkeys(data["measured"])
        tracker.problem()  # data that belong to another template show here
        return tracker

    # What all of these are made of

    @property
    def _actions(self) -> tuple[str, ...]:
        return tuple(action.name for action in self._base.graph.actions)

    def _known(self, kind: str, name: str, names: Iterable[str]) -> str:
        if name not in names:
            raise UnknownName(kind, name, names)
        return name

    def _history(self, belief: str) -> tuple[Declaration, ...]:
        return (assumed(self._base, belief), *self._versions.get(belief, ()))

    def _check(self, belief: str, value: Value) -> None:
        """Refuse a value that cannot be meant, before anything is changed."""
        if isinstance(self._template, Problem):
            check_value(self._base, belief, value)
            return
        values = {b: v for b in self._versions if (v := self.declaration(b).value) is not None}
        base = base_problem(self._template, {**values, belief: value})
        if not same_names(base, self._base):
            raise AquaMendError("the template has other beliefs, actions or probes for other values; keep their names")

    def _declared(self, belief: str, value: Value | None, support: Iterable[str]) -> Declaration:
        version = self.declaration(belief).version + 1
        new = Declaration(belief, belief, version, value, support=tuple(support))
        versions = self._versions.setdefault(belief, [])
        versions.append(new)
        if len(versions) > MOST_VERSIONS:
            read = {run.reads.get(belief) for run in self._runs.values()}
            del versions[next(i for i, old in enumerate(versions) if old.version not in read)]
        self._write()
        return new

    def _infer(self, source: str, belief: str) -> None:
        """Note that a belief was derived from another."""
        if source != belief and leads_to(self._base.graph, source, belief):
            return
        onwards: dict[str, list[str]] = {}
        for edge in self._unsaid:
            onwards.setdefault(edge.source, []).append(edge.target)
        if source == belief or leads_to(self._base.graph, belief, source, onwards):
            raise AquaMendError(
                f"{belief!r} cannot be derived from {source!r}, which itself rests on {belief!r}; "
                "support must run one way"
            )
        self._unsaid[Edge(source, belief, EdgeKind.INFERENCE)] = None

    def _read(self, action: str, declared: Declaration) -> bool:
        """Note that an action rests on a belief; return whether that is new."""
        run, belief = self._runs.get(action), declared.belief
        new = run is not None and run.reads.get(belief) != declared.version
        if run is not None:
            run.reads[belief] = declared.version
        if (belief, action) not in self._said:  # asked once for each pair: a control loop may read very often
            self._said.add((belief, action))
            if not leads_to(self._base.graph, belief, action):
                self._unsaid[Edge(belief, action, EdgeKind.BELIEF_TO_ACTION)] = None
                new = True
        return new

    def _begin(self, name: str) -> _Run:
        with self._lock:
            before = self._runs.get(self._known("action", name, self._actions))
            if before is not None and before.status is ActionStatus.UNDER_WAY:
                raise AquaMendError(f"{name!r} is under way already; end it first, or give the other one its own name")
            self._runs.pop(name, None)  # behind all others: it is the last to have begun
            run = self._runs[name] = _Run(name)
            self._write()
        _UNDER_WAY.set((*_UNDER_WAY.get(), run))
        return run

    def _going(self, run: _Run) -> bool:
        return run.status is ActionStatus.UNDER_WAY and self._runs.get(run.action) is run

    def _end(self, run: _Run, status: ActionStatus) -> None:
        """End a run, unless something else has become of the action meanwhile."""
        with self._lock:
            if self._going(run):
                run.status = status
                self._write()
        _UNDER_WAY.set(tuple(other for other in _UNDER_WAY.get() if other is not run))

    def _undo(self, act: Undo) -> None:
        """Take in one operation: an action is undone once all of its operations have been performed."""
        operations = {action.name: action.operations for action in self._base.graph.actions}
        for name in act.actions:
            run = self._runs.get(self._known("action", name, self._actions))
            if run is None:
                continue
            run.undone = tuple(dict.fromkeys((*run.undone, act.operation)))
            if set(operations[name]) <= set(run.undone):
                del self._runs[name]
        self._write()

    def _fresh_support(self, belief: str) -> tuple[str, ...]:
        """Return the probes that have answered on a belief since the alarm; else what it rested on before."""
        fresh = [probe for probe in self._base.graph.supporting_probes[belief] if probe in self._measured]
        return tuple(fresh or self.declaration(belief).support)

    def _write(self) -> None:
        if self._path is None:
            return
        text = json.dumps(self.to_data(), indent=1, ensure_ascii=False)
        beside = self._path.with_name(self._path.name + ".new")
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path)
