"""Who does the work: this process, the cores of this machine, or a Dask cluster. The lines are the same."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from aquamend.benchmarks.manifest import code_fingerprint
from aquamend.benchmarks.work import Piece, do
from aquamend.errors import MissingLibrary, Unreachable

REACH_TIMEOUT_S = 10


def on_this_machine(pieces: Sequence[Piece], *, jobs: int) -> Iterator[tuple[Piece, list[str]]]:
    """Yield every piece with its lines, in the order they are finished; ``jobs`` processes, or all cores if -1."""
    if jobs == 1 or len(pieces) == 1:
        for piece in pieces:
            yield piece, do(piece)
        return
    try:
        from joblib import Parallel, delayed
    except ImportError:
        raise MissingLibrary("joblib", "bench", "or run with --jobs 1") from None
    with warnings.catch_warnings():
        # A worker that has grown large is replaced by a new one; nothing is lost.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given")
        tasks = (delayed(_with_piece)(piece) for piece in pieces)
        yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks)


def on_a_cluster(pieces: Sequence[Piece], *, address: str) -> Iterator[tuple[Piece, list[str]]]:
    """Yield every piece with its lines, in the order that the workers of a Dask cluster finish them."""
    try:
        import distributed
    except ImportError:
        raise MissingLibrary("distributed", "cluster", "or run without --cluster") from None
    dask: Any = distributed  # it has no types
    try:
        client: Any = dask.Client(address, timeout=REACH_TIMEOUT_S)
    except (OSError, ValueError, TimeoutError) as error:
        raise Unreachable(
            f"cluster {address!r}", f"{error}", "check the address, and that a scheduler runs there"
        ) from None
    with client:
        _check_code(client, address)
        futures = client.map(_with_piece, pieces, pure=False)
        try:
            for future in dask.as_completed(futures):
                yield future.result()
                future.release()
        finally:
            client.cancel(futures)


def _with_piece(piece: Piece) -> tuple[Piece, list[str]]:
    return piece, do(piece)


def _check_code(client: Any, address: str) -> None:
    """Refuse workers that would run other code than this: their records would be somebody else's."""
    ours = code_fingerprint()
    theirs = client.run(code_fingerprint)
    if not theirs:
        raise Unreachable(f"cluster {address!r}", "it has no workers", "start some: `dask worker ADDRESS`")
    others = sorted(worker for worker, code in theirs.items() if code != ours)
    if others:
        raise Unreachable(
            f"cluster {address!r}",
            f"{len(others)} of its {len(theirs)} workers run other code than this",
            f"install the same aquamend there, first on {others[0]}",
        )
