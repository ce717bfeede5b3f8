"""What computes: a hash of the program, of policies from elsewhere, and the versions numbers depend on."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import aquamend
import aquamend_lab
from aquamend.plugins import SUITES, added
from aquamend.policies.registry import added_at
from aquamend_lab.benchmarks.problem_folder import fingerprint

LIBRARIES = ("numpy", "scipy", "joblib", "distributed", "mujoco-core")
NUMERICAL = ("numpy", "scipy")
"""Other versions of these may give other digits."""


def computing_environment() -> dict[str, str]:
    """Return all that the numbers depend on; records of one run must come from one of these."""
    return {"aquamend": aquamend.__version__, "code": code_fingerprint()} | {
        name: found for name in NUMERICAL if (found := _version(name))
    }


def session() -> dict[str, Any]:
    """Return where and by what a run is worked on: for people who wonder, not compared."""
    return {
        "commit": _commit(),
        "python": platform.python_version(),
        "libraries": {name: found for name in LIBRARIES if (found := _version(name))},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "processor": processor(),
    }


def processor() -> str:
    """Return which processor this is, as far as the system tells: contact physics comes out alike on one kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


@cache
def code_fingerprint() -> str:
    """Return a hash of the source of both packages."""
    digest = hashlib.sha256()
    for package in (aquamend, aquamend_lab):
        root = Path(str(package.__file__)).parent
        for path in sorted(root.rglob("*.py")):
            digest.update(f"{root.name}/{path.relative_to(root).as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def own_policies(names: list[str]) -> dict[str, str]:
    """Return a hash of the module of every policy that is not ours: ``module:Class``, or from an installed package."""
    places = {name: name if ":" in name else added_at(name) for name in names}
    return {name: _module_hash(place) for name, place in places.items() if place}


def own_suite(source: str) -> str | None:
    """Return a hash of a suite that is not ours: of its module, or of its folder of problem files."""
    if Path(source).is_dir():
        return fingerprint(Path(source))
    place = source if ":" in source else added(SUITES).get(source)
    return _module_hash(place) if place else None


def _module_hash(name: str) -> str:
    spec = importlib.util.find_spec(name.partition(":")[0])
    source = Path(spec.origin).read_bytes() if spec and spec.origin and Path(spec.origin).is_file() else b""
    return hashlib.sha256(source).hexdigest()[:16]


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Return the commit of the source tree, marked if it was changed since; None where it is under none."""
    root = Path(aquamend_lab.__file__).parent
    try:
        _git(root, "ls-files", "--error-unmatch", "__init__.py")  # not just somewhere inside a repository
        commit = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain", "--", ":/src", ":/lab")
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{commit}+changes" if changed else commit


def _git(folder: Path, *command: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *command], capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()
