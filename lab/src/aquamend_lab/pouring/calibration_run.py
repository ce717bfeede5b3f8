"""One calibration run: an episode with known trouble, every probe once, and the skills timed; and all of them.

They use the cores there are; interrupted, they go on where they were.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from aquamend.codec import load, write
from aquamend.errors import InvalidRun, MissingLibrary
from aquamend.recovery import Charge
from aquamend_lab.pouring.model.alarm_problem import AlarmModel, AtAlarm
from aquamend_lab.pouring.model.configurations import (
    RIVAL,
    TARGET,
    Amount,
    Configuration,
    Shifts,
)
from aquamend_lab.pouring.model.fitted import Fitted, uncalibrated
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import (
    Skill,
    check_camera,
    draw_back,
    localise,
    move,
    read_level,
    read_scale,
    tick_until_done,
)
from aquamend_lab.pouring.mujoco.episode import DOSE_G, AtTheAlarm, Episode, located_as, until_alarm
from aquamend_lab.pouring.mujoco.judging import configuration_of, wrong_at_alarm
from aquamend_lab.pouring.mujoco.skills import fetch, pour, pour_back, put_back
from aquamend_lab.pouring.mujoco.trouble import (
    AddWater,
    BiasedCamera,
    Mishap,
    draw_scales_off,
    draw_scene,
    draw_trouble,
)
from aquamend_lab.pouring.task import CHECK_CAMERA, LOCALISE, CupValues, Stage
from aquamend_lab.pouring.task import look as looking
from aquamend_lab.pouring.task import weigh as weighing
from aquamend_lab.records import read_lines, write_lines

SEED = 7_270_003
"""Seeds of calibration begin with this number, which no suite uses."""
KINDS = tuple(Mishap)
STAGES = (
    *(Stage.DECIDED, Stage.LIFTED, Stage.LIFTED, Stage.BESIDE),
    *(Stage.LIFTED, Stage.POURED, Stage.LIFTED, Stage.POURED),
)
"""Stages of the runs of one kind, half of them at the stage where screening is wanted."""
RUNS = len(KINDS) * len(STAGES)


class SkillTime(NamedTuple):
    """How long a skill took."""

    skill: str
    seconds: float
    succeeded: bool


@dataclass(frozen=True, slots=True)
class CalibrationRecord:
    """What one calibration run taught; the truth is part of it."""

    run: int
    kind: str
    declared: CupValues
    heard: AtAlarm
    configuration: Configuration
    added_g: float = 0.0
    bias_g: float = 0.0
    scale_off_g: float = 0.0
    """How large what happened really was, errors without their sign."""
    readings: Mapping[str, float | str] = field(default_factory=dict)
    """By probe, what it answered, if it did: the look that belongs to the alarm too, its localisation apart."""
    failed: tuple[str, ...] = ()
    """Declarations that were really wrong at the alarm."""
    durations: tuple[SkillTime, ...] = ()

    def model(self, fitted: Fitted) -> AlarmModel:
        """Return the model of its alarm."""
        return AlarmModel(self.declared, self.heard, fitted)

    def as_data(self) -> dict[str, Any]:
        """Return the record as plain data."""
        data: dict[str, Any] = write(self, complete=True)
        return data

    @classmethod
    def from_data(cls, data: object) -> CalibrationRecord:
        """Return the record that plain data hold; ``InvalidData`` if they hold none."""
        record: CalibrationRecord = load(cls, data, "record")
        return record

    def shifts(self) -> Shifts:
        """Return how large changes and errors really were."""
        declared = sorted(self.declared.quantity_g)
        added = Amount(self.added_g)
        beyond = Amount(declared[TARGET] + self.added_g - declared[RIVAL])
        return Shifts(added, beyond, added, Amount(self.bias_g), Amount(self.scale_off_g))


def calibrate_once(run: int) -> CalibrationRecord:
    """Return one calibration record; a pure function of its number."""
    kind, stage = KINDS[run % len(KINDS)], STAGES[run // len(KINDS) % len(STAGES)]
    rng = np.random.default_rng((SEED, run))
    scene = draw_scene(rng)
    trouble, off = draw_trouble(kind, scene, rng), draw_scales_off(scene, rng)
    alarmed = until_alarm(Episode(scene, stage, trouble, (SEED, run), off), fitted=uncalibrated())
    failed, declared, heard = wrong_at_alarm(alarmed), alarmed.declared, alarmed.heard
    readings, durations = tick_until_done(alarmed.body, _use(alarmed))
    return CalibrationRecord(
        run=run,
        kind=kind.value,
        declared=declared,
        heard=heard,
        configuration=configuration_of(alarmed),
        added_g=float(trouble.grams) if isinstance(trouble, AddWater) else 0.0,
        bias_g=abs(trouble.bias_g) if isinstance(trouble, BiasedCamera) else 0.0,
        scale_off_g=max((abs(g) for g in off.values()), default=0.0),
        readings=readings,
        failed=failed,
        durations=tuple(durations),
    )


def _use(alarmed: AtTheAlarm) -> Generator[None, None, tuple[dict[str, float | str], list[SkillTime]]]:
    """Take every reading once, then do what a recovery might do next, so that it is timed."""
    body, target, heard = alarmed.body, alarmed.declared.target, alarmed.heard
    poured = {target: heard.poured_g}
    readings: dict[str, float | str] = {looking(cup): g for cup, g in heard.looked.items()}
    for cup in dim.CUPS:
        for probe, skill in (
            (looking(cup), read_level(body, cup)),
            (weighing(cup), read_scale(body, body.seen_place(cup))),
        ):
            if probe not in readings:
                found = yield from skill
                if found.value is not None:
                    readings[probe] = round(found.value - poured.get(cup, 0.0), 1)
    readings[CHECK_CAMERA] = (yield from check_camera(body)).note
    yield from localise(body, believe=False)
    readings[LOCALISE] = located_as(body, alarmed.declared)
    timed: list[SkillTime] = []

    def time(what: str, skill: Skill) -> Skill:
        start = body.simulation.time_s
        finding = yield from skill
        timed.append(SkillTime(what, round(body.simulation.time_s - start, 2), finding.succeeded))
        return finding

    charge = Charge.CONTINUATION
    if body.holding is None:
        yield from time("fetch", fetch(body, dim.PITCHER, charge))
    if heard.stage is Stage.POURED and alarmed.episode.seed[-1] % 2:
        yield from time("pour back", pour_back(body, target, heard.poured_g, charge))
    if heard.stage in (Stage.DECIDED, Stage.LIFTED):
        yield from time("move", move(body, target))
    if heard.stage is Stage.LIFTED:
        yield from time("draw back", draw_back(body))
    if heard.stage in (Stage.DECIDED, Stage.BESIDE):
        yield from time("pour", pour(body, target, DOSE_G))
    yield from time("put back", put_back(body, charge))
    return readings, timed


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
