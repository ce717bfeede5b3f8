"""What every probe is worth: V_stop now against its cost plus the expected V_stop after it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.gaussian import MOST_POINTS, decision_intervals, interval_likelihood
from aquamend.decision.terminal_table import TerminalTable, terminal_table
from aquamend.errors import UnknownName
from aquamend.inference import InformationState
from aquamend.inference.re_estimation import REJECT_AT
from aquamend.model.declarations import Declaration
from aquamend.model.kernels import NormalTable, OutcomeTable
from aquamend.problem import Problem, once_per_problem

Floats = NDArray[np.float64]

CUT_POINTS = 512
"""Readings sampled where each needs a minimum cut, a millisecond or more."""


@dataclass(frozen=True, eq=False)
class Branches:
    """The outcomes of several probes, one under the other."""

    probes: tuple[str, ...]
    first: NDArray[np.intp]
    """Shape ``(n_probes,)``; where each probe's branches start."""
    likelihood: Floats
    """Shape ``(n_branches, n_hypotheses)``; laid out along branches, the way products run through it."""
    cost: Floats
    """Shape ``(n_probes,)``."""

    def of(self, probe: str) -> slice:
        """Return where a probe's branches stand."""
        i = self.probes.index(probe)
        end = self.first[i + 1] if i + 1 < len(self.probes) else len(self.likelihood)
        return slice(int(self.first[i]), int(end))


@dataclass(frozen=True, eq=False)
class ProbeValues:
    """Expected losses of probing once and then stopping, for several probes at one state."""

    state: InformationState
    branches: Branches
    stop_loss: float
    """V_stop now."""
    expected_loss: Floats
    """Shape ``(n_probes,)``; cost plus expected V_stop after the answer."""

    @cached_property
    def net_benefit(self) -> Floats:
        """Shape ``(n_probes,)``; V_stop less the expected loss; NaN where both are infinite."""
        if math.isinf(self.stop_loss):
            return np.where(np.isinf(self.expected_loss), np.nan, math.inf)
        return self.stop_loss - self.expected_loss


def probe_values(state: InformationState, probes: Sequence[str] | None = None) -> ProbeValues:
    """Return the one-step value of these probes (all legal ones by default) in one matrix product."""
    if probes is None or tuple(probes) == state.legal_probes:
        if "probe_values" not in state.computed:
            state.computed["probe_values"] = _probe_values(state, state.legal_probes)
        cached: ProbeValues = state.computed["probe_values"]
        return cached
    return _probe_values(state, tuple(probes))


def _probe_values(state: InformationState, probes: tuple[str, ...]) -> ProbeValues:
    table = terminal_table(state.problem)
    branches = branches_of(state, probes)
    weighted = state.posterior[:, None] * table.features
    stop = float(table.values(weighted.sum(axis=0, keepdims=True))[0])
    if not branches.probes:
        return ProbeValues(state, branches, stop, np.zeros(0))
    # Transposed, so that the minimum over decisions runs along memory.
    after = table.values((weighted.T @ branches.likelihood.T).T)
    return ProbeValues(state, branches, stop, branches.cost + np.add.reduceat(after, branches.first))


def branches_of(state: InformationState, probes: Sequence[str]) -> Branches:
    """Return the branches of these probes at this state; a Gaussian probe's are cut where decisions change."""
    problem = state.problem
    cached = _stacks(problem)
    key = tuple(probes)
    if key in cached:
        return cached[key]
    unknown = [probe for probe in probes if probe not in problem.graph.probe_index]
    if unknown:
        raise UnknownName("probe", unknown[0], problem.graph.probe_index)
    blocks: list[Floats] = []
    first: list[int] = []
    discrete = True
    for probe in probes:
        first.append(sum(block.shape[1] for block in blocks))
        match problem.model.tables[probe]:
            case OutcomeTable() as table:
                blocks.append(table.likelihood)
            case NormalTable() as table:
                discrete = False
                blocks.append(interval_likelihood(table, decision_cuts(state, table)))
    index = problem.graph.probe_index
    branches = Branches(
        probes=key,
        first=np.array(first, dtype=np.intp),
        likelihood=np.ascontiguousarray(np.hstack(blocks)).T if blocks else np.zeros((0, len(state.posterior))),
        cost=np.array([problem.graph.probes[index[probe]].cost for probe in probes]),
    )
    if discrete and len(cached) < 64:  # the legal sets of one recovery; a guard against long-lived growth
        cached[key] = branches
    return branches


@once_per_problem
def _stacks(problem: Problem) -> dict[tuple[str, ...], Branches]:
    """Stacked discrete kernels by the probes in them; they depend on no state."""
    return {}


def decision_cuts(state: InformationState, table: NormalTable) -> Floats:
    """Return the readings at which the best terminal decision or a declaration's verdict changes."""
    terminal = terminal_table(state.problem)
    invalid = invalidity_matrix(state.problem, state.declarations)
    possible = state.posterior > 0

    def margins(likelihood: Floats) -> Floats:
        weights = likelihood * state.posterior
        mass = weights.sum(axis=1, keepdims=True)
        return np.asarray(weights @ invalid / np.where(mass > 0.0, mass, 1.0) - REJECT_AT)

    def signature(likelihood: Floats) -> NDArray[np.int64]:
        sums = (likelihood * state.posterior) @ terminal.features
        return np.hstack([terminal.signature(sums), (margins(likelihood) >= 0.0).astype(np.int64)])

    points = CUT_POINTS if terminal.cuts else MOST_POINTS
    cuts = decision_intervals(table, possible, signature, margins, most_points=points)
    if terminal.hard.any() or len(terminal.forbidding_plans):
        cuts = np.union1d(cuts, table.ends(possible))  # where a hypothesis becomes impossible, to the last digit
    return cuts


def invalidity_matrix(problem: Problem, declarations: Sequence[Declaration]) -> Floats:
    """Return, shape ``(n_hypotheses, n_declarations)``, one where the declaration version is invalid."""
    if declarations is problem.declarations:
        return _given_invalidity(problem)
    columns = [problem.model.invalidity(declaration) for declaration in declarations]
    return np.column_stack(columns) if columns else np.zeros((len(problem.model.hypotheses), 0))


@once_per_problem
def _given_invalidity(problem: Problem) -> Floats:
    return invalidity_matrix(problem, list(problem.declarations))


@once_per_problem
def clairvoyant_losses(problem: Problem) -> Floats:
    """Return min_u ℓ(u, s), shape ``(n_hypotheses,)``: what each hypothesis would cost if it were known."""
    table: TerminalTable = terminal_table(problem)
    if not table.cuts:
        return table.values(table.features)
    return _clairvoyant_bound(table)


def clairvoyant_loss(state: InformationState) -> float:
    """Return Σ_s p(s) min_u ℓ(u, s): the expected loss if the hypothesis were told for nothing."""
    possible = state.posterior > 0.0
    return float(np.dot(state.posterior[possible], clairvoyant_losses(state.problem)[possible]))


def _clairvoyant_bound(table: TerminalTable) -> Floats:
    """Return a lower bound on the clairvoyant loss that needs no cut per hypothesis.

    A hypothesis with few failures has few closures, and its loss is exact. With more, each failed belief costs at
    least the cheaper of its residual and its own correction, and the dearest of them is due.
    """
    graph = table.problem.graph
    masks = [graph.belief_charges[b] for b in table.beliefs]
    single = np.array([graph.charged(mask) for mask in masks])
    failing = table.risks(table.features)
    bound = np.minimum(failing, single).max(axis=1, initial=0.0)
    few = np.flatnonzero((failing > 0).sum(axis=1) <= 8)[:20_000]
    for s in few:
        members = np.flatnonzero(failing[s] > 0)
        unions = {0}
        for i in members:
            unions |= {union | masks[i] for union in unions}
        bound[s] = min(
            graph.charged(union) + sum(failing[s, i] for i in members if masks[i] & ~union) for union in unions
        )
    bound = np.minimum(bound, table.flat)
    if table.problem.plans:
        bound = np.minimum(bound, table.plan_values(table.features).min(axis=1))
    return np.asarray(bound)
