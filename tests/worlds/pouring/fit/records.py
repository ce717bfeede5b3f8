"""Calibration records that nobody simulated: readings with known errors about what the truth predicts."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from tests.worlds.pouring.episodes import DECLARED, POURED

from aquamend.worlds.pouring.configurations import Configuration, Physical, Sensing
from aquamend.worlds.pouring.drawing import KINDS, READS_HIGH, READS_LOW
from aquamend.worlds.pouring.episode import Stage
from aquamend.worlds.pouring.fit.calibration_run import STAGES, CalibrationRecord
from aquamend.worlds.pouring.fit.fitting import supposed_exactly
from aquamend.worlds.pouring.model import failures_of, localise_outcome
from aquamend.worlds.pouring.monitor import LEVEL, ROUTINE, Report

LOOK_SAME_G, LOOK_NEW_G, WEIGH_G = 0.6, 1.4, 0.4
SHIFTS_G = {
    Physical.LITTLE: (5.0, 0.5),
    Physical.MUCH: (4.0, 1.0),
    Physical.ADD_RIVAL: (8.0, 2.0),
    Physical.ADD_THIRD: (8.0, 2.0),
    READS_HIGH: (9.0, 1.5),
    READS_LOW: (9.0, 1.5),
}
SECONDS = {"fetch": 3.0, "move": 1.5, "pour": 15.0, "put back": 4.0, "pour back": 30.0}


def configuration_of(kind: str) -> Configuration:
    """Return one configuration of a kind; a biased camera misreads the third cup."""
    if kind in tuple(Physical):
        return Configuration(Physical(kind), Sensing.SOUND)
    biased = {READS_HIGH: Sensing.THIRD_HIGH, READS_LOW: Sensing.THIRD_LOW}
    return Configuration(Physical.NOTHING, biased.get(kind) or Sensing(kind))


def record(run: int) -> CalibrationRecord:
    """Return what a run would have taught; a pure function of its number."""
    rng = np.random.default_rng((17, run))
    kind, stage = KINDS[run % len(KINDS)], STAGES[run // len(KINDS) % len(STAGES)]
    mean, sd = SHIFTS_G.get(kind, (0.0, 0.0))
    blank = CalibrationRecord(
        run=run,
        kind=kind,
        stage=stage.value,
        configuration=configuration_of(kind),
        shift_g=round(float(rng.normal(mean, sd)), 3) if kind in SHIFTS_G else None,
        declared=POURED if stage is Stage.POURED else DECLARED,
        offsets_mm=(4.0, 5.0, 6.0),
        report=Report(LEVEL, "B", 9.0) if rng.random() < 0.75 else Report(ROUTINE),
        readings={},
        localised="",
        stamp="stale" if kind == Sensing.FROZEN else "fresh",
        failed=(),
        durations=tuple((what, round(float(rng.normal(seconds, 0.1)), 3), True) for what, seconds in SECONDS.items()),
    )
    supposed = supposed_exactly(blank)
    readings = {}
    for role, cup in enumerate(blank.declared.order):
        look_sd = LOOK_NEW_G if supposed.disturbed[role] else LOOK_SAME_G
        readings[f"look_{cup}"] = round(float(rng.normal(supposed.looked[role].g, look_sd)), 3)
        readings[f"weigh_{cup}"] = round(float(rng.normal(supposed.weighed[role].g, WEIGH_G)), 3)
    return replace(
        blank,
        readings=readings,
        localised=localise_outcome(supposed.seen_at, blank.declared),
        failed=failures_of(supposed, blank.configuration, blank.declared),
    )


def records(runs: int) -> Iterator[CalibrationRecord]:
    """Yield the records of the first so many runs."""
    return map(record, range(runs))
