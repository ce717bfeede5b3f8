"""How a fitted model fares on records it has not seen: probabilities against what was so, readings against spreads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aquamend.belief import InformationState, Observation
from aquamend.learning.calibration import probability_quality
from aquamend_lab.pouring.calibration.calibration_run import CalibrationRecord
from aquamend_lab.pouring.model.configurations import Supposed
from aquamend_lab.pouring.model.fitted import Fitted
from aquamend_lab.pouring.model.problem import AlarmModel
from aquamend_lab.pouring.task import LOCALISE, Sense

TIMES = ("after the alarm", "after every probe")


def calibration_of(records: Sequence[CalibrationRecord], fitted: Fitted) -> dict[str, Any]:
    """Return Brier score and expected calibration error of every kind of declaration, and the spread of readings."""
    doubts: dict[str, dict[str, list[tuple[float, bool]]]] = {time: {} for time in TIMES}
    truth: dict[str, list[float]] = {time: [] for time in TIMES}
    contradictions = 0
    for record in records:
        model = record.model(fitted)
        so = np.array([supposed.configuration == record.configuration for supposed in model.supposed])
        for time, state in zip(TIMES, _states(record, model), strict=True):
            if state.contradiction is not None:
                contradictions += 1
                continue
            truth[time].append(float(state.posterior[so].sum()))
            for declaration, doubt in zip(
                state.problem.declarations, np.minimum(state.posterior @ state.problem.invalid, 1.0), strict=True
            ):
                kind = declaration.name.split("_")[0]
                doubts[time].setdefault(kind, []).append((float(doubt), declaration.name in record.failed))
    return {
        "records": len(records),
        "contradicted": contradictions,
        "declarations": {
            time: {kind: _scores(pairs) for kind, pairs in found.items()} for time, found in doubts.items()
        },
        "probability of what was so": {time: round(float(np.mean(p)), 3) for time, p in truth.items() if p},
        "readings within": _within(records, fitted),
    }


def _states(record: CalibrationRecord, model: AlarmModel) -> tuple[InformationState, InformationState]:
    heard = InformationState.alarmed(model.problem())
    for said in record.heard.measured:
        heard = heard.after(said)
    probed = heard
    for said in (Observation(probe, reading) for probe, reading in record.readings.items()):
        probed = probed if said in record.heard.measured and said.probe != LOCALISE else probed.after(said)
    return heard, probed


def _scores(pairs: Sequence[tuple[float, bool]]) -> dict[str, float]:
    """Return rate, mean probability, Brier score and expected calibration error."""
    found = probability_quality([p for p, _ in pairs], [wrong for _, wrong in pairs])
    values = {"invalid": found.rate, "predicted": found.mean, "brier": found.brier, "ece": found.calibration_error}
    return {"queries": len(pairs)} | {name: round(float(value or 0.0), 4) for name, value in values.items()}


def _within(records: Sequence[CalibrationRecord], fitted: Fitted) -> dict[str, float]:
    """Return the share of readings within one and two standard deviations of what the truth predicts; 0.68, 0.95.

    Where an error may go either way, the nearer prediction counts.
    """
    z: list[float] = []
    for record in records:
        model = record.model(fitted)
        supposed = Supposed(record.configuration, model.table, fitted.shifts)
        for name, m in model.task.measurements.items():
            if m.cup is None or name not in record.readings:
                continue
            role, reading = model.order.index(m.cup), float(record.readings[name])
            sd = fitted.readings.sd_g(m.sense, disturbed=m.sense is Sense.LOOK and supposed.disturbed(m.sense, role))
            parts = supposed.reading(m.sense, role, sd)
            z.append(min(((reading - mean) / spread for _, mean, spread in parts), key=abs))
    return {f"{n} sd": round(float(np.mean(np.abs(z) <= n)), 3) for n in (1, 2)} if z else {}
