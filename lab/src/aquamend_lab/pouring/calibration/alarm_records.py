"""Calibration runs as labelled records of alarms, such as ``aquamend learn`` takes, and as the fitted model sees them.

By role a record is comparable with every other: which cup is the target differs from run to run, and so does what was
declared of it; so readings are told as grams above what was declared. One file then serves all alarms. The fitted model
makes a problem of its own for each.
"""

from __future__ import annotations

from collections.abc import Sequence

from aquamend.learning import Record
from aquamend.problem import Problem
from aquamend_lab.pouring.calibration.calibration_run import CalibrationRecord
from aquamend_lab.pouring.calibration.fitting import amounts, order_of, swapped_roles
from aquamend_lab.pouring.model.configurations import ROLES, CameraState, Happening, Scales
from aquamend_lab.pouring.model.fitted import Fitted, uncalibrated
from aquamend_lab.pouring.model.problem import IN_PLACE, arrangements
from aquamend_lab.pouring.reports import OF_A_CUP
from aquamend_lab.pouring.task import CHECK_CAMERA, LOCALISE

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


def record_by_role(record: CalibrationRecord) -> Record:
    """Return a calibration record with cups named by role and amounts told relative to what was declared."""
    order, report = order_of(record), record.heard.report
    model = record.model(uncalibrated())
    readings: dict[str, tuple[str | float, ...]] = {"report": (f"{report.signal}{report.sign}",)}
    if report.signal in OF_A_CUP:
        readings["report_of"] = (ROLES[order.index(report.cup)],)
    said_where = (record.heard.located, str(record.readings[LOCALISE]))
    readings[LOCALISE] = tuple(_located(one, order) for one in said_where)
    readings[CHECK_CAMERA] = (str(record.readings[CHECK_CAMERA]),)
    for m, role, reading in amounts(record, model):
        readings[f"{m.sense}_{ROLES[role]}"] = (round(reading - model.table.declared_g[role], 1),)
    return Record(found_by_role(record), readings, when=float(record.run))


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
        found.append("scale_off")
    return " + ".join(found) or "nothing"


def _located(said_where: str, order: Sequence[str]) -> str:
    pair = arrangements(sorted(order))[said_where]
    if pair is None:
        return IN_PLACE
    return " and ".join(ROLES[role] for role in sorted(order.index(cup) for cup in pair))


def posed(record: CalibrationRecord, fitted: Fitted) -> tuple[Problem, Record]:
    """Return the problem that the fitted model poses at a record's alarm, and the record in that problem's words."""
    model = record.model(fitted)
    readings: dict[str, tuple[str | float, ...]] = {name: (said,) for name, said in record.readings.items()}
    readings[LOCALISE] = (record.heard.located, record.readings[LOCALISE])
    return model.problem(), Record(model.named(record.configuration), readings)
