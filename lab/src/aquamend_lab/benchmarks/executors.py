"""The work of a run in pieces, and who does it: this process, the cores of this machine, or a Dask cluster.

The lines are the same whoever does it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from aquamend.errors import MissingLibrary, Unreachable
from aquamend_lab.benchmarks.catalogue import suite_named
from aquamend_lab.benchmarks.environment import computing_environment
from aquamend_lab.records import sealed_line
from aquamend_lab.records.run_folder import Key


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
        joblib = _joblib()
        yield lambda pieces: _in_processes(joblib, pieces, jobs)


def _with_piece(piece: Piece) -> Done:
    return piece, do(piece)


def _joblib() -> Any:
    try:
        import joblib
    except ImportError:
        raise MissingLibrary("joblib", "bench", "or run with --jobs 1", package="aquamend-lab") from None
    return joblib


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
