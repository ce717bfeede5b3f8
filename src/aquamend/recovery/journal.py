"""The journal: sessions on disk, so that no crash loses what was done.

One SQLite file holds any number of sessions, and any number of processes and threads may use it at once. An event that
``append`` has returned from survives the end of the process and a power cut.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aquamend.errors import AquaMendError, BadJournal, ForeignSession, UnknownName
from aquamend.problem import Problem
from aquamend.problem_file import parse_problem
from aquamend.recovery import journal_file
from aquamend.recovery.events import (
    Alarmed,
    AlarmedAgain,
    Approved,
    Asked,
    Decided,
    Done,
    Ended,
    Entry,
    Event,
    Intended,
    Resumed,
)
from aquamend.recovery.plain import event_from_data, event_to_data, from_json, to_json
from aquamend.recovery.receipts import charged
from aquamend.recovery.session import Recovery

KEPT_PROBLEMS = 8
"""Problems that are kept as they were last read, with all that was computed from them."""
READ_AT_ONCE = 500
LONGEST_NAME = 200


class Status(StrEnum):
    """How a session stands."""

    RUNNING = "running"
    """Something is to be decided or begun, by whoever conducts it or resumes it."""
    WAITING = "waiting"
    """A person has to answer."""
    IN_DOUBT = "in doubt"
    """An act has begun, and its receipt is not there yet: it is under way, or somebody has to find out."""
    FINISHED = "finished"
    HANDED_OVER = "handed over"
    STOPPED = "stopped"


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


@dataclass(slots=True)
class _Last:
    """Where a session stands: its number in the file, its last event, and what follows from all of them."""

    key: int
    number: int = 0
    seal: str = ""
    status: Status = Status.RUNNING
    cost: float = 0.0


class Journal:
    """A log of sessions in a file; the file is made if there is none."""

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False, timeout_s: float = 30.0) -> None:
        """Open a journal; ``timeout_s`` is how long to wait while somebody else writes."""
        self.path, self.read_only, self.timeout_s = Path(path), read_only, timeout_s
        self._lock = threading.RLock()
        self._problems: OrderedDict[str, Problem] = OrderedDict()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._left_behind: list[sqlite3.Connection] = []
        self._closed = False
        if not read_only and not self.path.exists():
            journal_file.create(self.path)
        journal_file.inspect(self.path)
        self._identity = _identity(self.path)
        try:
            self._query("SELECT 1 FROM sessions, events, problems LIMIT 1")
        except BadJournal:
            self.close()
            raise

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, read_only: bool = False) -> Self:
        """Return a journal that is there already; ``BadJournal`` if it is not."""
        if not Path(path).exists():
            raise BadJournal(path, "there is no such file", "check the path")
        return cls(path, read_only=read_only)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; nothing is lost without it."""
        with self._lock:
            self._closed = True
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def append(self, session: str, after: int, events: Sequence[Event]) -> None:
        """Add events to a session behind number ``after``, all or none, and have them on disk."""
        if not events:
            return
        texts, problem = self._texts(events)
        with self._lock, self._transaction() as connection:
            last = self._last(session)
            if last is None:
                if after > 0:
                    raise self._unknown(session)
                last = self._begin(connection, session, events[0], problem)
            if last.number != after:
                raise ForeignSession(session)
            self._add(connection, session, last, events, texts)

    def read(self, session: str, after: int = 0) -> Iterator[Entry]:
        """Yield the events of a session behind number ``after``; ``BadJournal`` where they are damaged."""
        last = self._last(session)
        if last is None:
            raise self._unknown(session)
        return self._entries(session, last, after)

    def sessions(self) -> list[SessionLine]:
        """Return every session in short, the first begun first."""
        columns = "name, problem_name, policy, status, started, updated, events, cost"
        return [self._line(*row) for row in self._query(f"SELECT {columns} FROM sessions ORDER BY started, id")]

    def _line(self, name: str, problem: str, policy: str, status: str, *numbers: Any) -> SessionLine:
        started, updated, events, cost = numbers
        texts = all(isinstance(value, str) for value in (name, problem, policy, status))
        if not texts or status not in set(Status) or not all(isinstance(n, (int, float)) for n in numbers):
            raise self._damaged(f"the line of session {name!r} makes no sense")
        return SessionLine(name, problem, policy, Status(status), started, updated, events, cost)

    # Writing.

    def _texts(self, events: Sequence[Event]) -> tuple[list[str], str | None]:
        """Return events as JSON, and the problem that the first of them brings, which is kept apart."""
        texts, problem = [], None
        for event in events:
            data = event_to_data(event)
            if isinstance(event, Alarmed):
                problem = to_json(data["problem"])
                data["problem"] = _digest(problem)
                # What could not be read again must not be begun.
                event_from_data(data, problem=self._problem_of(data["problem"], problem))
            texts.append(to_json(data))
        return texts, problem

    def _begin(self, connection: sqlite3.Connection, session: str, first: Event, problem: str | None) -> _Last:
        if not isinstance(first, Alarmed) or problem is None:
            raise AquaMendError(f"a session begins with its alarm, not with {type(first).__name__!r}")
        if not 0 < len(session) <= LONGEST_NAME or not session.isprintable():
            raise AquaMendError(f"a session is named in one line of at most {LONGEST_NAME} letters, not {session!r}")
        digest, now = _digest(problem), time.time()
        connection.execute("INSERT OR IGNORE INTO problems VALUES (?, ?)", (digest, problem))
        row = (session, digest, _storable(first.state.problem.name), _storable(first.policy), now, now)
        key = connection.execute(
            "INSERT INTO sessions (name, problem, problem_name, policy, status, started, updated, events, cost, seal)"
            " VALUES (?, ?, ?, ?, '', ?, ?, 0, 0, '')",
            row,
        ).lastrowid
        return _Last(key or 0, cost=Recovery.begun(first).cost)

    def _add(
        self, connection: sqlite3.Connection, session: str, last: _Last, events: Sequence[Event], texts: Sequence[str]
    ) -> None:
        now = time.time()
        for event, text in zip(events, texts, strict=True):
            if isinstance(event, Alarmed) and last.number > 0:
                raise AquaMendError("a session begins with its alarm; a second one needs a session of its own")
            last.number += 1
            last.seal = _seal(last.seal, session, last.number, now, text)
            last.status = _status_after(event, last.status)
            last.cost += charged([event.receipt]) if isinstance(event, Done) else 0.0
            row = (last.key, last.number, now, text, last.seal)
            connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", row)
        connection.execute(
            "UPDATE sessions SET status = ?, updated = ?, events = ?, cost = ?, seal = ? WHERE id = ?",
            (last.status, now, last.number, last.cost, last.seal, last.key),
        )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Give a connection in a transaction of its own, which is on disk at the end or has never been."""
        connection = self._writing()
        if _identity(self.path) != self._identity:
            raise BadJournal(self.path, "was moved or removed while it was in use", "put it back, then resume")
        with journal_file.in_words(self.path):
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _writing(self) -> sqlite3.Connection:
        if self._closed:
            raise BadJournal(self.path, "is closed", "open it again")
        if self.read_only:
            raise BadJournal(self.path, "was opened to read only", "open it to write")
        if self._connection is None or self._process != os.getpid():
            # A connection must not be used, nor even closed, on the other side of a fork.
            self._left_behind += [] if self._connection is None else [self._connection]
            self._connection = journal_file.to_write(self.path, timeout_s=self.timeout_s)
            self._process = os.getpid()
        return self._connection

    # Reading.

    def _query(self, sql: str, *values: object) -> list[Any]:
        with self._lock:
            if self.read_only and not self._closed:
                return journal_file.query(self.path, sql, values, timeout_s=self.timeout_s)
            connection = self._writing()
            with journal_file.in_words(self.path):
                return connection.execute(sql, values).fetchall()

    def _last(self, session: str) -> _Last | None:
        sql = "SELECT id, events, seal, status, cost FROM sessions WHERE name = ?"
        for key, number, seal, status, cost in self._query(sql, _storable(session)):
            if status not in set(Status) or not isinstance(number, int) or not isinstance(cost, float):
                raise self._damaged(f"the line of session {session!r} makes no sense")
            return _Last(key, number, seal, Status(status), cost)
        return None

    def _entries(self, session: str, last: _Last, after: int) -> Iterator[Entry]:
        number, seal = max(0, after), ""
        if number:
            rows = self._rows(last.key, number, number)
            seal = rows[0][3] if rows else ""
        while number < last.number:
            rows = self._rows(last.key, number + 1, min(last.number, number + READ_AT_ONCE))
            if not rows:
                raise self._damaged(f"session {session!r} has no event {number + 1}")
            for found, when, text, own in rows:
                number += 1
                seal = _seal(seal, session, number, when, text)
                if found != number or own != seal:
                    raise self._damaged(f"event {number} of session {session!r} is not what was written")
                yield Entry(number, when, self._event(session, number, text))
        if number == last.number and seal != last.seal:
            raise self._damaged(f"session {session!r} does not end as was written")

    def _rows(self, key: int, first: int, until: int) -> list[Any]:
        sql = "SELECT number, time, data, seal FROM events WHERE session = ? AND number BETWEEN ? AND ? ORDER BY number"
        return self._query(sql, key, first, until)

    def _event(self, session: str, number: int, text: str) -> Event:
        try:
            data = from_json(text)
            problem = None
            if isinstance(data, dict) and isinstance(data.get("problem"), str):
                problem = self._problem(data["problem"])
            return event_from_data(data, problem=problem)
        except BadJournal:
            raise
        except AquaMendError as error:
            raise self._damaged(f"event {number} of session {session!r}: {error}") from error

    def _problem(self, digest: str) -> Problem:
        with self._lock:
            if digest in self._problems:
                return self._problem_of(digest, "")
        for (text,) in self._query("SELECT data FROM problems WHERE digest = ?", _storable(digest)):
            if isinstance(text, str) and _digest(text) == digest:
                return self._problem_of(digest, text)
        raise self._damaged(f"the problem {digest[:12]} is not what was written")

    def _problem_of(self, digest: str, text: str) -> Problem:
        """Return a problem, read once for as long as it is among the last few."""
        with self._lock:
            if digest not in self._problems:
                self._problems[digest] = parse_problem(from_json(text))
            self._problems.move_to_end(digest)
            while len(self._problems) > KEPT_PROBLEMS:
                self._problems.popitem(last=False)
            return self._problems[digest]

    def _unknown(self, session: str) -> UnknownName:
        names = self._query("SELECT name FROM sessions ORDER BY id DESC LIMIT 21")
        return UnknownName("session", str(session), [str(name) for (name,) in names])

    def _damaged(self, what: str) -> BadJournal:
        return BadJournal(self.path, f"is damaged ({what})", "restore it from a copy")


def _status_after(event: Event, before: Status) -> Status:
    match event:
        case Asked():
            return Status.WAITING
        case Intended():
            return Status.IN_DOUBT
        case Ended(ending):
            return Status(ending.value)
        case Alarmed() | Decided() | Approved() | Done():
            return Status.RUNNING
        case AlarmedAgain() | Resumed():
            return before


def _seal(before: str, session: str, number: int, when: object, text: str) -> str:
    """Return what an event and all before it come to: any change, gap or exchange gives another."""
    said = f"{before}\n{session}\n{number}\n{when!r}\n{text}"
    return hashlib.sha256(said.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _storable(text: str) -> str:
    """Return a text without what no file can hold: halves of characters."""
    return text.encode("utf-8", "replace").decode()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
