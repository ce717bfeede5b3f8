"""The database of a fleet: its tables, how they come to be what this version needs, and a link to its server.

The server may go away: the link connects again, does things again, and says in words what is wrong.
"""

from __future__ import annotations

import math
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import psycopg
from psycopg import conninfo, errors

from aquamend.errors import AquaMendError, BadJournal, Unreachable

Connection = psycopg.Connection[tuple[Any, ...]]

MIGRATIONS: Final = (
    """
    CREATE TABLE aquamend.problems (
        digest text PRIMARY KEY,                 -- SHA-256 of data
        data text NOT NULL                       -- the problem, in the format of problem files
    );
    CREATE TABLE aquamend.sessions (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text NOT NULL UNIQUE,
        problem text NOT NULL REFERENCES aquamend.problems,
        problem_name text NOT NULL,
        policy text NOT NULL,
        status text NOT NULL,
        started double precision NOT NULL,       -- seconds since 1970, by the writer's clock
        updated double precision NOT NULL,
        events integer NOT NULL,                 -- how many there are, and so the number of the last one
        cost double precision NOT NULL
    );
    CREATE INDEX ON aquamend.sessions (problem);
    CREATE TABLE aquamend.events (
        session bigint NOT NULL REFERENCES aquamend.sessions ON DELETE CASCADE,
        number integer NOT NULL,                 -- 1, 2, 3 ... within the session
        time double precision NOT NULL,
        data text NOT NULL,                      -- the event, as JSON
        batch text NOT NULL,                     -- what was written at once has the same
        PRIMARY KEY (session, number)
    );
    CREATE TABLE aquamend.leases (
        session bigint PRIMARY KEY REFERENCES aquamend.sessions ON DELETE CASCADE,
        holder text NOT NULL,                    -- the program that conducts it
        seconds double precision NOT NULL,       -- for how long at a time
        until timestamptz NOT NULL               -- by the clock of the server
    );
    """,
)
"""What takes the tables from each version to the next. One that was released is never changed; more may follow it."""


def make_tables(connection: Connection, place: str) -> None:
    """Make the tables, or bring them up to date, within a transaction; a later program's are left alone."""
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('aquamend', 0))")  # one program at a time
    version = version_of(connection)
    if version == len(MIGRATIONS):
        return
    if version == 0:
        connection.execute("CREATE SCHEMA IF NOT EXISTS aquamend")
        connection.execute("CREATE TABLE aquamend.version (version integer NOT NULL)")
        connection.execute("INSERT INTO aquamend.version VALUES (0)")
    for migration in MIGRATIONS[version:]:
        connection.execute(migration)
    connection.execute("UPDATE aquamend.version SET version = %s", [max(version, len(MIGRATIONS))])
    check_tables(connection, place)


def check_tables(connection: Connection, place: str) -> None:
    """Refuse tables that this version cannot read."""
    version, known = version_of(connection), len(MIGRATIONS)
    if version == 0:
        raise BadJournal(place, "holds no sessions", "check the address; PostgresLog(address) makes what it needs")
    if version > known:
        raise BadJournal(place, f"has version {version}, and this program knows {known}", "update aquamend")
    if version < known:
        what = f"has version {version}, and this program reads {known}"
        raise BadJournal(place, what, "open it to write once: PostgresLog(address) brings it up to date")


def version_of(connection: Connection) -> int:
    """Return the version of the tables; 0 where there are none."""
    if connection.execute("SELECT to_regclass('aquamend.version')").fetchone() == (None,):
        return 0
    found = connection.execute("SELECT version FROM aquamend.version").fetchone()
    return int(found[0]) if found else 0


T = TypeVar("T")

CONNECT_S: Final = 5
KEEP_ALIVE: Final = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 11_000}
"""After how much silence each side finds out that the other is gone: about eleven seconds."""

_NOT_YET: Final = ("starting up", "shutting down", "recovery", "not yet accepting", "not accepting", "too many clients")
"""What a server says that will answer in a moment."""
_PASSING: Final = (
    errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow, errors.TooManyConnections,
    errors.IdleInTransactionSessionTimeout, errors.DeadlockDetected, errors.SerializationFailure,
    errors.ForeignKeyViolation, errors.LockNotAvailable,
)  # fmt: skip
"""What may be otherwise in a moment: the server goes down, or somebody was quicker."""
_PAUSES_S: Final = (0.0, 0.02, 0.05, 0.1, 0.2)


class DatabaseLink:
    """A connection to a database, for many threads and across forks; another one where it was lost."""

    def __init__(self, address: str, *, read_only: bool, limit_s: float) -> None:
        """``limit_s`` is how long to wait for others who write the same, and how long they may have to."""
        self.read_only, self.place, self._limit_s = read_only, without_password(address), limit_s
        self._address, self._token = address, secrets.token_hex(4)
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._process, self._closed, self._within = 0, False, False
        self._left_behind: list[Connection] = []

    @property
    def name(self) -> str:
        """Which program this is, as others read it; every log has another one, and so has a fork."""
        return f"program {self._token} (process {os.getpid()} on {socket.gethostname()})"

    def close(self) -> None:
        """Close the connection; nothing more can be done with it."""
        with self._lock:
            self._closed = True
            self._drop()

    def run(self, work: Callable[[Connection], T], *, patience_s: float) -> T:
        """Do something with a connection; again, on another one, where the server has gone away meanwhile.

        What is done must be all or nothing, and no harm when done again. With no patience, only a connection that was
        there is tried a second time.
        """
        with self._lock:
            if self._within:  # the caller that began the transaction does all of it again
                return work(self._connected())
            end, tried = time.monotonic() + patience_s, 0
            while True:
                there = self._connection is not None
                try:
                    return work(self._connected())
                except psycopg.Error as error:
                    passing = _passes(error)
                    if not passing or (time.monotonic() >= end and not (there and tried == 0)):
                        raise self._in_words(error, passing) from None
                time.sleep(_PAUSES_S[min(tried, len(_PAUSES_S) - 1)])
                tried += 1

    @contextmanager
    def transaction(self, connection: Connection) -> Iterator[None]:
        """Do everything in the block, or nothing."""
        self._within = True
        try:
            with connection.transaction():
                yield
        finally:
            self._within = False

    def connect(self) -> Connection:
        """Return a connection of its own, on which what is acknowledged is on the server's disk."""
        parts = conninfo.conninfo_to_dict(self._address)
        wanted: dict[str, Any] = {"application_name": f"aquamend {self.name}"[:63], **KEEP_ALIVE}
        wanted["connect_timeout"] = CONNECT_S
        if not self.read_only:
            wanted["target_session_attrs"] = "read-write"  # of several hosts, the one that is not a standby
        own = {key: value for key, value in wanted.items() if key not in parts}
        connection = psycopg.connect(conninfo.make_conninfo(self._address, **own), autocommit=True)
        try:
            self._settle(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _settle(self, connection: Connection) -> None:
        """Have the server keep what it promises, and let go of what was held by somebody who is gone."""
        limit = f"{math.ceil(self._limit_s * 1_000)}ms"
        settings = {f"tcp_{key.removeprefix('tcp_')}": str(value) for key, value in KEEP_ALIVE.items()}
        settings |= {"lock_timeout": limit, "idle_in_transaction_session_timeout": limit}
        if self.read_only:
            settings["default_transaction_read_only"] = "on"
        elif _asked(connection, "fsync") == "off":
            what = "runs with fsync = off, so that a power cut takes away what it has acknowledged"
            raise BadJournal(self.place, what, "switch it on in the server's configuration")
        elif _asked(connection, "synchronous_commit") == "off":
            settings["synchronous_commit"] = "on"
        for key, value in settings.items():
            connection.execute("SELECT set_config(%s, %s, false)", [key, value])

    def _connected(self) -> Connection:
        if self._closed:
            raise BadJournal(self.place, "is closed", "open it again")
        if self._connection is not None and self._process != os.getpid():
            # A connection must not be used, nor even closed, on the other side of a fork.
            self._left_behind.append(self._connection)
            self._connection = None
        if self._connection is None or self._connection.closed or not (self._within or _is_idle(self._connection)):
            self._drop()  # it was lost, or somebody was interrupted in the middle of a transaction
            self._connection, self._process = self.connect(), os.getpid()
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = None

    def _in_words(self, error: psycopg.Error, passing: bool) -> AquaMendError:
        if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
            # It quotes the address, and so perhaps the password.
            return BadJournal("the address", "is no address of a database", "give postgresql://user@host/database")
        said = " ".join(str(error).split())
        if passing:
            return Unreachable(self.place, f"does not answer ({said})", "see to it, then resume what was going on")
        return Unreachable(self.place, f"refuses ({said})", "check the address, the password and the user's rights")


def without_password(address: str) -> str:
    """Return an address without its password, as it may be shown and written down."""
    try:
        parts = conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        return "the database"
    user, host, port, name = (str(parts.get(key) or "") for key in ("user", "host", "port", "dbname"))
    return f"postgresql://{user}{'@' if user else ''}{host}{':' if port else ''}{port}/{name}"


def _asked(connection: Connection, setting: str) -> str:
    found = connection.execute(f"SHOW {setting}").fetchone()
    return str(found[0]) if found else ""


def _is_idle(connection: Connection) -> bool:
    return connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE


def _passes(error: psycopg.Error) -> bool:
    """Whether it may be otherwise in a moment."""
    if error.sqlstate is None and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return "FATAL" not in str(error) or any(said in str(error) for said in _NOT_YET)
    return isinstance(error, _PASSING)
