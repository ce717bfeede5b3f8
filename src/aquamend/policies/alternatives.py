"""Every alternative at one state side by side, and what follows each answer of a probe."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

import numpy as np

from aquamend.arrays import Floats
from aquamend.belief import InformationState
from aquamend.decision.endings import endings_of
from aquamend.decision.probe_value import ProbeValues, probe_values
from aquamend.decision.steps import Continue, Decision, Reprobe, Restart, RollBack, Step, but_for_numbers
from aquamend.decision.terminal import PricedEnding, correction_stops, decided_after, price
from aquamend.policies.decision_report import DecisionReport
from aquamend.problem import Plan
from aquamend.problem.model.kernels import Outcomes, Readings

MOST_ROWS = 14
MANY_CORRECTIONS, FEW_CORRECTIONS = 8, 4
"""With more correction sets than the first, only the second number of them, the best, are listed."""
MOST_SPLIT_BRANCHES = 400
"""Branches worth deciding one by one for the sake of a table; more costly probes show their total alone."""

Parts = tuple[float | None, float | None]
"""Recovery and residual; None where only their sum is known."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One thing that could be done now, with its expected loss."""

    step: Step
    loss: float
    sensing: float
    recovery: float | None
    """This and the residual are None where only their sum is known: a plan's own loss covers both, and a probe with
    too many branches is not taken apart."""
    residual: float | None
    chosen: bool


@dataclass(frozen=True, slots=True)
class Alternatives:
    """The best alternatives, best first; the chosen one is always among them."""

    rows: tuple[Alternative, ...]
    hidden_probes: int
    hidden_stops: int
    all_corrections: bool
    """Whether every set of beliefs that could be corrected is listed, rather than those worth listing."""


def alternatives(report: DecisionReport, *, most: int = MOST_ROWS, apart: bool = True) -> Alternatives:
    """Return what could be done now, by expected loss; a stop before a probe where they tie.

    Taking the losses of probes apart takes longer than all the rest, and can be left out.
    """
    stops = _stops(report)
    rows = tuple(_rows(report, _best(report, stops, report.values, most), MOST_SPLIT_BRANCHES if apart else -1))
    shown_probes = sum(isinstance(row.step, Reprobe) for row in rows)
    hidden_stops = len(stops) - (len(rows) - shown_probes)
    hidden_probes = len(report.values.branches.probes) - shown_probes
    return Alternatives(rows, hidden_probes, hidden_stops, _all_corrections(report, stops))


def weighed(report: DecisionReport, *, most: int = MOST_ROWS) -> list[tuple[Step, float]]:
    """Return the best alternatives that the policy weighed, with their losses: no probe that it had screened out.

    They are not taken apart, which would take much longer than deciding.
    """
    probes = [name for name in report.state.legal_probes if name not in report.screened_out]
    ranked = _best(report, _stops(report), probe_values(report.state, probes), most)
    return [(step, loss) for loss, step, _, _ in ranked]


_Ranked = tuple[float, Step, PricedEnding | None, bool]
"""Loss, step, how it ends the recovery where it does, and whether it was chosen."""


def _best(report: DecisionReport, stops: Sequence[PricedEnding], values: ProbeValues, most: int) -> list[_Ranked]:
    """Return the alternatives of least loss; the chosen one, and the best way of stopping, are always among them."""
    steps: list[_Ranked] = [(stop.loss, stop.decision, stop, stop.decision == report.step) for stop in stops]
    run = report.step.probe if isinstance(report.step, Reprobe) else None
    losses = zip(values.branches.probes, values.expected_loss.tolist(), strict=True)
    steps += [(loss, Reprobe(probe), None, probe == run) for probe, loss in losses]
    ranked = sorted(steps, key=lambda row: (round(row[0], 9), not row[3]))
    return ranked[:most] + [row for row in ranked[most:] if row[3] or row[1] == report.stop.decision]


def _rows(report: DecisionReport, kept: Sequence[_Ranked], budget: int) -> Iterator[Alternative]:
    """Yield the alternatives; those of probes are taken apart as long as their branches are within the budget."""
    branches = report.values.branches
    for loss, step, stop, chosen in kept:
        sensing, parts = 0.0, cost_parts(report.state, stop) if stop is not None else (None, None)
        if isinstance(step, Reprobe):
            sensing = float(branches.cost[branches.probes.index(step.probe)])
            where = branches.of(step.probe)
            budget -= where.stop - where.start
            parts = split_of(report.state, step.probe) if budget >= 0 else (None, None)
        yield Alternative(step, loss, sensing, *parts, chosen)


def cost_parts(state: InformationState, stop: PricedEnding) -> Parts:
    """Return what a way of stopping costs in recovery and in residual, as far as the problem tells them apart."""
    planned = isinstance(stop.decision, RollBack) and stop.decision.plan is not None
    started_over = isinstance(stop.decision, Restart) and isinstance(state.problem.restart, Plan)
    return (None, None) if planned or started_over else (stop.recovery, stop.residual)


def _stops(report: DecisionReport) -> list[PricedEnding]:
    state = report.state
    found = [report.stop, *([] if report.chosen is None else [report.chosen])]
    corrections = correction_stops(state, most=MANY_CORRECTIONS + 1)
    found += corrections if len(corrections) <= MANY_CORRECTIONS else corrections[:FEW_CORRECTIONS]
    others = [price(state, ending.decision) for ending in endings_of(state.problem).others.usual]
    if state.problem.corrections:
        others.insert(0, price(state, Continue()))
    found += [stop for stop in others if math.isfinite(stop.loss)]
    return list({stop.decision: stop for stop in reversed(found)}.values())[::-1]


def _all_corrections(report: DecisionReport, stops: Sequence[PricedEnding]) -> bool:
    """Whether every set of beliefs that could be corrected is among the stops."""
    at_risk = sum(b.residual > 0 and b.failure_probability != 0.0 for b in report.beliefs)
    sets = sum(isinstance(stop.decision, RollBack | Continue) for stop in stops)
    return sets == 0 or (at_risk < 60 and sets >= 2**at_risk)


@dataclass(frozen=True, slots=True)
class Branch:
    """One outcome of a probe, or one interval of its readings, with the best terminal decision after it."""

    label: str
    probability: float
    stop: PricedEnding
    above: float | None = None
    """This and the next are the ends of the interval, None where it has none."""
    below: float | None = None


def answers_to(state: InformationState, probe: str) -> tuple[Branch, ...]:
    """Return the possible answers of a legal probe; readings with the same decision are joined."""
    branches, channel = probe_values(state).branches, state.probe(probe).channel
    cuts = branches.cuts[branches.probes.index(probe)]
    if isinstance(channel, Readings) and cuts is not None:
        ends = (None, *cuts.tolist(), None)
        every = _answers(state, probe, interval_labels(cuts, channel.sharpest), tuple(pairwise(ends)))
        # An interval of no probability breaks the chain of neighbours.
        return tuple(_joined(every, cuts, channel.sharpest) if len(every) == len(cuts) + 1 else every)
    return tuple(_answers(state, probe, channel.outcomes if isinstance(channel, Outcomes) else None))


def split_of(state: InformationState, probe: str) -> Parts:
    """Return what the decisions after a probe's answers cost on average, in recovery and in residual."""
    every = _answers(state, probe)
    if any(cost_parts(state, answer.stop) == (None, None) for answer in every):
        return None, None
    return _average(every, "recovery"), _average(every, "residual")


def _average(answers: Sequence[Branch], part: str) -> float:
    return math.fsum(answer.probability * getattr(answer.stop, part) for answer in answers)


def _answers(
    state: InformationState,
    probe: str,
    names: Sequence[str] | None = None,
    intervals: Sequence[tuple[float | None, float | None]] | None = None,
) -> list[Branch]:
    found = []
    for i, decided in enumerate(decided_after(state, probe)):
        if decided is not None:
            label = f"answer {i + 1}" if names is None else names[i]
            ends = (None, None) if intervals is None else intervals[i]
            found.append(Branch(label, *decided, *ends))
    return found


def _joined(every: Sequence[Branch], cuts: Floats, sharpest: float) -> Iterator[Branch]:
    runs = [list(run) for _, run in groupby(every, key=lambda answer: but_for_numbers(answer.stop.decision))]
    starts = np.cumsum([len(run) for run in runs])[:-1]
    for label, run in zip(interval_labels(cuts[starts - 1], sharpest), runs, strict=True):
        whole = math.fsum(answer.probability for answer in run)
        decision = _from_to(run[0].stop.decision, run[-1].stop.decision)
        stop = PricedEnding(decision, _average(run, "recovery") / whole, _average(run, "residual") / whole)
        yield Branch(label, whole, stop, run[0].above, run[-1].below)


def _from_to(first: Decision, last: Decision) -> Decision:
    """Return a decision for a whole run of readings, with the numbers that are declared from one end to the other."""
    if first == last or not isinstance(first, RollBack) or not isinstance(last, RollBack):
        return first
    pairs = zip(first.declare, last.declare, strict=True)
    declare = [a if a.value == b.value else replace(a, value=f"{a.value:g} to {b.value:g}") for a, b in pairs]
    return replace(first, declare=tuple(declare))


def interval_labels(cuts: Floats, sharpest: float) -> tuple[str, ...]:
    """Return the intervals between the cuts in words, to a tenth of the finest distance that matters."""
    if len(cuts) == 0:
        return ("any reading",)
    decimals = min(12, max(0, math.ceil(1.0 - math.log10(sharpest))))
    texts = [f"{cut:.{decimals}f}" for cut in cuts]
    return (f"below {texts[0]}", *(f"{a} to {b}" for a, b in pairwise(texts)), f"above {texts[-1]}")
