"""A lower bound from beliefs one by one, each decided by someone who knows what is true of all the others.

Where the losses of an ending add up over beliefs, and every probe tells of one belief alone, the sum splits: belief i
pays for its own probes, and for being corrected or left. With all other beliefs known, their probes say nothing more,
and what is left is a small problem with one unknown, Z_i, whose probability follows from the others. To know them free
of charge never makes the best loss larger. So the sum of these optima, each averaged over what may be true of the
others, is at most the optimum. An ending that costs the same whatever is true (restarting, say) is shared out among the
beliefs: each may take its part of it by itself.

It is near the optimum where what is true of one belief says little of the others, and where no work is shared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aquamend.arrays import Bools, Floats
from aquamend.belief import InformationState, ProbeView
from aquamend.deadline import check_deadline
from aquamend.decision.endings import endings_of
from aquamend.problem.model.kernels import Outcomes
from aquamend.problem.model.kernels.kernel import labels_of

MOST_TRUTHS = 3e7
"""Hypotheses times beliefs, for each belief: some seconds."""
MOST_DEPTH = 6
MOST_NUMBERS = 1e6
"""How many probes are looked ahead for one belief, and numbers that this may take; one more then reveals the truth."""


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
    """Return the bound, or 0 where it does not apply."""
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
        found.setdefault(int(of[0]), []).append(_asked(view, view.channel.table[possible], failed[possible, of[0]]))
    return found


def _asked(view: ProbeView, table: Floats, failed: Bools) -> _Asked:
    return _Asked(view.cost, view.uses_left, table[~failed][0], table[failed][0])
