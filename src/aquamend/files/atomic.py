"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, whatever happens to the process.

    A link stays one, and what it leads to is written. A file keeps its permissions; a new one has those that the umask
    leaves. What is there and is no file, a pipe or a device, is written to as it is.
    """
    try:
        found = os.stat(path).st_mode
    except FileNotFoundError:
        found = None
    if found is not None and not stat.S_ISREG(found):
        path.write_bytes(data)
        return
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_beside(path)
    mode = 0o666 if found is None else stat.S_IMODE(found)
    try:
        # Made with these permissions, not given them later: nobody else may open what is private.
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if found is not None:
            os.chmod(temporary, mode)  # all of them, also what the umask took away
        os.replace(temporary, path)
        _settle(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def temporary_beside(path: Path) -> Path:
    """Return a name of its own for what shall become this file; nothing of that name exists."""
    import secrets  # here, since reading and deciding need no cryptography

    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")


def _settle(folder: Path) -> None:
    """Have the folder itself written down, so that a new name in it survives a power cut; not everywhere possible."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
