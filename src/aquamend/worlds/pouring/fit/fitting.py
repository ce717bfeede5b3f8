"""From calibration records to a frozen model: moments, shares and smoothed counts, nothing cleverer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from aquamend.worlds.pouring.alarms import SMOOTHING, cell_of, cells
from aquamend.worlds.pouring.configurations import Amount, Physical, Sensing, Shifts, Supposed, suppose
from aquamend.worlds.pouring.drawing import KINDS, READS_HIGH, READS_LOW
from aquamend.worlds.pouring.episode import Stage
from aquamend.worlds.pouring.fit.calibration_run import CalibrationRecord
from aquamend.worlds.pouring.fit.checking import calibration_of
from aquamend.worlds.pouring.fitted import Duration, Fitted, Group, InvalidModel, Readings
from aquamend.worlds.pouring.looking import STALE
from aquamend.worlds.pouring.model import localise_outcome, measured_g

HOLD_BACK_EVERY = 4
"""One record in four of every kind is kept out of the fit, to check it."""

TIMED = ("fetch", "move", "pour", "put back", "pour back")
"""Skills that every recovery is priced by."""


def held_back(record: CalibrationRecord) -> bool:
    """Whether a record is kept out of the fit."""
    return record.run // len(KINDS) % HOLD_BACK_EVERY == HOLD_BACK_EVERY - 1


def fit(records: Sequence[CalibrationRecord]) -> Fitted:
    """Return the model that the records support, with how it fares on those held back."""
    used = [record for record in records if not held_back(record)]
    missing = sorted(set(KINDS) - {record.kind for record in used})
    if missing:
        raise InvalidModel(f"there is no calibration record of {missing[0]!r}; run at least {len(KINDS)} of them")
    durations = _durations(used)
    unknown = [what for what in TIMED if what not in durations]
    if unknown:
        raise InvalidModel(f"no calibration record tells how long it takes to {unknown[0]}; make more runs")
    fitted = Fitted(
        readings=_readings(used),
        shifts=_shifts(used),
        alarms={kind: _alarms([r for r in used if r.kind == kind]) for kind in KINDS},
        durations=durations,
        groups=tuple(_group(kind, [r for r in used if r.kind == kind]) for kind in KINDS),
        records=len(used),
        calibration={},
    )
    return replace(fitted, calibration=calibration_of([r for r in records if held_back(r)], fitted))


def supposed_exactly(record: CalibrationRecord) -> Supposed:
    """Return what the record's true configuration predicts, with the shifts as they really were."""
    exact = Amount(record.shift_g or 0.0)
    shifts = Shifts(little=exact, beyond_rival=exact, elsewhere=exact, bias=exact)
    return suppose(record.configuration, measured_g(record.declared), poured_g=record.declared.poured_g, shifts=shifts)


def _readings(records: Sequence[CalibrationRecord]) -> Readings:
    same: list[float] = []
    new: list[float] = []
    weighed: list[float] = []
    right = stamped = 0
    for record in records:
        supposed = supposed_exactly(record)
        for role, cup in enumerate(record.declared.order):
            if f"look_{cup}" in record.readings:
                error = record.readings[f"look_{cup}"] - supposed.looked[role].g
                (new if supposed.disturbed[role] else same).append(error)
            weighed.append(record.readings[f"weigh_{cup}"] - supposed.weighed[role].g)
        right += record.localised == localise_outcome(supposed.seen_at, record.declared)
        stamped += (record.stamp == STALE) == (record.configuration.sensing is Sensing.FROZEN)
    return Readings(
        look_same_sd_g=_rms(same),
        look_new_sd_g=_rms(new),
        weigh_sd_g=_rms(weighed),
        localise_right=round((right + 1) / (len(records) + 2), 4),
        stamp_right=round((stamped + 1) / (len(records) + 2), 4),
    )


def _rms(errors: Sequence[float]) -> float:
    """Return the scatter about the prediction, any bias of it included."""
    return round(float(np.sqrt(np.mean(np.square(errors)))), 3)


def _shifts(records: Sequence[CalibrationRecord]) -> Shifts:
    def amount(*kinds: str) -> Amount:
        found = [r.shift_g for r in records if r.kind in kinds and r.shift_g is not None]
        return Amount(round(float(np.mean(found)), 2), round(float(np.std(found)), 2))

    return Shifts(
        little=amount(Physical.LITTLE),
        beyond_rival=amount(Physical.MUCH),
        elsewhere=amount(Physical.ADD_RIVAL, Physical.ADD_THIRD),
        bias=amount(READS_HIGH, READS_LOW),
    )


def _alarms(records: Sequence[CalibrationRecord]) -> dict[str, float]:
    counts = Counter(cell_of(r.report, r.configuration.affected, r.declared) for r in records)
    possible = cells(some_affected=bool(records[0].configuration.affected))
    total = len(records) + SMOOTHING * len(possible)
    return {cell: round((counts[cell] + SMOOTHING) / total, 6) for cell in possible}


def _durations(records: Iterable[CalibrationRecord]) -> dict[str, Duration]:
    seconds: dict[str, list[float]] = {}
    for record in records:
        for what, taken, _ in record.durations:
            seconds.setdefault(what, []).append(taken)
    return {
        what: Duration(round(float(np.mean(taken)), 3), round(float(np.std(taken)), 3), len(taken))
        for what, taken in sorted(seconds.items())
    }


def _group(kind: str, records: Sequence[CalibrationRecord]) -> Group:
    """Return a kind's prototype: the average of its records at the stage where screening is wanted."""
    here = [r for r in records if r.stage == Stage.MOVED.value] or list(records)

    def mean(of: Callable[[CalibrationRecord], Sequence[float]]) -> tuple[float, ...]:
        return tuple(round(float(x), 2) for x in np.mean([of(r) for r in here], axis=0))

    def gaps(record: CalibrationRecord) -> list[float]:
        measured = measured_g(record.declared)
        return [g - measured[0] for g in measured[1:]]

    return Group(kind, Stage.MOVED.value, len(records), mean(gaps), mean(lambda r: r.offsets_mm))
