"""What leaving out rare combinations of causes can do to the expected loss.

With ε the probability of what was left out, any policy has the loss (1 − ε) V + ε W, where V is its loss by the model
and W its loss where the truth was left out, 0 ≤ W ≤ W_max: all sensing, all undoing and every residual, or the
most costly other ending. So V is off by at most ε max(V, W_max), and V ≤ W_max for any policy worth following. After
the alarm and answers, ε ≤ ε₀ / (ε₀ + (1 − ε₀) P(alarm, answers)), since what was left out may have given them for
certain. A number that was read has a density and no probability: what was left out may have made just this one
certain, and ε ≤ 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aquamend.problem import Problem


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How probable what was left out is, and by how much that may change an expected loss."""

    prior: float
    by_now: float
    """At most this, given the alarm and the answers since; the prior where there were none."""
    loss: float
    """The expected loss from here on changes by at most this; infinite where nothing bounds it."""
    unbounded: str = ""
    """A belief that may not be kept at any price, where the loss has no bound because of it."""


def effect_of_left_out(problem: Problem, heard: float | None = None) -> LeftOut | None:
    """Return what leaving combinations out can do; None where none were.

    ``heard`` is the probability of all that was heard, the alarm and answers since; that of the alarm unless given.
    """
    prior = problem.model.left_out
    if prior <= 0.0:
        return None
    if heard is None:
        likelihood = problem.model.alarm_likelihood
        heard = 1.0 if likelihood is None else float(problem.model.prior @ likelihood)
    after = prior / (prior + (1.0 - prior) * heard)
    hard = [b.name for b in problem.graph.beliefs if not b.may_keep or math.isinf(b.residual)]
    if hard:
        return LeftOut(prior, after, math.inf, hard[0])
    return LeftOut(prior, after, after * worst_loss(problem))


def worst_loss(problem: Problem) -> float:
    """Return W_max: what a recovery may cost at most, whatever is true, by endings that are finite somewhere."""
    graph = problem.graph
    probing = math.fsum(p.cost * p.max_uses for p in graph.probes if p.cost > 0.0)
    undoing = math.fsum(charge.cost for charge in graph.charges if math.isfinite(charge.cost))
    residual = math.fsum(belief.residual for belief in graph.beliefs)
    endings = [undoing + residual]
    plans = [*problem.plans, *([problem.restart_plan] if problem.restart_plan else [])]
    endings += [float(np.max(plan.loss, initial=0.0, where=np.isfinite(plan.loss))) for plan in plans]
    endings += [problem.escalate] if problem.escalate is not None and math.isfinite(problem.escalate) else []
    return min(probing, problem.sensing_budget) + max(endings)
