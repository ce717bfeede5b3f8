"""Running a suite: what is asked for, what is there already, what is left, who does it, and putting it together.

Every finished piece of work is one file, written whole or not at all. When all of them are there they become the
run's files, in one order, whichever finished first. A run that was interrupted or killed therefore lacks only what was
in the making, and goes on from there. One run at a time works in a folder. Pieces are done by this process, the cores
of this machine, or a Dask cluster; the lines are the same whoever does it.
"""

from __future__ import annotations

import hashlib
import math
import os
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aquamend.errors import InvalidRun, MissingLibrary, Unreachable
from aquamend.files.atomic import write_atomically
from aquamend_lab.benchmarks.catalogue import suite_named
from aquamend_lab.benchmarks.manifest import Manifest, Wanted, computing_environment, manifest_of, now, save_manifest
from aquamend_lab.records import Key, Record, Run, RunFolder, load_run, record_key, sealed_line, write_lines

__all__ = ["THE_FULL_SUITE", "Wanted", "run_suite"]


@dataclass(frozen=True, slots=True)
class Unit:
    """One scenario, and the policies that still have to meet it."""

    seed: int
    number: int
    policies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """Some units of one suite: what a worker is handed."""

    suite: str
    """As ``suite_named`` finds it, in whatever process."""
    units: tuple[Unit, ...]


def missing_units(policies: Sequence[str], *, scenarios: int, seeds: int, done: Collection[Key]) -> list[Unit]:
    """Return what is left to do, in order."""
    units = []
    for seed in range(seeds):
        for number in range(scenarios):
            missing = tuple(name for name in policies if (seed, number, name) not in done)
            if missing:
                units.append(Unit(seed, number, missing))
    return units


def cut(suite: str, units: Sequence[Unit], *, size: int) -> list[Piece]:
    """Return the units in pieces of at most ``size``."""
    return [Piece(suite, tuple(units[i : i + size])) for i in range(0, len(units), size)]


def do(piece: Piece) -> list[str]:
    """Return the lines that a piece of work leaves behind: records, annotations and timings, each marked as such.

    A pure function of the piece (timings aside): the same lines in any process.
    """
    suite = suite_named(piece.suite)
    lines = []
    for unit in piece.units:
        played = suite.play(unit.seed, unit.number, unit.policies)
        lines += [sealed_line({"record": record}) for record in played.records]
        if played.annotation is not None:
            lines.append(sealed_line({"annotation": played.annotation}))
        lines += [sealed_line({"timing": timing}) for timing in played.timings]
    return lines


REACH_TIMEOUT_S = 10
DEAD = "it died (out of memory, or a policy that ends the process)"
GO_ON = "go on with --resume; with --jobs 1 the fault shows where it happens"

Done = tuple[Piece, list[str]]
Work = Callable[[Sequence[Piece]], Iterator[Done]]
"""Yields every piece with its lines, in the order they are finished."""


@contextmanager
def workers(*, jobs: int, cluster: str | None) -> Iterator[Work]:
    """Give somebody to do the work; whatever is missing or unreachable is reported here, before anything is begun."""
    if cluster is not None:
        with _client(cluster) as (dask, client):
            yield lambda pieces: _on_a_cluster(dask, client, pieces)
    elif jobs == 1:
        yield lambda pieces: map(_with_piece, pieces)
    else:
        try:
            import joblib
        except ImportError:
            raise MissingLibrary("joblib", "bench", "or run with --jobs 1", package="aquamend-lab") from None
        yield lambda pieces: _in_processes(joblib, pieces, jobs)


def _with_piece(piece: Piece) -> Done:
    return piece, do(piece)


def _in_processes(joblib: Any, pieces: Sequence[Piece], jobs: int) -> Iterator[Done]:
    with warnings.catch_warnings():
        # A worker that has grown large is replaced by a new one; nothing is lost.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given")
        parallel = joblib.Parallel(n_jobs=min(jobs, len(pieces)), return_as="generator_unordered")
        try:
            yield from parallel(joblib.delayed(_with_piece)(piece) for piece in pieces)
        except BrokenExecutor:
            raise Unreachable("a worker process", DEAD, GO_ON) from None


@contextmanager
def _client(address: str) -> Iterator[tuple[Any, Any]]:
    try:
        import distributed
    except ImportError:
        raise MissingLibrary("distributed", "cluster", "or run without --cluster", package="aquamend-lab") from None
    dask: Any = distributed  # it has no types
    try:
        client = dask.Client(address, timeout=REACH_TIMEOUT_S)
    except (OSError, ValueError, TimeoutError) as error:
        remedy = "check the address, and that a scheduler runs there"
        raise Unreachable(f"cluster {address!r}", str(error), remedy) from None
    with client:
        _check_alike(client, address)
        yield dask, client


def _check_alike(client: Any, address: str) -> None:
    """Refuse workers that compute otherwise than this process: their records would be somebody else's."""
    ours = computing_environment()
    theirs = client.run(computing_environment)
    if not theirs:
        raise Unreachable(f"cluster {address!r}", "it has no workers", "start some: `dask worker ADDRESS`")
    others = sorted(worker for worker, environment in theirs.items() if environment != ours)
    if others:
        problem = f"{len(others)} of its {len(theirs)} workers run another program or other libraries than this process"
        remedy = f"install the same there, first on {others[0]}: here {ours}, there {theirs[others[0]]}"
        raise Unreachable(f"cluster {address!r}", problem, remedy)


def _on_a_cluster(dask: Any, client: Any, pieces: Sequence[Piece]) -> Iterator[Done]:
    futures = client.map(_with_piece, pieces, pure=False)
    try:
        for future in dask.as_completed(futures):
            yield future.result()
            future.release()
    except dask.KilledWorker:
        raise Unreachable("a worker of the cluster", DEAD, GO_ON) from None
    finally:
        client.cancel(futures)


LARGEST_PIECE = 10
PIECES_A_WORKER = 32

Progress = Callable[[int, int], None]
"""Hears how many scenarios are done, and of how many."""

THE_FULL_SUITE = Wanted()


def run_suite(
    name: str,
    out: str | Path,
    *,
    asked: Wanted = THE_FULL_SUITE,
    jobs: int = -1,
    cluster: str | None = None,
    resume: bool = False,
    compress: bool = False,
    progress: Progress = lambda done, total: None,
) -> Run:
    """Run a suite into a folder and return the run; what the folder has of it already is kept and not done again."""
    suite, folder = suite_named(name), RunFolder(Path(out))
    who = f"{_processes(jobs)} processes" if cluster is None else "a Dask cluster"
    with workers(jobs=jobs, cluster=cluster) as work, locked(folder):
        manifest = manifest_of(suite, folder, asked, source=name, resume=resume, workers=who)
        units = _missing(load_run(folder.path).records if folder.manifest.exists() else [], manifest)
        if units:
            save_manifest(folder, manifest | {"finished": None})
            # A kill loses little, and files stay few.
            size = max(1, min(LARGEST_PIECE, math.ceil(len(units) / (_processes(jobs) * PIECES_A_WORKER))))
            pieces = cut(name, units, size=size)
            _collect(folder, pieces, work, progress=progress, total=manifest["scenarios"] * manifest["seeds"])
        run = _put_together(folder, manifest, compress=compress)
        if _missing(run.records, manifest):
            raise InvalidRun(folder.path, "records that were finished are gone", "run it again with --resume")
        done_before = None if units else manifest["finished"]
        manifest |= {"finished": done_before or now()}
        save_manifest(folder, manifest)
        return replace(run, manifest=manifest)


def _missing(records: Sequence[Record], manifest: Manifest) -> list[Unit]:
    done = {record_key(record) for record in records}
    return missing_units(manifest["policies"], scenarios=manifest["scenarios"], seeds=manifest["seeds"], done=done)


def _processes(jobs: int) -> int:
    return (os.cpu_count() or 1) if jobs < 0 else jobs


def _collect(folder: RunFolder, pieces: Sequence[Piece], work: Work, *, progress: Progress, total: int) -> None:
    """Write down every piece as it is finished."""
    done = total - sum(len(piece.units) for piece in pieces)
    progress(done, total)
    for piece, lines in work(pieces):
        data = "".join(lines).encode()
        write_atomically(folder.parts / f"{hashlib.sha256(data).hexdigest()[:20]}.jsonl", data)
        done += len(piece.units)
        progress(done, total)


def _put_together(folder: RunFolder, manifest: Manifest, *, compress: bool) -> Run:
    """Turn the parts into the run's files, in the order of seeds, scenarios and policies; return what is in them."""
    parts = sorted(folder.parts.glob("*.jsonl"))
    run = load_run(folder.path)
    rank = {name: i for i, name in enumerate(manifest["policies"])}

    def order(line: Mapping[str, Any]) -> tuple[int, int, int]:
        return line["seed"], line["scenario"], rank.get(line.get("policy", ""), -1)

    for path, lines in (
        (folder.records, run.records), (folder.annotations, run.annotations), (folder.timings, run.timings),
    ):  # fmt: skip
        if lines:
            packed = path.with_name(f"{path.name}.gz")
            lines.sort(key=order)
            write_lines(packed if compress else path, lines, sealed=True)
            (path if compress else packed).unlink(missing_ok=True)  # as the run was before it was extended
    for part in parts:
        part.unlink()
    with suppress(OSError):
        folder.parts.rmdir()
    return run


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
            for rubbish in (*path.glob(".*.tmp"), *folder.parts.glob(".*.tmp")):  # that a killed process had begun
                rubbish.unlink(missing_ok=True)
            yield
        finally:
            (path / LOCK).unlink(missing_ok=True)
            if not was_there:
                with suppress(OSError):  # it holds something now
                    path.rmdir()


def _ours(entry: Path) -> bool:
    return entry.name == LOCK or (entry.name.startswith(".") and entry.name.endswith(".tmp"))
