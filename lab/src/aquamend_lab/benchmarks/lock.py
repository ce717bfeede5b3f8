"""One run at a time in a folder, and a folder left as it was found if nothing came of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aquamend.errors import InvalidRun
from aquamend_lab.records import RunFolder

try:
    import fcntl
except ImportError:  # not on Windows; there nobody keeps two runs apart
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"


@contextmanager
def locked(folder: RunFolder) -> Iterator[None]:
    """Keep a folder to this process; the system gives it back even if the process is killed."""
    path = folder.path
    if path.exists() and not path.is_dir():
        raise InvalidRun(path, "it is not a folder", "give another --out")
    was_there = path.is_dir()
    if was_there and not folder.manifest.exists() and any(not _ours(entry) for entry in path.iterdir()):
        raise InvalidRun(path, "the folder is not empty and holds no run", "give another --out")
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = (path / LOCK).open("w")
    except OSError as error:
        raise InvalidRun(path, f"nothing can be written there ({error.strerror})", "give another --out") from None
    with lock:
        if fcntl is not None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                ours = os.path.samestat(os.fstat(lock.fileno()), (path / LOCK).stat())
            except OSError:
                ours = False
            if not ours:  # somebody else's, or removed by one that has just ended
                raise InvalidRun(path, "another run is at work in it", "wait for it, or give another --out")
        try:
            _sweep(folder)
            yield
        finally:
            (path / LOCK).unlink(missing_ok=True)
            if not was_there:
                with suppress(OSError):  # it holds something now
                    path.rmdir()


def _ours(entry: Path) -> bool:
    return entry.name == LOCK or (entry.name.startswith(".") and entry.name.endswith(".tmp"))


def _sweep(folder: RunFolder) -> None:
    """Remove files that a killed process had begun to write."""
    for place in (folder.path, folder.parts):
        for rubbish in place.glob(".*.tmp"):
            rubbish.unlink(missing_ok=True)
