"""The manifest of a run: what it is to hold, by which program, and who worked on it when.

The program is a hash of both packages and of policies from elsewhere, with the versions numbers depend on. How policies
describe themselves is kept too, so that a report needs none of their code.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import aquamend
import aquamend_lab
from aquamend.errors import InvalidRun, TooManyScenarios, UnknownName
from aquamend.files.atomic import write_atomically
from aquamend.plugins import SUITES, added
from aquamend.policies import DescribedPolicy, policy_named
from aquamend.policies.registry import added_at
from aquamend_lab.benchmarks.play import ORACLE, Oracle
from aquamend_lab.benchmarks.problem_files import fingerprint
from aquamend_lab.benchmarks.suite import Suite
from aquamend_lab.records import FORMAT, KINDS, USUAL_KINDS, RunFolder, load_manifest

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


Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a run should hold; None leaves it to the run being continued, or else to the suite."""

    policies: tuple[str, ...] | None = None
    scenarios: int | None = None
    seeds: int | None = None


def manifest_of(suite: Suite, folder: RunFolder, asked: Wanted, *, source: str, resume: bool, workers: str) -> Manifest:
    """Return the manifest of the run to do: a new one, or the one in the folder, extended by what is asked.

    ``source`` is how the suite was named: by its own name, as ``module:Suite``, or as a folder of problem files.
    """
    if folder.manifest.exists():
        manifest = _continued(suite, folder, asked, resume=resume, workers=workers)
    else:
        manifest = _new(suite, asked, workers=workers)
    _check_size(suite, manifest["scenarios"])
    suite.check_policies(manifest["policies"])
    made_of = own_suite(source)
    if manifest.get("own_suite", made_of) != made_of:
        _refuse_to_mix(folder, f"what {source} consists of has changed since")
    hashes = own_policies(manifest["policies"])
    changed = [name for name, before in manifest["own_policies"].items() if hashes.get(name) != before]
    if changed:
        _refuse_to_mix(folder, f"the module of {changed[0]} has changed since")
    return manifest | {"own_suite": made_of, "own_policies": hashes, "looks": styles_of(suite, manifest["policies"])}


def _new(suite: Suite, asked: Wanted, *, workers: str) -> Manifest:
    head = {"format": FORMAT, "suite": suite.name, "description": suite.description}
    size = {
        "policies": list(asked.policies or suite.policies),
        "scenarios": asked.scenarios or suite.scenarios,
        "seeds": asked.seeds or suite.seeds,
        "full": {"policies": list(suite.policies), "scenarios": suite.scenarios, "seeds": suite.seeds},
    } | _declared(suite)
    work: Manifest = {"workers": workers, "started": now(), "finished": None, "resumed": [], "own_policies": {}}
    return head | size | computing_environment() | session() | work


def _check_size(suite: Suite, scenarios: int) -> None:
    """Refuse to play more scenarios than there are."""
    most = getattr(suite, "most_scenarios", None)
    if most is not None and scenarios > most:
        there = "is 1 scenario" if most == 1 else f"are {most} scenarios"
        raise TooManyScenarios(
            f"{scenarios} scenarios for each seed are asked for, and there {there} in {suite.name}; give --scenarios "
            f"{most} or less, and more --seeds to draw more truths"
        )


def _declared(suite: Suite) -> Manifest:
    """Return what a suite says for readers of its records: what its groups stand for, and whom to compare with."""
    kinds = dict(getattr(suite, "groups", USUAL_KINDS))
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise UnknownName(f"kind of group for {name!r}", str(kind), KINDS)
    unit, frozen, normalised = (getattr(suite, name, None) for name in ("unit", "frozen", "normalised"))
    said: Manifest = {"groups": kinds, "reference": getattr(suite, "reference", None)}
    if unit:
        said["unit"] = unit if isinstance(unit, str) else {name: dict(own) for name, own in unit.items()}
    said |= {} if frozen is None else {"frozen": dict(frozen())}
    return said | ({} if normalised is None else {"normalised": dict(normalised)})


def _continued(suite: Suite, folder: RunFolder, asked: Wanted, *, resume: bool, workers: str) -> Manifest:
    """Return the folder's manifest; what it asked for stays asked for, and more may be added."""
    before = load_manifest(folder)
    if not resume:
        problem = f"it already holds a run of {before['suite']}"
        raise InvalidRun(folder.path, problem, "continue it with --resume, or give another --out")
    if before["format"] != FORMAT:
        _refuse_to_mix(folder, f"its format is {before['format']!r}, and this program writes {FORMAT!r}")
    if before["suite"] != suite.name:
        raise InvalidRun(folder.path, f"it holds a run of {before['suite']}, not of {suite.name}", "give another --out")
    for what, ours in computing_environment().items():
        if before.get(what) != ours:
            _refuse_to_mix(folder, f"it was made with {what} {before.get(what)}, and this is {ours}")
    return before | {
        "policies": [*before["policies"], *(name for name in asked.policies or () if name not in before["policies"])],
        "scenarios": max(before["scenarios"], asked.scenarios or 0),
        "seeds": max(before["seeds"], asked.seeds or 0),
        "resumed": [*before.get("resumed", []), session() | {"workers": workers, "started": now()}],
        "own_policies": before.get("own_policies", {}),
    }


def _refuse_to_mix(folder: RunFolder, problem: str) -> None:
    remedy = "continue it with that, or start over in another folder: results of two programs do not mix"
    raise InvalidRun(folder.path, problem, remedy)


def save_manifest(folder: RunFolder, manifest: Manifest) -> None:
    """Write the manifest, whole or not at all."""
    write_atomically(folder.manifest, (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode())


def now() -> str:
    """Return the time, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def styles_of(suite: Suite, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return title, colour and marker of everyone who takes part in a suite and describes itself."""
    said: dict[str, dict[str, str]] = getattr(suite, "styles", {})
    found = ((name, said.get(name) or _style(name, getattr(suite, "own", {}))) for name in names)
    return {name: style for name, style in found if style}


def _style(name: str, own: dict[str, Any]) -> dict[str, str] | None:
    """Return what a policy says of itself; settings of a user's own (``module:Class(floor=0.2)``) are in its title."""
    policy: object = own[name]() if name in own else Oracle(()) if name == ORACLE else None
    if policy is None:
        with suppress(UnknownName):  # a user's own suite may have names of its own
            policy = policy_named(name)
    if not isinstance(policy, DescribedPolicy):
        return None
    about, (head, bracket, settings) = policy.description, name.partition("(")
    title = f"{about.title} ({settings}" if ":" in head and bracket and settings != ")" else about.title
    return {"title": title, "colour": about.colour, "marker": about.marker}
