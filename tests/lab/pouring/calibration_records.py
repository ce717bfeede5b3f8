"""Calibration records that nobody simulated: readings with known errors about what the truth predicts."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from tests.lab.pouring.model.by_hand import DECLARED

from aquamend_lab.pouring.calibration_run import STAGES, CalibrationRecord
from aquamend_lab.pouring.model.alarm_problem import AtAlarm
from aquamend_lab.pouring.model.configurations import AS_BELIEVED, CameraState, Configuration, Happening, Scales
from aquamend_lab.pouring.model.fitted import uncalibrated
from aquamend_lab.pouring.mujoco.trouble import Mishap
from aquamend_lab.pouring.robot_fit import supposed_exactly
from aquamend_lab.pouring.task import (
    CHECK_CAMERA,
    FAULTY,
    IN_PLACE,
    LOCALISE,
    ROUTINE,
    SOUND,
    Report,
    Sense,
    Signal,
    Stage,
    binding,
    quantity,
)

KINDS = tuple(Mishap)
LOOK_SAME_G, LOOK_NEW_G, WEIGH_G = 0.6, 1.4, 0.4
CONFIGURATION = {
    Mishap.OCCLUSION: Configuration(),
    Mishap.SPIKE: Configuration(),
    Mishap.LITTLE: Configuration(Happening.LITTLE),
    Mishap.MUCH: Configuration(Happening.MUCH),
    Mishap.RIVAL: Configuration(Happening.RIVAL),
    Mishap.THIRD: Configuration(Happening.THIRD),
    Mishap.SWAP_RIVAL: Configuration(Happening.SWAPPED),
    Mishap.SWAP_THIRD: Configuration(Happening.SWAPPED),
    Mishap.SWAP_OTHERS: Configuration(Happening.SWAPPED),
    Mishap.BIAS: Configuration(camera=CameraState.MISREADS_THIRD),
    Mishap.FROZEN: Configuration(camera=CameraState.FROZEN),
    Mishap.MIXED_UP: Configuration(camera=CameraState.MIXED_UP),
}
SWAPPED = {Mishap.SWAP_RIVAL: "AB", Mishap.SWAP_THIRD: "BC", Mishap.SWAP_OTHERS: "AC"}
ADDED_G = {Mishap.LITTLE: (5.0, 0.5), Mishap.MUCH: (14.0, 1.0), Mishap.RIVAL: (8.0, 2.0), Mishap.THIRD: (8.0, 2.0)}
"""Mean and standard deviation; the rival holds 10 g more than the target."""
BIAS_G, SCALE_OFF_G = (9.0, 1.5), (8.5, 1.0)
SCALE_OFF_EVERY = 5
SECONDS = {
    "fetch": 5.0, "move": 1.5, "draw back": 2.0, "pour": 15.0, "put back": 4.0, "pour back": 35.0,
}  # fmt: skip


def record(run: int) -> CalibrationRecord:
    """Return what a run would have taught; a pure function of its number."""
    rng = np.random.default_rng((17, run))
    kind, stage = KINDS[run % len(KINDS)], STAGES[run // len(KINDS) % len(STAGES)]
    off = run % SCALE_OFF_EVERY == 0
    located = f"{SWAPPED[kind][0]} and {SWAPPED[kind][1]} exchanged" if kind in SWAPPED else IN_PLACE
    blank = CalibrationRecord(
        run=run,
        kind=kind.value,
        declared=DECLARED,
        heard=AtAlarm(
            stage,
            Report(Signal.LEVEL, "B", 9.0) if rng.random() < 0.75 else ROUTINE,
            located,
            {"A": True, "B": True, "C": False},
            19.5 if stage is Stage.POURED else 0.0,
            {"B": 4.0, "A": 5.0, "C": 6.0},
        ),
        configuration=CONFIGURATION[kind]._replace(scales=Scales.OFF if off else Scales.SOUND),
        added_g=_drawn(rng, ADDED_G[kind]) if kind in ADDED_G else 0.0,
        bias_g=_drawn(rng, BIAS_G) if kind is Mishap.BIAS else 0.0,
        scale_off_g=_drawn(rng, SCALE_OFF_G) if off else 0.0,
        durations=tuple((what, _drawn(rng, (seconds, 0.1)), True) for what, seconds in SECONDS.items()),
    )
    return replace(blank, readings=_readings(blank, rng), failed=_failed(kind))


def _drawn(rng: np.random.Generator, amount: tuple[float, float]) -> float:
    return round(float(rng.normal(*amount)), 3)


def _readings(blank: CalibrationRecord, rng: np.random.Generator) -> dict[str, float | str]:
    model = blank.model(uncalibrated())
    supposed = supposed_exactly(blank, model)
    readings: dict[str, float | str] = {}
    for name, m in model.task.measurements.items():
        if m.cup is None or (m.sense is Sense.WEIGH and m.cup not in model.task.weighable):
            continue
        role = model.order.index(m.cup)
        look_g = LOOK_NEW_G if supposed.disturbed(Sense.LOOK, role) else LOOK_SAME_G
        sd_g = {Sense.LOOK: look_g, Sense.WEIGH: WEIGH_G}[m.sense]
        weights, means, _ = zip(*supposed.reading(m.sense, role, 0.0), strict=True)
        readings[name] = _drawn(rng, (float(rng.choice(means, p=weights)), sd_g))
    blind = blank.configuration.camera in (CameraState.FROZEN, CameraState.MIXED_UP)
    readings[CHECK_CAMERA] = FAULTY if blind else SOUND
    readings[LOCALISE] = IN_PLACE if supposed.seen_at == AS_BELIEVED else blank.heard.located
    return readings


def _failed(kind: Mishap) -> tuple[str, ...]:
    """Return what is wrong with what was declared."""
    if kind in SWAPPED:
        return tuple(binding(cup) for cup in SWAPPED[kind])
    if kind in (Mishap.BIAS, Mishap.FROZEN, Mishap.MIXED_UP):
        return ("camera",)
    added = {Mishap.LITTLE: "B", Mishap.MUCH: "B", Mishap.RIVAL: "A", Mishap.THIRD: "C"}
    wrong = (quantity(added[kind]),) if kind in added else ()
    return (*wrong, "target") if kind is Mishap.MUCH else wrong


def records(runs: int) -> Iterator[CalibrationRecord]:
    """Yield the records of the first so many runs."""
    return map(record, range(runs))
