"""The seals beside a journal: how far it had come, in a file of its own, so that nothing that is lost goes unnoticed.

SQLite drops the end of a damaged write-ahead log without a word. The mark of the last change that was acknowledged
stands therefore in a second file, ``NAME-seals``: a database with an earlier mark has lost something.

The file has two places of one page each, written in turns: whatever a crash spoils, the other one is whole.
"""

from __future__ import annotations

import errno
import hashlib
import os
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from aquamend.errors import BadJournal

PLACE = 4096
"""Bytes from one place to the other: no page and no sector holds both."""
TOGETHER = "move and copy the two together"
_MAGIC = b"AqMdSeal"
_FORM = struct.Struct("<8s16sQQQ32s")
_CHECK = 32
_LOOKS, _PAUSE_S = 5, 0.01


@dataclass(frozen=True, slots=True)
class Mark:
    """What a journal has come to: which one it is, how often it was changed, and what is in it."""

    journal: bytes
    """16 bytes by which this journal differs from every other."""
    changes: int = 0
    """Transactions so far. Nothing was ever written if there was none."""
    sessions: int = 0
    events: int = 0
    digest: bytes = bytes(32)
    """Of all sessions as they stand: the exclusive or of their hashes, so that one can be exchanged by itself."""

    def to_bytes(self) -> bytes:
        """Return it with a checksum."""
        said = _FORM.pack(_MAGIC, self.journal, self.changes, self.sessions, self.events, self.digest)
        return said + hashlib.sha256(said).digest()

    @classmethod
    def from_bytes(cls, data: object) -> Mark | None:
        """Return what was written; None if it is not as it was written."""
        if not isinstance(data, bytes) or len(data) < _FORM.size + _CHECK:
            return None
        said, check = data[: _FORM.size], data[_FORM.size : _FORM.size + _CHECK]
        magic, *fields = _FORM.unpack(said)
        return cls(*fields) if magic == _MAGIC and hashlib.sha256(said).digest() == check else None


def beside(path: Path) -> Path:
    """Return where the seals of a journal are."""
    return path.with_name(f"{path.name}-seals")


def first(mark: Mark) -> bytes:
    """Return the contents of a new file of seals."""
    return mark.to_bytes().ljust(PLACE, b"\0") + bytes(PLACE)


def last(path: Path) -> Mark | None:
    """Return the last mark that was acknowledged; None where there is no file; ``BadJournal`` if it is damaged."""
    for _ in range(_LOOKS):
        try:
            handle = os.open(f"{path}-seals", os.O_RDONLY)
            try:
                found = [mark for mark in _marks(handle) if mark is not None]
            finally:
                os.close(handle)
        except FileNotFoundError:
            return None
        except OSError as error:
            what = f"{beside(path).name} may not be read ({error.strerror})"
            raise BadJournal(path, what, "check what it is, and its permissions") from error
        if found:
            return max(found, key=lambda mark: mark.changes)
        time.sleep(_PAUSE_S)  # somebody may be writing both, one after the other
    raise BadJournal(path, f"is damaged ({beside(path).name} holds no seal)", "restore both from a copy")


def keep(path: Path, mark: Mark, *, timeout_s: float) -> None:
    """Have a mark on disk, unless a later one is there already; the database has it by now."""
    handle = os.open(f"{path}-seals", os.O_RDWR)
    try:
        with _locked(handle, path, timeout_s):
            marks = _marks(handle)
            changes = [-1 if other is None else other.changes for other in marks]
            if max(changes) < mark.changes:
                data = mark.to_bytes()
                if os.pwrite(handle, data, PLACE * changes.index(min(changes))) < len(data):  # the last one stays
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                _synchronise(handle)
    finally:
        os.close(handle)


def _marks(handle: int) -> list[Mark | None]:
    data = os.pread(handle, 2 * PLACE, 0)
    return [Mark.from_bytes(data[start : start + _FORM.size + _CHECK]) for start in (0, PLACE)]


@contextmanager
def _locked(handle: int, path: Path, timeout_s: float) -> Iterator[None]:
    """Let nobody else write seals: a later mark must not be replaced by an earlier one."""
    import fcntl  # not everywhere

    end = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() >= end:
                what = f"{beside(path).name} is locked by somebody else"
                raise BadJournal(path, what, "wait until they are done, or end what holds it") from None
            time.sleep(0.0005)
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)  # closing does not do, where a fork has kept a copy of the handle


def _synchronise(handle: int) -> None:
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
    elif hasattr(os, "fdatasync"):
        os.fdatasync(handle)
    else:
        os.fsync(handle)
