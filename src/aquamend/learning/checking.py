"""How a learned model fares on records that were held back, and whether the records changed over time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aquamend.errors import IllegalProbe
from aquamend.inference import InformationState, Observation
from aquamend.learning.fitting import learned
from aquamend.learning.records import Record, in_order
from aquamend.model.kernels import Readings
from aquamend.problem import Problem
from aquamend.statistics.calibration import brier, expected_calibration_error

HOLD_BACK_EVERY = 4
"""One record in four is held back to check what was learned from the others."""
FEWEST_FOR_DRIFT = 20
DRIFT_LEVEL = 0.01
"""Chance of calling a drift where there is none, over all that is tested."""
WITHIN = {"50 %": 0.6744898, "95 %": 1.959964}


@dataclass(frozen=True, slots=True)
class Calibration:
    """How probable the model held what was so, on records it had not seen."""

    records: int
    brier: float | None
    """Of "this belief has failed", after the alarm and all readings; 0 is perfect, 0.25 a coin."""
    ece: float | None
    """Expected calibration error of the same."""
    truth: float | None
    """Probability of what was found, on average."""
    coverage: Mapping[str, float]
    """Share of numeric readings inside the interval that should hold this much of them."""
    readings: int
    """How many numeric readings that is."""


def held_back(records: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """Return the records to learn from and those held back, every fourth, in the order given."""
    back = [record for i, record in enumerate(records) if i % HOLD_BACK_EVERY == HOLD_BACK_EVERY - 1]
    return [record for i, record in enumerate(records) if i % HOLD_BACK_EVERY != HOLD_BACK_EVERY - 1], back


def checked(template: Mapping[str, Any], records: Sequence[Record], *, strength: float) -> Calibration | None:
    """Return how a model learned from three records in four fares on the fourth; None if too few tell a finding."""
    labelled = [record for record in records if record.found is not None]
    used, back = held_back(labelled)
    if len(back) < 2:
        return None
    return calibration(learned(template, used, strength=strength).problem, back)


def calibration(problem: Problem, records: Sequence[Record]) -> Calibration:
    """Return how a problem's model fares on records."""
    free = replace(problem, sensing_budget=math.inf)
    position = {frozenset(part.strip() for part in name.split("+")): s for s, name in enumerate(free.model.names)}
    probabilities: list[float] = []
    outcomes: list[bool] = []
    truths: list[float] = []
    distances: list[float] = []
    count = 0
    for record in records:
        truth = position.get(frozenset(part.strip() for part in str(record.found).split("+")))
        if truth is None or not record.alarm:
            continue
        count += 1
        state = _told(InformationState.alarmed(free), record)
        distances += _distances(free, record, truth)
        probabilities += state.failure_probabilities.tolist()
        outcomes += (free.failed[truth] > 0.5).tolist()
        truths.append(float(state.posterior[truth]))
    z = np.abs(np.array(distances))
    return Calibration(
        count,
        brier(probabilities, outcomes),
        expected_calibration_error(probabilities, outcomes),
        float(np.mean(truths)) if truths else None,
        {name: float((z <= reach).mean()) for name, reach in WITHIN.items()} if len(z) else {},
        len(z),
    )


def _told(state: InformationState, record: Record) -> InformationState:
    """Return the state after all that a record's probes read, as often as they may be used."""
    for probe, answers in record.readings.items():
        for answer in answers if probe in state.problem.graph.probe_index else ():
            said = state.problem.model.channels[probe].parse(_as_said(state, probe, answer))
            if said is not None:
                try:
                    state = state.after(Observation(probe, said))
                except IllegalProbe:
                    break
    return state


def _as_said(state: InformationState, probe: str, answer: str | float) -> str | float:
    reads = isinstance(state.problem.model.channels[probe], Readings)
    return answer if reads or isinstance(answer, str) else f"{answer:g}"


def _distances(problem: Problem, record: Record, truth: int) -> list[float]:
    """Return how many standard deviations each numeric reading lies from what the truth predicts."""
    found = []
    for probe, answers in record.readings.items():
        channel = problem.model.channels.get(probe)
        if isinstance(channel, Readings):
            own = np.flatnonzero(channel.owner == channel.of[truth])
            if len(own) == 1:
                mean, sd = float(channel.mean[own[0]]), float(channel.sd[own[0]])
                found += [(float(answer) - mean) / sd for answer in answers]
    return found


def drifts(records: Sequence[Record]) -> Iterator[str]:
    """Yield what differs between the earlier and the later half of the records by more than chance explains."""
    from scipy.stats import chi2_contingency, ks_2samp

    timed = in_order([record for record in records if record.found is not None])
    if len(timed) < FEWEST_FOR_DRIFT:
        return
    halves = timed[: len(timed) // 2], timed[len(timed) // 2 :]
    tests: list[tuple[str, float]] = []
    names = sorted({str(record.found) for record in timed})
    counts = np.array([[sum(r.found == name for r in half) for name in names] for half in halves])
    if counts.shape[1] > 1:
        tests.append(("what was found", float(chi2_contingency(counts).pvalue)))
    for probe in sorted({probe for record in timed for probe in record.readings}):
        for name in names:
            read = [[a for r in half if r.found == name for a in r.readings.get(probe, ())] for half in halves]
            if min(len(one) for one in read) < FEWEST_FOR_DRIFT // 4:
                continue
            what = f"what {probe!r} reads under {name!r}"
            numbers = _numbers(read)
            if numbers is not None:
                tests.append((what, float(ks_2samp(np.array(numbers[0]), np.array(numbers[1])).pvalue)))
            else:
                kinds = sorted({str(a) for one in read for a in one})
                table = np.array([[sum(str(a) == kind for a in one) for kind in kinds] for one in read])
                if len(kinds) > 1:
                    tests.append((what, float(chi2_contingency(table).pvalue)))
    for what, p in tests:
        if p < DRIFT_LEVEL / len(tests):
            yield f"{what} has changed over time (p = {p:.1g}); older records may mislead"


def _numbers(read: Sequence[Sequence[str | float]]) -> list[list[float]] | None:
    """Return readings as numbers, which in CSV are text; None where some are none."""
    try:
        return [[float(answer) for answer in one] for one in read]
    except ValueError:
        return None
