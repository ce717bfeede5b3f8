"""A recovery problem as a partially observable Markov decision process with finitely many states.

A state is a hypothesis together with how often each probe that can run out has been used; one more state means that
the recovery has ended. The sensing budget needs no state of its own: the uses say what has been spent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.gaussian import interval_likelihood
from aquamend.errors import AquaMendError, TooLarge
from aquamend.explanation.pomdp_endings import Ending, endings
from aquamend.graph import Probe
from aquamend.inference import InformationState
from aquamend.inference.state import BUDGET_TOLERANCE
from aquamend.model.kernels import NormalTable, OutcomeTable
from aquamend.planning.quantisation import planning_cuts

MOST_ENTRIES = 500_000
"""Entries of the transition, observation and reward tables, together; about as many lines of text."""

LARGEST_PENALTY = 1e6
"""How often the largest finite loss goes into what is written for an infinite one, at most, but for rounding up.

More would drown the digits that a solver computes with.
"""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ProbeAction:
    """A probe with finitely many answers."""

    probe: Probe
    answers: tuple[str, ...] | None
    """Names of the outcomes; None where they are the intervals between the cuts."""
    cuts: Floats
    """Readings at which a Gaussian probe's intervals meet, sorted."""
    likelihood: Floats
    """Shape ``(n_possible, n_answers)``; rows sum to one."""


@dataclass(frozen=True, eq=False)
class Pomdp:
    """States, actions, observations and losses; `done` and the observation `nothing` are understood."""

    name: str
    unit: str
    hypotheses: tuple[str, ...]
    """The possible ones."""
    start: Floats
    """Shape ``(n_possible,)``; the posterior the recovery starts from."""
    probes: tuple[ProbeAction, ...]
    endings: tuple[Ending, ...]
    uses: tuple[tuple[int, ...], ...]
    """Every reachable count of uses, one number for each probe; always 0 for a probe that cannot run out."""
    after: NDArray[np.intp]
    """Shape ``(n_uses, n_probes)``; position of the uses after a probe has run, -1 where it may not."""
    ceiling: float
    """Most that a recovery without an infinite loss can cost, endless probes aside; an optimum above reads infinity."""
    penalty: float | None
    """What is written for an infinite loss; None where all are finite."""
    penalty_is_exact: bool
    """Whether the penalty is large enough never to be risked, so that the optimum is unchanged."""

    @property
    def most_probes(self) -> float:
        """Most probes that can run in one recovery; infinite where one of them never runs out."""
        return math.inf if math.inf in self.most_uses else max(map(sum, self.uses))

    @property
    def most_uses(self) -> tuple[float, ...]:
        """How often each probe can run at most."""
        endless = (self.after == np.arange(len(self.uses))[:, None]).any(axis=0)
        return tuple(
            math.inf if never_ends else max(uses[p] for uses in self.uses) for p, never_ends in enumerate(endless)
        )

    def ending_losses(self) -> Floats:
        """Return what each ending costs by hypothesis, ``(n_possible, n_endings)``; the penalty for infinity."""
        losses = np.column_stack([ending.loss for ending in self.endings])
        return np.asarray(np.where(np.isinf(losses), self.penalty or 0.0, losses))

    def illegal_losses(self) -> Floats:
        """Return what asking for a probe that may not run costs, ``(n_possible, n_probes)``.

        It ends the recovery at the probe's cost and the dearest decision's loss, so no decision is worse. Letting it
        wait instead would make waiting for ever the best plan where the probe is free.
        """
        cost = np.array([action.probe.cost for action in self.probes])
        return np.asarray(self.ending_losses().max(axis=1)[:, None] + cost[None, :])


def pomdp_of(state: InformationState) -> Pomdp:
    """Return the decision problem that is left at a state.

    Probes that tell nothing about the possible hypotheses or cannot be afforded are left out: no plan needs them. A
    Gaussian probe's readings are cut into the intervals that plans use, which is knowing less, so the optimum may be a
    little above the problem's own, never below.
    """
    if state.contradiction is not None:
        raise AquaMendError("the evidence contradicts the model, so there is no posterior to start from; leave it out")
    problem, possible = state.problem, state.posterior > 0.0
    probes, found = _probe_actions(state, possible), endings(problem, possible)
    n_answers = sum(action.likelihood.shape[1] for action in probes)
    entries = int(possible.sum()) * (2 * len(probes) + n_answers + len(found))
    uses, after = _reachable_uses(state, probes, entries)
    bare = Pomdp(
        name=problem.name,
        unit=problem.unit,
        hypotheses=tuple(h.name for h, may in zip(problem.model.hypotheses, possible, strict=True) if may),
        start=state.posterior[possible],
        probes=probes,
        endings=found,
        uses=uses,
        after=after,
        ceiling=_ceiling(probes, found, uses),
        penalty=None,
        penalty_is_exact=True,
    )
    return _with_penalty(bare)


def _probe_actions(state: InformationState, possible: NDArray[np.bool_]) -> tuple[ProbeAction, ...]:
    """Return the legal probes that tell something as actions."""
    found = tuple(action for name in state.legal_probes if (action := _probe_action(state, name, possible)))
    for probe in (action.probe for action in found):
        if probe.cost == 0.0 and math.isinf(probe.max_uses):
            raise AquaMendError(
                f"probe {probe.name!r} is free and may run without end, so in a POMDP never deciding would cost "
                "nothing; give it a cost or max_uses"
            )
    return found


def _probe_action(state: InformationState, name: str, possible: NDArray[np.bool_]) -> ProbeAction | None:
    """Return a probe as an action; None if it tells nothing."""
    graph = state.problem.graph
    probe = graph.probes[graph.probe_index[name]]
    match state.problem.model.tables[name]:
        case OutcomeTable() as table:
            happens = np.asarray(table.likelihood[possible].any(axis=0))
            answers = tuple(o for o, may in zip(table.outcomes, happens, strict=True) if may)
            action = ProbeAction(probe, answers, np.zeros(0), table.likelihood[np.ix_(possible, happens)])
        case NormalTable() as table:
            cuts = planning_cuts(state, table)
            action = ProbeAction(probe, None, cuts, interval_likelihood(table, cuts)[possible])
    tells = bool((action.likelihood != action.likelihood[0]).any())
    return action if tells else None


def _reachable_uses(
    state: InformationState, probes: Sequence[ProbeAction], entries: int
) -> tuple[tuple[tuple[int, ...], ...], NDArray[np.intp]]:
    """Return every count of uses that legal probing can reach, and where each probe leads from there."""
    left = [action.probe.max_uses - state.uses.get(action.probe.name, 0) for action in probes]
    budget = state.problem.sensing_budget
    counted = [
        math.isfinite(n) or (math.isfinite(budget) and a.probe.cost > 0) for n, a in zip(left, probes, strict=True)
    ]
    position = {(0,) * len(probes): 0}
    queue, after = list(position), []
    for uses in queue:  # grows while it is walked
        if len(queue) * entries > MOST_ENTRIES:
            raise TooLarge(
                f"the POMDP has over {len(queue)} combinations of uses, each with {entries} entries for its states and "
                f"actions; {MOST_ENTRIES} are written at most: lower max_uses or the sensing budget, or remove probes"
            )
        spent = math.fsum([state.spent, *(a.probe.cost for n, a in zip(uses, probes, strict=True) for _ in range(n))])
        row = []
        for p, action in enumerate(probes):
            if uses[p] >= left[p] or action.probe.cost > budget + BUDGET_TOLERANCE - spent:
                row.append(-1)
                continue
            following = (*uses[:p], uses[p] + counted[p], *uses[p + 1 :])
            if following not in position:
                position[following] = len(position)
                queue.append(following)
            row.append(position[following])
        after.append(row)
    return tuple(queue), np.array(after, dtype=np.intp).reshape(len(queue), len(probes))


def _ceiling(probes: Sequence[ProbeAction], found: Sequence[Ending], uses: Sequence[Sequence[int]]) -> float:
    cost = [action.probe.cost for action in probes]
    sensing = max(math.fsum(n * c for n, c in zip(counts, cost, strict=True)) for counts in uses)
    losses = np.concatenate([ending.loss for ending in found])
    return sensing + float(losses[np.isfinite(losses)].max(initial=0.0))


def _with_penalty(bare: Pomdp) -> Pomdp:
    """Return the process with a number for its infinite losses, if it has any.

    A plan that risks an infinite loss does so with at least the probability of a hypothesis that brings it together
    with that hypothesis's rarest evidence. A penalty of more than the ceiling over that is never worth risking.
    """
    barring = np.any([np.isinf(ending.loss) for ending in bare.endings], axis=0)
    if not barring.any():
        return bare
    rarest = np.log10(bare.start)
    for action, uses in zip(bare.probes, bare.most_uses, strict=True):
        smallest = np.where(action.likelihood > 0, action.likelihood, 1.0).min(axis=1)
        uncertain = smallest < 1.0
        rarest[uncertain] += uses * np.log10(smallest[uncertain])
    needed = -float(rarest[barring].min())
    scale = math.log10(2.0 * bare.ceiling) if bare.ceiling > 0 else 0.0
    exact = needed <= math.log10(LARGEST_PENALTY)
    penalty = 10.0 ** math.ceil(scale + min(needed, math.log10(LARGEST_PENALTY)))
    return replace(bare, penalty=penalty, penalty_is_exact=exact)
