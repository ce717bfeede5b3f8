"""What a task has declared, done and read so far: a tracker's books, which know nothing of threads and files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from aquamend.codec import Key, Whole, load, write
from aquamend.errors import AquaMendError, InvalidData, UnknownName
from aquamend.problem import Ages, Problem
from aquamend.problem.graph import Edge, EdgeKind, Value
from aquamend.problem.model import Declaration
from aquamend.recovery.acts import Act, Declare, Finish, Follow, HandOver, Measure, Redo, Undo
from aquamend.recovery.clock import Instant
from aquamend.recovery.situation import Present, assumed, leads_to

FORMAT: Final = "aquamend-tracker/1"

MOST_VERSIONS = 1_000
"""Versions of a belief that are kept, beside those that an executed action has read."""


LEAST_AGE_S = 1e-3
"""No belief is younger: what may have come within no time at all would not even be thought of."""


class ActionStatus(StrEnum):
    """How far an action has come. All but the planned count as executed: something of them may have happened."""

    PLANNED = "planned"
    UNDER_WAY = "under way"
    DONE = "done"
    INTERRUPTED = "interrupted"
    """It began, and ended in an exception or with the program: nobody knows how far it came."""


@dataclass(eq=False, slots=True)
class Execution:
    """One execution of an action."""

    action: Annotated[str, Key("name")]
    status: ActionStatus = ActionStatus.UNDER_WAY
    reads: dict[str, Whole] = field(default_factory=dict)
    """The version that it read of each belief, the last one where it read several."""
    undone: tuple[str, ...] = ()
    """Operations of its undoing that were performed, while others are left."""
    brought: dict[str, Whole] = field(default_factory=dict)
    """The version of each belief that was declared because it was done."""


@dataclass(frozen=True, slots=True)
class Measured:
    """When a belief was measured, or how old it was at some moment."""

    at: Instant
    age: float = 0.0
    """How old it was then, in seconds."""

    def age_at(self, now: Instant) -> float:
        """Return how old it is now."""
        return self.age + now.seconds_since(self.at)


class TaskRecord:
    """What has happened in a task, by the names of its template."""

    def __init__(self, base: Problem, began: Instant | None = None) -> None:
        self.graph, self._base = base.graph, base
        self.ageing = base.ageing is not None
        """Whether times matter: nothing else depends on a clock."""
        self.began = began if self.ageing else None
        self.dated: dict[str, Measured] = {}
        """Of beliefs that were declared, when they were measured, where times matter."""
        self.changes = 0
        """How often something has changed that may matter to a decision."""
        self.actions = {action.name: action for action in base.graph.actions}
        self.versions: dict[str, list[Declaration]] = {}
        self.runs: dict[str, Execution] = {}
        """The last run of every action begun and not undone, in the order in which they began."""
        self.unsaid: dict[Edge, None] = {}
        self.measured: dict[str, None] = {}
        """Probes that have answered since the last alarm."""
        self._read: set[tuple[str, str]] = set()
        """Pairs of a belief and an action that has read it."""

    def belief(self, name: str) -> str:
        """Return the name of a belief; refuse any other."""
        return _known("belief", name, self.graph.belief_index)

    def probe(self, name: str) -> str:
        """Return the name of a probe; refuse any other."""
        return _known("probe", name, self.graph.probe_index)

    def action(self, name: str) -> str:
        """Return the name of an action; refuse any other."""
        return _known("action", name, self.actions)

    # Declaring and reading

    def in_force(self, belief: str) -> Declaration:
        """Return the version in force of a belief: what the template assumes, until somebody has declared it."""
        versions = self.versions.get(self.belief(belief))
        return versions[-1] if versions else assumed(self._base, belief)

    def declare(self, belief: str, value: Value | None, support: Iterable[str]) -> Declaration:
        """Add a version of a belief."""
        new = Declaration(belief, belief, self.in_force(belief).version + 1, value, support=tuple(support))
        versions = self.versions.setdefault(belief, [])
        versions.append(new)
        if len(versions) > MOST_VERSIONS:
            read = {run.reads.get(belief) for run in self.runs.values()}
            del versions[next(i for i, old in enumerate(versions) if old.version not in read)]
        return new

    def date(self, belief: str, now: Instant, *, sources: Sequence[str] = ()) -> None:
        """Note that a belief was measured now; one that was derived is as old as the oldest of its sources."""
        if self.ageing:
            old = [self._measured(source, now) for source in sources]
            self.dated[belief] = max(old, key=lambda one: one.age_at(now), default=Measured(now))

    def _measured(self, belief: str, now: Instant) -> Measured:
        """Return when a belief was measured: before the task began, where nobody has declared it since."""
        before = self._base.ageing.ages.of(belief) if self._base.ageing is not None else None
        return self.dated.get(belief) or Measured(self.began or now, before or 0.0)

    def ages(self, now: Instant) -> Ages:
        """Return how old every belief is, in seconds, and how long ago the task began."""
        known = self._base.ageing.ages if self._base.ageing is not None else Ages()
        own = {belief.name: self._measured(belief.name, now).age_at(now) for belief in self.graph.beliefs}
        since = (known.all or 0.0) + now.seconds_since(self.began or now)
        return Ages(max(since, LEAST_AGE_S), {belief: max(age, LEAST_AGE_S) for belief, age in own.items()})

    def infer(self, sources: Sequence[str], belief: str) -> None:
        """Note that a belief was derived from others: from all of them, or from none where one would be circular."""
        onwards: dict[str, list[str]] = {}
        for edge in self.unsaid:
            onwards.setdefault(edge.source, []).append(edge.target)
        for source in sources:
            if source == belief or leads_to(self.graph, belief, source, onwards):
                raise AquaMendError(
                    f"{belief!r} cannot be derived from {source!r}, which itself rests on {belief!r}; "
                    "support must run one way"
                )
        for source in sources:
            if not leads_to(self.graph, source, belief):
                self.unsaid[Edge(source, belief, EdgeKind.INFERENCE)] = None

    def read(self, action: str, declared: Declaration) -> bool:
        """Note that an action rests on a belief; return whether that is new."""
        run, belief = self.runs.get(action), declared.belief
        new = run is not None and run.reads.get(belief) != declared.version
        if run is not None:
            run.reads[belief] = declared.version
        if (belief, action) not in self._read:  # asked once for each pair: a control loop may read very often
            self._read.add((belief, action))
            if not leads_to(self.graph, belief, action):
                self.unsaid[Edge(belief, action, EdgeKind.BELIEF_TO_ACTION)] = None
                new = True
        return new

    def read_by(self, action: str) -> tuple[Declaration, ...]:
        """Return the versions that an action read when it last ran."""
        run = self.runs.get(self.action(action))
        found = []
        for belief, version in ({} if run is None else run.reads).items():
            history = (assumed(self._base, belief), *self.versions.get(belief, ()))
            found += [declared for declared in history if declared.version == version]
        return tuple(found)

    # Acting

    def status(self, name: str) -> ActionStatus:
        """Return how far an action has come."""
        run = self.runs.get(self.action(name))
        return ActionStatus.PLANNED if run is None else run.status

    def going(self, run: Execution) -> bool:
        """Whether a run is still under way."""
        return run.status is ActionStatus.UNDER_WAY and self.runs.get(run.action) is run

    def begin(self, name: str) -> Execution:
        """Begin an action, again if need be."""
        if self.status(name) is ActionStatus.UNDER_WAY:
            raise AquaMendError(f"{name!r} is under way already; end it first, or give the other one its own name")
        self.runs.pop(name, None)  # behind all others: it is the last to have begun
        run = self.runs[name] = Execution(name)
        return run

    def end(self, name: str, status: ActionStatus) -> None:
        """End an action that is under way; one that is not has begun and ended at once."""
        self.finish(self.runs[name] if self.status(name) is ActionStatus.UNDER_WAY else self.begin(name), status)

    def finish(self, run: Execution, status: ActionStatus) -> None:
        """End a run; once it is done, what its action sets is declared."""
        run.status = status
        if status is ActionStatus.DONE:
            for belief, value in self.actions[run.action].sets.items():
                run.brought[belief] = self.declare(belief, value, ()).version

    def take_back(self, name: str) -> Execution | None:
        """Forget the run of an action that was undone; what it had set is declared as it was before."""
        run = self.runs.pop(self.action(name), None)
        for belief, version in ({} if run is None else run.brought).items():
            if self.in_force(belief).version == version:
                older = [declared for declared in self.versions[belief] if declared.version < version]
                before = older[-1] if older else assumed(self._base, belief)
                self.declare(belief, before.value, before.support)
        return run

    def brought_about(self) -> dict[str, Value]:
        """Return what the actions done so far, and not undone, have set: the last one of each belief."""
        return {b: self.actions[run.action].sets[b] for run in self.runs.values() for b in run.brought}

    # Recovering

    def take(self, act: Act, now: Instant, *, failed: bool = False) -> None:
        """Take in an act of a recovery."""
        match act:
            case Redo() | Finish():
                if isinstance(act, Finish) and not failed:
                    self._date_kept(now)
                for name in (act.action,) if isinstance(act, Redo) else act.actions:
                    if self.status(name) is not ActionStatus.DONE:  # else its owner has said so
                        self.end(name, ActionStatus.INTERRUPTED if failed else ActionStatus.DONE)
            case _ if failed:
                pass
            case Measure(probe):
                self.measured[probe] = None
            case Undo():
                self._undo(act)
            case Declare():
                self._redeclare(act, now)
            case Follow():
                for name in act.undo:
                    self.take_back(name)
            case HandOver():
                pass

    def _undo(self, act: Undo) -> None:
        """Take in one operation: an action is undone once all of its operations have been performed."""
        for name in act.actions:
            run = self.runs.get(self.action(name))
            if run is None:
                continue
            run.undone = tuple(dict.fromkeys((*run.undone, act.operation)))
            if set(self.actions[name].operations) <= set(run.undone):
                self.take_back(name)

    def _date_kept(self, now: Instant) -> None:
        """Note that beliefs which a recovery has measured and kept are young again."""
        for belief, probes in self.graph.detecting_probes.items():
            if any(probe in self.measured for probe in probes):
                self.date(belief, now)

    def _redeclare(self, act: Declare, now: Instant) -> None:
        """Take in what was declared; the same on the same evidence is no new version."""
        old = self.in_force(act.belief)
        value = old.value if act.value is None else act.value
        support = self._fresh_support(act.belief)
        if old.version == 0 or (value, support) != (old.value, tuple(old.support)):
            self.declare(act.belief, value, support)
            self.date(act.belief, now)

    def _fresh_support(self, belief: str) -> tuple[str, ...]:
        """Return the probes that have answered on a belief since the alarm; else what it rested on before."""
        fresh = [probe for probe in self.graph.supporting_probes[belief] if probe in self.measured]
        return tuple(fresh or self.in_force(belief).support)

    def moment(self, now: Instant) -> Present:
        """Return what of this matters to a recovery that begins now."""
        return Present(
            {belief: versions[-1] for belief, versions in self.versions.items()},
            tuple(self.runs),
            {name: run.undone for name, run in self.runs.items() if run.undone},
            tuple(self.unsaid),
            self.ages(now) if self.ageing else None,
            self.brought_about(),
        )

    # As plain data

    def to_data(self) -> dict[str, Any]:
        """Return all of it as plain data, without the template."""
        versions = {
            belief: tuple(_Version(d.version, d.value, tuple(d.support)) for d in own)
            for belief, own in self.versions.items()
        }
        books = _Books(
            FORMAT,
            versions,
            tuple(self.runs.values()),
            tuple(self.unsaid),
            tuple(self.measured),
            self.began,
            self.dated,
        )
        data: dict[str, Any] = write(books, complete=True)
        return data

    def restore(self, data: object) -> None:
        """Take over what plain data describe; what was under way then has been interrupted."""
        said = data.get("format") if isinstance(data, Mapping) else data
        if said != FORMAT:
            raise AquaMendError(f"this is {said!r}, not {FORMAT!r}; give what to_data returned")
        books: _Books = load(_Books, data, "tracker")
        for belief, versions in books.declarations.items():
            if not versions:
                raise InvalidData(f"tracker.declarations.{belief}", "there is no version of it")
            self.versions[self.belief(belief)] = [
                Declaration(belief, belief, one.version, one.value, support=one.support) for one in versions
            ]
        for run in books.actions:
            if run.status is ActionStatus.UNDER_WAY:
                run.status = ActionStatus.INTERRUPTED
            run.reads = {self.belief(belief): version for belief, version in run.reads.items()}
            for belief in run.brought:
                _known("belief that this action sets", belief, self.actions[self.action(run.action)].sets)
            self.runs[self.action(run.action)] = run
        for edge in books.unsaid:
            for end in edge[:2]:
                _known("node", end, self.graph.successors)
            self.unsaid[edge] = None
        self.measured = {self.probe(name): None for name in books.measured}
        if self.ageing:
            self.began = books.began or self.began
            self.dated = {self.belief(belief): one for belief, one in books.dated.items()}


@dataclass(frozen=True, slots=True)
class _Version:
    """What was declared of a belief, as it is written."""

    version: Whole
    value: Value | None
    support: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Books:
    """A record as it is written, without its template."""

    format: Literal["aquamend-tracker/1"]
    declarations: Mapping[str, tuple[_Version, ...]]
    actions: tuple[Execution, ...]
    unsaid: tuple[Edge, ...]
    measured: tuple[str, ...]
    began: Instant | None = None
    dated: Mapping[str, Measured] = field(default_factory=dict)


def _known(kind: str, name: str, names: Mapping[str, object]) -> str:
    if name not in names:
        raise UnknownName(kind, name, names)
    return name
