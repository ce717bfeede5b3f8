"""Every way of ending a recovery, in one list and at one price (V_stop, Eq. 5 of the paper).

An ending is a correction set, a plan of the problem's own, a restart, an escalation, or a last resort. Correcting
belief i undoes its closure, each operation charged once, and leaves its residual times r_i, the probability that the
newly declared value is wrong too; keeping it leaves its residual times q_i. So the sets are compared by

    V(x) = min over S of   cost(D(S)) + Σ_{i ∉ S} keep_i(x) + Σ_{i ∈ S} correct_i(x),

with keep_i = L_i q_i and correct_i = L_i r_i, or infinity where support does not allow it. Whatever a set undoes, a
belief covered by it pays the cheaper of the two, so only the savings keep_i − min(keep_i, correct_i) compete with the
costs. Beliefs fall into groups that share no operation; a group's distinct closures are listed, or, where they are too
many, a minimum cut finds the best of them. All is computed for many observation branches at once, from sums of the
branch weights against ``features``: every quantity above is linear in them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.closures import Groups, grouped
from aquamend.decision.steps import Decision, Escalate, Restart, RollBack
from aquamend.graph import RecoveryGraph
from aquamend.graph.recovery_graph import unions
from aquamend.inference.state import REJECT_AT
from aquamend.problem import NewValue, Problem
from aquamend.remembering import remembered

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]

TIE = 1e-9
"""Losses closer than this are equal: the smaller correction set wins, then the order of the graph."""
NEGLIGIBLE = 1e-100
"""A residual below this costs nothing: times a small probability it would be lost in rounding anyway."""
ROWS_AT_ONCE = 2048
"""Branches priced at once: a few megabytes, which stay in cache."""


@dataclass(frozen=True, eq=False)
class Ending:
    """One terminal decision as a linear function of the posterior, and the conditions under which it is admissible."""

    decision: Decision
    loss: Floats
    """ℓ(u, s), shape ``(n_hypotheses,)``; infinite where inadmissible."""
    support: tuple[Floats, ...] = ()
    """Clauses, each ``(n_choices, n_hypotheses)``: some row c of every clause must have Σ_s p(s) c(s) < ½."""


@dataclass(frozen=True, eq=False)
class _Support:
    """Which priced beliefs need support, and whose evidence gives it; one probe more than there are is never usable."""

    beliefs: Indices
    """Positions among the priced beliefs."""
    probe: Indices
    """Shape ``(n_pairs,)``; probes whose evidence bears on a belief, belief by belief."""
    before: Bools
    """Shape ``(n_pairs,)``; whether it did so before the alarm."""
    first: Indices
    """Shape ``(n_beliefs,)``; where each belief's pairs start."""


@dataclass(frozen=True, eq=False)
class _Rules:
    """What may stand in the way of new values and of evidence, as rows of one table of obstacles.

    The rows: nothing; each probe that has not answered, and nobody; each condition that is broken; each belief that
    lacks support.
    """

    conditions: slice
    lacking: slice
    restricted: Indices
    """The new values that something may bar."""
    bars: Indices
    """Shape ``(3, n_restricted)``; what bars each of them: its probe's silence, its own condition, its support."""
    unusable: Indices
    """Shape ``(2, n_pairs)``; what makes evidence unusable: its probe's silence, its source."""


@dataclass(frozen=True, eq=False)
class Local:
    """What keeping and correcting each priced belief costs in each branch; rows are beliefs, columns branches."""

    keep: Floats
    correct: Floats
    wrong: Floats | None
    """Loss of declaring each new value, ``(n_values, n_branches)``; infinite where it may not be."""

    @cached_property
    def base(self) -> Floats:
        """What each belief costs at least."""
        return np.minimum(self.keep, self.correct)

    @cached_property
    def gain(self) -> Floats:
        """What not covering it costs beyond that; nothing where it is hopeless either way."""
        return np.subtract(self.keep, self.base, out=np.zeros_like(self.keep), where=np.isfinite(self.base))


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

    graph: RecoveryGraph
    corrections: bool
    beliefs: Indices
    """Positions in the graph of the priced beliefs: those whose failure or support matters."""
    weight: Floats
    """Shape ``(n_priced,)``; the residual that the features carry; 1 where that is zero or infinite."""
    hard: Bools
    """Shape ``(n_priced,)``; True where a possible failure may not be kept at any price."""
    residual: Floats
    """Shape ``(n_priced,)``."""
    features: Floats
    """Shape ``(n_hypotheses, n_features)``: a one; each priced belief's failure times its weight; each new value's
    wrongness times that weight; each source's failure; each varying plan's finite loss; where plans are barred."""
    new_values: tuple[NewValue, ...]
    """New values of the priced beliefs whose correction needs support, belief by belief."""
    supported: Indices
    """Positions among the priced beliefs of those, and of those whose undoing may fail."""
    first_value: Indices
    """Where each one's values start."""
    support: _Support
    source: Indices
    """Shape ``(n_probes + 1,)``; which source column tells whether a probe is sound; -1 where none need."""
    n_sources: int
    groups: Groups
    others: tuple[Ending, ...]
    """Plans, restart and escalation, in the order in which ties resolve."""
    last_resorts: tuple[Ending, ...]
    varying: tuple[Ending, ...]
    """Those of the two whose loss depends on the hypothesis, and so has a column."""
    barring: Indices
    """Positions among the varying ones of those that are inadmissible under some hypothesis."""
    flat: float
    """The cheapest of the others that costs the same whatever is true."""

    @cached_property
    def plain(self) -> bool:
        """Whether options depend on the posterior alone: no correction needs a value, no belief needs support."""
        return not len(self.supported) and not len(self.support.beliefs)

    @cached_property
    def ruled(self) -> bool:
        """Whether the posterior may forbid an option, by a rule of support or because only the last resort is left."""
        return bool(len(self.support.beliefs) or self.last_resorts)

    def without_answer(self, probe: int) -> tuple[Indices, Bools]:
        """Return what a robot does best that cannot declare what a probe reads, and where the reading would be better.

        Both have a row for each hypothesis. The first has a column for each belief that the probe reads: which of the
        values that need no reading is wrong least often. The second also says where the probe may be the only support.
        """
        choice, better = [np.zeros(len(self.features), dtype=np.intp)], np.zeros(len(self.features), dtype=bool)
        for a, b in pairwise([*self.first_value.tolist(), len(self.new_values)]):
            read = [value.wrong for value in self.new_values[a:b] if value.probe == probe]
            known = [value.wrong for value in self.new_values[a:b] if value.probe is None]
            if read:
                choice += [np.argmin(known, axis=0)] if known else []
                better |= np.min(read, axis=0) < np.min(known, axis=0, initial=math.inf)
        for a, b in pairwise([*self.support.first.tolist(), len(self.support.probe)]):
            better |= probe in self.support.probe[a:b] and not self.support.before[a:b].any()
        return np.column_stack(choice), better

    @cached_property
    def _columns(self) -> tuple[slice, slice, slice, slice, slice]:
        widths = (len(self.beliefs), len(self.new_values), self.n_sources, len(self.varying), len(self.barring))
        ends = np.cumsum([1, *widths]).tolist()
        return tuple(slice(a, b) for a, b in pairwise(ends))  # type: ignore[return-value]

    @cached_property
    def _owner(self) -> Indices:
        """Shape ``(n_values,)``; position among the priced beliefs of each new value's belief."""
        at = {int(b): i for i, b in enumerate(self.beliefs)}
        return np.array([at[value.belief] for value in self.new_values], dtype=np.intp)

    @cached_property
    def _ruled_values(self) -> Indices:
        """The new values of beliefs that need support; what an assured correction may leave wrong is none."""
        declares = [self.graph.beliefs[value.belief].declares for value in self.new_values]
        return np.flatnonzero(np.isin(self._owner, self.support.beliefs) & np.array(declares, dtype=bool))

    @cached_property
    def _rules(self) -> _Rules:
        needing, ruled, n_probes = self.support.beliefs, self._ruled_values, len(self.source)
        conditions = slice(1 + n_probes, 1 + n_probes + len(self.condition_columns[0]))
        lacking = slice(conditions.stop, conditions.stop + len(needing))
        sources = conditions.start + len(needing)
        unsound = np.where(self.source >= 0, sources + self.source, 0)
        reader = np.array([-1 if value.probe is None else value.probe for value in self.new_values], dtype=np.intp)
        bars = np.zeros((3, len(reader)), dtype=np.intp)
        bars[0] = 1 + reader  # none where nobody need have read it
        bars[1, ruled] = sources + self.n_sources + np.arange(len(ruled))
        belief = np.searchsorted(needing, self._owner[ruled])
        bars[2, ruled] = np.where(reader[ruled] >= 0, unsound[reader[ruled]], lacking.start + belief)
        restricted = np.flatnonzero(bars.any(axis=0))
        unusable = np.array([np.where(self.support.before, 0, 1 + self.support.probe), unsound[self.support.probe]])
        return _Rules(conditions, lacking, restricted, bars[:, restricted], unusable)

    def risks(self, sums: Floats) -> Floats:
        """Return each branch's loss of keeping each priced belief, support aside, shape ``(n_branches, n_priced)``."""
        risk = sums[:, 1 : 1 + len(self.beliefs)]
        return np.asarray(_scaled(risk.T, self.hard, self.residual).T) if self._special else risk

    @cached_property
    def unbearable(self) -> Indices:
        """The features that may not be above zero at any price where their option is taken."""
        kept, wrong, _, _, barred = (own.start for own in self._columns)
        hard, endless = np.flatnonzero(self.hard), np.flatnonzero(np.isinf(self.residual)[self._owner])
        return np.concatenate([kept + hard, wrong + endless, barred + np.arange(len(self.barring))])

    @cached_property
    def _special(self) -> bool:
        """Whether some priced belief costs nothing, or everything."""
        return bool(self.hard.any() or (self.residual <= 0).any())

    def conditions_of(self, sums: Floats) -> Bools:
        """Return which conditions of support each branch breaks, ``(n_conditions, n_branches)``.

        A belief that needs support is rejected; a source is; a value of such a belief is.
        """
        columns, weight = self.condition_columns
        return np.asarray(sums.T[columns] >= (REJECT_AT * weight)[:, None] * sums[:, 0])

    @cached_property
    def condition_columns(self) -> tuple[Indices, Floats]:
        """Which features the conditions of support are about, and the weight that each carries."""
        own, ruled = self.support.beliefs, self._ruled_values
        sources = np.arange(self._columns[2].start, self._columns[2].stop)
        columns = np.concatenate([1 + own, sources, self._columns[1].start + ruled]).astype(np.intp)
        return columns, np.concatenate([self.weight[own], np.ones(self.n_sources), self.weight[self._owner[ruled]]])

    @cached_property
    def margins(self) -> Floats:
        """Shape ``(n_hypotheses, n_margins)``; how far each condition is from being broken, each one once.

        From one half itself: where one condition breaks, its opposite mends, and no reading lies between the two.
        """
        columns, weight = self.condition_columns
        distance = self.features[:, columns] / weight - 0.5
        distance = distance * np.where(distance[:1] < 0.0, -1.0, 1.0)  # opposites change at the same readings
        return distance[:, np.sort(np.unique(distance, axis=1, return_index=True)[1])]

    def locally(self, sums: Floats, answered: Bools, *, relaxed: bool = False, overwrite: bool = False) -> Local:
        """Return the losses of keeping and of correcting each priced belief in each branch.

        ``answered``, whose last axis is the probes, says who has; ``relaxed`` lets all who have answered be believed;
        ``overwrite`` lets the sums be used up.
        """
        by_column = np.ascontiguousarray(sums.T) if overwrite else sums.T.copy()
        obstacles = self._obstacles(sums, answered, relaxed)
        keep = by_column[1 : 1 + len(self.beliefs)]
        if self._special:
            keep = _scaled(keep, self.hard, self.residual)
        correct, wrong, rules = np.zeros_like(keep), None, self._rules
        if len(self.supported):
            wrong = by_column[self._columns[1]]
            if self._special:
                wrong = _scaled(wrong, np.isinf(self.residual[self._owner]), self.residual[self._owner])
            wrong[rules.restricted] = np.where(obstacles[rules.bars].any(axis=0), math.inf, wrong[rules.restricted])
            correct[self.supported] = _reduced(np.minimum, wrong, self.first_value)
        own = self.support.beliefs
        if len(own):
            broken = obstacles[rules.conditions][: len(own)] | obstacles[rules.lacking]
            keep[own] = np.where(broken, math.inf, keep[own])
        return Local(keep, correct, wrong)

    def _obstacles(self, sums: Floats, answered: Bools, relaxed: bool) -> Bools:
        """Return which of the rows of ``_Rules`` hold in each branch, ``(n_rows, n_branches)``."""
        rules = self._rules
        obstacles = np.zeros((rules.lacking.stop, len(sums)), dtype=bool)
        obstacles[1 : len(self.source)] = ~np.atleast_2d(answered).T
        obstacles[len(self.source)] = True  # nobody never answers
        if len(self.support.beliefs):
            if not relaxed:
                obstacles[rules.conditions] = self.conditions_of(sums)
            silent, unsound = obstacles[rules.unusable]
            obstacles[rules.lacking] = _reduced(np.logical_and, silent | unsound, self.support.first)
        return obstacles

    def _correction_values(self, sums: Floats, answered: Bools, relaxed: bool) -> Floats:
        """Return each branch's least loss over all correction sets, shape ``(n_branches,)``."""
        if self.plain:
            return self._covering_values(sums[:, 0], self.risks(sums).T)
        local = self.locally(sums, answered, relaxed=relaxed)
        return np.asarray(local.base.sum(axis=0) + self._covering_values(sums[:, 0], local.gain))

    def _covering_values(self, mass: Floats, gain: Floats) -> Floats:
        """Return each branch's least cost of covering beliefs and losses of not covering the others."""
        groups = self.groups
        value = np.minimum(gain[groups.solo], groups.solo_cost[:, None] * mass).sum(axis=0)
        if len(groups.stuck):
            value = value + gain[groups.stuck].sum(axis=0)
        for group in groups.listed:
            value = value + group.losses(mass, gain).min(axis=0)
        for cut in groups.cuts:
            forced = np.isinf(gain[cut.members])
            own = np.where(forced, 0.0, gain[cut.members])
            scale = np.where(mass > 0, mass, 1.0)
            best = [cut.best(g / m, f)[0] * m for g, f, m in zip(own.T, forced.T, scale, strict=True)]
            value = value + np.array(best)
        return np.asarray(value)

    def _varying_values(self, sums: Floats) -> Floats:
        """Return each branch's expected loss of every ending that has a column, ``(n_branches, n_varying)``."""
        losses = sums[:, self._columns[3]]
        if len(self.barring):
            forbidden = sums[:, self._columns[4]] > 0.0
            losses = losses.copy()
            losses[:, self.barring] = np.where(forbidden, math.inf, losses[:, self.barring])
        return losses

    def values(self, sums: Floats, answered: Bools, *, relaxed: bool = False) -> Floats:
        """Return V_stop of every branch times the branch's weight, shape ``(n_branches,)``.

        ``sums`` are the branch weights (unnormalised) times ``features``; ``answered`` says who has, for all branches
        or row by row. ``relaxed`` leaves out the conditions of support, so that evidence is usable once it is there,
        and admits last resorts everywhere: never more, and concave in the weights.
        """
        if len(sums) > 2 * ROWS_AT_ONCE:
            rows = [slice(low, low + ROWS_AT_ONCE) for low in range(0, len(sums), ROWS_AT_ONCE)]
            shared = answered.ndim == 1
            parts = [self.values(sums[r], answered if shared else answered[r], relaxed=relaxed) for r in rows]
            return np.concatenate(parts)
        value = np.full(len(sums), math.inf)
        if self.corrections:
            value = self._correction_values(sums, answered, relaxed)
        n_others = len(self.varying) - self._n_varying_last
        if self.varying:
            varying = self._varying_values(sums)
            value = np.minimum(value, varying[:, :n_others].min(axis=1, initial=math.inf))
        if self.flat < math.inf:
            value = np.minimum(value, self.flat * sums[:, 0])
        if self.last_resorts:
            last = self._last_resort_values(sums)
            value = np.where(np.isinf(value) | relaxed, np.minimum(value, last), value)
        return value if self.plain else np.where(sums[:, 0] > 0.0, value, 0.0)

    @cached_property
    def _n_varying_last(self) -> int:
        return sum(ending in self.last_resorts for ending in self.varying)

    @cached_property
    def _last_flat(self) -> float:
        """The cheapest last resort that costs the same whatever is true."""
        return min((float(e.loss[0]) for e in self.last_resorts if e not in self.varying), default=math.inf)

    def _last_flat_values(self, sums: Floats) -> Floats:
        return np.asarray(np.full(len(sums), math.inf) if math.isinf(self._last_flat) else self._last_flat * sums[:, 0])

    def _last_resort_values(self, sums: Floats) -> Floats:
        least = self._last_flat_values(sums)
        if self._n_varying_last:
            least = np.minimum(least, self._varying_values(sums)[:, -self._n_varying_last :].min(axis=1))
        return np.asarray(least)

    def slopes(self, sums: Floats, answered: Bools) -> Slopes:
        """Return V_stop of every branch as a linear function of the sums nearby; the sums are used up."""
        mass = sums[:, 0]
        cost, paid = np.zeros(len(sums)), np.zeros(sums.T.shape, dtype=bool)
        rivals: list[Floats] = []
        if self.corrections:
            local = self.locally(sums, answered, overwrite=True)
            rivals.append(self._correction_slopes(cost, paid, local, mass))
        n_corrections, n_varying = int(self.corrections), len(self.varying) - self._n_varying_last
        if n_varying:
            rivals += list(self._varying_values(sums)[:, :n_varying].T)
        if self.flat < math.inf:
            rivals.append(self.flat * mass)
        if not rivals:
            rivals.append(np.full(len(sums), math.inf))
        losses = np.array(rivals)
        winner, hopeless = losses.argmin(axis=0), np.isinf(losses.min(axis=0))
        paid &= (winner < n_corrections) & ~hopeless
        for v in range(n_varying):
            paid[self._columns[3].start + v] = (winner == n_corrections + v) & ~hopeless
        cost = np.where(winner < n_corrections, cost, np.where(winner < n_corrections + n_varying, 0.0, self.flat))
        cost[hopeless] = math.inf
        if self.last_resorts:
            self._last_resort_slopes(cost, paid, sums)
        return Slopes(cost, paid)

    def _last_resort_slopes(self, cost: Floats, paid: Bools, sums: Floats) -> None:
        """Write the slopes of the best last resort where nothing else is admissible."""
        rows, n_others = np.flatnonzero(np.isinf(cost)), len(self.varying) - self._n_varying_last
        losses = np.column_stack([self._last_flat_values(sums[rows]), self._varying_values(sums[rows])[:, n_others:]])
        best = losses.argmin(axis=1)
        finite = np.isfinite(losses.min(axis=1))
        cost[rows] = np.where(finite, np.where(best == 0, self._last_flat, 0.0), math.inf)
        varying = (best > 0) & finite
        paid[self._columns[3].start + n_others + best[varying] - 1, rows[varying]] = True

    def _correction_slopes(self, cost: Floats, paid: Bools, local: Local, mass: Floats) -> Floats:
        """Write the slopes of the best correction set, its cost and the losses that it leaves; return its loss."""
        groups, gain = self.groups, local.gain
        covered = np.zeros((len(self.beliefs), len(mass)), dtype=bool)
        covered[groups.solo] = gain[groups.solo] > groups.solo_cost[:, None] * mass
        cost += groups.solo_cost @ covered[groups.solo]
        for group in groups.listed:
            best = group.losses(mass, gain).argmin(axis=0)
            covered[group.members] = (group.keep == 0)[:, best]
            cost += group.cost[best]
        for cut in groups.cuts:
            for k, own in enumerate(gain[cut.members].T):
                forced = np.isinf(own)
                least, chosen = cut.best(np.where(forced, 0.0, own) / (mass[k] or 1.0), forced)
                covered[cut.members, k] = chosen
                cost[k] += least - own[~chosen].sum() / (mass[k] or 1.0)
        corrected = covered & (local.correct < local.keep)
        paid[self._columns[0]] = ~corrected & ((self.residual > 0) & ~self.hard)[:, None]
        if local.wrong is not None:
            corrected &= (self.residual > 0)[:, None]
            declared = paid[self._columns[1]]
            ends = pairwise([*self.first_value.tolist(), len(declared)])
            own = [(i, slice(*pair)) for i, pair in zip(self.supported.tolist(), ends, strict=True)]
            for i, values in own:
                np.equal(local.wrong[values], local.correct[i], out=declared[values])
            declared &= corrected[self._owner]
            if np.count_nonzero(declared) > np.count_nonzero(corrected[self.supported]):  # of those that tie, the first
                for _, values in own:
                    declared[values] &= np.cumsum(declared[values], axis=0) == 1
        return np.asarray(mass * cost + np.where(covered, local.base, local.keep).sum(axis=0))

    @cached_property
    def conditions(self) -> Bools:
        """Shape ``(n_hypotheses, n_conditions)``; which conditions of support each hypothesis alone would break."""
        return self.conditions_of(self.features).T

    def evidence_clause(self, i: int, answered: Bools, probe: int | None = None) -> Floats:
        """Return one row for each probe that could support a priced belief (or this one): its source's failure."""
        if probe is not None:
            probes = [probe]
        else:
            ends = [*self.support.first.tolist(), len(self.support.probe)]
            where = int(np.flatnonzero(self.support.beliefs == i)[0])
            pairs = range(ends[where] + 1, ends[where + 1])  # the first is nobody's
            bearing = self.support.probe
            probes = [int(bearing[k]) for k in pairs if self.support.before[k] or answered[bearing[k]]]
        columns = self.features[:, self._columns[2]]
        rows = [np.zeros(len(columns)) if self.source[m] < 0 else columns[:, self.source[m]] for m in probes]
        return np.array(rows).reshape(len(rows), len(columns))

    def clairvoyant(self, answered: Bools) -> Floats:
        """Return a lower bound on min_u ℓ(u, s), shape ``(n_hypotheses,)``; the conditions of support are left out.

        Exact without them, except where cuts would be needed: a hypothesis with few failures has few closures, and its
        loss is exact; with more, each failed belief costs at least the cheaper of its residual and its own correction,
        and the dearest of them is due.
        """
        if not self.groups.cuts:
            return self.values(self.features, answered, relaxed=True)
        local = self.locally(self.features, answered, relaxed=True)
        gain = local.gain.T
        masks = [self.graph.belief_charges[b] for b in self.beliefs]
        single = np.array([self.graph.charged(mask) for mask in masks])
        bound = np.minimum(gain, single).max(axis=1, initial=0.0)
        for s in np.flatnonzero((gain > 0).sum(axis=1) <= 8)[:20_000]:
            members = np.flatnonzero(gain[s] > 0)
            sets = unions(masks[i] for i in members) or ()
            bound[s] = min(self.graph.charged(u) + sum(gain[s, i] for i in members if masks[i] & ~u) for u in sets)
        bound = np.minimum(bound + local.base.sum(axis=0), self.flat)
        if self.varying:
            bound = np.minimum(bound, self._varying_values(self.features).min(axis=1))
        return np.asarray(np.minimum(bound, self._last_flat))


def _reduced(by: np.ufunc, rows: NDArray[Any], first: Indices) -> NDArray[Any]:
    """Return each group of rows reduced to one; ``reduceat`` alone is slow at few groups of long rows."""
    if len(first) > rows.shape[1]:
        return np.asarray(by.reduceat(rows, first, axis=0))
    return np.array([by.reduce(rows[start:end], axis=0) for start, end in pairwise([*first.tolist(), len(rows)])])


def _scaled(wrong: Floats, barred: Bools, residual: Floats) -> Floats:
    """Return what being wrong costs: nothing without a residual, everything where barred; rows are beliefs."""
    free = np.where((residual > 0)[:, None], wrong, 0.0)
    return np.where(barred[:, None], np.where(wrong > 0.0, math.inf, 0.0), free)


@remembered
def endings_of(problem: Problem) -> Endings:
    """Return the problem's terminal decisions, compiled."""
    return _compiled(problem, problem.failed, worst=False)


@remembered
def worst_case_endings(problem: Problem) -> Endings:
    """Return them for a problem of which nothing is known any more: every belief taken to have failed."""
    return _compiled(problem, np.ones_like(problem.failed), worst=True)


def _compiled(problem: Problem, failed: Floats, *, worst: bool) -> Endings:
    graph = problem.graph
    residual = np.array([belief.residual for belief in graph.beliefs])
    residual[residual < NEGLIGIBLE] = 0.0
    hard = np.array([not belief.may_keep for belief in graph.beliefs], dtype=bool) | np.isinf(residual)
    needing = np.array([belief.needs_support for belief in graph.beliefs], dtype=bool)
    matters = needing | (failed.any(axis=0) & ((residual > 0) | hard))
    priced = np.flatnonzero(matters & problem.corrections)
    weight = np.where((residual > 0) & np.isfinite(residual), residual, 1.0)
    supported = [i for i, b in enumerate(priced.tolist()) if _may_stay_wrong(graph, b)]
    values = [_values(problem, int(priced[i]), failed, worst=worst) for i in supported]
    # Where there is nothing to declare, a reading of nobody's, which never comes, stands in.
    nobody = len(graph.probes), np.ones(len(failed)), np.ones(len(failed))
    values = [own or [NewValue(int(priced[i]), None, *nobody)]
              for i, own in zip(supported, values, strict=True)]  # fmt: skip
    flat_values = tuple(value for own in values for value in own)
    support = _support(problem, [i for i, b in enumerate(priced) if needing[b]], priced)
    sources = list(dict.fromkeys(p.source for p in graph.probes if p.source is not None and len(support.beliefs)))
    others, last_resorts = _others(problem, worst=worst)
    varying = tuple(e for e in (*others, *last_resorts) if not (e.loss == e.loss[0]).all())
    losses = np.array([e.loss for e in varying]).reshape(len(varying), len(failed)).T
    barring = np.flatnonzero(np.isinf(losses).any(axis=0))
    wrong = [value.wrong * weight[value.belief] for value in flat_values]
    columns = [np.ones((len(failed), 1)), failed[:, priced] * weight[priced]]
    columns.append(np.array(wrong).reshape(len(wrong), len(failed)).T)
    columns.append(failed[:, [graph.belief_index[name] for name in sources]])
    columns += [np.where(np.isinf(losses), 0.0, losses), np.isinf(losses)[:, barring].astype(float)]
    flat = min((float(e.loss[0]) for e in others if e not in varying), default=math.inf)
    column = {name: i for i, name in enumerate(sources)}
    return Endings(
        graph=graph,
        corrections=problem.corrections,
        beliefs=priced,
        weight=weight[priced],
        hard=hard[priced],
        residual=residual[priced],
        features=np.hstack(columns),
        new_values=flat_values,
        supported=np.array(supported, dtype=np.intp),
        first_value=np.cumsum([0, *(len(own) for own in values)], dtype=np.intp)[:-1],
        support=support,
        source=np.array([column.get(p.source or "", -1) for p in graph.probes] + [-1], dtype=np.intp),
        n_sources=len(sources),
        groups=grouped(graph, priced),
        others=others,
        last_resorts=last_resorts,
        varying=varying,
        barring=barring,
        flat=flat,
    )


def _may_stay_wrong(graph: RecoveryGraph, belief: int) -> bool:
    """Whether a corrected belief may be wrong all the same: its new value may be, or undoing may fail."""
    return graph.beliefs[belief].declares or graph.undo_chances[belief] < 1.0


def _values(problem: Problem, belief: int, failed: Floats, *, worst: bool) -> list[NewValue]:
    """Return what correcting a belief may leave wrong; without a value to declare, what undoing fails to remove."""
    if problem.graph.beliefs[belief].declares:
        return [_worst(problem, value) if worst else value for value in problem.values_of(belief)]
    left = (1.0 - problem.graph.undo_chances[belief]) * failed[:, belief]
    return [NewValue(belief, None, None, left, np.zeros(len(failed)))]


def _worst(problem: Problem, value: NewValue) -> NewValue:
    """Return a new value as wrong as it can be: only a reading that trusts no source has a worst case below one."""
    sound = value.probe is not None and problem.graph.probes[value.probe].source is None
    return replace(value, wrong=np.full(len(value.wrong), value.wrong.max() if sound else 1.0))


def _support(problem: Problem, needing: Sequence[int], priced: Indices) -> _Support:
    nobody = len(problem.graph.probes)
    pairs = [[(nobody, False), *problem.evidence_for[int(priced[i])].items()] for i in needing]
    flat = [pair for own in pairs for pair in own]
    return _Support(
        beliefs=np.array(needing, dtype=np.intp),
        probe=np.array([m for m, _ in flat], dtype=np.intp),
        before=np.array([before for _, before in flat], dtype=bool),
        first=np.cumsum([0, *(len(own) for own in pairs)], dtype=np.intp)[:-1],
    )


def _others(problem: Problem, *, worst: bool) -> tuple[tuple[Ending, ...], tuple[Ending, ...]]:
    """Return plans, restart and escalation, and the last resorts; those without any finite loss are left out."""
    n = len(problem.model.hypotheses)
    others: list[Ending] = []
    last: list[Ending] = []
    for plan in problem.plans:
        decision = RollBack(plan.correct, plan.undo, plan=plan.name)
        (last if plan.last_resort else others).append(Ending(decision, np.asarray(plan.loss, dtype=float)))
    if problem.restart_plan is not None:
        others.append(Ending(Restart(), np.asarray(problem.restart_plan.loss, dtype=float)))
    others.append(Ending(Escalate(), np.full(n, problem.escalate_loss)))
    found = []
    for endings in (others, last):
        bearable = [e for e in endings if np.isfinite(e.loss).any()]
        if worst:
            bearable = [replace(e, loss=np.full(n, e.loss.max())) for e in bearable]
        found.append(tuple(bearable))
    return found[0], found[1]
