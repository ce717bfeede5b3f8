"""Who conducts which session: leases by the server's clock, renewed by a thread that also hears what people say."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final
from weakref import WeakSet

import psycopg

from aquamend.adapters.postgres.database import Connection, DatabaseLink
from aquamend.errors import AquaMendError, HeldSession
from aquamend.recovery.clock import Instant

CHANNEL: Final = "aquamend"
"""On which the server announces that a person was asked or has spoken, with the name of the session."""
KEPT: Final = 0.7
"""After which part of a lease that cannot be renewed it is given up here: before anybody else may have it."""

_TAKE: Final = """
    INSERT INTO aquamend.leases AS lease (session, holder, seconds, until)
    VALUES (%(id)s, %(holder)s, %(seconds)s, clock_timestamp() + make_interval(secs => %(seconds)s))
    ON CONFLICT (session) DO UPDATE SET holder = excluded.holder, seconds = excluded.seconds, until = excluded.until
    WHERE lease.holder = excluded.holder OR
        greatest(lease.until, pg_postmaster_start_time() + make_interval(secs => lease.seconds)) < clock_timestamp()
    RETURNING session
"""
"""Takes or renews a lease; one that ran out while the server was away has its whole time again."""
_RENEW: Final = """
    UPDATE aquamend.leases AS lease SET until = clock_timestamp() + make_interval(secs => lease.seconds)
    FROM aquamend.sessions AS session WHERE session.id = lease.session AND lease.holder = %s RETURNING session.name
"""
_RELEASE: Final = """
    DELETE FROM aquamend.leases USING aquamend.sessions AS own
    WHERE own.id = leases.session AND own.name = %s AND holder = %s
"""
_HOLDER: Final = "SELECT holder FROM aquamend.leases WHERE session = %s"

Listener = tuple[str | None, Callable[[], object]]


_ALL: WeakSet[Leases] = WeakSet()


class Leases:
    """The leases that one program holds, and the threads in it that listen for the word of people."""

    def __init__(self, link: DatabaseLink, seconds: float) -> None:
        self._link, self.seconds = link, seconds
        self._lock = threading.Lock()
        """Never held while the server is waited for."""
        self._process = os.getpid()
        self._renewed: dict[str, Instant] = {}
        """When the lease of each session was last asked for with success."""
        self._listeners: list[Listener] = []
        self._watch: threading.Thread | None = None
        _ALL.add(self)

    def unlock(self) -> None:
        """Begin with nothing held by anybody, on the other side of a fork: who held the lock is not there."""
        self._lock = threading.Lock()

    @property
    def held(self) -> list[str]:
        """The sessions that this program conducts."""
        with self._own():
            return list(self._renewed)

    def take(self, connection: Connection, session: str, key: int) -> None:
        """Take the lease of a session, or renew it, within a transaction; ``HeldSession`` where another has it."""
        lease = {"id": key, "holder": self._link.name, "seconds": self.seconds}
        if connection.execute(_TAKE, lease).fetchone() is None:
            holder = connection.execute(_HOLDER, [key]).fetchone()
            raise HeldSession(session, holder[0] if holder else "another program")

    def taken(self, session: str, asked: Instant) -> None:
        """Take in that the lease is held, since it was asked for."""
        with self._own():
            self._renewed[session] = asked
        self._watch_from_now()

    def drop(self, session: str) -> bool:
        """Take in that a session is not conducted any more; return whether it was."""
        with self._own():
            return self._renewed.pop(session, None) is not None

    def release(self, connection: Connection, session: str) -> None:
        """Let somebody else conduct a session."""
        connection.execute(_RELEASE, [session, self._link.name])

    def left_s(self, session: str) -> float:
        """Return for how many seconds more nobody else can conduct a session; all the time, if it was not conducted."""
        with self._own():
            renewed = self._renewed.get(session)
        whole = KEPT * self.seconds
        return whole if renewed is None else whole - Instant.now().seconds_since(renewed)

    @contextmanager
    def listening(self, session: str | None, call: Callable[[], object]) -> Iterator[None]:
        """Have a function called, from a thread, when a person was asked or has spoken in a session, or in any."""
        own = session, call
        with self._own():
            self._listeners.append(own)
        self._watch_from_now()
        try:
            yield
        finally:
            with self._lock, suppress(ValueError):
                self._listeners.remove(own)

    @contextmanager
    def _own(self) -> Iterator[None]:
        """Let nobody else change what this program holds; what was held before a fork is the other side's."""
        with self._lock:
            if self._process != os.getpid():
                self._process, self._watch = os.getpid(), None
                self._renewed.clear()
                self._listeners.clear()
            yield

    # The thread that watches.

    def _watch_from_now(self) -> None:
        with self._lock:
            if self._watch is None:
                self._watch = threading.Thread(target=self._watch_on, name="aquamend watches a fleet", daemon=True)
                self._watch.start()

    def _is_needed(self) -> bool:
        """Whether anybody listens, or anything is conducted; if not, the thread ends."""
        with self._lock:
            if not self._listeners and not self._renewed:
                self._watch = None
            return self._watch is not None

    def _watch_on(self) -> None:
        while self._is_needed():
            with suppress(psycopg.Error, AquaMendError, OSError), self._link.connect() as connection:
                connection.execute(f"LISTEN {CHANNEL}")
                connection.execute("SET synchronous_commit = off")  # the last moments of a lease need not be on disk
                self._announce(None)  # whatever was said while nobody heard
                while self._is_needed():
                    self._renew(connection)
                    for note in connection.notifies(timeout=min(self.seconds / 8, 1.0), stop_after=1):
                        self._announce(note.payload)
            time.sleep(min(self.seconds / 20, 0.2) if self._is_needed() else 0.0)

    def _renew(self, connection: Connection) -> None:
        """Renew what nobody has renewed by writing."""
        asked = Instant.now()
        with self._lock:
            if all(asked.seconds_since(renewed) < self.seconds / 4 for renewed in self._renewed.values()):
                return
        kept = {name for (name,) in connection.execute(_RENEW, [self._link.name]).fetchall()}
        with self._lock:
            self._renewed.update((name, asked) for name in kept if name in self._renewed)

    def _announce(self, session: str | None) -> None:
        with self._lock:
            heard = [call for own, call in self._listeners if session is None or own in (None, session)]
        for call in heard:
            with suppress(Exception):  # such as of an event loop that is closed: leases have to be renewed all the same
                call()


def _unlock_all() -> None:
    for leases in _ALL:
        leases.unlock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_all)
