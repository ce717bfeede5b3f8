"""Every way of ending a recovery, in one list and at one price (V_stop, Eq. 5 of the paper).

An ending is a correction set, a plan of the problem's own, a restart, an escalation, or a last resort. Correcting
belief i undoes its closure, each operation charged once, and leaves its residual times r_i, the probability that the
newly declared value is wrong too; keeping it leaves its residual times q_i. So the sets are compared by

    V(x) = min over S of   cost(D(S)) + Σ_{i ∉ S} keep_i(x) + Σ_{i ∈ S} correct_i(x),

with keep_i = L_i q_i and correct_i = L_i r_i, or infinity where the rules of support bar it. Whatever a set undoes, a
belief covered by it pays the cheaper of the two, so only the savings keep_i − min(keep_i, correct_i) compete with the
costs. Beliefs fall into groups that share no operation; a group's distinct closures are listed, or, where they are too
many, a minimum cut finds the best of them.

Everything above is linear in the weights of the hypotheses, so it is computed for many observation branches at once,
from sums of their weights against a table of `features`. What is best, what something costs, and the list of all
endings are made from these features alone.

A worked example: the level is declared as 18 (residual 10, tolerance 3), undoing what rests on it costs 2, a restart
costs 5. Three hypotheses: nothing happened (0.4), 40 g are in the cup (0.5), 42 g are (0.1). The features are

    mass    level kept    level = 40    level = 42    (a restart costs the same whatever is true, and has none)
    1       0             10            10
    1       10            0             0
    1       10            0             0

and their sums with the posterior 1, 6, 4, 4. So keeping costs 6, correcting 2 + 4 with either value, restarting 5: that
is V_stop. After a weighing that rules out "nothing happened" the sums are 1, 10, 0, 0: correct it, at 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aquamend.arrays import Bools, Floats, Indices, distinct
from aquamend.belief.support import Support, support_of
from aquamend.caching import computed_once
from aquamend.deadline import check_deadline
from aquamend.decision.belief_losses import BeliefLosses, belief_losses
from aquamend.decision.closures import Groups, grouped
from aquamend.decision.other_endings import Columns, OtherEndings, other_endings
from aquamend.problem import Problem

TIE = 1e-9
"""Losses closer than this are equal: the smaller correction set wins, then the order of the graph."""
ROWS_AT_ONCE = 2048
"""Branches priced at once: a few megabytes, which stay in cache."""
FEW_CLOSURES, CUTS = 1024, 32_768
"""Closures up to which that holds, and how many a minimum cut counts as."""


@dataclass(frozen=True, eq=False)
class BeliefPrices:
    """What keeping and correcting each priced belief costs in each branch; rows are beliefs, columns branches."""

    keep: Floats
    correct: Floats
    new: Floats
    """Loss of declaring each new value, ``(n_values, n_branches)``; infinite where it may not be."""
    barred: Bools
    """Which options that need support may not be taken, ``(n_options, n_branches)``."""

    @cached_property
    def base(self) -> Floats:
        """What each belief costs at least."""
        return np.minimum(self.keep, self.correct)

    @cached_property
    def gain(self) -> Floats:
        """What not covering it costs beyond that; nothing where it is hopeless either way."""
        return np.subtract(self.keep, self.base, out=np.zeros_like(self.keep), where=np.isfinite(self.base))

    def of(self, branch: int) -> BeliefPrices:
        """Return those of one branch."""
        own = slice(branch, branch + 1)
        return BeliefPrices(self.keep[:, own], self.correct[:, own], self.new[:, own], self.barred[:, own])


@dataclass(frozen=True, eq=False)
class Slopes:
    """V_stop of each branch as a linear function of its sums nearby: a cost times its mass, and some of the features.

    Two branches with the same slopes decide at the same price.
    """

    cost: Floats
    """Shape ``(n_branches,)``; infinite where nothing is admissible."""
    paid: Bools
    """Shape ``(n_features, n_branches)``; which features are paid, the mass aside."""

    def change(self) -> Bools:
        """Return between which neighbouring branches they differ, ``(n_branches - 1,)``."""
        return np.asarray((self.paid[:, 1:] != self.paid[:, :-1]).any(axis=0) | (self.cost[1:] != self.cost[:-1]))

    def as_matrix(self) -> Floats:
        """Return what each feature is multiplied by, ``(n_branches, n_features)``."""
        matrix = self.paid.T.astype(float)
        matrix[:, 0] = self.cost
        return matrix


@dataclass(frozen=True, eq=False)
class Endings:
    """The terminal decisions of a problem, compiled."""

    corrections: bool
    features: Floats
    """Shape ``(n_hypotheses, n_features)``; see `Columns`."""
    columns: Columns
    losses: BeliefLosses
    support: Support
    groups: Groups
    others: OtherEndings

    @cached_property
    def plain(self) -> bool:
        """Whether beliefs cost what their failures cost: no correction may leave anything wrong, none needs support."""
        return not len(self.losses.valued) and not len(self.support)

    @cached_property
    def ruled(self) -> bool:
        """Whether the posterior may forbid an option, by a rule of support or because only the last resort is left."""
        return bool(len(self.support) or self.others.last_resorts)

    @cached_property
    def exact_zeros(self) -> Indices:
        """The features of which it matters whether they are exactly zero: what is improbable must not become so."""
        barred = np.arange(self.columns.barred.start, self.columns.barred.stop)
        endless = self.columns.options.start + np.flatnonzero(self.losses.endless)
        return distinct(np.concatenate([endless, barred, self.support.column]))

    @cached_property
    def margins(self) -> Floats:
        """Shape ``(n_hypotheses, n_margins)``; how far each condition of support is from being broken, each one once.

        From one half itself: where one condition breaks, its opposite mends, and no reading lies between the two.
        """
        options = self.features[:, self.support.column] / self.support.weight
        distance = np.hstack([options, self.features[:, self.support.sources]]) - 0.5
        distance = distance * np.where(distance[:1] < 0.0, -1.0, 1.0)  # opposites change at the same readings
        first: dict[bytes, int] = {}
        for k, column in enumerate(np.ascontiguousarray(distance.T)):
            first.setdefault(column.tobytes(), k)
        return distance[:, [*first.values()]]

    def by_belief(self, sums: Floats, speaks: Bools, *, relaxed: bool = False, overwrite: bool = False) -> BeliefPrices:
        """Return the losses of keeping and of correcting each priced belief in each branch.

        ``speaks``, whose last axis is the pairs of `support`, says who speaks for what; ``relaxed`` leaves out all
        other conditions of support; ``overwrite`` lets the sums be used up.
        """
        by_column = np.ascontiguousarray(sums.T) if overwrite else sums.T.copy()
        options = self.losses.priced(by_column[self.columns.options])
        at, barred = self.support.column - self.columns.options.start, np.zeros((0, len(sums)), dtype=bool)
        if len(at):
            barred = self.support.barred(sums, speaks, relaxed=relaxed)
            options[at] = np.where(barred, math.inf, options[at])
        keep, new = np.split(options, [len(self.losses.beliefs)])
        correct = np.zeros_like(keep)
        correct[self.losses.valued] = self.losses.least(new)
        return BeliefPrices(keep, correct, new, barred)

    def priced_values(self, sums: Floats, keep: Floats, correct: Floats) -> Floats:
        """Return the least loss of every branch if keeping and correcting beliefs cost so much, ``(n_branches,)``.

        Both prices are ``(n_priced, n_branches)``, joint with the branch as the sums are. Last resorts are admitted.
        """
        check_deadline()
        value = np.full(len(sums), math.inf)
        if self.corrections:
            local = BeliefPrices(keep, correct, np.zeros((0, len(sums))), np.zeros((0, len(sums)), dtype=bool))
            value = np.asarray(local.base.sum(axis=0) + self._covering_values(sums[:, 0], local.gain))
        for last in (False, True):
            value = np.minimum(value, self.others.least(sums, self.columns, last=last))
        return np.where(sums[:, 0] > 0.0, value, 0.0)

    def values(self, sums: Floats, speaks: Bools, *, relaxed: bool = False) -> Floats:
        """Return V_stop of every branch times the branch's weight, shape ``(n_branches,)``.

        ``sums`` are the branch weights (unnormalised) times ``features``; ``speaks`` says who speaks for what, for all
        branches or row by row. ``relaxed`` leaves out the other conditions of support and admits last resorts
        everywhere: never more, and concave in the weights. Whoever prices few branches again and again looks at the
        deadline meanwhile.
        """
        if len(sums) > 2 * self._at_once:
            shared, parts = speaks.ndim == 1, []
            for low in range(0, len(sums), self._at_once):
                check_deadline()
                own = slice(low, low + self._at_once)
                parts.append(self.values(sums[own], speaks if shared else speaks[own], relaxed=relaxed))
            return np.concatenate(parts)
        value = np.full(len(sums), math.inf)
        if self.corrections:
            value = self._correction_values(sums, speaks, relaxed)
        if self.others.usual:
            value = np.minimum(value, self.others.least(sums, self.columns))
        if self.others.last_resorts:
            last = self.others.least(sums, self.columns, last=True)
            value = np.where(np.isinf(value) | relaxed, np.minimum(value, last), value)
        return value if self.plain else np.where(sums[:, 0] > 0.0, value, 0.0)

    @cached_property
    def _at_once(self) -> int:
        """How many branches are priced at once: fewer where each has many closures or needs a cut."""
        most = max([1, *(len(group.cost) for group in self.groups.listed)])
        return max(
            ROWS_AT_ONCE // 32, ROWS_AT_ONCE * FEW_CLOSURES // max(FEW_CLOSURES, most, CUTS * len(self.groups.cuts))
        )

    def _correction_values(self, sums: Floats, speaks: Bools, relaxed: bool) -> Floats:
        """Return each branch's least loss over all correction sets, shape ``(n_branches,)``."""
        if self.plain:
            return self._covering_values(sums[:, 0], self.losses.priced(sums.T[self.columns.options]))
        local = self.by_belief(sums, speaks, relaxed=relaxed)
        return np.asarray(local.base.sum(axis=0) + self._covering_values(sums[:, 0], local.gain))

    def _covering_values(self, mass: Floats, gain: Floats) -> Floats:
        """Return each branch's least cost of covering beliefs and losses of not covering the others."""
        groups = self.groups
        value = np.minimum(gain[groups.solo], groups.solo_cost[:, None] * mass).sum(axis=0)
        if len(groups.stuck):
            value = value + gain[groups.stuck].sum(axis=0)
        for group in groups.listed:
            value = value + group.losses(mass, gain).min(axis=0)
        scale = np.where(mass > 0, mass, 1.0)
        for cut in groups.cuts:
            value = value + cut.best(gain[cut.members] / scale)[0] * scale
        return np.asarray(value)

    def slopes(self, sums: Floats, speaks: Bools) -> Slopes:
        """Return V_stop of every branch as a linear function of the sums nearby; the sums are used up."""
        check_deadline()
        mass, columns = sums[:, 0], self.columns
        cost, paid = np.zeros(len(sums)), np.zeros(sums.T.shape, dtype=bool)
        losses = [*self.others.usual_losses(sums, columns).T]
        if self.corrections:
            local = self.by_belief(sums, speaks, overwrite=True)
            losses.insert(0, self._correction_slopes(cost, paid, local, mass))
        winner, hopeless = np.argmin(losses, axis=0), np.isinf(np.min(losses, axis=0))
        corrected = (winner == 0) & ~hopeless & self.corrections
        paid &= corrected
        self._other_slopes(cost, paid, np.where(corrected | hopeless, -1, winner - self.corrections), last=False)
        cost[hopeless] = math.inf
        if self.others.last_resorts and hopeless.any():
            last = self.others.last_losses(sums, columns)
            best = np.where(hopeless & np.isfinite(last.min(axis=1)), last.argmin(axis=1), -1)
            self._other_slopes(cost, paid, best, last=True)
        return Slopes(cost, paid)

    def _other_slopes(self, cost: Floats, paid: Bools, which: Indices, *, last: bool) -> None:
        """Write the slopes of plans, restart and escalation where one of them is taken; -1 where none is."""
        start = self.columns.plans.start + (self.others.n_usual if last else 0)
        n = len(self.others.varying) - self.others.n_usual if last else self.others.n_usual
        flat = self.others.last_flat if last else self.others.flat
        cost[which >= 0] = np.where(which[which >= 0] == n, flat, 0.0)
        rows = np.flatnonzero((which >= 0) & (which < n))
        paid[start + which[rows], rows] = True

    def _correction_slopes(self, cost: Floats, paid: Bools, local: BeliefPrices, mass: Floats) -> Floats:
        """Write the slopes of the best correction set, its cost and the losses that it leaves; return its loss."""
        groups, gain, own = self.groups, local.gain, self.losses
        covered = np.zeros((len(own.beliefs), len(mass)), dtype=bool)
        covered[groups.solo] = gain[groups.solo] > groups.solo_cost[:, None] * mass
        cost += groups.solo_cost @ covered[groups.solo]
        for group in groups.listed:
            best = group.losses(mass, gain).argmin(axis=0)
            covered[group.members] = mine = group.worthwhile(best, mass, gain)
            cost += group.cost[best] + group.own @ mine
        scale = np.where(mass > 0, mass, 1.0)
        for cut in groups.cuts:
            least, covered[cut.members] = cut.best(gain[cut.members] / scale)
            cost += least - np.where(covered[cut.members], 0.0, gain[cut.members]).sum(axis=0) / scale
        corrected = covered & (local.correct < local.keep)
        paid[self.columns.kept] = ~corrected & ((own.residual > 0) & ~own.hard)[:, None]
        for i, belief in enumerate(own.valued):
            if own.residual[belief] > 0.0 and corrected[belief].any():
                new = local.new[own.values_of(i)]
                rows = np.flatnonzero(corrected[belief])
                paid[self.columns.new.start + own.first[i] + new[:, rows].argmin(axis=0), rows] = True
        return np.asarray(mass * cost + np.where(covered, local.base, local.keep).sum(axis=0))

    def clairvoyant(self, speaks: Bools) -> Floats:
        """Return a lower bound on min_u ℓ(u, s), shape ``(n_hypotheses,)``; the other rules of support are left out.

        Exact without them.
        """
        return self.values(self.features, speaks, relaxed=True)


ROWS = 65_536
"""Hypotheses whose features are made at once."""


@computed_once
def endings_of(problem: Problem) -> Endings:
    """Return the problem's terminal decisions, compiled."""
    return _compiled(problem, problem.failed, worst=False)


@computed_once
def worst_case_endings(problem: Problem) -> Endings:
    """Return them for a problem of which nothing is known any more: whatever is said has failed."""
    return _compiled(problem, np.ones_like(problem.failed), worst=True)


def _compiled(problem: Problem, failed: Floats, *, worst: bool) -> Endings:
    losses, others, graph = (
        belief_losses(problem, failed, worst=worst),
        other_endings(problem, worst=worst),
        problem.graph,
    )
    needing = [i for i, b in enumerate(losses.beliefs) if graph.beliefs[b].needs_support]
    sources = [p.source for p in graph.probes if p.source is not None] if needing else []
    sources = list(dict.fromkeys(sources))
    plans = np.array([ending.loss for ending in others.varying]).reshape(len(others.varying), len(failed)).T
    columns = Columns.of(
        len(losses.beliefs), len(losses.values), len(sources), len(others.varying), len(others.barring)
    )
    new = [(value.wrong, losses.weight[i]) for value, i in zip(losses.values, losses.owner, strict=True)]
    own_sources = [graph.belief_index[name] for name in sources]
    features = np.empty((len(failed), columns.barred.stop))
    for start in range(0, len(failed), ROWS):  # in pieces, so that no second table of this size is ever held
        rows = slice(start, start + ROWS)
        features[rows] = np.hstack([
            np.ones((len(failed[rows]), 1)),
            failed[rows][:, losses.beliefs] * losses.weight,
            np.array([wrong[rows] * weight for wrong, weight in new]).reshape(len(new), len(failed[rows])).T,
            failed[rows][:, own_sources],
            np.where(np.isinf(plans[rows]), 0.0, plans[rows]),
            np.isinf(plans[rows])[:, others.barring],
        ])  # fmt: skip
    options = [
        (int(losses.beliefs[i]), columns.kept.start + i, losses.weight[i], failed[:, losses.beliefs[i]])
        for i in needing
    ]
    options += [
        (value.belief, columns.new.start + k, losses.weight[i], value.if_undone)
        for k, (value, i) in enumerate(zip(losses.values, losses.owner, strict=True))
        if i in needing and value.value is not None
    ]
    return Endings(
        corrections=problem.corrections,
        features=features,
        columns=columns,
        losses=losses,
        support=support_of(problem, options, {name: columns.sources.start + k for k, name in enumerate(sources)}),
        groups=grouped(graph, losses.beliefs),
        others=others,
    )
