"""Calibration runs as labelled records of alarms, such as ``aquamend learn`` takes, and back: what was learned, asked.

By role a record is comparable with every other: which cup is the target differs from run to run, and so does what was
declared of it; so readings are grams above what was declared. One file then serves all alarms. The fitted model
makes a problem of its own for each; `posed_by` makes the same one of a learned file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aquamend.belief import InformationState, Observation
from aquamend.learning import Record
from aquamend.learning.past_alarms import causes_in
from aquamend.problem import Problem
from aquamend.problem.graph import Value
from aquamend.problem.model import Alarm, Discrete, Hypothesis, JointModel, Kernel, Mixture
from aquamend.problem.model.kernels.kernel import rows_by_name, stacked
from aquamend_lab.pouring.calibration.calibration_run import CalibrationRecord
from aquamend_lab.pouring.calibration.robot_fit import amounts, supposed_exactly, swapped_roles
from aquamend_lab.pouring.model.alarm_problem import AlarmModel
from aquamend_lab.pouring.model.configurations import (
    ADDED_TO,
    ROLES,
    Amount,
    CameraState,
    Configuration,
    Happening,
    Scales,
    Supposed,
)
from aquamend_lab.pouring.model.fitted import Fitted, uncalibrated
from aquamend_lab.pouring.task import CAMERA as CAMERA_BELIEF
from aquamend_lab.pouring.task import (
    CHECK_CAMERA,
    FAULTY,
    IN_PLACE,
    LOCALISE,
    OF_A_CUP,
    SCALES,
    Measurement,
    arrangements,
)

HAPPENED = {
    Happening.LITTLE: "little",
    Happening.MUCH: "much",
    Happening.RIVAL: "rival_filled",
    Happening.THIRD: "third_filled",
}
CAMERA = {
    CameraState.MISREADS_TARGET: "misreads_target",
    CameraState.MISREADS_RIVAL: "misreads_rival",
    CameraState.MISREADS_THIRD: "misreads_third",
    CameraState.FROZEN: "frozen",
    CameraState.MIXED_UP: "mixed_up",
}

POURED, AFTER_POUR, SCALE_OFF = "poured", "after_pour", "scale_off"


def record_by_role(record: CalibrationRecord) -> Record:
    """Return a calibration record with cups named by role and amounts relative to what was declared."""
    order, report = record.declared.by_amount(), record.heard.report
    model = record.model(uncalibrated())
    readings: dict[str, tuple[str | float, ...]] = {"report": (f"{report.signal}{report.sign}",)}
    if report.signal in OF_A_CUP:
        readings["report_of"] = (ROLES[order.index(report.cup)],)
    said_where = (record.heard.located, str(record.readings[LOCALISE]))
    readings[LOCALISE] = tuple(_located(one, order) for one in said_where)
    readings[CHECK_CAMERA] = (str(record.readings[CHECK_CAMERA]),)
    for m, role, reading in amounts(record, model):
        readings[f"{m.sense}_{ROLES[role]}"] = (round(reading - model.table.declared_g[role], 1),)
    readings[POURED] = ("yes" if record.heard.poured_g > 0 else "no",)
    filled = ADDED_TO.get(record.configuration.happened)
    truth: dict[str, Value] = {} if filled is None else {f"quantity_{ROLES[filled]}": record.added_g}
    return Record(found_by_role(record), readings, when=float(record.run), truth=truth)


def found_by_role(record: CalibrationRecord) -> str:
    """Return what was the matter, in the words of ``examples/learning/pouring_by_role.yaml``."""
    happened, camera, scales = record.configuration
    found = []
    if happened is Happening.SWAPPED:
        found.append("trouble=swap_" + "_".join(ROLES[role] for role in swapped_roles(record)))
    elif happened is not Happening.NOTHING:
        found.append(f"trouble={HAPPENED[happened]}")
    if camera is not CameraState.SOUND:
        found.append(f"trouble={CAMERA[camera]}")
    if scales is Scales.OFF:
        found.append(SCALE_OFF)
    if record.heard.poured_g > 0:
        found.append(AFTER_POUR)
    return " + ".join(found) or "nothing"


def _located(said_where: str, order: Sequence[str]) -> str:
    pair = arrangements(sorted(order))[said_where]
    if pair is None:
        return IN_PLACE
    return " and ".join(ROLES[role] for role in sorted(order.index(cup) for cup in pair))


def posed_by(learned: Problem, record: CalibrationRecord, fitted: Fitted) -> Problem:
    """Return the problem at a record's alarm as the fitted model poses it, with a learned file's probabilities in it.

    Graph, prices and endings are the same. Of swaps, that of the cups that were seen exchanged is left, as there.
    """
    model, said = record.model(fitted), record_by_role(record)
    problem, heard = model.problem(), InformationState.alarmed(learned)
    for probe in ("report", "report_of", POURED):
        for answer in said.readings.get(probe, ()):
            heard = heard.after(Observation(probe, answer))
    hypotheses = [
        Hypothesis(one.name, share, (), one.cause, true_under(model, supposed))
        for one, share in zip(learned.model.hypotheses, heard.posterior.tolist(), strict=True)
        if (supposed := _supposed(one, model)) is not None
    ]
    total = math.fsum(one.prior for one in hypotheses)
    hypotheses = [replace(one, prior=one.prior / total) for one in hypotheses]
    names = [one.name for one in hypotheses]
    kernels = {name: _kernel_by_role(learned, name, m, model, names) for name, m in model.task.measurements.items()}
    alarm = Alarm(dict.fromkeys(names, 1.0), model.suspects())
    left = [model.left_by_stopping(problem.graph.beliefs, one) for one in hypotheses]
    return replace(
        problem,
        model=JointModel(hypotheses, kernels, alarm, model.task.declarations()),
        plans=(replace(problem.plans[0], loss=model.task.safe_stop_cost + np.array(left)),),
    )


def true_under(model: AlarmModel, supposed: Supposed) -> dict[str, Value]:
    """Return what is true of everything declared at an alarm, where it is not what was declared."""
    truth = model.changed(supposed)
    truth |= {} if supposed.configuration.camera is CameraState.SOUND else {CAMERA_BELIEF: FAULTY}
    return truth | ({} if supposed.configuration.scales is Scales.SOUND else {SCALES: FAULTY})


def nearest(problem: Problem, record: CalibrationRecord, fitted: Fitted) -> int:
    """Return the position of the hypothesis that is nearest to what was really so at a record's alarm."""
    model = record.model(fitted)
    so = true_under(model, supposed_exactly(record, model))
    beliefs = [belief for belief in problem.graph.beliefs if belief.declared is not None]

    def off(one: Hypothesis) -> tuple[int, float]:
        said = [(one.true_of(belief), so.get(belief.name, belief.declared)) for belief in beliefs]
        numbers = [(x, y) for x, y in said if isinstance(x, float | int) and isinstance(y, float | int)]
        other = sum(x != y for x, y in said if not isinstance(y, float | int))
        return other, math.fsum(abs(x - y) for x, y in numbers)

    return min((off(one), i) for i, one in enumerate(problem.model.hypotheses))[1]


def _supposed(one: Hypothesis, model: AlarmModel) -> Supposed | None:
    """Return what a hypothesis by role supposes of the table at an alarm; None where it swaps other cups than seen."""
    causes = causes_in(one.part_of or one.name)
    trouble = next((cause.removeprefix("trouble=") for cause in causes if cause.startswith("trouble=")), "")
    happened = next((h for h, word in HAPPENED.items() if word == trouble), Happening.NOTHING)
    if trouble.startswith("swap_"):
        if trouble != "swap_" + "_".join(ROLES[role] for role in sorted(model.table.exchanged)):
            return None
        happened = Happening.SWAPPED
    camera = next((c for c, word in CAMERA.items() if word == trouble), CameraState.SOUND)
    scales = Scales.OFF if SCALE_OFF in causes else Scales.SOUND
    filled = None
    if happened in ADDED_TO:
        role = ADDED_TO[happened]
        above = one.truth[f"quantity_{ROLES[role]}"]
        filled = Amount(model.table.declared_g[role] + (above if isinstance(above, float | int) else 0.0))
    return Supposed(Configuration(happened, camera, scales), model.table, model.fitted.shifts, filled)


def _kernel_by_role(learned: Problem, probe: str, m: Measurement, model: AlarmModel, names: Sequence[str]) -> Kernel:
    """Return how a probe of the robot answers, as the file by role has it."""
    by_role = probe if m.cup is None else f"{m.sense}_{ROLES[model.order.index(m.cup)]}"
    kernel = rows_by_name(learned.model.kernels[by_role], learned.model.names)
    if isinstance(kernel, Mixture) and m.cup is not None:
        above = model.table.declared_g[model.order.index(m.cup)]
        parts = {name: [(w, above + mean, sd) for w, mean, sd in kernel.components[name]] for name in names}
        return Mixture(parts, kernel.outliers)
    if not isinstance(kernel, Discrete):
        raise TypeError(f"the file by role has no outcomes for {probe!r}")
    said = list(arrangements(model.task.cups)) if probe == LOCALISE else list(kernel.outcomes)
    own = [kernel.outcomes.index(_located(one, model.order) if probe == LOCALISE else one) for one in said]
    return Discrete(said, stacked(kernel.likelihood, names)[:, own])
