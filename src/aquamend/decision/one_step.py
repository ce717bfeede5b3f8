"""The one-step alternatives as functions of the posterior.

A terminal decision u is linear in the posterior, f_u(p) = Σ_s p_s ℓ(u, s). A probe m followed by the best decision is
concave and piecewise linear, f_m(p) = c_m + Σ_y min_u Σ_s p_s k(y|s) ℓ(u, s). Correction sets that charge the same
operations are one decision here: whatever the undone actions carry is corrected with them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.gaussian import interval_likelihood
from aquamend.decision.probe_value import decision_cuts
from aquamend.decision.steps import Continue, Escalate, Reprobe, Restart, RollBack, Step
from aquamend.decision.terminal import TIE
from aquamend.decision.terminal_table import TerminalTable, terminal_table
from aquamend.inference import InformationState
from aquamend.model.kernels import OutcomeTable

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MOST_DECISIONS = 2000
MOST_LOSSES = 150_000
"""Decisions, and decisions times hypotheses, up to which every terminal decision is listed."""
GAUSSIAN_CUTS = 33
"""Readings at which a Gaussian probe is cut beside those optimal now, so that it informs at other posteriors too."""


@dataclass(frozen=True, eq=False)
class ProbeOption:
    """A legal probe as an alternative."""

    name: str
    cost: float
    kernel: Floats
    """Shape ``(n_outcomes, n)``; for a Gaussian probe, the intervals that are optimal at the posterior, cut finer."""
    gaussian: bool


@dataclass(frozen=True, eq=False)
class Alternatives:
    """Everything that could be done at a state, over the n hypotheses that may carry probability."""

    state: InformationState
    inside: NDArray[np.intp]
    """Positions of the n hypotheses still possible."""
    posterior: Floats
    """Shape ``(n,)``."""
    losses: Floats
    """ℓ(u, s), shape ``(n_decisions, n)``; infinite where u is inadmissible under s."""
    corrected: Bools
    """Shape ``(n_decisions, n_priced)``: the priced beliefs a correction set corrects."""
    labels: tuple[str, ...]
    """Each decision in words; empty for a correction set, whose name depends on what is at risk."""
    probes: tuple[ProbeOption, ...]
    decision: int | None
    """The step's position among the decisions; None where it is a probe."""
    probe: int | None
    """The step's position among the probes; None where it is a decision."""
    complete: bool
    """Whether every terminal decision is listed."""
    neighbours: bool
    """Whether every correction set that differs from the step's in one group of beliefs is listed."""

    @cached_property
    def barred(self) -> Bools:
        """Shape ``(n_decisions, n)``; where a decision is inadmissible."""
        return np.isinf(self.losses)

    @cached_property
    def finite(self) -> Floats:
        """The losses, with zero where inadmissible."""
        return np.where(self.barred, 0.0, self.losses)

    @cached_property
    def any_barred(self) -> bool:
        """Whether some decision is inadmissible under some hypothesis."""
        return bool(self.barred.any())

    def branch_losses(self, kernel: Floats, x: Floats, possible: Bools) -> Floats:
        """Return Σ_s x_s k(y|s) ℓ(u, s), shape ``(n_outcomes, n_decisions)``; infinite where u is inadmissible."""
        losses = (kernel * x) @ self.finite.T
        if self.any_barred:
            hit = (kernel[:, possible] > 0).astype(float) @ self.barred[:, possible].T.astype(float)
            losses = np.where(hit > 0, math.inf, losses)
        return np.asarray(losses)

    def rule(self, probe: ProbeOption, x: Floats, possible: Bools) -> Floats | None:
        """Return the loss under every hypothesis of the rule that is best at x, c + Σ_y k(y|s) ℓ(ρ(y), s), or None.

        Only hypotheses in ``possible`` make a decision inadmissible; None where some outcome then has none left.
        """
        branches = self.branch_losses(probe.kernel, x, possible)
        chosen = branches.argmin(axis=1)
        if not np.isfinite(branches[np.arange(len(chosen)), chosen]).all():
            return None
        total = probe.cost + (probe.kernel * self.finite[chosen]).sum(axis=0)
        if self.any_barred:
            total[((probe.kernel > 0) & self.barred[chosen]).any(axis=0)] = math.inf
        return np.asarray(total)

    def name(self, decision: int, x: Floats) -> str:
        """Return a decision in words: a correction set by the beliefs it corrects that may have failed under x."""
        if self.labels[decision]:
            return self.labels[decision]
        table = terminal_table(self.state.problem)
        graph = self.state.problem.graph
        at_risk = x @ table.features[self.inside, 1 : 1 + len(table.beliefs)] > TIE
        undoing = [bool(graph.belief_charges[b]) for b in table.beliefs]
        named = np.flatnonzero(self.corrected[decision] & at_risk)
        if len(named) == 0:
            named = np.flatnonzero(self.corrected[decision] & np.array(undoing, dtype=bool))
        names = [graph.beliefs[table.beliefs[i]].name for i in named]
        more = f" and {len(names) - 3} more" if len(names) > 4 else ""
        return "roll back " + ", ".join(names[:3] if more else names) + more if names else "continue"


def alternatives(state: InformationState, step: Step) -> Alternatives:
    """Return what could be done at a state, the step among it."""
    problem = state.problem
    posterior = state.posterior
    inside = np.flatnonzero(posterior > 0)  # what evidence has ruled out stays ruled out
    posterior = posterior[inside] / posterior.sum()
    table = terminal_table(problem)
    chosen = _step_row(table, step)
    keep, cost, complete, neighbours = _correction_sets(table, posterior, inside, chosen)
    residual = table.features[inside, 1 : 1 + len(table.beliefs)].T
    losses = cost[:, None] + (keep & ~table.hard) @ residual
    losses[(keep & table.hard).astype(float) @ residual > 0] = math.inf
    labels = [""] * len(cost)
    flat = {"restart": problem.restart_loss, "escalate": problem.escalate_loss}
    wanted = {Restart: "restart", Escalate: "escalate"}.get(type(step))
    rows = [(f"follow plan {plan.name}", np.asarray(plan.loss)[inside]) for plan in problem.plans]
    rows += [(k, np.full(len(inside), v)) for k, v in flat.items() if math.isfinite(v) or k == wanted]
    if isinstance(step, RollBack) and step.plan is not None:
        wanted = f"follow plan {step.plan}"
    labels += [label for label, _ in rows]
    probes = state.legal_probes
    if isinstance(step, Reprobe) and step.probe not in probes:
        probes = (*probes, step.probe)
    decision = len(cost) - 1 if chosen is not None else labels.index(wanted) if wanted else None
    return Alternatives(
        state=state,
        inside=inside,
        posterior=posterior,
        losses=np.vstack([losses, *(row for _, row in rows)]),
        corrected=np.vstack([~keep, np.zeros((len(rows), keep.shape[1]), dtype=bool)]),
        labels=tuple(labels),
        probes=tuple(_option(state, probe, inside, posterior) for probe in probes),
        decision=decision,
        probe=probes.index(step.probe) if isinstance(step, Reprobe) else None,
        complete=complete,
        neighbours=neighbours and chosen is not None,
    )


def _option(state: InformationState, probe: str, inside: NDArray[np.intp], x: Floats) -> ProbeOption:
    graph, table = state.problem.graph, state.problem.model.tables[probe]
    cost = graph.probes[graph.probe_index[probe]].cost
    if isinstance(table, OutcomeTable):
        return ProbeOption(probe, cost, np.ascontiguousarray(table.likelihood[inside].T), gaussian=False)
    low, high = (
        float(end) for end in ((table.mean - 4 * table.sd)[inside].min(), (table.mean + 4 * table.sd)[inside].max())
    )
    cuts = np.union1d(decision_cuts(state, table), np.linspace(low, high, GAUSSIAN_CUTS))
    kernel = np.ascontiguousarray(interval_likelihood(table, cuts).T[:, inside])
    return ProbeOption(probe, cost, kernel, gaussian=True)


def _step_row(table: TerminalTable, step: Step) -> tuple[Bools, float] | None:
    """Return which priced beliefs the step keeps and what it costs; None where it is no correction set."""
    if not isinstance(step, RollBack | Continue) or (isinstance(step, RollBack) and step.plan is not None):
        return None
    graph, mask = table.problem.graph, 0
    if isinstance(step, RollBack):
        for belief in step.correct:
            mask |= graph.belief_charges[graph.belief_index[belief]]
        executed = {action.name: i for i, action in enumerate(graph.executed)}
        for action in step.undo:
            mask |= sum(1 << charge for charge in graph.action_charges[executed[action]])
    keep = [bool(graph.belief_charges[b] & ~mask) for b in table.beliefs]
    return np.array(keep, dtype=bool), graph.charged(mask)


_Group = tuple[NDArray[np.intp], Bools, Floats]
"""Beliefs that share no operation with the rest; per way of correcting some of them, which it keeps and its cost."""


def _groups(table: TerminalTable) -> list[_Group]:
    graph = table.problem.graph
    groups: list[_Group] = [(np.array([i]), np.ones((1, 1), dtype=bool), np.zeros(1)) for i in table.stuck]
    for i, cost in zip(table.solo, table.solo_cost, strict=True):
        undoes = bool(graph.belief_charges[table.beliefs[i]])
        groups.append((np.array([i]), np.array([[True], [False]])[1 - undoes :], np.array([0.0, cost])[1 - undoes :]))
    groups += [(group.members, group.keep.T > 0, group.cost) for group in table.groups]
    return groups + [(cut.members, np.ones((1, len(cut.members)), dtype=bool), np.zeros(1)) for cut in table.cuts]


def _correction_sets(
    table: TerminalTable, x: Floats, inside: NDArray[np.intp], chosen: tuple[Bools, float] | None
) -> tuple[Bools, Floats, bool, bool]:
    """Return correction sets (what each keeps, its cost), the chosen one last; whether all, whether all neighbours.

    Too many to list: those that differ from the chosen one (else from the best one) in one group of beliefs, and those
    that are best for a single hypothesis.
    """
    keep, cost = np.zeros((0, len(table.beliefs)), dtype=bool), np.zeros(0)
    complete = neighbours = not table.cuts
    if table.problem.corrections:
        groups, most = _groups(table), min(MOST_DECISIONS, max(64, MOST_LOSSES // len(inside)))
        sizes = [len(way_cost) for _, _, way_cost in groups]
        complete = complete and math.prod(sizes) <= most
        if complete:
            ways = np.indices(sizes).reshape(len(sizes), math.prod(sizes)).T
        else:
            most = max(8, min(most // 2, MOST_LOSSES // len(groups)))
            ways, near = _some_ways(table, groups, x, inside, None if chosen is None else chosen[0], most)
            neighbours = neighbours and near
        keep, cost = np.zeros((len(ways), len(table.beliefs)), dtype=bool), np.zeros(len(ways))
        for (members, way_keep, way_cost), way in zip(groups, ways.T, strict=True):
            keep[:, members] = way_keep[way]
            cost += way_cost[way]
    if chosen is not None:
        other = (keep != chosen[0]).any(axis=1) | (np.abs(cost - chosen[1]) > TIE)
        keep, cost = np.vstack([keep[other], chosen[0]]), np.append(cost[other], chosen[1])
    return keep, cost, complete, neighbours


def _some_ways(
    table: TerminalTable, groups: list[_Group], x: Floats, inside: NDArray[np.intp], chosen: Bools | None, most: int
) -> tuple[NDArray[np.intp], bool]:
    """Return a way per group for each correction set worth listing, and whether all neighbours are among them."""
    risk = table.features[inside, 1 : 1 + len(table.beliefs)] * np.where(table.hard, 1e300, 1.0)
    risk = np.vstack([x @ risk, risk])
    losses = [risk[:, members] @ keep.T + cost for members, keep, cost in groups]
    best = np.stack([loss.argmin(axis=1) for loss in losses], axis=1)
    base = best[0].copy()
    # The likeliest hypotheses, and those in which correcting costs least, where it has most to gain on the rest.
    cheap = np.argsort(np.sum([loss.min(axis=1) for loss in losses], axis=0), kind="stable")
    likely = 1 + np.argsort(-x, kind="stable")
    best = best[np.column_stack([cheap[: len(likely)], likely]).ravel()[:most]]
    if chosen is not None:
        for g, (members, keep, _) in enumerate(groups):
            same = np.flatnonzero((keep == chosen[members]).all(axis=1))
            base[g] = same[0] if len(same) else base[g]
    moves = [(g, way) for g, (_, _, cost) in enumerate(groups) for way in range(len(cost)) if way != base[g]]
    near = np.tile(base, (min(len(moves), most), 1))
    near[np.arange(len(near)), [g for g, _ in moves[:most]]] = [way for _, way in moves[:most]]
    return np.vstack([near, best]), len(moves) <= most
