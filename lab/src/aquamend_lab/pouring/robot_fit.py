"""From calibration records to a frozen model: which records tell which number; `aquamend.learning` does the estimating.

It is checked on records that it has not seen: what it poses at each alarm is scored as any learned file is.

The records also become labelled records of alarms, such as ``aquamend learn`` takes, and back: what was learned, asked.
By role a record is comparable with every other: which cup is the target differs from run to run, and so does what was
declared of it; so readings are grams above what was declared. One file then serves all alarms. The fitted model makes a
problem of its own for each; `posed_by` makes the same one of a learned file.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from aquamend.belief import InformationState, Observation
from aquamend.learning import Calibration, Record, calibration_of, moments, rate, shares
from aquamend.learning.past_alarms import causes_in
from aquamend.problem import Problem
from aquamend.problem.graph import Value
from aquamend.problem.model import Alarm, Discrete, Hypothesis, JointModel, Kernel, Mixture
from aquamend.problem.model.kernels.kernel import rows_by_name, stacked
from aquamend_lab.pouring.calibration_run import KINDS, CalibrationRecord
from aquamend_lab.pouring.model.alarm_problem import AlarmModel
from aquamend_lab.pouring.model.configurations import (
    ADDED_TO,
    AS_BELIEVED,
    CAMERA_KINDS,
    ROLES,
    Amount,
    CameraState,
    Configuration,
    Happening,
    Scales,
    Shifts,
    Supposed,
    camera_kind,
)
from aquamend_lab.pouring.model.fitted import KINDS as ALARM_KINDS
from aquamend_lab.pouring.model.fitted import (
    SMOOTHING,
    TIMED,
    Duration,
    Fitted,
    FittedReadings,
    Group,
    InvalidModel,
    affected_by,
    cell_of,
    cells,
    kinds_of,
    uncalibrated,
)
from aquamend_lab.pouring.task import CAMERA as CAMERA_BELIEF
from aquamend_lab.pouring.task import (
    CHECK_CAMERA,
    FAULTY,
    IN_PLACE,
    LOCALISE,
    OF_A_CUP,
    SCALES,
    Measurement,
    Sense,
    Stage,
    arrangements,
    binding,
)

HOLD_BACK_EVERY = 4
"""One record in four of every kind is kept out of the fit, to check it."""
TELLS = 0.05
"""A probe tells something in a record where its answer moves the probability of some declaration by this much."""


def fold_of(record: CalibrationRecord) -> int:
    """Return which quarter of its kind a record is in; the stages of runs repeat every four, so quarters go askew."""
    number = record.run // len(KINDS)
    return (number + number // HOLD_BACK_EVERY) % HOLD_BACK_EVERY


def held_back(record: CalibrationRecord) -> bool:
    """Whether a record is kept out of the fit."""
    return fold_of(record) == HOLD_BACK_EVERY - 1


def fit(records: Sequence[CalibrationRecord]) -> Fitted:
    """Return the model that the records support, with how it fares on those held back."""
    used = [record for record in records if not held_back(record)]
    fitted = fitted_to(used)
    fitted = replace(fitted, groups=_groups(used, fitted))
    return replace(fitted, calibration=scores_of([r for r in records if held_back(r)], fitted))


def fitted_to(used: Sequence[CalibrationRecord], *, timed: Sequence[CalibrationRecord] | None = None) -> Fitted:
    """Return the model fitted to all of these records, without the groups that screening asks for.

    ``timed`` are those that tell how long skills take, where they are others.
    """
    missing = [kind.value for kind in KINDS if kind.value not in {record.kind for record in used}]
    if missing:
        raise InvalidModel(f"there is no calibration record of {missing[0]!r}; run at least {len(KINDS)} of them")
    durations = _durations(used if timed is None else timed)
    unknown = [what for what in TIMED if what not in durations]
    if unknown:
        raise InvalidModel(f"no calibration record tells how long it takes to {unknown[0]}; make more runs")
    fitted = replace(uncalibrated(), shifts=_shifts(used), alarms=_alarms(used), durations=durations, records=len(used))
    return replace(fitted, readings=_readings(used, fitted))


def supposed_exactly(record: CalibrationRecord, model: AlarmModel) -> Supposed:
    """Return what the record's true configuration predicts, with the shifts as they really were."""
    return Supposed(record.configuration, model.table, record.shifts())


def error_g(supposed: Supposed, sense: Sense, role: int, reading: float) -> float:
    """Return how far a reading is from what was to be expected, whichever sign an error has."""
    means = [mean for _, mean, _ in supposed.reading(sense, role, 0.0)]
    return reading - min(means, key=lambda mean: abs(reading - mean))


def _readings(records: Sequence[CalibrationRecord], fitted: Fitted) -> FittedReadings:
    errors: dict[tuple[Sense, bool], list[float]] = {}
    right: list[bool] = []
    faulty: dict[str, list[bool]] = {kind: [] for kind in CAMERA_KINDS}
    for record in records:
        model = record.model(fitted)
        supposed = supposed_exactly(record, model)
        for m, role, reading in amounts(record, model):
            key = m.sense, m.sense is Sense.LOOK and supposed.disturbed(m.sense, role)
            errors.setdefault(key, []).append(error_g(supposed, m.sense, role, reading))
        for noted in (record.heard.located, record.readings[LOCALISE]):
            right.append((noted == IN_PLACE) == (supposed.seen_at == AS_BELIEVED))
        faulty[camera_kind(record.configuration.camera)].append(record.readings[CHECK_CAMERA] == FAULTY)
    return FittedReadings(
        look_same_sd_g=_rms(errors[Sense.LOOK, False]),
        look_new_sd_g=_rms(errors[Sense.LOOK, True]),
        weigh_sd_g=_rms(errors[Sense.WEIGH, False]),
        localise_right=_share(right),
        finds_faulty={kind: _share(found) for kind, found in faulty.items()},
        scale_off=_share([record.scale_off_g > 0 for record in records]),
    )


def amounts(record: CalibrationRecord, model: AlarmModel) -> Iterable[tuple[Measurement, int, float]]:
    """Yield every amount that was read in a record, and of which role."""
    for name, m in model.task.measurements.items():
        if m.cup is not None and name in record.readings:
            yield m, model.order.index(m.cup), float(record.readings[name])


def _share(found: Sequence[bool]) -> float:
    """Return how often something is so, smoothed by half a count either way (Jeffreys)."""
    return round(rate(sum(found), len(found), 0.5, strength=2 * SMOOTHING).value, 4)


def _rms(errors: Sequence[float]) -> float:
    """Return the scatter about the prediction, any bias of it included."""
    return round(moments(errors, about=0.0).sd.value, 3)


def _shifts(records: Sequence[CalibrationRecord]) -> Shifts:
    def amount(of: Callable[[Shifts], Amount], wanted: Callable[[CalibrationRecord], bool]) -> Amount:
        found = [of(record.shifts()).g for record in records if wanted(record)]
        if not found:
            raise InvalidModel("too few calibration records to tell how large changes and errors are; make more runs")
        estimate = moments(found)
        return Amount(round(estimate.mean.value, 2), max(0.1, round(estimate.sd.value, 2)))

    def happened(*kinds: Happening) -> Callable[[CalibrationRecord], bool]:
        return lambda record: record.configuration.happened in kinds

    return Shifts(
        little=amount(lambda s: s.little, happened(Happening.LITTLE)),
        beyond_rival=amount(lambda s: s.beyond_rival, happened(Happening.MUCH)),
        elsewhere=amount(lambda s: s.elsewhere, happened(Happening.RIVAL, Happening.THIRD)),
        bias=amount(lambda s: s.bias, lambda record: record.bias_g > 0),
        scale=amount(lambda s: s.scale, lambda record: record.scale_off_g > 0),
    )


def _alarms(records: Sequence[CalibrationRecord]) -> Mapping[str, Mapping[str, float]]:
    """Return, for everything that may be the matter, the probability of every report."""
    found: dict[str, Counter[str]] = {kind: Counter() for kind in ALARM_KINDS}
    for record in records:
        (kind,) = kinds_of(record.configuration)
        order = record.declared.by_amount()
        affected = affected_by(record.configuration, swapped_roles(record))
        found[kind][cell_of(record.heard.report, affected, order)] += 1
    tables = {}
    for kind, counts in found.items():
        possible = cells(some_affected=kind not in (Happening.NOTHING, CameraState.FROZEN))
        alike = [1.0] * len(possible)
        estimates = shares([counts[cell] for cell in possible], alike, strength=SMOOTHING * len(possible))
        tables[kind] = {cell: round(each.value, 6) for cell, each in zip(possible, estimates, strict=True)}
    return tables


def swapped_roles(record: CalibrationRecord) -> tuple[int, ...]:
    """Return the roles that were really swapped."""
    order = record.declared.by_amount()
    return tuple(i for i, cup in enumerate(order) if binding(cup) in record.failed)


def _durations(records: Iterable[CalibrationRecord]) -> dict[str, Duration]:
    """Return how long skills take where they succeed."""
    seconds: dict[str, list[float]] = {}
    for record in records:
        for what, taken, succeeded in record.durations:
            if succeeded:
                seconds.setdefault(what, []).append(taken)
    estimates = {what: moments(taken) for what, taken in sorted(seconds.items())}
    return {
        what: Duration(round(found.mean.value, 3), round(found.sd.value, 3), found.mean.records)
        for what, found in estimates.items()
    }


def _groups(records: Sequence[CalibrationRecord], fitted: Fitted) -> tuple[Group, ...]:
    """Return the records by public history: what the monitor said, about which role, and what was located."""
    histories: dict[str, list[CalibrationRecord]] = {}
    for record in records:
        histories.setdefault(history_of(record), []).append(record)
    return tuple(_group(name, alike, fitted) for name, alike in sorted(histories.items()))


def history_of(record: CalibrationRecord) -> str:
    """Return the public history of a record in a few words; nothing of what really happened is in it."""
    report = record.heard.report
    whose = ""
    if report.signal in OF_A_CUP:
        whose = " of the target" if record.declared.by_amount().index(report.cup) == 0 else " of another cup"
    moved = "" if record.heard.located == IN_PLACE else ", cups exchanged"
    return f"{report.signal}{report.sign}{whose}{moved}"


def _group(name: str, records: Sequence[CalibrationRecord], fitted: Fitted) -> Group:
    """Return a group's prototype and its informative probes, from its records at the stage that is screened."""
    here = [r for r in records if r.heard.stage is Stage.LIFTED] or list(records)
    noted: Counter[str] = Counter()
    for record in here:
        noted.update(telling_probes(record, fitted))

    def mean(of: Callable[[CalibrationRecord], Sequence[float]]) -> tuple[float, ...]:
        return tuple(round(float(x), 2) for x in np.mean([of(r) for r in here], axis=0))

    def gaps(record: CalibrationRecord) -> list[float]:
        least, *others = sorted(record.declared.quantity_g)
        return [g - least for g in others]

    def offsets(record: CalibrationRecord) -> list[float]:
        return [record.heard.offset_mm[cup] for cup in record.declared.by_amount()]

    return Group(name, len(records), tuple(sorted(noted)), mean(gaps), mean(offsets))


def telling_probes(record: CalibrationRecord, fitted: Fitted) -> list[str]:
    """Return the probes, by role, whose answers in a record moved some declaration's probability of being invalid.

    What was measured for the alarm itself did so in its turn, every other probe after that.
    """
    model = record.model(fitted)
    alarm = InformationState.alarmed(model.problem())
    found, heard = [], alarm
    own = record.heard.measured
    others = (Observation(name, record.readings[name]) for name in model.task.measurements if name in record.readings)
    for said in (*own, *(said for said in others if said not in own and said.probe != LOCALISE)):
        after = heard.after(said)
        if _moved(heard, after):
            m = model.task.measurements[said.probe]
            found.append(said.probe if m.cup is None else f"{m.sense}_{ROLES[model.order.index(m.cup)]}")
        heard = after if said in own else heard
    return found


def _moved(before: InformationState, after: InformationState) -> bool:
    if after.contradiction is not None:
        return False
    invalid = before.problem.invalid
    return bool(np.abs(after.posterior @ invalid - before.posterior @ invalid).max() >= TELLS)


TIMES = {"after the alarm": False, "after every probe": True}
"""When a model is asked, and whether every probe has answered by then."""


def posed(record: CalibrationRecord, fitted: Fitted, *, probed: bool = True) -> tuple[Problem, Record]:
    """Return the problem that the fitted model poses at a record's alarm, and the record in that problem's words.

    What was measured for the alarm itself is in it; what the probes answered after that, where ``probed``.
    """
    model = record.model(fitted)
    readings: dict[str, tuple[str | float, ...]] = {said.probe: (said.outcome,) for said in record.heard.measured}
    if probed:
        readings = {name: (said,) for name, said in record.readings.items()}
        readings[LOCALISE] = (record.heard.located, record.readings[LOCALISE])
    return model.problem(), Record(model.named(record.configuration), readings)


def scores_of(records: Sequence[CalibrationRecord], fitted: Fitted) -> dict[str, Any]:
    """Return what a model file says of the records held back: kinds of declarations, what was so, the readings."""
    found = {
        time: calibration_of(
            (posed(record, fitted, probed=probed) for record in records), kind=lambda belief: belief.split("_")[0]
        )
        for time, probed in TIMES.items()
    }
    last = found["after every probe"]
    return {
        "records": last.records,
        "contradicted": last.contradicted,
        "declarations": {time: _by_kind(own) for time, own in found.items()},
        "probability of what was so": {time: round(own.truth or 0.0, 3) for time, own in found.items()},
        "readings within": {name: round(share, 3) for name, share in last.coverage.items()},
    }


def _by_kind(found: Calibration) -> dict[str, dict[str, float]]:
    scores = {}
    for kind, own in found.beliefs.items():
        values = {"invalid": own.rate, "predicted": own.mean, "brier": own.brier, "ece": own.calibration_error}
        scores[kind] = {"queries": own.queries} | {name: round(value or 0.0, 4) for name, value in values.items()}
    return scores


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
