"""Certificates: what the best possible policy must at least pay, and what some policy at most pays.

One lower bound prices information itself. A probe answer carries at most its channel capacity about the hypothesis, so
sensing that yields I nats costs at least λ·I with λ = min over probes of cost / capacity. The best trade of information
against terminal loss, min over p(u|s) of λ·I(S; U) + E[ℓ(U, S)], therefore bounds every adaptive policy from below.
Blahut–Arimoto computes it, and every iterate certifies: with Z_s = Σ_u q(u) e^{−ℓ(u,s)/λ}, the bound is
−λ Σ_s p_s log Z_s − λ log max_u Σ_s p_s e^{−ℓ(u,s)/λ} / Z_s (Blahut, IEEE Trans. Inf. Theory 18(4), 1972).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aquamend.decision.endings import Bools, Floats, endings_of
from aquamend.decision.probe_value import ProbeValues, clairvoyant_loss, clairvoyant_losses, could_answer, probe_values
from aquamend.decision.terminal import best_terminal, listed_endings
from aquamend.inference import InformationState

MOST_DECISIONS = 2048
MOST_LOSSES = 20_000_000
"""Terminal decisions, and decisions times hypotheses, that are listed where a bound needs all of them."""


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


def informed_losses(state: InformationState) -> Floats:
    """Return a finite lower bound on min_u ℓ(u, s), shape ``(n_hypotheses,)``, fit to be summed with zero weights.

    Zero for hypotheses already ruled out, and for those that no decision can bear; the latter make V_stop infinite.
    """
    losses = clairvoyant_losses(state)
    return np.where((state.posterior > 0.0) & np.isfinite(losses), losses, 0.0)


def settles(state: InformationState, allowed: Bools, answered: Bools, *, relaxed: bool = False) -> Bools:
    """Return which sets of hypotheses leave one terminal decision best under all their possible members.

    ``allowed`` is ``(n_sets, n_hypotheses)``; ``answered`` says who has by then, for all sets or row by row. Summed
    with equal weights, V_stop equals the clairvoyant loss exactly if one decision attains every member's least loss.
    Where support is needed, all members must also agree on every condition of it, which are linear: then any mixture of
    them does, and the decision is admissible for all. Sets without a possible member settle nothing.
    """
    endings = endings_of(state.problem)
    members = (allowed & (state.posterior > 0.0)).astype(float)
    informed = members @ informed_losses(state)
    stop = endings.values(members @ endings.features, answered, relaxed=relaxed)
    settled = (stop <= informed + 1e-12 + 1e-15 * np.abs(informed)) & members.any(axis=1)
    if not relaxed and endings.conditions.shape[1]:
        holding = members @ endings.conditions
        settled &= ((holding == 0) | (holding == members.sum(axis=1, keepdims=True))).all(axis=1)
    return np.asarray(settled)


def listed_losses(state: InformationState) -> Floats | None:
    """Return ℓ(u, s) of all that may ever be decided from here on, ``(n_hypotheses, n_decisions)``; None if too many.

    The rules of support are left out.
    """
    endings = endings_of(state.problem)
    n = len(endings.features)
    most = min(MOST_DECISIONS, MOST_LOSSES // n)
    listed = listed_endings(endings, could_answer(state), most=most, possible=state.posterior > 0)
    return np.column_stack([ending.loss for ending in listed]) if listed else None


ITERATIONS = 200


def capacity(kernel: Floats, *, iterations: int = ITERATIONS) -> float:
    """Return an upper bound, tight on convergence, on the capacity in nats of a kernel ``(n_inputs, n_outcomes)``."""
    rows = np.unique(kernel, axis=0)
    iterations = max(1, min(iterations, int(2e7 / rows.size)))  # every iterate bounds; a large kernel gets fewer
    weight = np.full(len(rows), 1.0 / len(rows))
    bound = math.inf
    for _ in range(iterations):
        answer = weight @ rows
        with np.errstate(divide="ignore", invalid="ignore"):
            divergence = np.where(rows > 0, rows * np.log(rows / answer), 0.0).sum(axis=1)
        bound = min(bound, float(divergence.max()))
        weight = weight * np.exp(divergence)
        weight /= weight.sum()
    return max(bound, 0.0)


def rate_distortion_bound(posterior: Floats, losses: Floats, price: float, *, iterations: int = ITERATIONS) -> float:
    """Return a certified lower bound on the optimal expected loss.

    ``losses`` is ``(n_hypotheses, n_decisions)``, infinite where a decision is inadmissible; it must list every
    terminal decision, or the bound is void. ``price`` is λ, the cost of a nat.
    """
    possible = posterior > 0
    p, losses = posterior[possible], losses[possible]
    informed = losses.min(axis=1)
    if not np.isfinite(informed).all():
        return 0.0
    scale = float((losses - informed[:, None])[np.isfinite(losses)].max(initial=0.0))
    if price <= 1e-9 * scale:  # information costs next to nothing
        return float(p @ informed)
    # A smaller price only lowers the bound, and a huge one would drown it in rounding.
    price = min(price, 1e3 * scale + 1e-12)
    gain = np.exp(-(losses - informed[:, None]) / price)
    weight = np.full(losses.shape[1], 1.0 / losses.shape[1])
    best = -math.inf
    for _ in range(iterations):
        z = gain @ weight
        if z.min() < 1e-250:  # a decision's share has vanished that some hypothesis needs; what came before certifies
            break
        pull = (p / z) @ gain
        reached = -price * float(p @ np.log(z))
        best = max(best, reached - price * math.log(float(pull.max())))
        weight = weight * pull
        weight /= weight.sum()
    return float(p @ informed) + best
