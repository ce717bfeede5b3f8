"""The terminal decision: V_stop and the decision that attains it (Eq. 5 of the paper)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.steps import Decision, Escalate, Restart, RollBack, correction
from aquamend.decision.terminal_table import TerminalTable, closure_losses, terminal_table, worst_case_table
from aquamend.errors import UnknownName
from aquamend.inference import InformationState

TIE = 1e-9
"""Losses closer than this are equal: the smaller correction set wins, then the order of the graph."""

MOST_LISTED = 200
"""Correction sets considered for showing; the best one is found without listing them."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A way of ending the recovery now, with its expected remaining loss and what that is made of."""

    decision: Decision
    recovery: float
    """Cost of the physical recovery (or of restarting, or of handing over)."""
    residual: float
    """Expected loss of true failures left uncorrected."""

    @property
    def loss(self) -> float:
        """Expected remaining loss."""
        return self.recovery + self.residual


def best_terminal(state: InformationState) -> Stop:
    """Return the terminal decision of least expected loss; ties go to the smallest correction set, then file order.

    Once evidence contradicts the model no posterior is left to average over: every belief is then taken to have
    failed, and the same minimum is the decision that is best in the worst case.
    """
    table, sums = _sums(state)
    candidates: list[Stop] = []
    if state.problem.corrections:
        candidates.append(_best_correction(state, table, sums))
    candidates += _plan_stops(state, table, sums)
    candidates += flat_stops(state)
    best = min((stop.loss for stop in candidates), default=math.inf)
    if math.isinf(best):
        return Stop(Escalate(), math.inf, 0.0)
    return next(stop for stop in candidates if stop.loss <= best + TIE)


def flat_stops(state: InformationState) -> list[Stop]:
    """Return restart and escalation, where the problem gives them and they are feasible."""
    problem = state.problem
    stops = []
    if problem.restart_loss < math.inf:
        stops.append(Stop(Restart(), problem.restart_loss, 0.0))
    if problem.escalate_loss < math.inf:
        stops.append(Stop(Escalate(), problem.escalate_loss, 0.0))
    return stops


def stop_after_correcting(state: InformationState, beliefs: frozenset[str] | set[str]) -> Stop:
    """Return what correcting exactly these beliefs costs in expectation, feasible or not."""
    graph = state.problem.graph
    unknown = sorted(set(beliefs) - graph.belief_index.keys())
    if unknown:
        raise UnknownName("belief", unknown[0], graph.belief_index)
    names = tuple(belief.name for belief in graph.beliefs if belief.name in beliefs)
    residual = 0.0
    for belief, q in zip(graph.beliefs, state.failure_probabilities, strict=True):
        if belief.name in beliefs or q <= 0.0:
            continue
        if belief.may_keep and math.isfinite(belief.residual):
            residual += float(q) * belief.residual
        else:
            residual = math.inf
    undo = graph.closure(names)
    return Stop(correction(names, undo), graph.rollback_cost(undo), residual)


def correction_alternatives(state: InformationState, *, most: int = 16) -> list[Stop]:
    """Return the correction sets worth showing, best first: for each closure, all suspects it corrects.

    Where the closures are too many to list, those reached from the best one by adding or dropping one belief.
    """
    if not state.problem.corrections:
        return []
    graph = state.problem.graph
    table, sums = _sums(state)
    at_risk = table.beliefs[table.risks(sums)[0] > 0]
    masks = {int(i): graph.belief_charges[i] for i in at_risk}
    best = _best_correction(state, table, sums).decision
    chosen = frozenset(best.correct) if isinstance(best, RollBack) else frozenset[str]()
    unions = {0: None}
    for mask in masks.values():
        unions.update(dict.fromkeys([union | mask for union in unions]))
        if len(unions) > MOST_LISTED:
            break
    if len(unions) <= MOST_LISTED:
        covered = [[graph.beliefs[i].name for i, mask in masks.items() if mask & ~union == 0] for union in unions]
        sets = [chosen, frozenset(), *map(frozenset, covered)]
    else:
        names = [graph.beliefs[i].name for i in list(masks)[:MOST_LISTED]]
        sets = [chosen, frozenset(), frozenset(graph.beliefs[i].name for i in masks), *[chosen ^ {n} for n in names]]
    stops = sorted((stop_after_correcting(state, s) for s in dict.fromkeys(sets)), key=lambda stop: stop.loss)
    return [stop for stop in stops if math.isfinite(stop.loss)][:most]


def _sums(state: InformationState) -> tuple[TerminalTable, NDArray[np.float64]]:
    if state.contradiction is not None:
        worst = worst_case_table(state.problem)
        # Every belief failed with certainty; a plan is judged by its worst hypothesis.
        return worst, worst.features.max(axis=0, keepdims=True)
    table = terminal_table(state.problem)
    return table, (state.posterior @ table.features)[None, :]


def _best_correction(state: InformationState, table: TerminalTable, sums: NDArray[np.float64]) -> Stop:
    risk = table.risks(sums)
    corrected: list[int] = [i for i, cost in zip(table.solo, table.solo_cost, strict=True) if cost + TIE < risk[0, i]]
    # A free correction changes no loss unless the belief is at risk; the tie rule leaves it out.
    for group in table.groups:
        losses = closure_losses(group, np.ones(1), risk)[0]
        if math.isfinite(losses.min()):
            tied = np.flatnonzero(losses <= losses.min() + TIE)
            candidates = [_smallest(group.members, group.keep[:, u] > 0, risk[0]) for u in tied]
            corrected += sorted(candidates, key=lambda members: (len(members), members))[0]
    for cut in table.cuts:
        gain = risk[0, cut.members]
        loss, chosen = cut.best(np.where(np.isinf(gain), 0.0, gain), np.isinf(gain))
        if math.isfinite(loss):
            corrected += _smallest(cut.members, ~chosen, risk[0])
    names = {state.problem.graph.beliefs[table.beliefs[i]].name for i in corrected}
    return stop_after_correcting(state, names)


def _smallest(members: NDArray[np.intp], keep: NDArray[np.bool_], risk: NDArray[np.float64]) -> list[int]:
    """Return the members a closure corrects, less those whose risk is too small to tell from a tie."""
    covered = [int(i) for i, kept in zip(members, keep, strict=True) if not kept]
    slack, needed = TIE, []
    for i in sorted(covered, key=lambda i: risk[i]):
        if risk[i] <= slack:
            slack -= float(risk[i])
        else:
            needed.append(i)
    return sorted(needed)


def _plan_stops(state: InformationState, table: TerminalTable, sums: NDArray[np.float64]) -> list[Stop]:
    losses = table.plan_values(sums)[0]
    return [
        Stop(RollBack(plan.correct, plan.undo, plan=plan.name), float(loss), 0.0)
        for plan, loss in zip(state.problem.plans, losses, strict=True)
        if math.isfinite(loss)
    ]
