"""The tables of a fleet's database, and how they come to be what this version needs."""

from __future__ import annotations

from typing import Any, Final

import psycopg

from aquamend.errors import BadJournal

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
