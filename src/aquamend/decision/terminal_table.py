"""Every way of ending a recovery, compiled to arrays that price all observation branches at once.

The beliefs fall into groups that share no recovery operation, so the best correction set is the union of each group's
best. A group's distinct closures are enumerated; a group with too many of them is solved by minimum cut.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.cut_group import CutGroup, cut_group
from aquamend.graph import RecoveryGraph
from aquamend.problem import Problem, once_per_problem

MOST_CLOSURES = 4096
"""Distinct closures a group may have and still be enumerated; beyond it, a minimum cut prices each branch."""


ROWS_AT_ONCE = 2048
"""Branches priced at once: a few megabytes, which stay in cache."""


@dataclass(frozen=True, eq=False)
class Closures:
    """A group of beliefs that share operations, with every distinct feasible closure listed."""

    members: NDArray[np.intp]
    """Positions among the priced beliefs."""
    keep: NDArray[np.float64]
    """Shape ``(n_members, n_closures)``; one where the closure leaves the belief uncorrected."""
    cost: NDArray[np.float64]
    """Shape ``(n_closures,)``; finite."""


@dataclass(frozen=True, eq=False)
class TerminalTable:
    """What the posterior must be summed against, and how the sums become V_stop."""

    problem: Problem
    beliefs: NDArray[np.intp]
    """Positions in the graph of the priced beliefs: those that may fail and whose failure matters."""
    hard: NDArray[np.bool_]
    """Shape ``(n_priced,)``; True where a possible failure may not be kept at any price."""
    features: NDArray[np.float64]
    """Shape ``(n_hypotheses, n_features)``: a one, each priced belief's residual (or, if hard, its failure), each
    plan's finite loss, then for each plan with infinite entries where those are."""
    solo: NDArray[np.intp]
    """Priced beliefs that share no operation with another and can be corrected at finite cost."""
    solo_cost: NDArray[np.float64]
    stuck: NDArray[np.intp]
    """Priced beliefs that no finite cost corrects, in a group of their own."""
    groups: tuple[Closures, ...]
    cuts: tuple[CutGroup, ...]
    flat: float
    """The cheaper of restart and escalation, neither of which depends on the hypothesis."""
    forbidding_plans: NDArray[np.intp]
    """Plans that are inadmissible under some hypothesis."""

    def risks(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return each branch's loss of keeping each priced belief, shape ``(n_branches, n_priced)``.

        ``sums`` are branch weights (unnormalised) times ``features``, shape ``(n_branches, n_features)``.
        """
        risk = sums[:, 1 : 1 + len(self.beliefs)]
        if self.hard.any():
            possible = risk[:, self.hard] > 0.0
            risk = risk.copy()
            risk[:, self.hard] = np.where(possible, math.inf, 0.0)
        return risk

    def correction_values(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return each branch's least loss over all correction sets, shape ``(n_branches,)``."""
        mass, risk = sums[:, 0], self.risks(sums)
        value = np.minimum(risk[:, self.solo], mass[:, None] * self.solo_cost).sum(axis=1)
        if len(self.stuck):
            value = value + risk[:, self.stuck].sum(axis=1)
        for group in self.groups:
            value = value + closure_losses(group, mass, risk).min(axis=1)
        for cut in self.cuts:
            gain = risk[:, cut.members]
            forced = np.isinf(gain)
            gain = np.where(forced, 0.0, gain)
            scale = np.where(mass > 0, mass, 1.0)
            best = [cut.best(g / m, f)[0] * m for g, f, m in zip(gain, forced, scale, strict=True)]
            value = value + np.array(best)
        return np.asarray(value)

    def plan_values(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return each branch's expected loss of every plan, shape ``(n_branches, n_plans)``."""
        first = 1 + len(self.beliefs)
        n_plans = len(self.problem.plans)
        losses = sums[:, first : first + n_plans]
        if len(self.forbidding_plans):
            forbidden = sums[:, first + n_plans :] > 0.0
            losses = losses.copy()
            losses[:, self.forbidding_plans] = np.where(forbidden, math.inf, losses[:, self.forbidding_plans])
        return losses

    def values(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return V_stop of every branch times the branch's weight, shape ``(n_branches,)``."""
        if len(sums) > 2 * ROWS_AT_ONCE:
            pieces = range(0, len(sums), ROWS_AT_ONCE)
            return np.concatenate([self.values(sums[low : low + ROWS_AT_ONCE]) for low in pieces])
        if self.problem.corrections:
            value = self.correction_values(sums)
            if self.problem.plans:
                value = np.minimum(value, self.plan_values(sums).min(axis=1))
        else:
            value = self.plan_values(sums).min(axis=1, initial=math.inf)
        if self.flat < math.inf:
            value = np.minimum(value, self.flat * sums[:, 0])
        return value

    def signature(self, sums: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return which alternative is best in each branch, as integers, shape ``(n_branches, k)``.

        Branches with equal signatures share their best terminal decision.
        """
        mass = sums[:, 0]
        marks: list[NDArray[Any]] = []
        if self.problem.corrections:
            risk = self.risks(sums)
            marks += [risk[:, self.solo] > mass[:, None] * self.solo_cost, np.isinf(risk[:, self.stuck])]
            marks += [closure_losses(group, mass, risk).argmin(axis=1)[:, None] for group in self.groups]
            marks += [self._cut_choices(cut, mass, risk) for cut in self.cuts]
            rivals = [self.correction_values(sums)]
        else:
            rivals = []
        if self.problem.plans:
            rivals += list(self.plan_values(sums).T)
        if self.flat < math.inf:
            rivals.append(self.flat * mass)
        if rivals:
            marks.append(np.argmin(rivals, axis=0)[:, None])
        return np.hstack(marks).astype(np.int64) if marks else np.zeros((len(sums), 0), dtype=np.int64)

    def _cut_choices(self, cut: CutGroup, mass: NDArray[np.float64], risk: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return a number for the set a cut chooses in each branch, equal where the sets are."""
        chosen = []
        for m, gain in zip(mass, risk[:, cut.members], strict=True):
            forced = np.isinf(gain)
            best = cut.best(np.where(forced, 0.0, gain) / (m if m > 0 else 1.0), forced)[1]
            chosen.append(zlib.crc32(best.tobytes()))
        return np.array(chosen, dtype=np.int64)[:, None]


def closure_losses(group: Closures, mass: NDArray[np.float64], risk: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each branch's loss of every closure of a group, shape ``(n_branches, n_closures)``."""
    own = risk[:, group.members]
    barred = np.isinf(own)
    if not barred.any():
        return np.asarray(own @ group.keep + mass[:, None] * group.cost)
    losses = np.where(barred, 0.0, own) @ group.keep + mass[:, None] * group.cost
    return np.where(barred.astype(float) @ group.keep > 0, math.inf, losses)


MOST_DECISIONS = 2048
MOST_LOSSES = 20_000_000
"""Terminal decisions, and decisions times hypotheses, that are listed where a method needs all of them."""


@once_per_problem
def terminal_losses(problem: Problem) -> NDArray[np.float64] | None:
    """Return ℓ(u, s) of every terminal decision worth taking, ``(n_hypotheses, n_decisions)``; None if too many."""
    table = terminal_table(problem)
    n_sets = math.prod(len(group.cost) for group in table.groups) * 2.0 ** min(len(table.solo), 100)
    if table.cuts or n_sets > MOST_DECISIONS or n_sets * len(table.features) > MOST_LOSSES:
        return None
    columns = [] if math.isinf(table.flat) else [np.full((len(table.features), 1), table.flat)]
    columns.append(table.plan_values(table.features))
    if problem.corrections:
        risk, mass = table.risks(table.features), np.ones(len(table.features))
        parts = [closure_losses(group, mass, risk) for group in table.groups]
        parts += [np.column_stack([risk[:, i], np.full(len(risk), c)])
                  for i, c in zip(table.solo, table.solo_cost, strict=True)]  # fmt: skip
        parts += [risk[:, [i]] for i in table.stuck]
        total = np.zeros((len(table.features), 1))
        for part in parts:
            total = (total[:, :, None] + part[:, None, :]).reshape(len(total), -1)
        columns.append(total)
    return np.hstack(columns)


@once_per_problem
def terminal_table(problem: Problem) -> TerminalTable:
    """Compile the terminal decisions of a problem."""
    return _compile(problem, problem.failed)


@once_per_problem
def worst_case_table(problem: Problem) -> TerminalTable:
    """Compile the terminal decisions where every belief is taken to have failed (for a contradicted model)."""
    return _compile(problem, np.ones_like(problem.failed))


def _compile(problem: Problem, failed: NDArray[np.float64]) -> TerminalTable:
    graph = problem.graph
    residual = np.array([belief.residual for belief in graph.beliefs])
    hard = np.array([not belief.may_keep for belief in graph.beliefs], dtype=bool) | np.isinf(residual)
    priced = np.flatnonzero(failed.any(axis=0) & ((residual > 0) | hard) & problem.corrections)
    weight = np.where(hard, 1.0, residual)[priced]
    losses = np.array([plan.loss for plan in problem.plans]).reshape(len(problem.plans), len(failed)).T
    infinite = np.isinf(losses)
    forbidding = np.flatnonzero(infinite.any(axis=0))
    columns = [np.ones((len(failed), 1)), failed[:, priced] * weight]
    if problem.plans:
        columns += [np.where(infinite, 0.0, losses), infinite[:, forbidding].astype(float)]
    solo: list[int] = []
    stuck: list[int] = []
    groups, cuts = [], []
    for members in _groups(graph, priced):
        if len(members) == 1:
            cost = graph.charged(graph.belief_charges[priced[members[0]]])
            (stuck if math.isinf(cost) else solo).append(members[0])
            continue
        closures = _closures(graph, priced, members)
        if closures is not None:
            groups.append(closures)
        else:
            cuts.append(cut_group(graph, priced, members))
    solo_cost = [graph.charged(graph.belief_charges[priced[i]]) for i in solo]
    return TerminalTable(
        problem=problem,
        beliefs=priced,
        hard=hard[priced],
        features=np.hstack(columns),
        solo=np.array(solo, dtype=np.intp),
        solo_cost=np.array(solo_cost),
        stuck=np.array(stuck, dtype=np.intp),
        groups=tuple(groups),
        cuts=tuple(cuts),
        flat=min(problem.restart_loss, problem.escalate_loss),
        forbidding_plans=forbidding,
    )


def _groups(graph: RecoveryGraph, priced: NDArray[np.intp]) -> list[list[int]]:
    """Return the priced beliefs in groups that share no charge, as positions among the priced."""
    leader: dict[str | int, str | int] = {}

    def find(node: str | int) -> str | int:
        leader.setdefault(node, node)
        while leader[node] != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    # Two beliefs share a charge exactly if a path of edges that lead to executed actions joins them; walking the edges
    # once is linear, where comparing closures would be quadratic.
    probes = graph.probe_index
    for source, target, _ in graph.edges:
        if source not in probes and graph.reaches_executed(target):
            leader[find(source)] = find(target)
    for action, charges in zip(graph.executed, graph.action_charges, strict=True):
        for charge in charges:
            leader[find(action.name)] = find(charge)
    members: dict[str | int, list[int]] = {}
    for i, belief in enumerate(priced):
        members.setdefault(find(graph.beliefs[belief].name), []).append(i)
    return list(members.values())


def _closures(graph: RecoveryGraph, priced: NDArray[np.intp], members: Sequence[int]) -> Closures | None:
    """Return the distinct feasible closures of a group, or None if they are too many."""
    masks = [graph.belief_charges[priced[i]] for i in members]
    infinite = sum(1 << c for c, charge in enumerate(graph.charges) if math.isinf(charge.cost))
    unions = {0: None}
    for mask in masks:
        if mask & infinite:
            continue
        unions.update(dict.fromkeys([u | mask for u in unions]))
        if len(unions) > MOST_CLOSURES:
            return None
    keep = np.array([[0.0 if mask & ~union == 0 else 1.0 for union in unions] for mask in masks])
    return Closures(np.array(members, dtype=np.intp), keep, np.array([graph.charged(u) for u in unions]))
