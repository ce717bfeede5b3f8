"""What a run was: suite, seeds, versions, code and machine."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import aquamend
from aquamend.records import write_atomically
from aquamend.records.run_folder import FORMAT, RunFolder

LIBRARIES = ("numpy", "scipy", "joblib", "distributed")


def new_manifest(suite: str, description: str, *, jobs: int, cluster: str | None) -> dict[str, Any]:
    """Return the manifest of a run that starts now; what it will hold is added by the runner."""
    return {
        "format": FORMAT,
        "suite": suite,
        "description": description,
        "aquamend": aquamend.__version__,
        "code": code_fingerprint(),
        "commit": _commit(),
        "python": platform.python_version(),
        "libraries": {name: found for name in LIBRARIES if (found := _version(name))},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "jobs": jobs,
        "cluster": cluster is not None,
        "started": now(),
        "finished": None,
    }


def save_manifest(folder: RunFolder, manifest: dict[str, Any]) -> None:
    """Write the manifest, whole or not at all."""
    write_atomically(folder.manifest, (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode())


def now() -> str:
    """Return the time, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@cache
def code_fingerprint() -> str:
    """Return a hash of this package's source: records of one run must come from one program."""
    root = Path(aquamend.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Return the commit of the source tree, marked if it was changed since; None where there is no repository."""
    root = Path(aquamend.__file__).parent
    try:
        commit = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain", "--", ".")
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{commit}+changes" if changed else commit


def _git(folder: Path, *command: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *command], capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()
