"""How a learned model fares on records that were held back, and whether the records changed over time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aquamend.arrays import Floats
from aquamend.belief import InformationState, Observation
from aquamend.caching import computed_once
from aquamend.decision.probe_value import clairvoyant_losses
from aquamend.decision.steps import Decision, RollBack
from aquamend.decision.terminal import best_terminal, price
from aquamend.errors import AquaMendError, IllegalProbe
from aquamend.files import parse_problem
from aquamend.learning.estimates import ProbabilityQuality, probability_quality
from aquamend.learning.fitting import as_declared, learned
from aquamend.learning.past_alarms import Record, by_time, causes_in, day_of
from aquamend.learning.readings import Law
from aquamend.problem import Ages, Problem
from aquamend.problem.model.kernels import Readings
from aquamend.text import named, shown

HOLD_BACK_EVERY = 4
"""One record in four is held back to check what was learned from the others."""
FEWEST_FOR_DRIFT = 20
DRIFT_LEVEL = 0.01
"""Chance of calling a drift where there is none, over all that is tested."""
CUTS = (0.2, 0.35, 0.5, 0.65, 0.8)
"""After which share of the records a change is looked for."""
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
    contradicted: int
    """Records that no hypothesis allows: every belief counts as failed there, what was found as impossible."""
    beliefs: Mapping[str, ProbabilityQuality]
    """How probable each belief's failure was held, beside whether it had failed; by kind where kinds were given."""
    lost: LossAfterLearning | None = None
    """What was lost by deciding so, where that was asked for."""


@dataclass(frozen=True, slots=True)
class LossAfterLearning:
    """What ending each recovery at once, after all that was read, would have cost on average, by what was found."""

    learned: float
    """Deciding by what was learned."""
    before: float
    """Deciding by the file as it was."""
    least: float
    """Knowing what was found."""


def held_back(records: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """Return the records to learn from and those held back, every fourth of what was found, each in the order given.

    Records that come in turns, one of each finding, would else lose some findings altogether.
    """
    alike = sorted(range(len(records)), key=lambda i: (str(records[i].found), i))
    back = set(alike[HOLD_BACK_EVERY - 1 :: HOLD_BACK_EVERY])
    return [r for i, r in enumerate(records) if i not in back], [r for i, r in enumerate(records) if i in back]


def checked(
    template: Mapping[str, Any],
    records: Sequence[Record],
    *,
    strength: float,
    law: Law = Law.AS_WRITTEN,
    skip_faulty: bool = False,
) -> Calibration | None:
    """Return how a model learned from three records in four fares on the fourth; None if too few tell a finding."""
    labelled = [record for record in records if record.found is not None]
    used, back = held_back(labelled)
    if len(back) < 2:
        return None
    found = learned(template, used, strength=strength, law=law, skip_faulty=skip_faulty, intervals=False)
    return replace(calibration(found.problem, back), lost=lost(found.problem, parse_problem(template), back))


def calibration(problem: Problem, records: Iterable[Record]) -> Calibration:
    """Return how a problem's model fares on records."""
    return calibration_of((problem, record) for record in records)


def calibration_of(cases: Iterable[tuple[Problem, Record]], *, kind: Callable[[str], str] = str) -> Calibration:
    """Return how models fare on records, each with the problem that was posed when it was made.

    ``kind`` says by belief what it is counted under, where the problems have beliefs of different names.
    """
    beliefs: dict[str, list[tuple[float, bool]]] = {}
    found: list[float] = []
    below: list[float] = []
    contradicted = 0
    for problem, record in cases:
        truth = _positions(problem).get(causes_in(str(record.found)))
        if truth is None or not record.alarm:
            continue
        state, failed = state_after(problem, record), problem.failed[truth[0]] > 0.5
        for belief, probability, so in zip(problem.graph.beliefs, state.failure_probabilities, failed, strict=True):
            beliefs.setdefault(kind(belief.name), []).append((float(probability), bool(so)))
        impossible = state.contradiction is not None
        contradicted += impossible
        found.append(0.0 if impossible else min(float(state.posterior[truth].sum()), 1.0))
        below += _below(problem, record, truth)
    every = _quality([pair for pairs in beliefs.values() for pair in pairs])
    u = np.array(below)
    return Calibration(
        records=len(found),
        brier=every.brier,
        ece=every.calibration_error,
        truth=float(np.mean(found)) if found else None,
        log_score=float(np.mean(np.log(np.maximum(found, SMALLEST)))) if found else None,
        coverage={n: float((np.abs(u - 0.5) <= 0.5 * share).mean()) for n, share in WITHIN.items()} if len(u) else {},
        readings=len(u),
        contradicted=contradicted,
        beliefs={name: _quality(pairs) for name, pairs in beliefs.items()},
    )


def _quality(pairs: Sequence[tuple[float, bool]]) -> ProbabilityQuality:
    return probability_quality([probability for probability, _ in pairs], [so for _, so in pairs])


@computed_once
def _positions(problem: Problem) -> dict[frozenset[str], list[int]]:
    """Return the hypotheses of everything that may be found: several, where probes may repeat themselves."""
    positions: dict[frozenset[str], list[int]] = {}
    for s, hypothesis in enumerate(problem.model.hypotheses):
        positions.setdefault(causes_in(hypothesis.part_of or hypothesis.name), []).append(s)
    return positions


@computed_once
def _free(problem: Problem) -> Problem:
    """Return the problem in which every reading of a record can be taken in."""
    return replace(problem, sensing_budget=math.inf)


def _at_alarm(problem: Problem, record: Record) -> InformationState:
    """Return the state at the alarm of a record: what its monitors said, and how old beliefs were."""
    problem = _free(problem)
    if problem.ageing is not None and record.ages:
        ages = Ages(record.ages.get(""), {belief: age for belief, age in record.ages.items() if belief})
        problem = problem.ageing.problem(ages)
    rung = {name: rang for name, rang in record.rung.items() if name in problem.model.monitors}
    if not rung:
        return InformationState.alarmed(problem)
    return InformationState.alarmed(
        problem, [name for name, rang in rung.items() if rang], silent=[n for n, rang in rung.items() if not rang]
    )


def state_after(problem: Problem, record: Record) -> InformationState:
    """Return the state after all that a record's monitors said and its probes read, as often as they may be used."""
    state = _at_alarm(problem, record)
    for probe, answers in record.readings.items():
        for answer in answers if probe in state.problem.graph.probe_index else ():
            channel = state.problem.model.channels[probe]
            said = channel.parse(answer if isinstance(channel, Readings) else named(answer))
            if said is not None:
                try:
                    state = state.after(Observation(probe, said))
                except IllegalProbe:
                    break
    return state


def lost(problem: Problem, before: Problem, records: Iterable[Record]) -> LossAfterLearning | None:
    """Return what decisions by a learned problem, and by the one as it was, would have lost; None of no record.

    Both are priced by the learned one. Each recovery ends at once, since nobody knows what else a probe had answered.
    """
    found = []
    for record in records:
        truth = _positions(problem).get(causes_in(str(record.found)))
        if truth is None or not record.alarm:
            continue
        so = _really(problem, record, truth)
        decisions = [best_terminal(state_after(by, record)).decision for by in (problem, before)]
        least = float(_knowing(problem, so).posterior @ clairvoyant_losses(_knowing(problem, so)))
        found.append([*(lost_by(problem, so, one) for one in decisions), least])
    means = np.mean(np.array(found), axis=0) if found else []
    return LossAfterLearning(*map(float, means)) if len(means) else None


def _really(problem: Problem, record: Record, truth: Sequence[int]) -> Floats:
    """Return how probable each hypothesis is once it is known what was found, and what was true where that was said."""
    near = np.array(truth)
    for name, value in record.truth.items():
        i = problem.graph.belief_index.get(name)
        read = None if i is None or i not in problem.truth else as_declared(value, problem.graph.beliefs[i])
        if i is not None and read is not None:
            own = problem.truth[i][near]
            far = (own != read).astype(float) if isinstance(read, str) else np.abs(own - read)
            near = near[far == np.nanmin(far)] if np.isfinite(far).any() else near
    so, prior = np.zeros(len(problem.model.hypotheses)), problem.model.prior[near]
    so[near] = prior if prior.sum() > 0 else 1.0
    return so


def lost_by(problem: Problem, so: Floats, decision: Decision) -> float:
    """Return what a decision loses where hypotheses are ``so`` probable, ``(n_hypotheses,)``; rules bind no judge.

    It may declare values that the problem does not have: they are right where they are near enough to what is true.
    """
    state, unknown, more = _knowing(problem, so), set[str](), 0.0
    for new in decision.declare if isinstance(decision, RollBack) else ():
        i = state.problem.graph.belief_index.get(new.belief)
        if i is None or new.value in {known.value for known in state.problem.new_values[i]}:
            continue
        unknown.add(new.belief)  # priced as kept, and then for where it is wrong
        off = state.posterior @ (state.problem.wrong_where(i, new.value) - state.problem.failed[:, i])
        more += float(off) * state.problem.graph.beliefs[i].residual if off else 0.0
    try:
        if unknown and isinstance(decision, RollBack):
            correct = tuple(name for name in decision.correct if name not in unknown)
            undo = tuple({*decision.undo, *state.problem.graph.closure(decision.correct)})
            declare = tuple(new for new in decision.declare if new.belief not in unknown)
            decision = RollBack(correct, undo, declare)
        return price(state, decision).loss + more
    except AquaMendError:  # it is about what the problem does not have
        return math.inf


def _knowing(problem: Problem, so: Floats) -> InformationState:
    return replace(InformationState.start(without_rules(problem)), posterior=so / so.sum())


@computed_once
def without_rules(problem: Problem) -> Problem:
    """Return the problem in which everything may be kept and declared: the decision has seen to the rules."""
    beliefs = [replace(belief, needs_support=False, may_keep=True) for belief in problem.graph.beliefs]
    return replace(problem, graph=replace(problem.graph, beliefs=beliefs))


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


def drifts(records: Sequence[Record], *, dated: bool = False) -> Iterator[str]:
    """Yield what has changed from some time on by more than chance explains, and since about when.

    ``dated`` says that times are seconds since 1970. Each finding is tested against the others before and after some
    moments, and what each probe read under it, at one level over all tests together.
    """
    timed = by_time([record for record in records if record.found is not None])
    if len(timed) < FEWEST_FOR_DRIFT:
        return
    names = sorted({str(record.found) for record in timed})
    every: list[tuple[int, str | float]] = [(i, str(record.found)) for i, record in enumerate(timed)]
    series = [("what was found", every)]
    for probe in sorted({probe for record in timed for probe in record.readings}):
        for name in names:
            own = [(i, a) for i, r in enumerate(timed) if str(r.found) == name for a in r.readings.get(probe, ())]
            if len(own) >= FEWEST_FOR_DRIFT // 2:
                series.append((f"what {shown(probe)!r} reads under {shown(name)!r}", own))
    tested = [(what, own, _changes(own, CUTS)) for what, own in series]
    tests = sum(len(found) for _, _, found in tested)
    for what, own, found in tested:
        p = min((p for p, _ in found), default=1.0)
        if p < DRIFT_LEVEL / tests:
            _, cut = min(_changes(own, np.arange(0.05, 1.0, 0.05).tolist()))
            since = _since(timed[own[cut][0]], own[cut][0], len(timed), dated)
            yield f"{what} has changed since {since} (p = {min(1.0, p * tests):.1g}); older records may mislead"


def _changes(said: Sequence[tuple[int, str | float]], cuts: Sequence[float]) -> list[tuple[float, int]]:
    """Return, for each cut, how probably chance alone makes what is before differ so from what is behind, and where."""
    from scipy.stats import chi2_contingency, ks_2samp

    numbers = _numbers([answer for _, answer in said])
    kinds, which = np.unique([str(answer) for _, answer in said], return_inverse=True)
    found = []
    for cut in dict.fromkeys(round(share * len(said)) for share in cuts):
        if not 2 <= cut <= len(said) - 2:
            continue
        if numbers is not None:
            found.append((float(ks_2samp(numbers[:cut], numbers[cut:]).pvalue), cut))
        elif len(kinds) > 1:
            table = np.array([np.bincount(half, minlength=len(kinds)) for half in (which[:cut], which[cut:])])
            found.append((float(chi2_contingency(table).pvalue), cut))
    return found


def _since(record: Record, number: int, of: int, dated: bool) -> str:
    if record.when is None:
        return f"about record {number + 1} of {of}"
    return f"about {day_of(record.when)}" if dated else f"about time {record.when:g}"


def _numbers(answers: Sequence[str | float]) -> Floats | None:
    """Return readings as numbers, which in CSV are text; None where some are none."""
    try:
        numbers = np.array([float(answer) for answer in answers])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None
