"""Certificates: what the best possible policy must at least pay, and what some policy at most pays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.probe_value import ProbeValues, clairvoyant_loss, clairvoyant_losses, probe_values
from aquamend.decision.terminal import best_terminal
from aquamend.decision.terminal_table import terminal_table
from aquamend.inference import InformationState


@dataclass(frozen=True, slots=True)
class Bounds:
    """``lower ≤ expected remaining loss of the optimal adaptive policy ≤ upper``."""

    lower: float
    upper: float

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


def informed_losses(state: InformationState) -> NDArray[np.float64]:
    """Return a finite lower bound on min_u ℓ(u, s), shape ``(n_hypotheses,)``, fit to be summed with zero weights.

    Zero for hypotheses already ruled out, and for those that no decision can bear; the latter make V_stop infinite.
    """
    losses = clairvoyant_losses(state.problem)
    return np.where((state.posterior > 0.0) & np.isfinite(losses), losses, 0.0)


def settles(state: InformationState, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which sets of hypotheses leave one terminal decision best under all their possible members.

    ``allowed`` is ``(n_sets, n_hypotheses)``. Summed with equal weights, V_stop equals the clairvoyant loss exactly if
    one decision attains every member's least loss. Sets without a possible member settle nothing.
    """
    table = terminal_table(state.problem)
    members = (allowed & (state.posterior > 0.0)).astype(float)
    informed = members @ informed_losses(state)
    stop = table.values(members @ table.features)
    return np.asarray((stop <= informed + 1e-12 + 1e-15 * np.abs(informed)) & members.any(axis=1))
