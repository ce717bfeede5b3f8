"""What probes may answer at one state: outcomes, or the intervals of readings on which the decision stays the same.

Within an interval the best terminal decision (and, where asked for, every declaration's verdict) is constant, so the
interval's probability under each hypothesis prices it exactly: a probe that reads a number becomes a discrete one with
no loss of precision beyond where the cuts are put.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from aquamend.arrays import Bools, Floats, Indices, distinct
from aquamend.belief import InformationState, ProbeView
from aquamend.belief.state import REJECT_AT
from aquamend.belief.support import favour_since, spoken, spoken_by
from aquamend.caching import computed_once
from aquamend.deadline import check_deadline
from aquamend.decision.endings import Endings, Slopes, endings_of
from aquamend.problem import Problem
from aquamend.problem.model.kernels import Outcomes, Readings, interval_tables

PARTS = 3
"""Parts of a grid interval that are looked at where the decision changes in it."""
SECANTS, JUMP_SECANTS = 6, 40
"""Most steps of the search for a root. Two decisions cost the same where one gives way to the other, so that a cut out
of place by δ costs δ²; where something comes to be rejected the loss may jump: that cut must be right to all digits."""
MOST_BETWEEN = 8
"""Times that a further decision is sought between two."""
NEGLIGIBLE = 1e-13
"""Probability of readings that are taken never to come."""
SAME_READING, SAME_LOSS = 1e-13, 1e-11
"""Relative differences of readings, and of expected losses, that are no matter."""
PARABOLAS = 6
"""Steps of the search for a turning point: it is flat there, so a ten-thousandth of a grid interval is near enough."""
BINS = 24
"""Intervals of equal predictive probability that plans tell apart, beside those where the one-step decision changes."""


@dataclass(frozen=True, eq=False)
class Branches:
    """The answers of several probes, one under the other."""

    probes: tuple[str, ...]
    first: Indices
    """Shape ``(n_probes,)``; where each probe's branches start."""
    likelihood: Floats
    """Shape ``(n_branches, n_hypotheses)``; laid out along branches, the way products run through it."""
    cost: Floats
    """Shape ``(n_probes,)``."""
    speaks: Bools
    """Shape ``(n_branches, n_pairs)``; who then speaks for what, where beliefs need support."""
    cuts: tuple[Floats | None, ...]
    """For each probe, where its intervals of readings meet; None for outcomes."""

    def of(self, probe: str) -> slice:
        """Return where a probe's branches stand."""
        i = self.probes.index(probe)
        end = self.first[i + 1] if i + 1 < len(self.probes) else len(self.likelihood)
        return slice(int(self.first[i]), int(end))


def branches_of(
    state: InformationState, probes: Sequence[str], *, decisions: bool = True, verdicts: bool = False
) -> Branches:
    """Return the branches of these probes at this state; readings are cut where decisions change.

    With ``verdicts``, also where a declaration in force comes to be rejected; without ``decisions``, only there.
    """
    views = state.views(probes)
    if all(isinstance(view.channel, Outcomes) for view in views):
        stacked, first = _stacks(state.problem, tuple(probes))
        cuts: list[Floats | None] = [None] * len(views)
    else:
        cuts = decision_cuts(state, views, decisions=decisions, verdicts=verdicts)
        stacked, first = _stacked(_likelihoods(views, cuts))
    cost, support = np.array([view.spec.cost for view in views]), endings_of(state.problem).support
    speaks = np.zeros((len(stacked), len(support.probe)), dtype=bool)
    if len(support):
        speaks[:] = spoken(support, state)
        for view, (a, b) in zip(views, pairwise([*first.tolist(), len(stacked)]), strict=True):
            if len(own := support.pairs_of(view.index)):
                speaks[a:b, own] = spoken_by(support, state, view.index, stacked[a:b])
    return Branches(tuple(probes), first, stacked, cost, speaks, tuple(cuts))


def _likelihoods(views: Sequence[ProbeView], cuts: Sequence[Floats | None]) -> list[Floats]:
    """Return the probability of every answer under every hypothesis, ``(n_answers, n_hypotheses)``, for each probe."""
    reading = [(c, own) for view, own in zip(views, cuts, strict=True) if isinstance(c := view.channel, Readings)]
    tables = iter(interval_tables([c for c, _ in reading], [np.zeros(0) if own is None else own for _, own in reading]))
    return [v.channel.table.T if isinstance(v.channel, Outcomes) else next(tables)[v.channel.of].T for v in views]


def _stacked(blocks: Sequence[Floats]) -> tuple[Floats, Indices]:
    first = np.cumsum([0, *(len(block) for block in blocks)], dtype=np.intp)[:-1]
    return np.ascontiguousarray(np.vstack(blocks).T).T, first


@computed_once
def _stacks(problem: Problem, probes: tuple[str, ...]) -> tuple[Floats, Indices]:
    """Return the outcomes of these probes stacked; they depend on no state."""
    blocks = [channel.table.T for probe in probes if isinstance(channel := problem.model.channels[probe], Outcomes)]
    if not blocks:
        return np.zeros((0, len(problem.model.hypotheses))), np.zeros(0, dtype=np.intp)
    return _stacked(blocks)


def planning_cuts(state: InformationState, view: ProbeView) -> Floats:
    """Return the readings at which a plan tells intervals apart, sorted: where decisions change, and even quantiles.

    Knowing only the interval of a reading is knowing less, so plans made with it never promise too little.
    """
    cuts = decision_cuts(state, [view])[0]
    if cuts is None or not isinstance(view.channel, Readings):
        return np.zeros(0)
    return distinct(np.concatenate([cuts, predictive_quantiles(state, view.channel, np.arange(1, BINS) / BINS)]))


def planning_likelihood(state: InformationState, view: ProbeView) -> Floats:
    """Return a probe's answers as a plan sees them, shape ``(n_answers, n_hypotheses)``."""
    return _likelihoods([view], [None if isinstance(view.channel, Outcomes) else planning_cuts(state, view)])[0]


def predictive_quantiles(state: InformationState, channel: Readings, levels: Floats) -> Floats:
    """Return the readings at which the predictive distribution reaches these levels, to the accuracy of a fine grid."""
    below = np.cumsum(channel.gathered(state.posterior) @ channel.cells)[:-1]
    return np.asarray(np.interp(levels, below, channel.sampled[0]))


def decision_cuts(
    state: InformationState, views: Sequence[ProbeView], *, decisions: bool = True, verdicts: bool = False
) -> list[Floats | None]:
    """Return, for each probe that reads a number, where the decision changes, sorted; None for the others."""
    found = _cuts_found(state, decisions, verdicts)
    reading = [view for view in views if isinstance(view.channel, Readings)]
    new = [view for view in reading if view.index not in found]
    if new:
        found.update(zip((view.index for view in new), _Search(state, new, decisions, verdicts).cuts(), strict=True))
    return [found[view.index] if isinstance(view.channel, Readings) else None for view in views]


@computed_once
def _cuts_found(state: InformationState, decisions: bool, verdicts: bool) -> dict[int, Floats]:
    """Return the cuts found so far, by where their probes stand in the graph; changed in place."""
    return {}


class _Search:
    """Where the decision changes along the readings of several probes, all searched together.

    Everything that is compared is a linear function of the densities at a reading: what a decision costs, and how far a
    source, a value or a declaration is from being rejected. So every cut is the root of such a function. The functions
    are sampled on a grid; where one changes sign, or the decision changes, its root is the cut. Where a verdict comes
    close to changing and turns back between grid points, its turning point joins the grid, so that no narrow interval
    is stepped over. Rows of all arrays are readings, those of one probe together.
    """

    def __init__(self, state: InformationState, views: Sequence[ProbeView], decisions: bool, verdicts: bool) -> None:
        self.endings, self.decisions = endings_of(state.problem), decisions
        self.channels = [view.channel for view in views if isinstance(view.channel, Readings)]
        features, margins = self.endings.features, self.endings.margins
        if not decisions:
            features, margins = features[:, :1], margins[:, :0]
        watched = [_savings(self.endings)] if decisions and self.endings.plain else []
        watched += [state.problem.invalid - REJECT_AT] if verdicts else []
        self.n_features, self.n_verdicts = features.shape[1], sum(own.shape[1] for own in watched)
        self._hear(state, views, decisions)
        margins = np.hstack([margins, *watched])
        weighted = state.posterior[:, None] * np.hstack([features, margins])
        n = self.n_features
        every = [np.hstack([weighted[:, :n], own, weighted[:, n:]]) if own.size else weighted for own in self.heard]
        self.weighted = [channel.gathered(own) for channel, own in zip(self.channels, every, strict=True)]
        self._bank([own.sum(axis=0) for own in every])

    def _hear(self, state: InformationState, views: Sequence[ProbeView], decisions: bool) -> None:
        """Note who speaks for what, and for each probe the functions that tell what its reading speaks for."""
        support = self.endings.support
        self.speaks, self.own = spoken(support, state), [support.pairs_of(view.index) for view in views]
        widest = max((len(own) for own in self.own), default=0) if decisions else 0
        self.heard = [np.zeros((len(state.posterior), widest)) for _ in views]
        for view, own, functions in zip(views, self.own, self.heard, strict=True):
            if widest and len(own):
                functions[:, : len(own)] = favour_since(state, support, view.index)

    def _bank(self, totals: Sequence[Floats]) -> None:
        """Lay the components of all probes side by side, so that one exponential serves them all."""
        size = max(len(channel.mean) for channel in self.channels)
        self.centre, self.precision = np.zeros((2, len(self.channels), size + 1))
        self.heights = np.zeros((len(self.channels), size + 1, self.weighted[0].shape[1]))
        for k, channel in enumerate(self.channels):
            n = len(channel.mean)
            self.centre[k, :n], self.precision[k, :n] = channel.mean, 1.0 / channel.sd
            self.centre[k, -1], self.precision[k, -1] = channel.centre, 1.0 / channel.width
            self.heights[k, :n] = channel.height[:, None] * self.weighted[k][channel.owner]
            self.heights[k, -1] = channel.outliers / (np.pi * channel.width) * totals[k]

    def _shapes(self, who: Indices) -> Callable[[Floats], Floats]:
        """Return a function of readings, these probes' ones: every component's bell there, last the outliers' law.

        Its argument has the shape ``(…, n)``, its value ``(…, n, n_components + 1)``.
        """
        centre, precision = self.centre.take(who, axis=0), self.precision.take(who, axis=0)

        def shapes(readings: Floats) -> Floats:
            z = (readings[..., None] - centre) * precision
            square = z * z
            # Numbers too small to be normal would take the processor a hundred times as long.
            shapes = np.exp(np.maximum(-0.5 * square, -250.0))
            shapes[..., -1] = 1.0 / (1.0 + square[..., -1])
            return np.asarray(shapes)

        return shapes

    def _sums(self, readings: Floats, who: Indices) -> Floats:
        """Return features and margins at each reading, joint with it, ``(n, n_features + n_margins)``."""
        shapes = self._shapes(who)(readings)
        ends = np.searchsorted(who, np.arange(len(self.channels) + 1)).tolist()
        by_column = [self.heights[k].T @ shapes[a:b].T for k, (a, b) in enumerate(pairwise(ends))]
        return np.concatenate(by_column, axis=1).T  # laid out along readings, the way all that follows runs through it

    def cuts(self) -> list[Floats]:
        """Return the cuts of every probe."""
        readings, who, sums = self._grid()
        cell, jumps = self._jumps(readings, who, sums)
        found, whose = [jumps], [who[cell]]
        if self.decisions:
            differ = self._slopes(sums, who).change() & (who[:-1] == who[1:])
            cells = distinct(np.concatenate([np.flatnonzero(differ), cell]))
            changes = self._finer(readings[cells], readings[cells + 1], who[cells], jumps, who[cell])
            for _ in range(MOST_BETWEEN):
                if not len(changes.left):
                    break
                cuts, third, further = self._placed(changes)
                found.append(cuts[~third])
                whose.append(changes.who[~third])
                changes = further
        every, mine = np.concatenate(found), np.concatenate(whose)
        return [np.array(sorted(set(every[mine == k].tolist()))) for k in range(len(self.channels))]

    def _grid(self) -> tuple[Floats, Indices, Floats]:
        """Return the readings at which everything is sampled, whose they are, and the sums there."""
        sampled = [channel.sampled for channel in self.channels]
        kept = [_ever_read(*own, weighted[:, 0]) for own, weighted in zip(sampled, self.weighted, strict=True)]
        sampled = [(grid[own], density[own]) for own, (grid, density) in zip(kept, sampled, strict=True)]
        readings = np.concatenate([grid for grid, _ in sampled])
        ends = np.cumsum([0, *(len(grid) for grid, _ in sampled)]).tolist()
        who = np.repeat(np.arange(len(sampled)), np.diff(ends))
        by_column = np.empty((self.weighted[0].shape[1], len(readings)))
        for (_, density), weighted, (a, b) in zip(sampled, self.weighted, pairwise(ends), strict=True):
            check_deadline()
            np.matmul(weighted.T, density.T, out=by_column[:, a:b])
        if not self.n_verdicts:
            return readings, who, by_column.T
        turning, whose = self._turning_points(readings, who, by_column.T)
        if not len(turning):
            return readings, who, by_column.T
        readings, who = np.concatenate([readings, turning]), np.concatenate([who, whose])
        order = np.lexsort((readings, who))
        return readings[order], who[order], np.concatenate([by_column.T, self._sums(turning, whose)])[order]

    def _slopes(self, sums: Floats, who: Indices) -> Slopes:
        """Return V_stop's slopes at readings of these probes; the sums are used up."""
        speaks = np.repeat(self.speaks[:, None], len(sums), axis=1)
        ends = np.searchsorted(who, np.arange(len(self.channels) + 1)).tolist()
        for own, (a, b) in zip(self.own, pairwise(ends), strict=True):
            if len(own):
                speaks[own, a:b] = sums[a:b, self.n_features : self.n_features + len(own)].T >= 0.0
        return self.endings.slopes(sums[:, : self.n_features], speaks.T)

    def _jumps(self, readings: Floats, who: Indices, sums: Floats) -> tuple[Indices, Floats]:
        """Return where something comes to be rejected: there the loss may jump; and after which reading that is."""
        above = sums[:, self.n_features :] >= 0
        row, column = np.nonzero((above[:-1] != above[1:]) & (who[:-1] == who[1:])[:, None])
        functions = np.zeros((len(row), sums.shape[1]))
        functions[np.arange(len(row)), self.n_features + column] = 1.0
        return row, self._roots(readings[row], readings[row + 1], who[row], functions, steps=JUMP_SECANTS)

    def _finer(self, left: Floats, right: Floats, who: Indices, jumps: Floats, whose: Indices) -> _Changes:
        """Return where the decision changes in these intervals, seen closely, and with both sides of every jump."""
        share = np.arange(PARTS + 1) / PARTS
        points = (left[:, None] * (1.0 - share) + right[:, None] * share).ravel()
        beside = np.concatenate([jumps - SAME_READING * np.abs(jumps), jumps + SAME_READING * np.abs(jumps)])
        readings, who = np.concatenate([points, beside]), np.concatenate([np.repeat(who, PARTS + 1), whose, whose])
        order = np.lexsort((readings, who))
        readings, who = readings[order], who[order]
        slopes = self._slopes(self._sums(readings, who), who)
        apart = np.diff(readings) > 4.0 * SAME_READING * np.abs(readings[1:])  # not the two sides of one jump
        at = np.flatnonzero(slopes.change() & apart & (who[:-1] == who[1:]))
        matrix = slopes.as_matrix()
        return _Changes(readings[at], readings[at + 1], who[at], matrix[at], matrix[at + 1])

    def _placed(self, changes: _Changes) -> tuple[Floats, Bools, _Changes]:
        """Return the root of the two decisions' difference in every interval, and where a third is better there.

        Also the intervals on both sides of the latter.
        """
        finite = np.isfinite(changes.before[:, 0]) & np.isfinite(changes.after[:, 0])
        before, after = (np.where(finite[:, None], slopes, 0.0) for slopes in (changes.before, changes.after))
        functions = np.zeros((len(finite), self.weighted[0].shape[1]))
        functions[:, : self.n_features] = before - after
        cuts = self._roots(changes.left, changes.right, changes.who, functions, steps=SECANTS)
        sums = self._sums(cuts, changes.who)
        here = self._slopes(sums.copy(), changes.who).as_matrix()
        sums = sums[:, : self.n_features]
        tied, least = np.minimum((before * sums).sum(axis=1), (after * sums).sum(axis=1)), (here * sums).sum(axis=1)
        third = finite & ((tied - least) * (changes.right - changes.left) > SAME_LOSS * (1.0 + tied / sums[:, 0]))
        return cuts, third, changes.around(cuts, here, third)

    def _roots(self, left: Floats, right: Floats, who: Indices, functions: Floats, *, steps: int) -> Floats:
        """Return where functions that are linear in the sums, one for each interval, are zero.

        log(P/N), with P and N a function's positive and negative part, is straight for two normals of one width and
        nearly so for others: the secant method that keeps a bracket (Anderson and Björck's) needs few steps. Where a
        function has no root, somewhere between.
        """
        ends = np.searchsorted(who, np.arange(len(self.channels) + 1)).tolist()
        heights = np.concatenate([functions[a:b] @ self.heights[k].T for k, (a, b) in enumerate(pairwise(ends))])
        parts, shapes = np.stack([np.maximum(heights, 0.0), np.maximum(-heights, 0.0)]), self._shapes(who)

        def at(readings: Floats) -> Floats:
            positive, negative = np.einsum("...ij,pij->p...i", shapes(readings), parts)
            return np.asarray(np.log(positive / negative))

        with np.errstate(divide="ignore", invalid="ignore"):
            a, b, (at_a, at_b) = left, right, at(np.stack([left, right]))
            for _ in range(steps if len(left) else 0):
                if not (np.abs(at_b) > SAME_READING).any():  # all found
                    break
                middle = b - at_b * (b - a) / (at_b - at_a)
                middle = np.where((middle - a) * (middle - b) <= 0, middle, 0.5 * (a + b))
                value = at(middle)
                crossed, share = value * at_b < 0, 1.0 - value / at_b
                a = np.where(crossed, b, a)
                at_a = np.where(crossed, at_b, np.where(share > 0.0, share, 0.5) * at_a)
                b, at_b = middle, value
        return np.asarray(b)

    def _turning_points(self, readings: Floats, who: Indices, sums: Floats) -> tuple[Floats, Indices]:
        """Return, for every verdict, where it turns back, towards one half or past it, between grid points."""
        values = self._verdicts(sums)
        size, sign = np.abs(values), np.sign(values)
        one_sign = (sign[:-2] == sign[1:-1]) & (sign[1:-1] == sign[2:]) & (who[:-2] == who[2:])[:, None]
        turns = one_sign & (size[1:-1] <= size[:-2]) & (size[1:-1] <= size[2:]) & (size[1:-1] < 0.4)
        row, verdict = np.nonzero(turns)
        bend = size[row, verdict] + size[row + 2, verdict] - 2.0 * size[row + 1, verdict]
        # A parabola through the three points comes down by this much; far from zero, it is not looked at closely.
        deep = (size[row, verdict] - size[row + 2, verdict]) ** 2 >= 2.0 * size[row + 1, verdict] * bend
        row, verdict = row[deep], verdict[deep]
        owner, side, at = who[row], sign[row + 1, verdict], np.arange(len(row))
        low, middle, high = readings[row], readings[row + 1], readings[row + 2]
        least = [size[row + i, verdict] for i in range(3)]
        for _ in range(PARABOLAS if len(row) else 0):  # the verdict is smooth and turns once in here
            new = _vertex((low, middle, high), least)
            value = side * self._verdicts(self._sums(new, owner))[at, verdict]
            better, below = value <= least[1], new < middle
            low, high = (
                np.where(better == below, low, np.where(better, middle, new)),
                np.where(better == below, np.where(better, middle, new), high),
            )
            least[0] = np.where(better == below, least[0], np.where(better, least[1], value))
            least[2] = np.where(better == below, np.where(better, least[1], value), least[2])
            middle, least[1] = np.where(better, new, middle), np.where(better, value, least[1])
        return middle, owner

    def _verdicts(self, sums: Floats) -> Floats:
        return np.asarray(sums[:, -self.n_verdicts :] / np.where(sums[:, :1] > 0.0, sums[:, :1], 1.0))


@dataclass(frozen=True, eq=False)
class _Changes:
    """Intervals of readings in which the decision changes, whose they are, and V_stop's slopes at their ends."""

    left: Floats
    right: Floats
    who: Indices
    before: Floats
    after: Floats

    def around(self, cuts: Floats, slopes: Floats, third: Bools) -> _Changes:
        """Return the intervals on both sides of those cuts where a third decision is better."""
        order = np.argsort(np.tile(self.who[third], 2), kind="stable")
        pairs = (
            (self.left, cuts),
            (cuts, self.right),
            (self.who, self.who),
            (self.before, slopes),
            (slopes, self.after),
        )
        return _Changes(*(np.concatenate([x[third], y[third]])[order] for x, y in pairs))


def _savings(endings: Endings) -> Floats:
    """Return what correcting each belief by itself saves, less its cost, between -1 and 1; ``(n_hypotheses, n)``."""
    solo, cost = endings.groups.solo, endings.groups.solo_cost
    soft = ~endings.losses.hard[solo] & (endings.losses.residual[solo] > 0.0)
    kept = endings.features[:, endings.columns.kept][:, solo[soft]]
    return np.asarray((kept - cost[soft]) / np.maximum(endings.losses.weight[solo[soft]], cost[soft]))


def _ever_read(grid: Floats, density: Floats, weight: Floats) -> Bools:
    """Return which readings of a probe ever come; between two of them may lie a gap, and a change of decision in it."""
    gap = np.concatenate([[0.0], grid[1:] - grid[:-1], [0.0]])
    return np.asarray(density @ weight * np.maximum(gap[:-1], gap[1:]) > NEGLIGIBLE)


def _vertex(at: tuple[Floats, Floats, Floats], value: Sequence[Floats]) -> Floats:
    """Return where the parabola through three points turns, or else a point beside the middle one."""
    (a, b, c), (f, g, h) = at, value
    left, right = (b - a) * (g - h), (b - c) * (g - f)
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = b - 0.5 * ((b - a) * left - (b - c) * right) / (left - right)
    beside = np.where(c - b > b - a, b + 0.3 * (c - b), b - 0.3 * (b - a))
    return np.where((vertex > a) & (vertex < c) & (np.abs(vertex - b) > 1e-9 * (c - a)), vertex, beside)
