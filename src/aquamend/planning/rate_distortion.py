"""The rate–distortion bound: what any amount of sensing must cost, in nats.

A probe answer carries at most its channel capacity about the hypothesis, so sensing that yields I nats costs at least
λ·I with λ = min over probes of cost / capacity. The best trade of information against terminal loss,
min over p(u|s) of λ·I(S; U) + E[ℓ(U, S)], therefore bounds every adaptive policy from below. Blahut–Arimoto computes
it, and every iterate certifies: with Z_s = Σ_u q(u) e^{−ℓ(u,s)/λ}, the bound is
−λ Σ_s p_s log Z_s − λ log max_u Σ_s p_s e^{−ℓ(u,s)/λ} / Z_s (Blahut, IEEE Trans. Inf. Theory 18(4), 1972).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

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
    if price <= 0.0:
        return float(p @ informed)
    # A smaller price only lowers the bound, and a huge one would drown it in rounding.
    price = min(price, 1e3 * float((losses - informed[:, None])[np.isfinite(losses)].max(initial=0.0)) + 1e-12)
    gain = np.exp(-(losses - informed[:, None]) / price)
    weight = np.full(losses.shape[1], 1.0 / losses.shape[1])
    best = -math.inf
    for _ in range(iterations):
        z = gain @ weight
        pull = (p / z) @ gain
        reached = -price * float(p @ np.log(z))
        best = max(best, reached - price * math.log(float(pull.max())))
        weight = weight * pull
        weight /= weight.sum()
    return float(p @ informed) + best
