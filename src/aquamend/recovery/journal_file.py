"""The file of a journal: looking at it without touching it, making it whole or not at all, and what can go wrong.

A file that is no journal, that is damaged, or that this version does not understand, is never opened for writing.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from aquamend.errors import BadJournal
from aquamend.recovery import seals
from aquamend.recovery.seals import Mark

APPLICATION_ID = 0x41714D64
"""What the header of every journal says ("AqMd"), so that no other program's file is taken for one."""
VERSION = 3
"""Of the tables below; a file that says more was written by a later version of this program."""
OLDEST = 3
"""The oldest version that is read. From this one on, all are read for ever."""

_TABLES = """
CREATE TABLE mark (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    mark BLOB NOT NULL            -- what all has come to; as in the file of seals, which never says more
);
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


_HEADER = [f"PRAGMA {word}" for word in ("application_id", "user_version", "page_count", "page_size", "auto_vacuum")]
MOVING_S = 5.0
"""How long moving changes into the file may take."""


def _primary(error: Exception) -> int:
    """Return SQLite's code for what went wrong, without its details."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF


@contextmanager
def as_bad_journal(path: Path) -> Iterator[None]:
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
    """Make an empty journal with its seals; one that somebody else has made meanwhile is left alone.

    The database comes first. Without seals, one that was never changed is as good as new.
    """
    if not path.parent.is_dir():
        raise BadJournal(path, "its folder does not exist", f"create {path.parent}")
    if seals.beside(path).exists() and not path.exists():
        name = seals.beside(path).name
        raise BadJournal(path, f"is gone, and {name} is still there", f"put it back, or remove {name} to begin again")
    mark = Mark(secrets.token_bytes(16))
    with as_bad_journal(path):
        _put(path, _image(mark))


def complete(path: Path, mark: Mark) -> None:
    """Put seals beside a journal that was never changed, where its maker has not come so far."""
    with as_bad_journal(path):
        _put(seals.beside(path), seals.first(mark))


def _image(mark: Mark) -> bytes:
    """Return the contents of an empty journal."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(
            f"PRAGMA page_size = 4096; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"
            f"BEGIN; {_TABLES} INSERT INTO mark VALUES (1, x'{mark.to_bytes().hex()}'); COMMIT;"
        )
        image = bytearray(connection.serialize())
    image[18:20] = b"\2\2"  # a database in memory cannot be told to use a write-ahead log
    return bytes(image)


def _put(path: Path, data: bytes) -> None:
    """Make a file with these contents, there whole or not at all; one that is there is left alone."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        if not _put_unnamed(folder, path, data):
            _put_named(path, data)
        os.fsync(folder)
    finally:
        os.close(folder)


def _put_unnamed(folder: int, path: Path, data: bytes) -> bool:
    """Write a file that has no name until it is whole; False where the system does not know such files."""
    if not hasattr(os, "O_TMPFILE"):
        return False
    try:
        handle = os.open(path.parent, os.O_TMPFILE | os.O_RDWR, 0o666)
    except OSError as error:
        if error.errno in (errno.EISDIR, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOENT):
            return False
        raise
    try:
        _write(handle, data)
        with suppress(FileExistsError):
            os.link(f"/proc/self/fd/{handle}", path, src_dir_fd=folder, follow_symlinks=True)
    except (FileNotFoundError, PermissionError):  # no /proc here, or no links
        return False
    finally:
        os.close(handle)
    return True


def _put_named(path: Path, data: bytes) -> None:
    """Write a file under a name that tells whose it is, so that the next program can remove it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.new")
    try:
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        try:
            _write(handle, data)
        finally:
            os.close(handle)
        with suppress(FileExistsError):
            try:
                os.link(temporary, path)  # unlike a renaming, it replaces nothing
            except PermissionError:  # where there are no links
                if not path.exists():
                    os.rename(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def tidy(path: Path) -> None:
    """Remove what somebody has left who was killed while making a journal, where no unnamed files are known."""
    pattern = re.compile(rf"\.{re.escape(path.name)}(-seals)?\.(\d+)-[0-9a-f]+\.new")
    with suppress(OSError), os.scandir(path.parent) as files:
        for file in files:
            found = pattern.fullmatch(file.name)
            if found and not _is_alive(int(found[2])):
                os.unlink(file)


def _write(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]
    os.fsync(handle)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


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
    header = _header(path)
    application, version, pages, size, moves_pages = header
    if application != APPLICATION_ID:
        raise BadJournal(path, "is another program's SQLite file", "name a journal, or a file that does not exist yet")
    if version > VERSION:
        raise BadJournal(path, f"has version {version}, and this program knows {VERSION}", "update aquamend")
    if version < OLDEST:
        what = f"has version {version}, from before the first release, and this program reads {OLDEST} and later"
        raise BadJournal(path, what, "read it with the program that wrote it, and begin a new one")
    if moves_pages:
        raise BadJournal(path, "is damaged (its header is not as it was written)", "restore it from a copy")
    if not _has_more(path) and path.stat().st_size < pages * size:
        raise BadJournal(path, "is damaged (its end is missing)", "restore it from a copy")


def _header(path: Path) -> list[Any]:
    """Return what the header says; the log beside it is left alone unless the file makes no sense without it."""
    with as_bad_journal(path):
        while True:
            before = _looks(path)
            # Through SQLite: closing a file of our own would drop the locks that others of this process hold on it.
            try:
                with closing(_connected(path, "mode=ro&immutable=1")) as connection:
                    return [connection.execute(ask).fetchone()[0] for ask in _HEADER]
            except sqlite3.DatabaseError:
                # Somebody moves changes into the file, or was killed while doing so: only with them it makes sense.
                if _has_more(path):
                    return [query(path, ask, (), timeout_s=MOVING_S)[0][0] for ask in _HEADER]
                if _looks(path) == before:
                    raise


def _has_more(path: Path) -> bool:
    """Whether there are changes beside the file, in SQLite's write-ahead log."""
    try:
        return _beside(path).stat().st_size > 0
    except FileNotFoundError:
        return False


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def to_write(path: Path, *, timeout_s: float) -> sqlite3.Connection:
    """Return a connection that waits for other writers so long."""
    places = {"": path, "its folder ": path.parent, f"{seals.beside(path).name} ": seals.beside(path)}
    for words, place in places.items():
        if not _may_write(place):
            raise BadJournal(path, f"{words}may not be written", "change the permissions, or open it to read only")
    with as_bad_journal(path):
        connection = _connected(path, "mode=rw", timeout_s)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA secure_delete = ON")  # a session that was deleted is not in the file any more
        return connection


def _may_write(place: Path) -> bool:
    return not place.exists() or os.access(place, os.W_OK)


def query(path: Path, sql: str, values: Sequence[object], *, timeout_s: float) -> list[Any]:
    """Return what a query finds, and change nothing; also where file and folder may not be written."""
    with as_bad_journal(path):
        while True:
            before = _looks(path)
            try:
                found = _found(path, sql, values, timeout_s)
            except (sqlite3.Error, UnicodeDecodeError):
                if _looks(path) == before:
                    raise
            else:
                if before[-1] or _looks(path) == before:
                    return found
            # Without SQLite's locks, somebody who has begun to write meanwhile looks like damage.


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
        if all(map(_may_write, (path, path.parent, seals.beside(path)))):
            raise  # closing what has no locks would drop those of this process, if it also writes
    # Alone, SQLite puts database and log together in memory, and needs no file to coordinate with others.
    with closing(_connected(path, "mode=ro&vfs=unix-none")) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        return connection.execute(sql, values).fetchall()


def _connected(path: Path, options: str, timeout_s: float = 0.0) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{options}",
        uri=True,
        timeout=timeout_s,
        isolation_level=None,
        check_same_thread=False,
    )
