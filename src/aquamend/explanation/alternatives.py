"""Every alternative at one state side by side, and what cannot be done with the reason."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from aquamend.decision.steps import Continue, Decision, Reprobe, RollBack, Step
from aquamend.decision.terminal import Stop, correction_alternatives, flat_stops
from aquamend.explanation.answers import split_of
from aquamend.explanation.report import DecisionReport, stop_of
from aquamend.graph import RecoveryGraph
from aquamend.text.words import listed, shown

MOST_ROWS = 14
MANY_CORRECTIONS, FEW_CORRECTIONS = 8, 4
"""With more correction sets than the first, only the second number of them, the best, are listed."""
MOST_SPLIT_BRANCHES = 400
"""Branches worth deciding one by one for the sake of a table; dearer probes show their total alone."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One thing that could be done now, with its expected loss."""

    step: Step
    loss: float
    sensing: float
    recovery: float | None
    """This and the residual are None where too many branches would have to be decided to tell them apart."""
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


def alternatives(report: DecisionReport, *, most: int = MOST_ROWS) -> Alternatives:
    """Return what could be done now, by expected loss; a stop before a probe where they tie."""
    stops = _stops(report)
    steps: list[tuple[float, Step, Stop | None]] = [(stop.loss, stop.decision, stop) for stop in stops]
    probes = report.values.branches.probes
    steps += [(float(v), Reprobe(p), None) for p, v in zip(probes, report.values.expected_loss, strict=True)]
    ranked = sorted(steps, key=lambda row: (round(row[0], 9), row[1] != report.step))
    kept = ranked[:most]
    kept += [row for row in ranked[most:] if row[1] in (report.step, report.stop.decision)]
    rows = tuple(_rows(report, kept))
    shown_probes = sum(isinstance(row.step, Reprobe) for row in rows)
    hidden_stops = len(stops) - (len(rows) - shown_probes)
    return Alternatives(rows, len(probes) - shown_probes, hidden_stops, _all_corrections(report, stops))


def _rows(report: DecisionReport, kept: list[tuple[float, Step, Stop | None]]) -> Iterator[Alternative]:
    budget, branches = MOST_SPLIT_BRANCHES, report.values.branches
    for loss, step, stop in kept:
        chosen = step == report.step
        if stop is not None:
            yield Alternative(step, loss, 0.0, stop.recovery, stop.residual, chosen)
        elif isinstance(step, Reprobe):
            where = branches.of(step.probe)
            budget -= where.stop - where.start
            if budget >= 0:
                split = split_of(report.values, step.probe)
                yield Alternative(step, loss, split.sensing, split.recovery, split.residual, chosen)
            else:
                cost = float(branches.cost[branches.probes.index(step.probe)])
                yield Alternative(step, loss, cost, None, None, chosen)


def _stops(report: DecisionReport) -> list[Stop]:
    state = report.state
    found = [report.stop, *([] if report.chosen is None else [report.chosen])]
    corrections = correction_alternatives(state, most=MANY_CORRECTIONS + 1)
    found += corrections if len(corrections) <= MANY_CORRECTIONS else corrections[:FEW_CORRECTIONS]
    found += [stop for stop in [stop_of(state, Continue())] if math.isfinite(stop.loss) and state.problem.corrections]
    found += [stop for plan in _plan_decisions(report) if math.isfinite((stop := stop_of(state, plan)).loss)]
    found += flat_stops(state)
    return list({stop.decision: stop for stop in reversed(found)}.values())[::-1]


def _plan_decisions(report: DecisionReport) -> list[Decision]:
    return [RollBack(plan.correct, plan.undo, plan=plan.name) for plan in report.state.problem.plans]


def _all_corrections(report: DecisionReport, stops: list[Stop]) -> bool:
    """Whether every set of beliefs that could be corrected is among the stops."""
    at_risk = sum(b.residual > 0 and b.failure_probability != 0.0 for b in report.beliefs)
    listed = sum(isinstance(stop.decision, RollBack | Continue) for stop in stops)
    return not report.state.problem.corrections or (at_risk < 60 and listed >= 2**at_risk)


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Something that cannot be done now, with the reason."""

    what: str
    why: str


def unavailable(report: DecisionReport) -> list[Unavailable]:
    """Return the illegal probes and the terminal decisions that are infeasible, each with its reason."""
    problem, graph = report.state.problem, report.state.problem.graph
    found = [Unavailable(f"probe {shown(p.probe.name)}", p.why_illegal) for p in report.probes if p.why_illegal]
    if problem.corrections and math.isinf(stop_of(report.state, Continue()).loss):
        barred = [b.name for b in report.beliefs if _must_be_corrected(report, b.name)]
        found.append(Unavailable("continue", f"{listed(barred)} may have failed and may not be kept then"))
    for belief in report.beliefs:
        if belief.suspected and math.isinf(belief.undo_cost):
            found.append(Unavailable(f"roll back {shown(belief.name)}", _cannot_undo(graph, belief.undo)))
    if problem.restart is not None and graph.irreversible_executed:
        found.append(Unavailable("restart", _cannot_undo(graph, graph.irreversible_executed)))
    return found


def _must_be_corrected(report: DecisionReport, name: str) -> bool:
    state, graph = report.state, report.state.problem.graph
    i = graph.belief_index[name]
    belief, q = graph.beliefs[i], float(state.failure_probabilities[i])
    return q > 0.0 and not (belief.may_keep and math.isfinite(belief.residual))


def _cannot_undo(graph: RecoveryGraph, actions: tuple[str, ...]) -> str:
    barred = [name for name in actions if math.isinf(graph.rollback_cost([name]))]
    return f"{listed(barred)} cannot be undone"
