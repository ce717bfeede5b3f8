"""A lower bound that prices information itself.

A probe answer carries at most its channel capacity about the hypothesis, so sensing that yields I nats costs at least
λ·I with λ = min over probes of cost / capacity. The best trade of information against terminal loss,
min over p(u|s) of λ·I(S; U) + E[ℓ(U, S)], therefore bounds every adaptive policy from below. Blahut–Arimoto computes
it, and every iterate certifies: with Z_s = Σ_u q(u) e^{−ℓ(u,s)/λ}, the bound is
−λ Σ_s p_s log Z_s − λ log max_u Σ_s p_s e^{−ℓ(u,s)/λ} / Z_s (Blahut, IEEE Trans. Inf. Theory 18(4), 1972).

It applies where all probes are discrete and the terminal decisions are few enough to list.
"""

from __future__ import annotations

import math

import numpy as np

from aquamend.arrays import Floats
from aquamend.belief import InformationState
from aquamend.deadline import check_deadline
from aquamend.decision.endings import endings_of
from aquamend.decision.probe_value import could_answer
from aquamend.decision.terminal import listed_endings
from aquamend.problem.model.kernels import Outcomes

ITERATIONS = 200
MOST_STEPS = 2e7
"""Numbers that the capacities of all probes are computed from, iterations included: some tenths of a second."""
ROUNDING = 1e-15
"""More than rounding changes a logarithm, or a sum of numbers that add up to one, by."""
MOST_DECISIONS = 512
MOST_LOSSES = 100_000
"""Terminal decisions, and decisions times hypotheses, that are listed: a tenth of a second."""


def information_bound(state: InformationState) -> float:
    """Return the bound, or 0 where it does not apply."""
    tables = [view.channel.table for view in state.legal if isinstance(view.channel, Outcomes)]
    listable = bool(tables) and len(tables) == len(state.legal) and _few(state)
    losses = listed_losses(state) if listable else None
    if losses is None:
        return 0.0
    iterations = int(MOST_STEPS / sum(table.size for table in tables))
    nats = [capacity(table[state.posterior > 0], iterations=max(1, min(ITERATIONS, iterations))) for table in tables]
    prices = [view.cost / own for view, own in zip(state.legal, nats, strict=True) if own > 0.0]
    return rate_distortion_bound(state.posterior, losses, min(prices)) if prices else 0.0


def _few(state: InformationState) -> bool:
    """Whether the terminal decisions are few, known without listing them: new values would multiply them."""
    endings = endings_of(state.problem)
    groups = endings.groups
    closures = 2.0 ** min(len(groups.solo), 60) * math.prod(group.n_closures for group in groups.listed)
    return endings.plain and not groups.cuts and closures <= MOST_DECISIONS


def listed_losses(state: InformationState) -> Floats | None:
    """Return ℓ(u, s) of all that may ever be decided from here on, ``(n_hypotheses, n_decisions)``; None if too many.

    The rules of support are left out.
    """
    endings = endings_of(state.problem)
    most = min(MOST_DECISIONS, MOST_LOSSES // len(endings.features))
    speaks = endings.support.once_answered(could_answer(state))
    listed = listed_endings(endings, speaks, most=most, possible=state.posterior > 0)
    return np.column_stack([ending.loss for ending in listed]) if listed else None


def capacity(kernel: Floats, *, iterations: int = ITERATIONS) -> float:
    """Return an upper bound, tight on convergence, on the capacity in nats of a kernel ``(n_inputs, n_outcomes)``.

    Every iterate bounds it. What rounding may have taken away is added; a kernel that tells nothing has none.
    """
    rows = np.unique(kernel, axis=0)
    if len(rows) < 2:
        return 0.0
    weight = np.full(len(rows), 1.0 / len(rows))
    bound = math.inf
    for _ in range(iterations):
        check_deadline()
        answer = weight @ rows
        with np.errstate(divide="ignore", invalid="ignore"):
            divergence = np.where(rows > 0, rows * np.log(rows / answer), 0.0).sum(axis=1)
        if math.isinf(divergence.max()):  # an input's weight has vanished; what came before bounds
            break
        bound = min(bound, float(divergence.max()))
        weight = weight * np.exp(divergence - divergence.max())
        weight /= weight.sum()
    return float(max(bound, 0.0) + ROUNDING * rows.shape[1])


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
        check_deadline()
        z = gain @ weight
        if z.min() < 1e-250:  # a decision's share has vanished that some hypothesis needs; what came before certifies
            break
        pull = (p / z) @ gain
        reached = -price * float(p @ np.log(z))
        best = max(best, reached - price * math.log(float(pull.max())) - price * ROUNDING * len(p))
        weight = weight * pull
        weight /= weight.sum()
    return float(p @ informed) + best
