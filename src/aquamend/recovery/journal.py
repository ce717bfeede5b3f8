"""The journal: sessions on disk, so that no crash loses what was done.

One SQLite file holds any number of sessions, and any number of processes and threads may use it at once. An event that
``append`` has returned from survives the end of the process and a power cut; and if damage takes it away, that is an
error, because the seals beside the file know of it.
"""

from __future__ import annotations

import hashlib
import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial, reduce
from operator import attrgetter, xor
from pathlib import Path
from typing import Any, Self

from aquamend.errors import AquaMendError, BadJournal, ForeignSession, UsedName
from aquamend.recovery import journal_file, seals
from aquamend.recovery.clock import EARLIEST, LATEST
from aquamend.recovery.events import Alarmed, Entry, Event
from aquamend.recovery.history import Recovery
from aquamend.recovery.log import (
    READ_AT_ONCE,
    SessionLine,
    SqlStore,
    Status,
    cost_after,
    digest_of,
    status_after,
    storable,
)
from aquamend.recovery.seals import Mark


@dataclass(slots=True)
class _Row:
    """A session as it stands in the file: its number there, what it is, and what its events have come to."""

    id: int
    name: str
    problem: str
    problem_name: str
    policy: str
    status: str
    started: float
    updated: float
    events: int
    cost: float
    seal: str

    @property
    def hash(self) -> int:
        """Return what tells it from any other."""
        return _hash(_columns_of(self))

    @property
    def sound(self) -> bool:
        """Whether it can be what was written, by its types and times."""
        texts = (self.name, self.problem, self.problem_name, self.policy, self.seal)
        return (
            all(isinstance(text, str) for text in texts)
            and self.status in _STATUSES
            and type(self.id) is type(self.events) is int
            and type(self.cost) is float
            and not math.isnan(self.cost)
            and _is_time(self.started)
            and _is_time(self.updated)
        )

    @property
    def line(self) -> SessionLine:
        status = Status(self.status)
        times = (self.started, self.updated)
        return SessionLine(self.name, self.problem_name, self.policy, status, *times, self.events, self.cost)


_STATUSES = frozenset(status.value for status in Status)
_Query = Callable[..., list[Any]]
_COLUMNS = tuple(field.name for field in fields(_Row))
_columns_of = attrgetter(*_COLUMNS)
_SESSIONS = f"SELECT mark.mark, {', '.join(f'sessions.{name}' for name in _COLUMNS)} FROM mark LEFT JOIN sessions"
"""What is asked of the database at one moment: the mark of all, and sessions; None in their place if there are none."""


class Journal(SqlStore):
    """A log of sessions in a file; the file is made if there is none."""

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False, timeout_s: float = 30.0) -> None:
        """Open a journal; ``timeout_s`` is how long to wait while somebody else writes."""
        super().__init__(Path(path), read_only=read_only)
        self.path, self.timeout_s = Path(path), timeout_s
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._left_behind: list[sqlite3.Connection] = []
        self._closed = False
        if not read_only:
            journal_file.tidy(self.path)
            if not self.path.exists():
                journal_file.create(self.path)
        journal_file.inspect(self.path)
        self._identity = _identity(self.path)
        self._inspect()
        if not read_only:
            self._writing()

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, read_only: bool = False) -> Self:
        """Return a journal that is there already; ``BadJournal`` if it is not."""
        if not Path(path).exists():
            raise BadJournal(path, "there is no such file", "check the path")
        return cls(path, read_only=read_only)

    def close(self) -> None:
        """Close the file; nothing is lost without it."""
        with self._lock:
            self._closed = True
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def append(self, session: str, after: int, events: Sequence[Event], *, at: float | None = None) -> None:
        """Add events behind number ``after`` of a session, all or none, and have them on disk."""
        if not events:
            return
        texts, problem = self._texts(session, after, events)
        when = time.time() if at is None else float(at)
        with self._lock:
            with self._transaction() as connection:
                mark, row = self._found(session)
                if row is None:
                    if not isinstance(events[0], Alarmed):
                        raise self._unknown(session)
                    row, before = self._begin(connection, session, events[0], problem, when), 0
                else:
                    before = row.hash
                    if after == 0 < row.events:
                        raise UsedName(session, f"{row.status}, with {row.events} events")
                    if row.events != after:
                        raise ForeignSession(session)
                self._add(connection, row, events, texts, when)
                new = after == 0
                mark = self._marked(connection, mark, before ^ row.hash, sessions=int(new), events=len(events))
            self._acknowledge(mark)

    def read(self, session: str, after: int = 0) -> Iterator[Entry]:
        """Yield the events of a session behind number ``after``; ``BadJournal`` where they are damaged."""
        _, row = self._found(session)
        if row is None:
            raise self._unknown(session)
        return self._entries(row, after)

    def sessions(self) -> list[SessionLine]:
        """Return every session in short, the first begun first."""
        rows = [_Row(*columns) for columns in self._listed(self._query)]
        if not all(row.sound for row in rows):
            raise self._damaged("its list of sessions makes no sense")
        return [row.line for row in rows]

    def delete(self, sessions: Iterable[str], *, force: bool = False) -> None:
        """Delete sessions with all their events, all or none; those that have not ended only by ``force``.

        Their names are free again. Room in the file is used for others; the file itself does not shrink.
        """
        with self._lock:
            with self._transaction() as connection:
                rows = [self._to_delete(session, force) for session in dict.fromkeys(sessions)]
                if not rows:
                    return
                mark, change = rows[0][0], 0
                for _, row in rows:
                    self._remove(connection, row)
                    change ^= row.hash
                events = sum(row.events for _, row in rows)
                mark = self._marked(connection, mark, change, sessions=-len(rows), events=-events)
            self._acknowledge(mark)

    def _to_delete(self, session: str, force: bool) -> tuple[Mark, _Row]:
        mark, row = self._found(session)
        if row is None:
            raise self._unknown(session)
        self._may_delete(session, row.status, force)
        return mark, row

    # Writing.

    def _begin(self, connection: sqlite3.Connection, session: str, first: Alarmed, problem: str, when: float) -> _Row:
        digest, now, cost = digest_of(problem), when, Recovery.begun(first).cost
        connection.execute("INSERT OR IGNORE INTO problems VALUES (?, ?)", (digest, problem))
        names = (session, digest, storable(first.state.problem.name), storable(first.policy))
        row = _Row(0, *names, Status.RUNNING.value, now, now, 0, float(cost), "")
        values = [getattr(row, column) for column in _COLUMNS[1:]]
        places = ", ".join("?" * len(values))
        columns = ", ".join(_COLUMNS[1:])
        row.id = connection.execute(f"INSERT INTO sessions ({columns}) VALUES ({places})", values).lastrowid or 0
        return row

    def _add(
        self, connection: sqlite3.Connection, row: _Row, events: Sequence[Event], texts: Sequence[str], when: float
    ) -> None:
        row.updated = when
        row.cost = cost_after(row.cost, events, partial(self._events_of, replace(row)))
        for event, text in zip(events, texts, strict=True):
            row.events += 1
            row.seal = _seal(row.seal, row.name, row.events, row.updated, text)
            row.status = status_after(event, Status(row.status)).value
            values = (row.id, row.events, row.updated, text, row.seal)
            connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", values)
        connection.execute(
            "UPDATE sessions SET status = ?, updated = ?, events = ?, cost = ?, seal = ? WHERE id = ?",
            (row.status, row.updated, row.events, row.cost, row.seal, row.id),
        )

    def _remove(self, connection: sqlite3.Connection, row: _Row) -> None:
        connection.execute("DELETE FROM events WHERE session = ?", (row.id,))
        connection.execute("DELETE FROM sessions WHERE id = ?", (row.id,))
        others = "SELECT 1 FROM sessions WHERE problem = ?1"
        connection.execute(f"DELETE FROM problems WHERE digest = ?1 AND NOT EXISTS ({others})", (row.problem,))

    def _marked(self, connection: sqlite3.Connection, mark: Mark, change: int, *, sessions: int, events: int) -> Mark:
        """Return the mark after a change, having put it into the database; ``change`` is of the digest."""
        mark = replace(
            mark,
            changes=mark.changes + 1,
            sessions=mark.sessions + sessions,
            events=mark.events + events,
            digest=(int.from_bytes(mark.digest) ^ change).to_bytes(32),
        )
        connection.execute("UPDATE mark SET mark = ?", (mark.to_bytes(),))
        return mark

    def _acknowledge(self, mark: Mark) -> None:
        """Have on disk that the database has come so far: from now on, a program that finds less calls it damaged."""
        with journal_file.as_bad_journal(self.path):
            seals.keep(self.path, mark, timeout_s=self.timeout_s)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Give a connection in a transaction of its own, which is on disk at the end or has never been."""
        connection = self._writing()
        if _identity(self.path) != self._identity:
            raise BadJournal(self.path, "was moved or removed while it was in use", "put it back, then resume")
        with journal_file.as_bad_journal(self.path):
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
        self._must_write()
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
            with journal_file.as_bad_journal(self.path):
                return connection.execute(sql, values).fetchall()

    def _found(self, session: str) -> tuple[Mark, _Row | None]:
        """Return the mark of the database and the line of a session; ``BadJournal`` where the seals know of more."""
        acknowledged, found = self._moment(self._query, f"{_SESSIONS} ON sessions.name = ?", storable(session))
        mark = self._sealed(found[0][0] if found else None, acknowledged)
        if found[0][1] is None:
            return mark, None
        row = _Row(*found[0][1:])
        if len(found) > 1 or row.name != storable(session) or not row.sound:
            raise self._damaged(f"the line of session {session!r} makes no sense")
        return mark, row

    def _inspect(self) -> None:
        """Check all that can be checked without reading every event; nothing is changed, and damage is not moved."""

        def untouched(sql: str, *values: object) -> list[Any]:
            return journal_file.query(self.path, sql, values, timeout_s=self.timeout_s)

        if seals.last(self.path) is None and not self.read_only:
            mark = Mark.from_bytes(untouched("SELECT mark FROM mark")[0][0])
            if mark is not None and mark.changes == 0:  # its maker has not come so far
                journal_file.complete(self.path, mark)
        untouched("SELECT 1 FROM events, problems LIMIT 1")
        self._listed(untouched)
        faults = untouched("PRAGMA integrity_check(sessions)")
        if faults != [("ok",)]:
            raise self._damaged(f"its list of sessions: {str(faults[0][0])[:200]}")

    def _listed(self, query: _Query) -> list[tuple[Any, ...]]:
        """Return the lines of all sessions; ``BadJournal`` unless they are what the mark of the database says."""
        acknowledged, found = self._moment(query, f"{_SESSIONS} ORDER BY sessions.started, sessions.id")
        mark = self._sealed(found[0][0] if found else None, acknowledged)
        lines = [columns[1:] for columns in found if columns[1] is not None]
        if (len(lines), reduce(xor, map(_hash, lines), 0)) != (mark.sessions, int.from_bytes(mark.digest)):
            raise self._damaged("its list of sessions is not what was written")
        return lines

    def _moment(self, query: _Query, sql: str, *values: object) -> tuple[Mark | None, list[Any]]:
        """Return what was acknowledged, and what is found in the database, which is asked later and so has no less."""
        acknowledged = seals.last(self.path)
        found = query(sql, *values)
        if acknowledged is None:  # they may have come into being in between
            acknowledged = seals.last(self.path)
            found = query(sql, *values)
        return acknowledged, found

    def _sealed(self, found: object, acknowledged: Mark | None) -> Mark:
        """Return the mark of the database, unless the seals say that it was further or another."""
        mark, name = Mark.from_bytes(found), seals.beside(self.path).name
        if mark is None:
            raise self._damaged("its mark is not what was written")
        if acknowledged is None:
            if mark.changes == 0:
                return mark
            raise BadJournal(self.path, f"its seals are missing (there is no {name})", f"put {name} back beside it")
        if acknowledged.journal != mark.journal:
            what = f"{name} belongs to another journal"
            raise BadJournal(self.path, what, f"put its own back beside it; {seals.TOGETHER}")
        if acknowledged.changes > mark.changes:
            lost = f"{acknowledged.events} events were acknowledged, and {mark.events} are there"
            raise self._damaged(f"{lost}; its write-ahead log is cut off, or was not moved or copied with it")
        if acknowledged.changes == mark.changes and acknowledged != mark:
            raise self._damaged(f"it is not what {name} says")
        return mark

    def _entries(self, row: _Row, after: int) -> Iterator[Entry]:
        session, number, seal = row.name, max(0, after), ""
        if number:
            rows = self._rows(row.id, number, number)
            seal = rows[0][3] if rows else ""
        while number < row.events:
            rows = self._rows(row.id, number + 1, min(row.events, number + READ_AT_ONCE))
            if not rows:
                raise self._broken(row, f"session {session!r} has no event {number + 1}")
            for found, when, text, own in rows:
                number += 1
                seal = _seal(seal, session, number, when, text)
                if found != number or own != seal or not isinstance(text, str) or not _is_time(when):
                    raise self._broken(row, f"event {number} of session {session!r} is not what was written")
                yield Entry(number, when, self._event(session, number, text, partial(self._broken, row)))
        if number == row.events and seal != row.seal:
            raise self._broken(row, f"session {session!r} does not end as was written")

    def _events_of(self, row: _Row) -> list[Event]:
        return [entry.event for entry in self._entries(row, 0)]

    def _broken(self, row: _Row, what: str) -> AquaMendError:
        """Return what it means that events are not there: damage, unless somebody has deleted the session meanwhile."""
        _, now = self._found(row.name)
        gone = now is None or (now.id, now.started) != (row.id, row.started)
        return self._unknown(row.name) if gone else self._damaged(what)

    def _rows(self, key: int, first: int, until: int) -> list[Any]:
        sql = "SELECT number, time, data, seal FROM events WHERE session = ? AND number BETWEEN ? AND ? ORDER BY number"
        return self._query(sql, key, first, until)


def _hash(columns: tuple[Any, ...]) -> int:
    """Return what tells a session's line from any other."""
    return int.from_bytes(hashlib.sha256(repr(columns).encode("utf-8", "backslashreplace")).digest())


def _is_time(value: object) -> bool:
    return isinstance(value, float) and EARLIEST <= value <= LATEST


def _seal(before: str, session: str, number: int, when: object, text: str) -> str:
    """Return what an event and all before it come to: any change, gap or exchange gives another."""
    said = f"{before}\n{session}\n{number}\n{when!r}\n{text}"
    return hashlib.sha256(said.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
