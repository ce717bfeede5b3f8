"""All calibration runs, on the cores there are; interrupted, they go on where they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from aquamend.errors import InvalidRun, MissingLibrary
from aquamend_lab.pouring.calibration.calibration_run import KINDS, CalibrationRecord, calibrate_once
from aquamend_lab.records import read_lines, write_lines

KEEP_EVERY = len(KINDS)
"""Records are written down after so many, in full or not at all."""


def campaign(
    file: Path, *, runs: int, jobs: int, progress: Callable[[int, int], None] = lambda done, total: None
) -> list[CalibrationRecord]:
    """Return the records of the first so many runs, those in the file taken as they are, the rest simulated now."""
    records = {record.run: record for record in _kept(file)}
    waiting = [run for run in range(runs) if run not in records]
    progress(runs - len(waiting), runs)
    unwritten = 0
    try:
        for fresh, record in enumerate(_simulated(waiting, jobs), start=1):
            records[record.run] = record
            unwritten += 1
            progress(runs - len(waiting) + fresh, runs)
            if unwritten == KEEP_EVERY:
                _keep(file, records)
                unwritten = 0
    finally:  # an interrupted campaign keeps what is finished, too
        if unwritten:
            _keep(file, records)
    return [records[run] for run in range(runs)]


def _keep(file: Path, records: Mapping[int, CalibrationRecord]) -> None:
    write_lines(file, [records[run].as_data() for run in sorted(records)])


def _kept(file: Path) -> list[CalibrationRecord]:
    try:
        return [CalibrationRecord.from_data(line) for line in read_lines(file)]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"it holds something else than calibration records ({error!r})"
        raise InvalidRun(file, problem, "name another file with --records") from None


def _simulated(runs: Sequence[int], jobs: int) -> Iterator[CalibrationRecord]:
    if jobs == 1 or len(runs) < 2:
        yield from map(calibrate_once, runs)
        return
    try:
        import joblib
    except ImportError:
        raise MissingLibrary("joblib", "bench", "or run with --jobs 1", package="aquamend-lab") from None
    yield from joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")(
        joblib.delayed(calibrate_once)(r) for r in runs
    )
