"""Certificates without a search: what the best possible policy must at least pay, and what some policy at most pays.

Beside the bounds themselves: by how much what was left out of the model may change any of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aquamend.arrays import Bools, Floats
from aquamend.belief import InformationState
from aquamend.codec import Number
from aquamend.deadline import check_deadline
from aquamend.decision.endings import endings_of
from aquamend.decision.probe_value import ProbeValues, clairvoyant_loss, clairvoyant_losses, could_answer, probe_values
from aquamend.decision.terminal import best_terminal, listed_endings
from aquamend.problem import Problem
from aquamend.problem.model.kernels import Outcomes
from aquamend.problem.model.kernels.kernel import labels_of

ITERATIONS = 200
"""Steps of Blahut–Arimoto at most."""
MOST_STEPS = 2e7
"""Numbers that the capacities of all probes are computed from, iterations included: some tenths of a second."""
ROUNDING = 1e-15
"""More than rounding changes a logarithm, or a sum of numbers that add up to one, by."""
MOST_DECISIONS = 512
MOST_LOSSES = 100_000
"""Terminal decisions, and decisions times hypotheses, that are listed: a tenth of a second."""
MOST_TRUTHS = 3e7
"""Hypotheses times beliefs, for each belief: some seconds."""
MOST_DEPTH = 6
MOST_NUMBERS = 1e6
"""How many probes are looked ahead for one belief, and numbers that this may take; one more then reveals the truth."""


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
    """Return what leaving rare combinations of causes out can do to the expected loss; None where none were.

    With ε the probability of what was left out, any policy has the loss (1 − ε) V + ε W, where V is its loss by the
    model and W its loss where the truth was left out, 0 ≤ W ≤ W_max: all sensing, all undoing and every residual, or
    the most costly other ending. So V is off by at most ε max(V, W_max), and V ≤ W_max for any policy worth following.
    After the alarm and answers, ε ≤ ε₀ / (ε₀ + (1 − ε₀) P(alarm, answers)), since what was left out may have given them
    for certain. A number that was read has a density and no probability: what was left out may have made just this one
    certain, and ε ≤ 1.

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


def information_bound(state: InformationState) -> float:
    """Return a lower bound that prices information itself, or 0 where it does not apply.

    A probe answer carries at most its channel capacity about the hypothesis, so sensing that yields I nats costs at
    least λ·I with λ = min over probes of cost / capacity. The best trade of information against terminal loss, min over
    p(u|s) of λ·I(S; U) + E[ℓ(U, S)], therefore bounds every adaptive policy from below. Blahut–Arimoto computes it, and
    every iterate certifies: with Z_s = Σ_u q(u) e^{−ℓ(u,s)/λ}, the bound is −λ Σ_s p_s log Z_s − λ log max_u Σ_s p_s
    e^{−ℓ(u,s)/λ} / Z_s (Blahut, IEEE Trans. Inf. Theory 18(4), 1972).

    It applies where all probes are discrete and the terminal decisions are few enough to list.
    """
    tables = [view.channel.table for view in state.legal if isinstance(view.channel, Outcomes)]
    listable = bool(tables) and len(tables) == len(state.legal) and _few_decisions(state)
    losses = listed_losses(state) if listable else None
    if losses is None:
        return 0.0
    iterations = int(MOST_STEPS / sum(table.size for table in tables))
    nats = [capacity(table[state.posterior > 0], iterations=max(1, min(ITERATIONS, iterations))) for table in tables]
    prices = [view.cost / own for view, own in zip(state.legal, nats, strict=True) if own > 0.0]
    return rate_distortion_bound(state.posterior, losses, min(prices)) if prices else 0.0


def _few_decisions(state: InformationState) -> bool:
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


@dataclass(frozen=True, eq=False)
class _Asked:
    """A probe that tells of one belief."""

    cost: float
    uses: float
    right: Floats
    """Shape ``(n_outcomes,)``; how it answers where the belief holds."""
    wrong: Floats


@dataclass(frozen=True, eq=False)
class _Alone:
    """One belief to be decided by itself."""

    keep: float
    """What leaving it costs where it has failed; infinite where that may not be."""
    end: float
    """What ending otherwise costs: correcting it, or its part of starting over."""
    probes: Sequence[_Asked]

    def value(self, holds: Floats, failed: Floats, used: tuple[int, ...], depth: int) -> Floats:
        """Return the least loss for these joint probabilities that it holds, or has failed; or somewhat less."""
        check_deadline()
        mass = holds + failed
        kept = np.where(failed > 0.0, self.keep * np.where(failed > 0.0, failed, 1.0), 0.0)
        best = np.minimum(kept, self.end * mass) if self.end < math.inf else kept
        for m, probe in enumerate(self.probes):
            if used[m] >= probe.uses:
                continue
            if depth == 0:
                known = min(self.keep, self.end)
                revealed = np.where(failed > 0.0, known * np.where(failed > 0.0, failed, 1.0), 0.0)
                best = np.minimum(best, probe.cost * mass + revealed)
                continue
            more = (*used[:m], used[m] + 1, *used[m + 1 :])
            pairs = zip(probe.right, probe.wrong, strict=True)
            after = [self.value(holds * right, failed * wrong, more, depth - 1) for right, wrong in pairs]
            best = np.minimum(best, probe.cost * mass + np.sum(after, axis=0))
        return np.asarray(best)


def one_by_one_bound(state: InformationState) -> float:
    """Return a lower bound from beliefs one by one, each decided by someone who knows what is true of all the others.

    Where the losses of an ending add up over beliefs, and every probe tells of one belief alone, the sum splits: belief
    i pays for its own probes, and for being corrected or left. With all other beliefs known, their probes say nothing
    more, and what is left is a small problem with one unknown, Z_i, whose probability follows from the others. To know
    them free of charge never makes the best loss larger. So the sum of these optima, each averaged over what may be
    true of the others, is at most the optimum. An ending that costs the same whatever is true (restarting, say) is
    shared out among the beliefs: each may take its part of it by itself.

    It is near the optimum where what is true of one belief says little of the others, and where no work is shared.

    The bound is 0 where it does not apply.
    """
    problem, endings = state.problem, endings_of(state.problem)
    others, losses, groups = endings.others, endings.losses, endings.groups
    if not (endings.plain and problem.corrections) or others.varying or others.last_resorts:
        return 0.0
    failed = problem.failed[:, losses.beliefs] > 0.0
    asked = _by_belief(state, failed)
    apart = [*zip(groups.solo.tolist(), groups.solo_cost.tolist(), strict=True)]
    apart += [(int(i), math.inf) for i in groups.stuck]
    if asked is None or not apart or failed.size * len(apart) > MOST_TRUTHS:
        return 0.0
    residual = np.where(losses.hard, math.inf, losses.residual)
    total = 0.0
    for i, cost in apart:
        own = _Alone(float(residual[i]), min(cost, others.flat / len(apart)), asked.get(i, ()))
        total += _knowing_the_others(state.posterior, failed, i, own)
    return total


def _knowing_the_others(posterior: Floats, failed: Bools, i: int, own: _Alone) -> float:
    """Return what a belief costs by itself at least, averaged over what may be true of the others."""
    others = np.where(np.arange(failed.shape[1]) == i, 0.0, failed)  # its own column tells nothing here
    truths, _ = labels_of(others)
    holds = np.bincount(truths, weights=np.where(failed[:, i], 0.0, posterior)).astype(float)
    wrong = np.bincount(truths, weights=np.where(failed[:, i], posterior, 0.0)).astype(float)
    possible = holds + wrong > 0.0
    answers, depth = sum(len(probe.right) for probe in own.probes), 0
    while depth < MOST_DEPTH and possible.sum() * float(answers) ** (depth + 1) <= MOST_NUMBERS:
        depth += 1
    return float(own.value(holds[possible], wrong[possible], (0,) * len(own.probes), depth).sum())


def _by_belief(state: InformationState, failed: Bools) -> dict[int, list[_Asked]] | None:
    """Return the legal probes by the belief that each tells of; None where one tells of more than one."""
    possible, found = state.posterior > 0.0, dict[int, list[_Asked]]()
    for view in state.legal:
        check_deadline()
        if not isinstance(view.channel, Outcomes):
            return None
        label, first = labels_of(view.channel.table[possible])
        if len(first) == 1:
            continue  # it tells nothing, and nobody pays for that
        alike = failed[possible] == (label == 1)[:, None]
        of = np.flatnonzero(alike.all(axis=0) | ~alike.any(axis=0))
        if len(first) > 2 or not len(of):
            return None
        table, wrong = view.channel.table[possible], failed[possible, of[0]]
        asked = _Asked(view.cost, view.uses_left, table[~wrong][0], table[wrong][0])
        found.setdefault(int(of[0]), []).append(asked)
    return found
