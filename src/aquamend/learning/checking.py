"""How a learned model fares on records that were held back, and whether the records changed over time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aquamend.belief import InformationState, Observation
from aquamend.caching import remembered
from aquamend.errors import IllegalProbe
from aquamend.learning.calibration import brier, expected_calibration_error
from aquamend.learning.fitting import learned
from aquamend.learning.readings import Law
from aquamend.learning.records import Record, causes_in, in_order
from aquamend.problem import Problem
from aquamend.problem.model.kernels import Readings
from aquamend.text import named

HOLD_BACK_EVERY = 4
"""One record in four is held back to check what was learned from the others."""
FEWEST_FOR_DRIFT = 20
DRIFT_LEVEL = 0.01
"""Chance of calling a drift where there is none, over all that is tested."""
WITHIN = {"50 %": 0.5, "95 %": 0.95}
SMALLEST = 1e-12
"""What a finding that the model called impossible is taken for, so that one of them does not hide all others."""


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
    log_score: float | None
    """Mean natural logarithm of that probability; 0 is perfect."""
    coverage: Mapping[str, float]
    """Share of numeric readings inside the central interval that should hold this much of them."""
    readings: int
    """How many numeric readings that is."""


def held_back(records: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """Return the records to learn from and those held back, every fourth of what was found, each in the order given.

    Records that come in turns, one of each finding, would else lose some findings altogether.
    """
    alike = sorted(range(len(records)), key=lambda i: (str(records[i].found), i))
    back = set(alike[HOLD_BACK_EVERY - 1 :: HOLD_BACK_EVERY])
    return [r for i, r in enumerate(records) if i not in back], [r for i, r in enumerate(records) if i in back]


def checked(
    template: Mapping[str, Any], records: Sequence[Record], *, strength: float, law: Law = Law.AS_WRITTEN
) -> Calibration | None:
    """Return how a model learned from three records in four fares on the fourth; None if too few tell a finding."""
    labelled = [record for record in records if record.found is not None]
    used, back = held_back(labelled)
    if len(back) < 2:
        return None
    return calibration(learned(template, used, strength=strength, law=law).problem, back)


def calibration(problem: Problem, records: Iterable[Record]) -> Calibration:
    """Return how a problem's model fares on records."""
    return calibration_of((problem, record) for record in records)


def calibration_of(cases: Iterable[tuple[Problem, Record]]) -> Calibration:
    """Return how models fare on records, each with the problem that was posed when it was made."""
    stated: list[float] = []
    so: list[bool] = []
    found: list[float] = []
    below: list[float] = []
    for problem, record in cases:
        truth = _positions(problem).get(causes_in(str(record.found)))
        if truth is None or not record.alarm:
            continue
        state = _told(InformationState.alarmed(_free(problem)), record)
        stated += np.minimum(state.failure_probabilities, 1.0).tolist()  # sums of shares may round up
        so += (problem.failed[truth[0]] > 0.5).tolist()
        found.append(min(float(state.posterior[truth].sum()), 1.0))
        below += _below(problem, record, truth)
    u = np.array(below)
    return Calibration(
        len(found),
        brier(stated, so),
        expected_calibration_error(stated, so),
        float(np.mean(found)) if found else None,
        float(np.mean(np.log(np.maximum(found, SMALLEST)))) if found else None,
        {name: float((np.abs(u - 0.5) <= 0.5 * share).mean()) for name, share in WITHIN.items()} if len(u) else {},
        len(u),
    )


@remembered
def _positions(problem: Problem) -> dict[frozenset[str], list[int]]:
    """Return the hypotheses of everything that may be found: several, where probes may repeat themselves."""
    positions: dict[frozenset[str], list[int]] = {}
    for s, hypothesis in enumerate(problem.model.hypotheses):
        positions.setdefault(causes_in(hypothesis.part_of or hypothesis.name), []).append(s)
    return positions


@remembered
def _free(problem: Problem) -> Problem:
    """Return the problem in which every reading of a record can be told."""
    return replace(problem, sensing_budget=math.inf)


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
    return answer if reads else named(answer)


def _below(problem: Problem, record: Record, truth: Sequence[int]) -> list[float]:
    """Return how probably each numeric reading would have been smaller, by what the truth predicts."""
    found = []
    prior = problem.model.prior[truth]
    for probe, answers in record.readings.items():
        channel = problem.model.channels.get(probe)
        if isinstance(channel, Readings) and answers:
            below = channel.intervals(np.sort([float(answer) for answer in answers]))[channel.of[truth]]
            found += (prior @ below / prior.sum()).cumsum()[:-1].tolist()
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
