"""How robust a decision is: the smallest change of the posterior that makes another alternative as good.

The change is measured in total variation, TV(p, p') = ½ Σ_s |p_s − p'_s|, over every hypothesis that is still possible:
the probability that would have to move. With d the step taken, and f_a, f_d the one-step expected losses,

    distance = inf { TV(p, p') : some other alternative a has f_a(p') ≤ f_d(p') },

where a terminal decision gives way only to what is better somewhere nearby, a probe also to what is as good. Where
beliefs need support, a counts only where it is admissible, and d is lost where it is not. Beside it stand thresholds:
where the best alternative changes along one belief's failure probability.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aquamend.arrays import Bools, Floats
from aquamend.belief import InformationState
from aquamend.belief.state import REJECT_AT
from aquamend.deadline import check_deadline
from aquamend.decision.endings import TIE, endings_of
from aquamend.decision.sensitivity.one_step import (
    Rival,
    Rivals,
    best_alternative,
    label,
    other_steps,
    step_loss,
)
from aquamend.decision.sensitivity.total_variation import MEETS, Search
from aquamend.decision.steps import Step
from aquamend.decision.terminal import best_terminal

MOST_BRANCHES = 10_000
"""Branches times beliefs for which thresholds are computed; beyond it, for the least certain beliefs."""
PARTS = 32
ROUNDS = 8
"""Each round splits an interval in which the step gives way into so many parts: 32⁸ is twelve digits."""
BESIDE = 1e-10
"""How far beside a place where losses jump they are looked at."""
SHORT = 1e-9
"""How near an end of the line counts as just before it: what only certainty allows is better at the end itself."""


@dataclass(frozen=True, slots=True)
class BeliefThreshold:
    """Where the best one-step alternative stops being the step, as one belief's failure probability moves.

    q(belief) moves by Jeffrey's rule: the posterior given that the belief failed, and that given that it holds, stay
    as they are. None where the step stays best all the way. This is one line through the simplex: the nearest flip in
    any direction is ``Robustness.distance``.
    """

    belief: str
    now: float
    below: float | None
    above: float | None
    below_step: str | None
    above_step: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Robustness:
    """How far the posterior is from one at which another alternative is at least as good."""

    distance: float | None
    """Smallest total variation found at which the challenger ties; None if none was found (if ``exact``, none exists).

    At ``witness``, the posterior it belongs to, the challenger ties with the step, and beyond it the challenger wins;
    or the step is no longer admissible there.
    """
    distance_at_least: float
    """Certified: no posterior nearer than this flips the decision; the distance itself where ``exact``, 1 if none."""
    exact: bool
    challenger: str | None
    thresholds: tuple[BeliefThreshold, ...]
    witness: Floats | None = None
    """Shape ``(n_hypotheses,)``."""


def robustness(state: InformationState, step: Step) -> Robustness:
    """Return how robust a step is among the one-step alternatives: all legal probes and all terminal decisions.

    0 where another one-step alternative is better already (a policy that looks further may choose so). A contradicted
    state has no posterior to move. Not exact, but bracketed by ``distance_at_least`` and ``distance``: with more
    decision rules than can be searched; with more terminal decisions than can be listed, where the lower end may be 0,
    belief thresholds are left out, and nothing is said of a probe; with continuous probes, whose readings are cut into
    fixed intervals; and where what may be decided after an answer depends on support, or on being a last resort. There
    the lower end ignores such conditions on the challengers, and at the upper end both sides are priced in full.
    """
    if state.contradiction is not None:
        return Robustness(None, 0.0, True, None, ())
    better, loss = best_alternative(state)
    if loss < step_loss(state, step) - TIE:
        return Robustness(0.0, 0.0, True, better, (), state.posterior)
    options = other_steps(state, step)
    if options is None:
        return Robustness(None, 0.0, False, None, ())
    search = Search(options)
    search.run()
    lower = min(1.0, search.distance, search.unresolved)
    certain = search.distance - search.unresolved <= MEETS or search.unresolved > 1.0
    return Robustness(
        distance=None if math.isinf(search.distance) else search.distance,
        distance_at_least=lower,
        exact=certain and options.complete and search.certain and all(o.exact for o in (options.own, *options.probes)),
        challenger=search.challenger,
        thresholds=belief_thresholds(options) if options.complete else (),
        witness=None if search.witness is None else options.full(search.witness),
    )


def belief_thresholds(options: Rivals) -> tuple[BeliefThreshold, ...]:
    """Return the thresholds of every belief that may have failed and may hold, in graph order.

    Along p(θ) = θ p(·|failed) + (1 − θ) p(·|holds) stopping and every other probe are concave, and the step is linear
    between corners that are found first: what is no better at either end of such an interval is no better within.
    Limits: a continuous probe keeps the intervals that are optimal now, and where support is needed after a probe's
    answer, its corners are sampled.
    """
    p, problem = options.posterior, options.state.problem
    if options.decision is not None and not np.isfinite(options.own.losses).all():
        return ()  # nothing admissible is left: the step is a last resort of infinite loss
    failed = problem.failed[options.inside]
    q = p @ failed
    moving = np.flatnonzero((q > 0) & (p @ (1.0 - failed) > 0) & (q < 1))
    most = max(1, MOST_BRANCHES // (1 + sum(len(option.kernel) for option in (options.own, *options.probes))))
    if len(moving) > most:
        moving = np.sort(moving[np.argsort(np.abs(q[moving] - 0.5), kind="stable")[:most]])
    found = []
    for i in moving:
        check_deadline()
        now = float(q[i])
        line = _Line(options, now, p * (1.0 - failed[:, i]) / (1.0 - now), p * failed[:, i] / now)
        (below, below_step), (above, above_step) = line.change(0.0), line.change(1.0)
        found.append(BeliefThreshold(problem.graph.beliefs[int(i)].name, now, below, above, below_step, above_step))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Line:
    """All alternatives along one belief's probability θ."""

    options: Rivals
    now: float
    holds: Floats
    fails: Floats

    def change(self, end: float) -> tuple[float | None, str | None]:
        """Return the θ nearest to now, towards an end, at which the step stops being best, and what then is."""
        near_end = self.now + (1.0 - SHORT) * (end - self.now)
        between = self._corners[(self._corners - self.now) * (self._corners - near_end) < 0]
        corners = np.array([self.now, *sorted(between, key=lambda theta: abs(theta - self.now)), near_end, end])
        gone = np.flatnonzero(self._gone(corners)[1:])
        if len(gone) == 0:
            return None, None
        inner, outer = corners[gone[0]], corners[gone[0] + 1]
        if inner == near_end:
            return end, self._best(end)
        found, edge = inner, outer
        for _ in range(ROUNDS):
            parts = np.linspace(found, edge, PARTS + 1)
            first = int(np.argmax(self._gone(parts[1:])))
            found, edge = parts[first], parts[first + 1]
        past = max(1e-3 * abs(outer - edge), min(1e-6, abs(end - edge)))  # beyond what rounding leaves undecided
        return float(edge), self._best(float(edge + past * (1 if end > self.now else -1)))

    def _best(self, theta: float) -> str:
        """Return the best alternative at θ, in words; a tie commits."""
        losses = self._losses(np.array([theta]))[0]
        probes = self.options.probes
        if len(probes) and losses[1 : 1 + len(probes)].min() < losses[0] - TIE:
            return f"run probe {probes[int(losses[1 : 1 + len(probes)].argmin())].probe}"
        return label(best_terminal(self.options.at(self.holds + theta * (self.fails - self.holds))).decision)

    def _gone(self, thetas: Floats) -> Bools:
        """Return at which θ the step is no longer best; a probe gives way to a decision as good, nothing else does."""
        losses, n = self._losses(thetas), len(self.options.probes)
        stop, probes, own = losses[:, 0], losses[:, 1 : 1 + n].min(axis=1, initial=math.inf), losses[:, -1]
        if self.options.decision is None:
            return np.asarray((stop <= own + TIE) | (probes < own - TIE))
        row, support = self.options.own.losses[0], self.options.own.endings[0].support
        own = float(self.holds @ row) + thetas * float((self.fails - self.holds) @ row)
        points = self.holds + thetas[:, None] * (self.fails - self.holds)
        for clause in support:
            own = np.where((points @ clause.T < 0).any(axis=1), own, math.inf)
        return np.asarray(np.isinf(own) | (np.minimum(stop, probes) < own - TIE))

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """The branches' sums at both ends, each ``(n_branches, n_features)``: linear in θ between them."""
        features = endings_of(self.options.state.problem).features[self.options.inside]
        kernel = np.vstack([option.kernel for option in self._all])
        return (kernel * self.holds) @ features, (kernel * self.fails) @ features

    @cached_property
    def _all(self) -> list[Rival]:
        return [self.options.stop, *self.options.probes, *([self.options.own] if self.options.decision is None else [])]

    def _losses(self, thetas: Floats) -> Floats:
        """Return the loss of stopping, of every other probe and of the step's, shape ``(n_thetas, n_options)``."""
        holds, fails = self._sums
        sums = (1.0 - thetas)[:, None, None] * holds + thetas[:, None, None] * fails
        rows = np.tile(np.vstack([option.speaks for option in self._all]), (len(thetas), 1))
        values = endings_of(self.options.state.problem).values(sums.reshape(-1, sums.shape[2]), rows)
        first = np.cumsum([0, *(len(option.kernel) for option in self._all)])[:-1]
        return np.add.reduceat(values.reshape(len(thetas), -1), first, axis=1) + [option.cost for option in self._all]

    @cached_property
    def _corners(self) -> Floats:
        """Values of θ between which the step is linear and what is admissible does not change."""
        options, corners = self.options, [*self._admissibility()]
        if options.decision is None:
            possible = options.posterior > 0
            at_0, at_1 = (options.own.branch_losses(x, possible) for x in (self.holds, self.fails))
            for a, b in zip(at_0, at_1, strict=True):
                corners += _bends(a[np.isfinite(a)], b[np.isfinite(a)])
            if options.ruled:
                corners += np.linspace(0.0, 1.0, 2 * PARTS + 1).tolist()
        return np.unique(corners)

    def _admissibility(self) -> Iterator[float]:
        """Yield where a condition of support turns in any branch, Σ_s p_s(θ) k(y|s) (c_s − ½) = 0, and beside it."""
        endings = endings_of(self.options.state.problem)
        support, features = endings.support, endings.features[self.options.inside]
        wrong = features[:, support.column] / support.weight
        conditions = np.hstack([wrong, features[:, support.sources]]) - REJECT_AT
        for option in self._all:
            at_0, at_1 = ((option.kernel * x) @ conditions for x in (self.holds, self.fails))
            with np.errstate(divide="ignore", invalid="ignore"):
                turns = (at_0 / (at_0 - at_1)).ravel()
            turns = turns[(turns > 0) & (turns < 1)]
            yield from np.concatenate([turns - BESIDE, turns, turns + BESIDE]).tolist()


def _bends(at_0: Floats, at_1: Floats) -> list[float]:
    """Return where min_u (a_u + θ (b_u − a_u)) bends on [0, 1], and perhaps where lines cross above it."""
    found, open_intervals = [], [(0.0, 1.0)] if len(at_0) else []
    while open_intervals:
        low, high = open_intervals.pop()
        first, last = (int(np.argmin(at_0 + theta * (at_1 - at_0))) for theta in (low, high))
        fall = (at_1[first] - at_0[first]) - (at_1[last] - at_0[last])
        theta = float((at_0[last] - at_0[first]) / fall) if fall > 0 else low
        if first == last or not low + 1e-12 < theta < high - 1e-12:
            continue
        found.append(theta)
        level = at_0 + theta * (at_1 - at_0)
        if level.min() < level[first] - 1e-12 * max(1.0, abs(level[first])):
            open_intervals += [(low, theta), (theta, high)]
    return found
