"""Certificates: what the best possible policy must at least pay, and what some policy at most pays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aquamend.arrays import Bools, Floats
from aquamend.belief import InformationState
from aquamend.codec import Number
from aquamend.decision.endings import endings_of
from aquamend.decision.probe_value import ProbeValues, clairvoyant_loss, clairvoyant_losses, probe_values
from aquamend.decision.terminal import best_terminal


@dataclass(frozen=True, slots=True)
class Bounds:
    """``lower ≤ expected remaining loss of the optimal adaptive policy ≤ upper``."""

    lower: Number
    upper: Number

    @property
    def gap(self) -> float:
        """How far apart the two are; zero where both are infinite."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    def __and__(self, other: Bounds) -> Bounds:
        """Return the tighter of each; rounding may not turn them round."""
        upper = min(self.upper, other.upper)
        return Bounds(min(max(self.lower, other.lower), upper), upper)


def quick_bounds(state: InformationState, values: ProbeValues | None = None) -> Bounds:
    """Return bounds that cost no search: stop now, or pay one more probe and then know everything.

    Lower: ``min(V_stop, cheapest legal probe + Σ_s p(s) min_u ℓ(u, s))``. Upper: the best of stopping now and probing
    once. A contradicted model allows no better than its worst-case decision.
    """
    if state.contradiction is not None:
        loss = best_terminal(state).loss
        return Bounds(loss, loss)
    values = probe_values(state) if values is None else values
    upper = min(values.stop_loss, float(values.expected_loss.min(initial=math.inf)))
    informed = clairvoyant_loss(state) + float(values.branches.cost.min(initial=math.inf))
    return Bounds(min(values.stop_loss, informed, upper), upper)


def informed_losses(state: InformationState) -> Floats:
    """Return a finite lower bound on min_u ℓ(u, s), shape ``(n_hypotheses,)``, fit to be summed with zero weights.

    Zero for hypotheses already ruled out, and for those that no decision can bear; the latter make V_stop infinite.
    """
    losses = clairvoyant_losses(state)
    return np.where((state.posterior > 0.0) & np.isfinite(losses), losses, 0.0)


def settles(state: InformationState, allowed: Bools) -> Bools:
    """Return which sets of hypotheses leave one terminal decision best under all their possible members.

    ``allowed`` is ``(n_sets, n_hypotheses)``. Summed with any weights, V_stop equals the clairvoyant loss exactly if
    one decision attains every member's least loss; with these, no member's loss drowns what the others would regret.
    Where beliefs need support nothing is settled: what may be done then also hangs on who has spoken. Sets without a
    possible member settle nothing.
    """
    endings = endings_of(state.problem)
    if len(endings.support):
        return np.zeros(len(allowed), dtype=bool)
    losses = informed_losses(state)
    members = (allowed & (state.posterior > 0.0)).astype(float)
    weights = members / (1.0 + losses)
    stop = endings.values(weights @ endings.features, np.zeros(0, dtype=bool))
    rounding = 1e-15 * members.sum(axis=1)  # all that each is allowed, since its weighted loss is at most one
    return np.asarray((stop <= weights @ losses + rounding) & members.any(axis=1))
