"""Anytime planning: a first step with a certificate, better the longer it may think.

Each round plans over relaxed evidence (a lower bound and a policy), follows that policy on the true evidence (an upper
bound), and keeps more evidence states in the next round, until the bounds meet or time is up.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.probe_value import clairvoyant_losses, probe_values
from aquamend.decision.terminal_table import terminal_losses, terminal_table
from aquamend.inference import InformationState
from aquamend.inference.state import BUDGET_TOLERANCE
from aquamend.model.kernels import NormalTable, OutcomeTable
from aquamend.planning.bounds import Bounds, quick_bounds
from aquamend.planning.digits import (
    COUNTED_STATES,
    Labels,
    RelaxedDigit,
    counted_digit,
    endless_digit,
    labels_of,
    next_states,
    revealing_digit,
)
from aquamend.planning.exact import best_probe
from aquamend.planning.lattice import n_digit_states
from aquamend.planning.quantisation import planning_likelihood
from aquamend.planning.rate_distortion import capacity, rate_distortion_bound
from aquamend.planning.relaxed_plan import STOP, RelaxedPlan, relaxed_plan
from aquamend.planning.rollout import fits, policy_loss, track

Floats = NDArray[np.float64]

FIRST_CELLS = 5_000
MOST_CELLS = 4_000_000
GROWTH = 4.0
"""How many times more evidence states each round may keep than the one before."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The step an anytime search would take, and what is certified about it."""

    probe: str | None
    """Probe to run first; None to stop now."""
    bounds: Bounds


@dataclass(eq=False)
class _Candidate:
    """A probe as the planner sees it, with the evidence states kept so far."""

    name: str
    cost: float
    uses: float
    labels: Labels
    kernel: Floats
    """Shape ``(n_hypotheses, n_outcomes)``, as a policy sees it; a Gaussian probe's is cut into intervals."""
    gaussian: bool
    states: list[Floats]

    @property
    def counted(self) -> bool:
        return not self.gaussian and n_digit_states(self.kernel.shape[1], self.uses) <= COUNTED_STATES

    @property
    def size(self) -> int:
        return len(self.states) + int((~self.labels.closed).sum())

    def digit(self) -> RelaxedDigit:
        if self.gaussian:
            return revealing_digit(self.labels)
        if self.counted:
            return counted_digit(self.labels, int(self.uses))
        return endless_digit(self.labels, self.states)


def plan_anytime(state: InformationState, *, gap: float = 1e-9, deadline_s: float = math.inf) -> Plan:
    """Return the best first step found within the deadline, with certified bounds on the optimal expected loss."""
    started = time.perf_counter()
    values = probe_values(state)
    bounds = quick_bounds(state, values)
    first = best_probe(values.expected_loss, values.stop_loss)
    best = None if first is None else values.branches.probes[first]
    if not math.isfinite(values.stop_loss) or not state.legal_probes:
        return Plan(best, bounds)
    candidates = [_candidate(state, name) for name in state.legal_probes]
    bounds &= Bounds(_information_bound(state, candidates), math.inf)
    limit, took = FIRST_CELLS, 0.0
    while bounds.gap > gap:
        left = deadline_s - (time.perf_counter() - started)
        affordable = min(GROWTH, 0.8 * left / took) if took > 0.0 else GROWTH
        if left <= 0.0 or affordable < 1.3:
            break
        limit = int(limit * affordable)
        round_started = time.perf_counter()
        kept, left_out = _grow(candidates, limit)
        if not kept:
            break
        plan = _plan(state, kept, left_out, tolerance=gap / 20, deadline=started + deadline_s)
        upper, probe = _follow(state, kept, plan, values.stop_loss, negligible=max(1e-10, gap * 1e-5))
        if upper < bounds.upper - 1e-12:
            best = probe
        bounds &= Bounds(plan.lower, upper)
        grown = _can_grow(kept) or bool(left_out)
        if limit >= MOST_CELLS or not grown:
            break
        took = time.perf_counter() - round_started
    if values.stop_loss - bounds.upper <= 1e-9:
        best = None
    return Plan(best, bounds)


def _candidate(state: InformationState, name: str) -> _Candidate:
    graph = state.problem.graph
    spec = graph.probes[graph.probe_index[name]]
    table = state.problem.model.tables[name]
    match table:
        case OutcomeTable():
            kernel, rows = table.likelihood, table.likelihood
        case NormalTable():
            kernel, rows = planning_likelihood(state, name).T, np.column_stack([table.mean, table.sd])
    labels = _with_closed(state, labels_of(rows, state.posterior))
    return _Candidate(
        name=name,
        cost=spec.cost,
        uses=spec.max_uses - state.uses.get(name, 0),
        labels=labels,
        kernel=kernel,
        gaussian=isinstance(table, NormalTable),
        states=[np.ones(len(labels.prior))],
    )


def _with_closed(state: InformationState, labels: Labels) -> Labels:
    """Return the labels with those marked that leave one terminal decision best whatever else is true."""
    terminal = terminal_table(state.problem)
    allowed = (labels.of[None, :] == np.arange(len(labels.prior))[:, None]) * (state.posterior > 0.0)
    stop = terminal.values(allowed @ terminal.features)
    informed = allowed @ clairvoyant_losses(state.problem)
    return replace(labels, closed=stop <= informed + 1e-12 * (1.0 + np.abs(informed)))


def _grow(candidates: list[_Candidate], limit: int) -> tuple[list[_Candidate], list[_Candidate]]:
    """Keep as many evidence states as fit, most useful first; return the probes that fit and those that do not."""
    kept: list[_Candidate] = []
    left_out: list[_Candidate] = []
    cells = 1
    for candidate in sorted(candidates, key=lambda c: len(c.digit().vectors)):
        size = len(candidate.digit().vectors)
        (kept if cells * size <= limit else left_out).append(candidate)
        cells *= size if cells * size <= limit else 1
    kept.sort(key=candidates.index)
    while True:
        options = []
        for c in kept:
            if c.counted or c.gaussian:
                continue
            size = c.size
            if cells * (size + 1) // size <= limit:
                options += [(score / math.log1p(1 / size), c, s) for score, s in next_states(c.labels, c.states)]
        if not options:
            return kept, left_out
        _, candidate, vector = max(options, key=lambda option: option[0])
        size = candidate.size
        cells = cells // size * (size + 1)
        candidate.states.append(vector)


def _can_grow(kept: list[_Candidate]) -> bool:
    return any(not c.counted and not c.gaussian for c in kept)


def _plan(
    state: InformationState, kept: list[_Candidate], left_out: list[_Candidate], *, tolerance: float, deadline: float
) -> RelaxedPlan:
    return relaxed_plan(
        state.posterior,
        terminal_table(state.problem),
        clairvoyant_losses(state.problem),
        [c.digit() for c in kept],
        np.array([c.cost for c in kept]),
        left_out_cost=min((c.cost for c in left_out), default=math.inf),
        tolerance=tolerance,
        deadline=deadline,
    )


def _follow(
    state: InformationState, kept: list[_Candidate], plan: RelaxedPlan, stop_loss: float, *, negligible: float
) -> tuple[float, str | None]:
    """Return the expected loss of following the plan's policy, and its first probe."""
    if plan.choice[0] == STOP:
        return stop_loss, None
    tracks = [track(plan, i, c.kernel, c.uses, c.cost) for i, c in enumerate(kept)]
    if not fits(tracks):
        return math.inf, None
    loss = policy_loss(
        state.posterior,
        terminal_table(state.problem),
        plan,
        tracks,
        np.array([c.cost for c in kept]),
        budget=state.problem.sensing_budget - state.spent + BUDGET_TOLERANCE,
        negligible=negligible,
    )
    return loss, kept[plan.choice[0]].name


def _information_bound(state: InformationState, candidates: list[_Candidate]) -> float:
    """Return the rate–distortion bound, where every terminal decision can be listed."""
    losses = terminal_losses(state.problem)
    if losses is None or any(c.gaussian for c in candidates):
        return 0.0
    prices = [c.cost / capacity(c.labels.kernel[c.labels.prior > 0]) if c.cost > 0 else 0.0
              for c in candidates if capacity(c.labels.kernel[c.labels.prior > 0]) > 1e-12]  # fmt: skip
    return rate_distortion_bound(state.posterior, losses, min(prices, default=math.inf)) if prices else 0.0
