"""Anytime planning: a first step with a certificate, better the longer it may think.

Each round plans over relaxed evidence (a lower bound and a policy), follows that policy on the true evidence (an upper
bound), and keeps more evidence states in the next round, until the bounds meet or time is up.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.probe_value import probe_values
from aquamend.decision.terminal_table import terminal_losses, terminal_table
from aquamend.inference import InformationState
from aquamend.inference.state import BUDGET_TOLERANCE
from aquamend.planning.bounds import Bounds, informed_losses, quick_bounds
from aquamend.planning.decomposition import decomposition_bound
from aquamend.planning.exact import best_probe
from aquamend.planning.growth import Candidate, candidates_at, grow
from aquamend.planning.lookahead import lookahead_losses
from aquamend.planning.rate_distortion import capacity, rate_distortion_bound
from aquamend.planning.relaxed_plan import STOP, RelaxedPlan, relaxed_plan
from aquamend.planning.rollout import fits, policy_loss, track

Floats = NDArray[np.float64]

FIRST_CELLS = 5_000
MOST_CELLS = 4_000_000
DECOMPOSITION_S = 0.5
"""Deadlines shorter than this leave the decomposition bound out; it takes a tenth of a second or two."""
LOOKAHEAD_WORK = 2e7
"""Joint weights a lookahead may touch; about a second."""
GROWTH = 4.0
"""How many times more evidence states each round may keep than the one before."""


@dataclass(frozen=True, slots=True)
class CertifiedPlan:
    """The step an anytime search would take, and what is certified about it."""

    probe: str | None
    """Probe to run first; None to stop now."""
    bounds: Bounds


def plan_anytime(state: InformationState, *, gap: float = 1e-9, deadline_s: float = math.inf) -> CertifiedPlan:
    """Return the best first step found within the deadline, with certified bounds on the optimal expected loss."""
    started = time.perf_counter()
    values = probe_values(state)
    bounds = quick_bounds(state, values)
    first = best_probe(values.expected_loss, values.stop_loss)
    best = None if first is None else values.branches.probes[first]
    if not math.isfinite(values.stop_loss) or not state.legal_probes:
        return CertifiedPlan(best, bounds)
    candidates = candidates_at(state)
    bounds &= Bounds(_information_bound(state, candidates), math.inf)
    if bounds.gap > gap and deadline_s > DECOMPOSITION_S:
        bounds &= Bounds(decomposition_bound(state), math.inf)
    limit, took = FIRST_CELLS, 0.0
    while bounds.gap > gap:
        left = deadline_s - (time.perf_counter() - started)
        affordable = min(GROWTH, 0.8 * left / took) if took > 0.0 else GROWTH
        if left <= 0.0 or affordable < 1.3:
            break
        limit = int(limit * affordable)
        round_started = time.perf_counter()
        kept, left_out = grow(candidates, limit)
        if not kept:
            break
        plan = _plan(state, kept, left_out, tolerance=gap / 20, deadline=started + deadline_s)
        upper, probe = _follow(state, kept, plan, values.stop_loss, negligible=max(1e-10, gap * 1e-5))
        if upper < bounds.upper - 1e-12:
            best = probe
        bounds &= Bounds(plan.lower, upper)
        if limit >= MOST_CELLS or not (left_out or any(c.can_grow for c in kept)):
            break
        took = time.perf_counter() - round_started
    if any(c.gaussian for c in candidates):
        # Intervals chosen for two probes ahead serve a Gaussian probe better than the relaxed plan's policy does.
        for depth in (2, 3):
            left = deadline_s - (time.perf_counter() - started)
            if bounds.gap <= gap or left < 0.5 or _lookahead_work(candidates, depth) > LOOKAHEAD_WORK:
                break
            losses = lookahead_losses(state, depth)
            if losses.min() < bounds.upper - 1e-12:
                best = state.legal_probes[int(losses.argmin())]
            bounds &= Bounds(-math.inf, float(losses.min()))
    if values.stop_loss - bounds.upper <= 1e-9:
        best = None
    return CertifiedPlan(best, bounds)


def _lookahead_work(candidates: list[Candidate], depth: int) -> float:
    branches = sum(c.kernel.shape[1] for c in candidates)
    return float(branches) ** depth * len(candidates[0].kernel)


def _plan(
    state: InformationState, kept: list[Candidate], left_out: list[Candidate], *, tolerance: float, deadline: float
) -> RelaxedPlan:
    return relaxed_plan(
        state.posterior,
        terminal_table(state.problem),
        informed_losses(state),
        [c.digit() for c in kept],
        np.array([c.cost for c in kept]),
        left_out_cost=min((c.cost for c in left_out), default=math.inf),
        tolerance=tolerance,
        deadline=deadline,
    )


def _follow(
    state: InformationState, kept: list[Candidate], plan: RelaxedPlan, stop_loss: float, *, negligible: float
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


def _information_bound(state: InformationState, candidates: list[Candidate]) -> float:
    """Return the rate–distortion bound, where every terminal decision can be listed."""
    losses = terminal_losses(state.problem)
    if losses is None or any(c.gaussian for c in candidates):
        return 0.0
    capacities = [capacity(c.labels.kernel[c.labels.prior > 0]) for c in candidates]
    prices = [c.cost / nats for c, nats in zip(candidates, capacities, strict=True) if nats > 1e-12]
    return rate_distortion_bound(state.posterior, losses, min(prices)) if prices else 0.0
