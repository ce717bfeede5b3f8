"""The file of a journal: looking at it without touching it, making it whole or not at all, and what can go wrong.

A file that is no journal, or one that this version does not understand, is never opened for writing.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from aquamend.errors import BadJournal
from aquamend.records.lines import temporary_beside

APPLICATION_ID = 0x41714D64
"""What the header of every journal says ("AqMd"), so that no other program's file is taken for one."""
VERSION = 1
"""Of the tables below; a file that says more was written by a later version of this program."""

_TABLES = """
CREATE TABLE problems (
    digest TEXT PRIMARY KEY,      -- SHA-256 of data
    data TEXT NOT NULL            -- the problem, in the format of problem files
);
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    problem TEXT NOT NULL REFERENCES problems (digest),
    problem_name TEXT NOT NULL,
    policy TEXT NOT NULL,
    status TEXT NOT NULL,
    started REAL NOT NULL,        -- seconds since 1970
    updated REAL NOT NULL,
    events INTEGER NOT NULL,      -- how many there are, and so the number of the last one
    cost REAL NOT NULL,
    seal TEXT NOT NULL            -- that of the last event
);
CREATE TABLE events (
    session INTEGER NOT NULL REFERENCES sessions (id),
    number INTEGER NOT NULL,      -- 1, 2, 3 ... within the session
    time REAL NOT NULL,
    data TEXT NOT NULL,
    seal TEXT NOT NULL,           -- of this event and all before it
    PRIMARY KEY (session, number)
);
"""

_WORDS = {
    sqlite3.SQLITE_NOTADB: ("is no SQLite file", "name a journal, or a file that does not exist yet"),
    sqlite3.SQLITE_CORRUPT: ("is damaged", "restore it from a copy"),
    sqlite3.SQLITE_FULL: ("cannot grow: the disk is full", "make room, then resume what was going on"),
    sqlite3.SQLITE_IOERR: ("cannot be read or written", "look at the disk, make room, then resume what was going on"),
    sqlite3.SQLITE_READONLY: ("may not be written", "change the permissions of the file and of its folder"),
    sqlite3.SQLITE_BUSY: ("is locked by somebody else", "wait until they are done, or end what holds it"),
    sqlite3.SQLITE_LOCKED: ("is locked by somebody else", "wait until they are done, or end what holds it"),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "check the path and the permissions"),
    sqlite3.SQLITE_PERM: ("may not be read", "change the permissions of the file and of its folder"),
}


_HEADER = [f"PRAGMA {word}" for word in ("application_id", "user_version", "page_count", "page_size")]
MOVING_S = 5.0
"""How long moving changes into the file may take whoever does it."""


def _primary(error: Exception) -> int:
    """Return SQLite's code for what went wrong, without its details."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF


@contextmanager
def in_words(path: Path) -> Iterator[None]:
    """Raise what goes wrong in SQLite or the system as ``BadJournal``."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter where a message quotes what is damaged
        # Whatever else SQLite complains of is a table or a column that is not as it was written.
        problem, remedy = _WORDS.get(_primary(error), _WORDS[sqlite3.SQLITE_CORRUPT])
        raise BadJournal(path, f"{problem} ({error})", remedy) from error
    except OSError as error:
        raise BadJournal(path, f"cannot be used ({error.strerror})", "check the path and the permissions") from error


def create(path: Path) -> None:
    """Make an empty journal, there whole or not at all; one that somebody else has made meanwhile is left alone."""
    if not path.parent.is_dir():
        raise BadJournal(path, "its folder does not exist", f"create {path.parent}")
    with in_words(path):
        temporary = temporary_beside(path)
        temporary.touch(exist_ok=False)  # SQLite would not say why it cannot
        try:
            with closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
                connection.executescript(
                    f"PRAGMA synchronous = FULL; PRAGMA application_id = {APPLICATION_ID};"
                    f"PRAGMA user_version = {VERSION}; BEGIN; {_TABLES} COMMIT; PRAGMA journal_mode = WAL;"
                )
            _put(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def _put(temporary: Path, path: Path) -> None:
    with suppress(FileExistsError):
        try:
            os.link(temporary, path)  # unlike a renaming, it replaces nothing
        except PermissionError:  # where there are no links
            if not path.exists():
                os.rename(temporary, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def inspect(path: Path) -> None:
    """Check that there is a journal that this version understands; nothing is changed, not even a time."""
    if not path.exists():
        raise BadJournal(path, "there is no such file", "check the path")
    if not path.is_file():
        raise BadJournal(path, "is no file", "name a file")
    if not os.access(path, os.R_OK):
        raise BadJournal(path, "may not be read", "change its permissions")
    if path.stat().st_size == 0:
        raise BadJournal(path, "is empty, which no journal is", "remove it, or restore it from a copy")
    # Through SQLite, since closing a file of our own would drop the locks that others of this process hold on it.
    with in_words(path):
        try:
            with closing(_connected(path, "mode=ro&immutable=1")) as connection:
                application, version, pages, size = (connection.execute(ask).fetchone()[0] for ask in _HEADER)
        except sqlite3.DatabaseError:
            # Somebody moves changes into the file, or was killed while doing so: only with them it makes sense.
            if not _has_more(path):
                raise
            application, version, pages, size = (query(path, ask, (), timeout_s=MOVING_S)[0][0] for ask in _HEADER)
    if application != APPLICATION_ID:
        raise BadJournal(path, "is another program's SQLite file", "name a journal, or a file that does not exist yet")
    if version != VERSION:
        raise BadJournal(path, f"has version {version}, and this program knows {VERSION}", "update aquamend")
    if path.stat().st_size < pages * size and not _has_more(path):
        raise BadJournal(path, "is damaged (its end is missing)", "restore it from a copy")


def _has_more(path: Path) -> bool:
    """Whether there are changes beside the file, in SQLite's write-ahead log."""
    beside = _beside(path)
    return beside.exists() and beside.stat().st_size > 0


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def to_write(path: Path, *, timeout_s: float) -> sqlite3.Connection:
    """Return a connection that waits for other writers so long."""
    for place in (path, path.parent):
        if not os.access(place, os.W_OK):
            what = "may not be written" if place == path else "its folder may not be written"
            raise BadJournal(path, what, "change the permissions, or open it to read only")
    with in_words(path):
        connection = _connected(path, "mode=rw", timeout_s)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")
        return connection


def query(path: Path, sql: str, values: Sequence[object], *, timeout_s: float) -> list[Any]:
    """Return what a query finds, and change nothing; also where file and folder may not be written."""
    with in_words(path):
        while True:
            before = _looks(path)
            try:
                return _found(path, sql, values, timeout_s)
            except (sqlite3.Error, UnicodeDecodeError):
                # Without SQLite's locks, somebody who has begun to write meanwhile looks like damage.
                if _looks(path) == before:
                    raise


def _looks(path: Path) -> tuple[int, int, bool]:
    now = path.stat()
    return now.st_mtime_ns, now.st_size, _beside(path).exists()


def _found(path: Path, sql: str, values: Sequence[object], timeout_s: float) -> list[Any]:
    if not _beside(path).exists():  # nobody is writing: SQLite need not make files to coordinate with them
        with closing(_connected(path, "mode=ro&immutable=1")) as connection:
            return connection.execute(sql, values).fetchall()
    try:
        with closing(_connected(path, "mode=ro", timeout_s)) as connection:
            return connection.execute(sql, values).fetchall()
    except sqlite3.OperationalError as error:
        if _primary(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
    with _copied(path) as copy, closing(_connected(copy, "mode=ro")) as connection:
        return connection.execute(sql, values).fetchall()


@contextmanager
def _copied(path: Path) -> Iterator[Path]:
    """Give a copy, with the changes beside it, in a folder where SQLite can put them together."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        shutil.copyfile(_beside(path), _beside(copy))
        yield copy


def _connected(path: Path, options: str, timeout_s: float = 0.0) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{options}",
        uri=True,
        timeout=timeout_s,
        isolation_level=None,
        check_same_thread=False,
    )
