"""Logs of recoveries: an append-only list of events for each session, in memory or on disk.

And what every store of sessions keeps, wherever it is: events as JSON, each problem once, and a session in short.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from aquamend.codec import json_number
from aquamend.errors import AquaMendError, BadJournal, ForeignSession, UnknownName, UsedName
from aquamend.files import parse_problem
from aquamend.problem import Problem
from aquamend.recovery.acts import charged
from aquamend.recovery.clock import Time, as_instant
from aquamend.recovery.events import Alarmed, Approved, Asked, Decided, Done, Ended, Entry, Event, Intended, Settled
from aquamend.recovery.history import Recovery
from aquamend.recovery.plain import event_from_data, event_to_data, from_json, to_json
from aquamend.recovery.requests import Answer, Settle

KEPT_PROBLEMS = 8
"""Problems that are kept as they were last read, with all that was computed from them."""
READ_AT_ONCE = 500
LONGEST_NAME = 200


class Log(Protocol):
    """Where sessions are kept. Any store that keeps these two promises will do.

    What ``append`` has returned from survives; and of two writers who have both read so far, one is refused.
    """

    def append(self, session: str, after: int, events: Sequence[Event], *, at: float | None = None) -> None:
        """Add events behind number ``after``, all or none; ``ForeignSession`` if that is not the last one there.

        They have come at this time, in seconds since 1970, now unless given. Where ``after`` is 0 and there is such a
        session, it is the ``ForeignSession`` named ``UsedName``.
        """

    def read(self, session: str, after: int = 0) -> Iterator[Entry]:
        """Yield the events of a session behind number ``after``, in order; an error if there is no such session."""


@runtime_checkable
class SharedLog(Log, Protocol):
    """A log that programs on several machines share: a program that conducts a session in it has a lease for a time."""

    def left_s(self, session: str) -> float:
        """Return for how many seconds more nobody else can conduct a session; answered at once."""

    def release(self, session: str) -> None:
        """Let somebody else conduct a session that was conducted here."""

    def listening(self, session: str | None, call: Callable[[], object]) -> AbstractContextManager[None]:
        """Have a function called, from a thread, when a person was asked or has spoken in a session, or in any."""


class MemoryLog:
    """Sessions for as long as this process lives."""

    def __init__(self) -> None:
        self._sessions: dict[str, list[Entry]] = {}

    def append(self, session: str, after: int, events: Sequence[Event], *, at: float | None = None) -> None:
        """Add events to a session."""
        if not events:
            return
        entries = self._sessions.get(session, [])
        if after == 0 < len(entries):
            raise UsedName(session, f"{len(entries)} events")
        if after != len(entries):
            raise ForeignSession(session) if entries else UnknownName("session", session, self._sessions)
        self._sessions[session] = entries
        when = time.time() if at is None else float(at)
        entries += [Entry(after + i, when, event) for i, event in enumerate(events, start=1)]

    def read(self, session: str, after: int = 0) -> Iterator[Entry]:
        """Yield the events of a session."""
        if session not in self._sessions:
            raise UnknownName("session", session, self._sessions)
        return iter(self._sessions[session][after:])


def followed(log: Log, session: str, *, poll_s: float = 0.2) -> Iterator[Entry]:
    """Yield the events of a session, those to come as they come, until it has ended."""
    after, spoken = 0, threading.Event()
    with log.listening(session, spoken.set) if isinstance(log, SharedLog) else nullcontext():
        while True:
            for entry in log.read(session, after):
                after = entry.number
                yield entry
                if isinstance(entry.event, Ended):
                    return
            spoken.wait(poll_s)
            spoken.clear()


def approve(
    log: Log, session: str, *, token: str, granted: bool = True, by: str, note: str = "", at: Time = None
) -> Recovery:
    """Answer a question of a session, from any process; ``token`` names the question."""
    return said_by_a_person(log, session, Answer(granted, by, token, note), at=at)


def settle(log: Log, session: str, *, done: bool, by: str, note: str = "", at: Time = None) -> Recovery:
    """Say what became of an act of which the robot could not tell, from any process."""
    return said_by_a_person(log, session, Settle(done, by, note), at=at)


def said_by_a_person(log: Log, session: str, message: Answer | Settle, *, at: Time = None) -> Recovery:
    """Write down what a person says to a session, from any process, and return what that makes of it."""
    match message:
        case Answer(granted, by, token, note):
            event: Approved | Settled = Approved(granted, by, note, token, as_instant(at))
        case Settle(done, by, note):
            event = Settled(done, by, note)
    for last in (False, False, False, True):
        entries = list(log.read(session))
        after = Recovery.of([entry.event for entry in entries], session).after(event)
        try:
            log.append(session, len(entries), [event], at=as_instant(at).wall)
        except ForeignSession:  # the session has gone on meanwhile: see whether it still asks
            if last:
                raise
        else:
            return after
    raise AssertionError("not reached")


class Status(StrEnum):
    """How a session stands."""

    RUNNING = "running"
    """Something is to be decided or begun, by the program that conducts or resumes it."""
    WAITING = "waiting"
    """A person has to answer."""
    IN_DOUBT = "in doubt"
    """An act has begun, and its receipt is not there yet: it is under way, or somebody has to find out."""
    FINISHED = "finished"
    HANDED_OVER = "handed over"
    STOPPED = "stopped"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether nothing will come any more."""
        return self not in (Status.RUNNING, Status.WAITING, Status.IN_DOUBT)


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One session in short."""

    name: str
    problem: str
    """The name of its problem."""
    policy: str
    status: Status
    started: float
    """This and the next in seconds since 1970."""
    updated: float
    events: int
    cost: float
    """What it has cost so far."""

    def to_data(self) -> dict[str, Any]:
        """Return the line as plain data."""
        return {
            "session": self.name,
            "status": self.status.value,
            "problem": self.problem,
            "policy": self.policy,
            "started": self.started,
            "updated": self.updated,
            "events": self.events,
            "cost": json_number(self.cost),
        }


class Store(Log, Protocol):
    """A log that keeps sessions for good, in a file or a database: a journal, or the log of a fleet."""

    @property
    def place(self) -> str:
        """Where it is, in words that may be shown."""

    def sessions(self) -> list[SessionLine]:
        """Return every session in short, the first begun first."""

    def delete(self, sessions: Iterable[str], *, force: bool = False) -> None:
        """Delete sessions with all their events, all or none; those that have not ended only by ``force``."""

    def close(self) -> None:
        """Close it; nothing is lost without that."""

    def __enter__(self) -> Self:
        """Return it, to be closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


def status_after(event: Event, before: Status) -> Status:
    """Return how a session stands after one more event."""
    match event:
        case Asked():
            return Status.WAITING
        case Intended():
            return Status.IN_DOUBT
        case Ended(ending):
            return Status(ending.value)
        case Alarmed() | Decided() | Approved() | Settled() | Done():
            return Status.RUNNING
        case _:
            return before


def cost_after(cost: float, events: Sequence[Event], earlier: Callable[[], Iterable[Event]]) -> float:
    """Return what a session has cost after more events, where it had cost so much after the earlier ones."""
    if any(isinstance(event, Approved | Settled) for event in events):
        # Who says what became of an act, or takes over from it, says what it cost.
        return float(Recovery.of((*earlier(), *events)).cost)
    for event in events:
        cost += charged([event.receipt]) if isinstance(event, Done) else 0.0
    return cost


class SqlStore(Store):
    """What stores in SQL databases do alike: each problem is kept once, and what cannot be read again is damage."""

    _TABLES: ClassVar[str] = ""
    """What stands before the names of tables."""
    _VALUE: ClassVar[str] = "?"
    """Where a value stands in a query."""

    def __init__(self, where: Path | str, *, read_only: bool) -> None:
        self._where = where
        self.read_only = read_only
        """Whether nothing can be written through it."""
        self._recent: OrderedDict[str, Problem] = OrderedDict()
        """The last few problems as they were read, by the digest of their text."""
        self._reading = threading.Lock()

    @property
    def place(self) -> str:
        """Where it is, in words that may be shown."""
        return str(self._where)

    def _query(self, sql: str, *values: object) -> list[Any]:
        raise NotImplementedError

    def _must_write(self) -> None:
        if self.read_only:
            raise BadJournal(self._where, "was opened to read only", "open it to write")

    def _may_delete(self, session: str, status: str, force: bool) -> None:
        if not (force or Status(status).ended):
            raise AquaMendError(f"session {session!r} has not ended ({status}); resume it, or delete it by force")

    def _texts(self, session: str, after: int, events: Sequence[Event]) -> tuple[list[str], str]:
        """Return events as JSON, and the problem that the first of a session brings, which is kept apart."""
        texts, problem = [], ""
        for number, event in enumerate(events, start=after + 1):
            if (number == 1) != isinstance(event, Alarmed):
                raise AquaMendError(
                    f"a session begins with its alarm, not with {type(event).__name__!r}"
                    if number == 1
                    else "a session begins with its alarm; a second one needs a session of its own"
                )
            data = event_to_data(event)
            if isinstance(event, Alarmed):
                _check_name(session)
                problem = to_json(data["problem"])
                data["problem"] = digest_of(problem)
                # What could not be read again must not be begun.
                event_from_data(data, problem=self._read(data["problem"], problem))
            texts.append(to_json(data))
        return texts, problem

    def _event(self, session: str, number: int, text: str, missing: Callable[[str], AquaMendError]) -> Event:
        """Return the event of a text; ``missing`` says what it means where its problem is not there."""
        with self._sound(session, number):
            data = from_json(text)
        digest = data.get("problem") if isinstance(data, dict) else None
        problem = self._problem(digest, missing) if isinstance(digest, str) else None
        with self._sound(session, number):
            return event_from_data(data, problem=problem)

    @contextmanager
    def _sound(self, session: str, number: int) -> Iterator[None]:
        try:
            yield
        except AquaMendError as error:
            raise self._damaged(f"event {number} of session {session!r}: {error}") from error

    def _problem(self, digest: str, missing: Callable[[str], AquaMendError]) -> Problem:
        if (known := self._known(digest)) is not None:
            return known
        sql = f"SELECT data FROM {self._TABLES}problems WHERE digest = {self._VALUE}"
        for (text,) in self._query(sql, storable(digest)):
            if isinstance(text, str) and digest_of(text) == digest:
                return self._read(digest, text)
        raise missing(f"the problem {digest[:12]} is not what was written")

    def _known(self, digest: str) -> Problem | None:
        """Return a problem that is among the last few."""
        with self._reading:
            if digest in self._recent:
                self._recent.move_to_end(digest)
            return self._recent.get(digest)

    def _read(self, digest: str, text: str) -> Problem:
        """Return the problem of a text, read once for as long as it is among the last few."""
        if (known := self._known(digest)) is not None:
            return known
        problem = parse_problem(from_json(text))
        with self._reading:
            problem = self._recent.setdefault(digest, problem)
            while len(self._recent) > KEPT_PROBLEMS:
                self._recent.popitem(last=False)
        return problem

    def _unknown(self, session: str) -> UnknownName:
        names = self._query(f"SELECT name FROM {self._TABLES}sessions ORDER BY id DESC LIMIT 21")
        return UnknownName("session", str(session), [str(name) for (name,) in names])

    def _damaged(self, what: str) -> BadJournal:
        return BadJournal(self._where, f"is damaged ({what})", "restore it from a copy")


def digest_of(text: str) -> str:
    """Return by what a problem is found."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def storable(text: str) -> str:
    """Return a text without what no file can hold: halves of characters."""
    return text.encode("utf-8", "replace").decode()


def _check_name(session: str) -> None:
    if not 0 < len(session) <= LONGEST_NAME or not session.isprintable():
        raise AquaMendError(f"a session is named in one line of at most {LONGEST_NAME} letters, not {session!r}")
