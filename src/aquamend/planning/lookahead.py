"""The value of planning a fixed number of probes ahead, where the evidence lattice is too large to tabulate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aquamend.arrays import Bools, Floats, Indices
from aquamend.belief import InformationState, joint
from aquamend.belief.state import BUDGET_TOLERANCE
from aquamend.belief.support import spoken, spoken_by
from aquamend.deadline import check_deadline
from aquamend.decision.branches import branches_of, planning_likelihood
from aquamend.decision.endings import Endings, endings_of
from aquamend.errors import TooLarge
from aquamend.planning.bounds import informed_losses

MOST_WORK = 3e9
"""Joint weights a lookahead may compute in all: about a minute."""

MOST_WEIGHTS = 4_000_000
"""Joint weights (branches times hypotheses) held at once; larger batches are worked through in pieces."""

NEGLIGIBLE = 1e-13
"""A branch in which further probes could save no more of the expected loss than this is taken to stop."""


Said = dict[int, Floats]
"""By probe, the likelihood of all it has said on the way to each row, ``(n_rows, n_hypotheses)``; kept where beliefs
need support."""


@dataclass(frozen=True, eq=False)
class _Lookahead:
    state: InformationState
    endings: Endings
    likelihood: tuple[Floats, ...]
    """One ``(n_outcomes, n_hypotheses)`` for each probe."""
    speaking: tuple[Bools, ...]
    """Which of each probe's pairs of support speak after each of its answers, ``(n_outcomes, n_pairs_of_probe)``."""
    informed: Floats
    """What each hypothesis costs at least, however much is found out, ``(n_hypotheses,)``."""

    def value(
        self, weights: Floats, used: tuple[int, ...], spent: float, depth: int, speaks: Bools, said: Said
    ) -> Floats:
        """Return the joint value of every row of weights with ``depth`` probes to go, shape ``(n_rows,)``.

        ``speaks`` says who speaks for what in every row, ``(n_rows, n_pairs)``.
        """
        check_deadline()
        sums = weights @ self.endings.features
        best = self.endings.values(sums, speaks)
        if depth == 0:
            return best
        least, mass = weights @ self.informed, sums[:, 0]
        for probe, view in enumerate(self.state.legal):
            # Where knowing everything would save no more than the probe costs, it cannot be the better choice.
            open_ = np.flatnonzero(best - least > mass * view.cost + NEGLIGIBLE)
            if len(open_):
                heard = {m: likelihood[open_] for m, likelihood in said.items()}
                loss = self.probe_loss(weights[open_], mass[open_], used, spent, depth, probe, speaks[open_], heard)
                best[open_] = np.minimum(best[open_], loss)
        return best

    def probe_loss(
        self,
        weights: Floats,
        mass: Floats,
        used: tuple[int, ...],
        spent: float,
        depth: int,
        probe: int,
        speaks: Bools,
        said: Said,
    ) -> Floats:
        """Return the joint loss of running one probe first, shape ``(n_rows,)``; infinite where it is not legal."""
        view, budget = self.state.legal[probe], self.state.problem.sensing_budget + BUDGET_TOLERANCE
        if used[probe] >= view.uses_left or spent + view.cost > budget:
            return np.full(len(weights), math.inf)
        rows = self.likelihood[probe]
        n_outcomes, n_hypotheses = rows.shape
        piece = max(1, MOST_WEIGHTS // (n_outcomes * n_hypotheses))
        grown = (*used[:probe], used[probe] + 1, *used[probe + 1 :])
        after = []
        for low in range(0, len(weights), piece):
            own = slice(low, low + piece)
            masses = joint(weights[own][:, None, :], rows[None, :, :]).reshape(-1, n_hypotheses)
            alive = np.flatnonzero(masses.any(axis=1))
            row, answer = low + alive // n_outcomes, alive % n_outcomes
            loss = np.zeros(len(masses))
            heard = self._heard(speaks, said, row, probe, answer, depth)
            loss[alive] = self.value(masses[alive], grown, spent + view.cost, depth - 1, *heard)
            after.append(loss)
        return np.asarray(mass * view.cost + np.concatenate(after).reshape(len(weights), n_outcomes).sum(axis=1))

    def _heard(
        self, speaks: Bools, said: Said, row: Indices, probe: int, answer: Indices, depth: int
    ) -> tuple[Bools, Said]:
        """Return who speaks and what has been said once a probe has given some answers in some rows."""
        support = self.endings.support
        if not len(support):
            return speaks[row], {}
        index, speaks = self.state.legal[probe].index, speaks[row]
        if probe in said:
            likelihood = said[probe][row] * self.likelihood[probe][answer]
            speaks[:, support.pairs_of(index)] = spoken_by(support, self.state, index, likelihood)
        else:
            speaks[:, support.pairs_of(index)] = self.speaking[probe][answer]
        if depth == 1:  # nobody will be asked again
            return speaks, {}
        heard = {m: likelihood[row] for m, likelihood in said.items()}
        heard[probe] = self.likelihood[probe][answer] * heard.get(probe, 1.0)
        return speaks, heard


def lookahead_losses(state: InformationState, depth: int) -> Floats:
    """Return the expected loss of running each legal probe first and planning ``depth`` probes in all.

    Shape ``(n_legal,)``. Readings that are numbers are cut into intervals: the plan may use which interval a reading
    falls in, so its value is that of a policy that can be followed, and at worst a little above the true one.
    """
    views = state.legal
    depth = int(min(depth, math.fsum(view.uses_left for view in views)))
    rows = [
        branches_of(state, [view.name]).likelihood if depth == 1 else planning_likelihood(state, view) for view in views
    ]
    work = float(sum(len(r) for r in rows)) ** depth * len(state.posterior) if depth < 100 else math.inf
    if work > MOST_WORK:
        raise TooLarge(
            f"planning {depth} probes ahead means about {work:.0e} weights to compute, more than {MOST_WORK:.0e}; "
            "plan fewer probes ahead, or use exact, which has a deadline"
        )
    endings = endings_of(state.problem)
    speaking = [spoken_by(endings.support, state, view.index, own) for view, own in zip(views, rows, strict=True)]
    search = _Lookahead(state, endings, tuple(rows), tuple(speaking), informed_losses(state))
    weights, used, speaks = state.posterior[None, :], (0,) * len(views), spoken(endings.support, state)[None, :]
    losses = [
        search.probe_loss(weights, np.ones(1), used, state.spent, depth, m, speaks, {}) for m in range(len(views))
    ]
    return np.array([loss[0] for loss in losses])
