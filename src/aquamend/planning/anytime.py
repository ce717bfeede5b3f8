"""Anytime planning: a first step with a certificate, better the longer it may think.

Each round plans over relaxed evidence (a lower bound and a policy), follows that policy on the true evidence (an upper
bound), and keeps more evidence states in the next round, until the bounds meet or time is up.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from aquamend.decision.endings import TIE, endings_of
from aquamend.decision.probe_value import best_probe, could_answer, probe_values
from aquamend.inference import InformationState
from aquamend.planning.bounds import (
    Bounds,
    capacity,
    informed_losses,
    listed_losses,
    quick_bounds,
    rate_distortion_bound,
)
from aquamend.planning.decomposition import decomposition_bound
from aquamend.planning.growth import Candidate, candidates_at, grow
from aquamend.planning.lookahead import lookahead_losses
from aquamend.planning.relaxed_plan import STOP, RelaxedPlan, fits, policy_loss, relaxed_plan, track

FIRST_CELLS = 20_000
FIRST_WORK = 2e9
"""Products of cells, hypotheses and features that the first round may cost: a second at most."""
MOST_CELLS = 4_000_000
DECOMPOSITION_SHARE = 0.25
"""Part of the time after which no further split of shared costs is tried."""
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


@dataclass(eq=False)
class _Search:
    """The best first step so far, what is certified, and how long there is."""

    state: InformationState
    candidates: list[Candidate]
    stop_loss: float
    gap: float
    deadline: float
    """A reading of ``time.perf_counter``."""
    probe: str | None
    bounds: Bounds

    @property
    def done(self) -> bool:
        return self.bounds.gap <= self.gap or time.perf_counter() >= self.deadline

    def found(self, upper: float, probe: str | None) -> None:
        """Take note of a policy's loss and the probe it begins with."""
        if upper < self.bounds.upper - 1e-12:
            self.probe = probe
        self.bounds &= Bounds(-math.inf, upper)

    def certified(self, lower: float) -> None:
        """Take note of a lower bound on every policy's loss."""
        self.bounds &= Bounds(lower, math.inf)


def plan_anytime(state: InformationState, *, gap: float = 1e-9, deadline_s: float = math.inf) -> CertifiedPlan:
    """Return the best first step found within the deadline, with certified bounds on the optimal expected loss."""
    started = time.perf_counter()
    values = probe_values(state)
    first = best_probe(values.expected_loss, values.stop_loss)
    probe = None if first is None else values.branches.probes[first]
    bounds = quick_bounds(state, values)
    if not math.isfinite(values.stop_loss) or not state.legal_probes:
        return CertifiedPlan(probe, bounds)
    candidates = candidates_at(state)
    search = _Search(state, candidates, values.stop_loss, gap, started + deadline_s, probe, bounds)
    if not search.done:
        search.certified(_information_bound(state, candidates))
    if not search.done:
        search.certified(decomposition_bound(state, deadline=started + DECOMPOSITION_SHARE * deadline_s))
    _widen(search)
    _look_further(search)
    worth_probing = values.stop_loss - search.bounds.upper > TIE
    return CertifiedPlan(search.probe if worth_probing else None, search.bounds)


def _widen(search: _Search) -> None:
    """Plan over relaxed evidence, round by round with more of it, for as long as a round fits the deadline."""
    n_hypotheses, n_features = endings_of(search.state.problem).features.shape
    limit = min(FIRST_CELLS, int(FIRST_WORK / (n_hypotheses * n_features)))
    took = 0.0
    while not search.done:
        affordable = min(GROWTH, 0.8 * (search.deadline - time.perf_counter()) / took) if took > 0.0 else 1.0
        if took > 0.0 and affordable < 1.3:
            return
        limit = int(limit * affordable)
        round_started = time.perf_counter()
        kept, left_out = grow(search.candidates, limit)
        if not kept:
            return
        plan = _plan(search.state, kept, left_out, tolerance=search.gap / 20, deadline=search.deadline)
        search.certified(plan.lower)
        search.found(*_follow(search, kept, plan))
        if limit >= MOST_CELLS or not (left_out or any(c.can_grow for c in kept)):
            return
        took = time.perf_counter() - round_started


def _look_further(search: _Search) -> None:
    """Plan two and three probes ahead, where that is quick: a short plan may be better than a relaxed long one."""
    branches = sum(c.kernel.shape[1] for c in search.candidates)
    for depth in (2, 3):
        work = float(branches) ** depth * len(search.state.posterior)
        if search.done or work > LOOKAHEAD_WORK:
            return
        losses = lookahead_losses(search.state, depth)
        search.found(float(losses.min()), search.state.legal_probes[int(losses.argmin())])


def _plan(
    state: InformationState, kept: list[Candidate], left_out: list[Candidate], *, tolerance: float, deadline: float
) -> RelaxedPlan:
    return relaxed_plan(
        state.posterior,
        endings_of(state.problem),
        could_answer(state),
        informed_losses(state),
        [c.digit() for c in kept],
        np.array([c.cost for c in kept]),
        left_out_cost=min((c.cost for c in left_out), default=math.inf),
        tolerance=tolerance,
        deadline=deadline,
    )


def _follow(search: _Search, kept: list[Candidate], plan: RelaxedPlan) -> tuple[float, str | None]:
    """Return the expected loss of following the plan's policy, and its first probe."""
    if plan.choice[0] == STOP:
        return search.stop_loss, None
    tracks = [track(plan, i, c.kernel, c.view) for i, c in enumerate(kept)]
    if not fits(tracks):
        return math.inf, None
    state = search.state
    loss = policy_loss(
        state,
        plan,
        tracks,
        np.array([c.cost for c in kept]),
        budget=state.budget_left,
        negligible=max(1e-10, search.gap * 1e-5),
    )
    return loss, kept[plan.choice[0]].name


def _information_bound(state: InformationState, candidates: list[Candidate]) -> float:
    """Return the rate–distortion bound, where every terminal decision can be listed."""
    losses = None if any(c.reads for c in candidates) else listed_losses(state)
    if losses is None:
        return 0.0
    capacities = [capacity(c.labels.kernel[c.labels.prior > 0]) for c in candidates]
    prices = [c.cost / nats for c, nats in zip(candidates, capacities, strict=True) if nats > 1e-12]
    return rate_distortion_bound(state.posterior, losses, min(prices)) if prices else 0.0
