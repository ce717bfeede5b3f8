"""The log itself: what ``aquamend.recovery.Log`` asks of one, and what a journal has beside it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Self, TypeVar

from aquamend.adapters.postgres.database import Connection, DatabaseLink, check_tables, make_tables, without_password
from aquamend.adapters.postgres.leases import CHANNEL, KEPT, Leases
from aquamend.errors import AquaMendError, BadArgument, ForeignSession, HeldSession, UsedName
from aquamend.recovery.clock import Instant
from aquamend.recovery.events import Alarmed, Approved, Asked, Ended, Entry, Event, Resumed, Settled
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

T = TypeVar("T")

LONGEST_LEASE_S: Final = 86_400.0
LEAST_LIMIT_S: Final = 1.0
"""For how long others may at least hold what is to be written, however short the lease."""
_COLUMNS: Final = "name, problem_name, policy, status, started, updated, events, cost"


@dataclass(frozen=True, slots=True)
class _Batch:
    """Events to be written at once."""

    session: str
    after: int
    events: Sequence[Event]
    texts: list[str]
    """The events as JSON."""
    problem: str
    """That of the first event of a session, as JSON."""
    when: float
    name: str
    """By it is known whether what was sent has arrived, where the connection was lost before the server said so."""

    @property
    def by_person(self) -> bool:
        """Whether it is only the word of a person, who conducts nothing."""
        return all(isinstance(event, Approved | Settled) for event in self.events)

    @property
    def ends(self) -> bool:
        return isinstance(self.events[-1], Ended)


class PostgresLog(SqlStore):
    """A log of sessions in a PostgreSQL database; its tables are made, or brought up to date, unless only read.

    May be used by many threads, and on both sides of a fork.
    """

    _TABLES, _VALUE = "aquamend.", "%s"

    def __init__(self, address: str, *, read_only: bool = False, lease_s: float = 30.0) -> None:
        """Connect to an address: ``postgresql://user@host/database``, or anything else that libpq understands.

        ``lease_s`` is for how long this program may be cut off from the server: after so long, somebody else may
        conduct its sessions. A little less long it waits for a server that has gone away.
        """
        if not 0.0 < lease_s <= LONGEST_LEASE_S:
            raise BadArgument(f"lease_s is {lease_s!r}; give seconds, above 0 and at most {LONGEST_LEASE_S:,.0f}")
        super().__init__(without_password(address), read_only=read_only)
        self.lease_s = lease_s
        self._link = DatabaseLink(address, read_only=read_only, limit_s=max(lease_s, LEAST_LIMIT_S))
        self._leases = Leases(self._link, lease_s)
        try:
            self._link.run(self._check if read_only else self._make, patience_s=0.0)
        except BaseException:
            self._link.close()
            raise

    @classmethod
    def open(cls, address: str, *, read_only: bool = False) -> Self:
        """Return a log whose tables are there already; ``BadJournal`` if they are not."""
        log = cls(address, read_only=True)
        if read_only:
            return log
        log.close()
        return cls(address)

    def _check(self, connection: Connection) -> None:
        check_tables(connection, self.place)

    def _make(self, connection: Connection) -> None:
        with self._link.transaction(connection):
            make_tables(connection, self.place)

    def close(self) -> None:
        """Let go of what this program conducts, and close the connection; nothing is lost without it."""
        for session in self._leases.held:
            self.release(session)
        self._link.close()

    # What every log does.

    def append(self, session: str, after: int, events: Sequence[Event], *, at: float | None = None) -> None:
        """Add events behind number ``after`` of a session, all or none, and have them on the server's disk.

        Whoever writes anything but the word of a person conducts the session from then on: ``HeldSession`` while
        somebody else does. Whoever takes it up waits until the lease of a program that is gone has run out. A server
        that is away for too long is ``Unreachable``; the events may be there all the same.
        """
        if not events:
            return
        self._must_write()
        texts, problem = self._texts(session, after, events)
        when = time.time() if at is None else float(at)
        batch = _Batch(session, after, events, texts, problem, when, secrets.token_hex(8))
        end = time.monotonic() + 1.2 * self.lease_s if isinstance(events[0], Resumed) else 0.0
        while True:
            try:
                self._run(partial(self._add, batch), patience_s=self._leases.left_s(session))
            except HeldSession:
                if time.monotonic() >= end:
                    raise
                time.sleep(min(self.lease_s / 10, 0.2))
            else:
                return

    def read(self, session: str, after: int = 0) -> Iterator[Entry]:
        """Yield the events of a session behind number ``after``."""
        found = self._query("SELECT id, events FROM aquamend.sessions WHERE name = %s", _text(session))
        if not found:
            raise self._unknown(session)
        key, there = found[0]
        return self._entries(session, key, there, max(0, after))

    # What a journal does as well.

    def sessions(self) -> list[SessionLine]:
        """Return every session in short, the first begun first."""
        rows = self._query(f"SELECT {_COLUMNS} FROM aquamend.sessions ORDER BY started, id")
        return [SessionLine(name, problem, policy, Status(how), *rest) for name, problem, policy, how, *rest in rows]

    def delete(self, sessions: Iterable[str], *, force: bool = False) -> None:
        """Delete sessions with all their events, all or none; those that have not ended only by ``force``."""
        self._must_write()
        self._run(partial(self._delete, sorted(dict.fromkeys(sessions)), force))

    # What a log does that many programs share.

    def left_s(self, session: str) -> float:
        """Return for how many seconds more nobody else can conduct a session; it is answered without the server."""
        return self._leases.left_s(session)

    def release(self, session: str) -> None:
        """Let somebody else conduct a session at once; where the server is away, once the lease has run out."""
        if self._leases.drop(session):
            with suppress(AquaMendError):
                self._run(lambda connection: self._leases.release(connection, session), patience_s=0.0)

    def listening(self, session: str | None, call: Callable[[], object]) -> AbstractContextManager[None]:
        """Have a function called, from a thread, when a person was asked or has spoken in a session, or in any."""
        return self._leases.listening(session, call)

    # Writing.

    def _add(self, batch: _Batch, connection: Connection) -> None:
        session, asked = batch.session, Instant.now()
        with self._link.transaction(connection):
            if isinstance(batch.events[0], Alarmed):
                self._begin(batch, batch.events[0], connection)
            row = connection.execute(
                "SELECT id, events, status, cost FROM aquamend.sessions WHERE name = %s FOR UPDATE", [_text(session)]
            ).fetchone()
            if row is None:
                raise self._unknown(session)
            key, there, status, cost = row
            arrived = there == batch.after + len(batch.events) and _has_arrived(batch, key, connection)
            if there != batch.after and not arrived:
                raise ForeignSession(session) if batch.after else UsedName(session, f"{status}, with {there} events")
            if not batch.by_person:
                self._leases.take(connection, session, key)
            if not arrived:
                cost = cost_after(cost, batch.events, lambda: [e.event for e in self._entries(session, key, there, 0)])
                for event in batch.events:
                    status = status_after(event, Status(status)).value
                _extend(batch, key, status, cost, connection)
            if batch.ends:
                self._leases.release(connection, session)
        if batch.ends:
            self._leases.drop(session)
        elif not batch.by_person:
            self._leases.taken(session, asked)

    def _begin(self, batch: _Batch, first: Alarmed, connection: Connection) -> None:
        """Put a session there, without events as yet, unless there is one of this name."""
        digest, cost = digest_of(batch.problem), float(Recovery.begun(first).cost)
        connection.execute(
            "INSERT INTO aquamend.problems VALUES (%s, %s) ON CONFLICT (digest) DO NOTHING", [digest, batch.problem]
        )
        names = [batch.session, _text(first.state.problem.name), _text(first.policy), Status.RUNNING.value]
        connection.execute(
            f"INSERT INTO aquamend.sessions ({_COLUMNS}, problem) VALUES (%s, %s, %s, %s, %s, %s, 0, %s, %s)"
            " ON CONFLICT (name) DO NOTHING",
            [*names, batch.when, batch.when, cost, digest],
        )

    def _delete(self, names: list[str], force: bool, connection: Connection) -> None:
        with self._link.transaction(connection):
            problems = []
            for name in names:
                row = connection.execute(
                    "SELECT problem, status FROM aquamend.sessions WHERE name = %s FOR UPDATE", [_text(name)]
                ).fetchone()
                if row is None:
                    raise self._unknown(name)
                self._may_delete(name, row[1], force)
                problems.append(row[0])
            connection.execute("DELETE FROM aquamend.sessions WHERE name = ANY(%s)", [names])
            connection.execute(
                "DELETE FROM aquamend.problems WHERE digest = ANY(%s)"
                " AND NOT EXISTS (SELECT 1 FROM aquamend.sessions WHERE problem = digest)",
                [problems],
            )

    # Reading.

    def _entries(self, session: str, key: int, there: int, after: int) -> Iterator[Entry]:
        number, missing = after, partial(self._missing, session, key)
        while number < there:
            first, last = number + 1, min(there, number + READ_AT_ONCE)
            rows = self._query(
                "SELECT number, time, data FROM aquamend.events WHERE session = %s AND number BETWEEN %s AND %s"
                " ORDER BY number",
                key, first, last,
            )  # fmt: skip
            if [row[0] for row in rows] != list(range(first, last + 1)):
                raise missing(f"session {session!r} has not all of its events from {first} to {last}")
            for number, when, text in rows:
                yield Entry(number, when, self._event(session, number, text, missing))

    def _missing(self, session: str, key: int, what: str) -> AquaMendError:
        """Return what it means that something is not there: damage, unless somebody has deleted the session."""
        there = self._query("SELECT 1 FROM aquamend.sessions WHERE id = %s", key)
        return self._damaged(what) if there else self._unknown(session)

    def _query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self._run(lambda connection: connection.execute(sql, values).fetchall())

    def _run(self, work: Callable[[Connection], T], *, patience_s: float | None = None) -> T:
        return self._link.run(work, patience_s=KEPT * self.lease_s if patience_s is None else patience_s)


def _has_arrived(batch: _Batch, key: int, connection: Connection) -> bool:
    sql = "SELECT 1 FROM aquamend.events WHERE session = %s AND number = %s AND batch = %s"
    return connection.execute(sql, [key, batch.after + 1, batch.name]).fetchone() is not None


def _extend(batch: _Batch, key: int, status: str, cost: float, connection: Connection) -> None:
    connection.execute(
        "INSERT INTO aquamend.events (session, number, time, data, batch) SELECT %s, %s + place, %s, data, %s"
        " FROM unnest(%s::text[]) WITH ORDINALITY AS given (data, place)",
        [key, batch.after, batch.when, batch.name, batch.texts],
    )
    connection.execute(
        "UPDATE aquamend.sessions SET events = %s, updated = %s, status = %s, cost = %s WHERE id = %s",
        [batch.after + len(batch.texts), batch.when, status, cost, key],
    )
    if any(isinstance(event, Asked | Approved | Settled) for event in batch.events):  # it costs all others some time
        connection.execute("SELECT pg_notify(%s, %s)", [CHANNEL, batch.session])


def _text(text: str) -> str:
    """Return a text as the database can hold it."""
    return storable(text).replace("\0", "\N{REPLACEMENT CHARACTER}")
