"""Running a suite: what is asked for, what is there already, what is left, and putting it together.

Every finished piece of work is one file, written whole or not at all. When all of them are there they become the
run's files, in one order whoever finished first. A run that was interrupted or killed therefore lacks only what was
in the making, and goes on from there.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aquamend
from aquamend.benchmarks.catalogue import suite_named
from aquamend.benchmarks.executors import on_a_cluster, on_this_machine
from aquamend.benchmarks.manifest import code_fingerprint, new_manifest, now, save_manifest
from aquamend.benchmarks.suite import Suite
from aquamend.benchmarks.work import Unit, cut, missing_units
from aquamend.errors import InvalidRun
from aquamend.records import Run, RunFolder, load_run, write_atomically, write_lines
from aquamend.records.run_folder import key_of, load_manifest

LARGEST_PIECE = 10
PIECES_A_WORKER = 8

Progress = Callable[[int, int], None]
"""Told how many scenarios are done, and of how many."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run should hold; None leaves it to the run being continued, or else to the suite."""

    policies: tuple[str, ...] | None = None
    scenarios: int | None = None
    seeds: int | None = None


THE_FULL_SUITE = Asked()


def run_suite(
    name: str,
    out: str | Path,
    *,
    asked: Asked = THE_FULL_SUITE,
    jobs: int = -1,
    cluster: str | None = None,
    resume: bool = False,
    compress: bool = False,
    progress: Progress = lambda done, total: None,
) -> Run:
    """Run a suite into a folder and return the run; what the folder has of it already is kept and not done again."""
    suite, folder = suite_named(name), RunFolder(Path(out))
    manifest = _opened(suite, folder, asked, resume=resume, jobs=jobs, cluster=cluster)
    save_manifest(folder, manifest)
    done = {key_of(record) for record in load_run(folder.path).records}
    units = missing_units(manifest["policies"], scenarios=manifest["scenarios"], seeds=manifest["seeds"], done=done)
    _work(folder, suite.name, units, jobs=jobs, cluster=cluster, progress=progress, total=_n_scenarios(manifest))
    _put_together(folder, manifest, compress=compress)
    save_manifest(folder, manifest | {"finished": manifest["finished"] if not units else now()})
    return load_run(folder.path)


def _n_scenarios(manifest: dict[str, Any]) -> int:
    return int(manifest["scenarios"] * manifest["seeds"])


def _opened(
    suite: Suite, folder: RunFolder, asked: Asked, *, resume: bool, jobs: int, cluster: str | None
) -> dict[str, Any]:
    """Return the manifest of the run to do: a new one, or the one in the folder, extended by what is asked."""
    manifest = new_manifest(suite.name, suite.description, jobs=jobs, cluster=cluster)
    policies = list(asked.policies or suite.policies)
    scenarios, seeds = asked.scenarios or suite.scenarios, asked.seeds or suite.seeds
    if folder.manifest.exists():
        before = load_manifest(folder)
        _check_continuable(suite, folder, before, resume=resume)
        manifest = before
        policies = [*before["policies"], *(name for name in asked.policies or () if name not in before["policies"])]
        scenarios = max(before["scenarios"], asked.scenarios or 0)
        seeds = max(before["seeds"], asked.seeds or 0)
    elif folder.path.is_dir() and any(folder.path.iterdir()):
        raise InvalidRun(folder.path, "the folder is not empty and holds no run", "give another --out")
    suite.check_policies(policies)
    return manifest | {"policies": policies, "scenarios": scenarios, "seeds": seeds}


def _check_continuable(suite: Suite, folder: RunFolder, before: dict[str, Any], *, resume: bool) -> None:
    if not resume:
        raise InvalidRun(
            folder.path,
            f"it already holds a run of {before['suite']}",
            "continue it with --resume, or give another --out",
        )
    if before["suite"] != suite.name:
        raise InvalidRun(folder.path, f"it holds a run of {before['suite']}, not of {suite.name}", "give another --out")
    if before["code"] != code_fingerprint():
        raise InvalidRun(
            folder.path,
            f"it was run by other code (aquamend {before['aquamend']}, {before['code']}) than this "
            f"(aquamend {aquamend.__version__}, {code_fingerprint()})",
            "continue it with that, or start over in another folder: results of two programs do not mix",
        )


def _work(
    folder: RunFolder,
    suite: str,
    units: Sequence[Unit],
    *,
    jobs: int,
    cluster: str | None,
    progress: Progress,
    total: int,
) -> None:
    done = total - len(units)
    progress(done, total)
    if not units:
        return
    workers = (os.cpu_count() or 1) if jobs < 0 else jobs
    size = max(1, min(LARGEST_PIECE, math.ceil(len(units) / (workers * PIECES_A_WORKER))))
    pieces = cut(suite, units, size=size)
    finished = on_this_machine(pieces, jobs=jobs) if cluster is None else on_a_cluster(pieces, address=cluster)
    for piece, lines in finished:
        data = "".join(lines).encode()
        write_atomically(folder.parts / f"{hashlib.sha256(data).hexdigest()[:20]}.jsonl", data)
        done += len(piece.units)
        progress(done, total)


def _put_together(folder: RunFolder, manifest: dict[str, Any], *, compress: bool) -> None:
    """Turn the parts into the run's files, in the order of seeds, scenarios and policies."""
    run = load_run(folder.path)
    rank = {name: i for i, name in enumerate(manifest["policies"])}

    def order(line: Mapping[str, Any]) -> tuple[int, int, int]:
        return line["seed"], line["scenario"], rank.get(line.get("policy", ""), -1)

    files = {folder.records: run.records, folder.annotations: run.annotations, folder.timings: run.timings}
    for path, lines in files.items():
        if lines:
            packed = path.with_name(f"{path.name}.gz")
            write_lines(packed if compress else path, sorted(lines, key=order))
            (path if compress else packed).unlink(missing_ok=True)  # as the run was before it was extended
    shutil.rmtree(folder.parts, ignore_errors=True)
