"""Anytime planning: a first step with a certificate, better the longer it may think.

Every way of bounding the optimum is a method in one list. It says where it applies, and then works in small steps, each
of which may raise the lower bound, lower the upper one, or both, with the first probe of a policy that attains it. The
search takes them in the order of the list, cheap ones first, until the bounds meet or a limit is reached. All bounds
hold for the same number, so the best of each kind count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from aquamend import deadline
from aquamend.belief import InformationState
from aquamend.caching import computed_once
from aquamend.deadline import OutOfTime, check_deadline
from aquamend.decision.endings import TIE, endings_of
from aquamend.decision.probe_value import best_probe, clairvoyant_loss, probe_values
from aquamend.decision.terminal import best_terminal
from aquamend.planning.bounds import Bounds, information_bound, one_by_one_bound, quick_bounds
from aquamend.planning.exact import solve
from aquamend.planning.finite_probes import better_informed, discrete_answers, less_informed, reads_numbers
from aquamend.planning.kept_plan import SearchedPlan
from aquamend.planning.limits import Limits, Pace, cells_within, current_listener
from aquamend.planning.parts import Automaton, Portion, automaton, independent_parts, parts_plan
from aquamend.problem.model.kernels import Outcomes


@dataclass(frozen=True, slots=True)
class CertifiedPlan:
    """The step a search would take, and what is certified about it."""

    probe: str | None
    """Probe to run first; None to stop now."""
    bounds: Bounds


class BoundMethod(Protocol):
    """A way of bounding the optimum."""

    def accepts(self, state: InformationState) -> bool:
        """Whether it applies."""

    def improve(self, state: InformationState, limits: Limits) -> Iterator[CertifiedPlan]:
        """Yield bounds, each time a little better, and the probe that begins a policy no worse than the upper one."""


class OneStep:
    """Stop now, probe once, or pay for the cheapest probe and then know everything; it always applies."""

    at_once = 1e6
    """Answers times hypotheses up to which all probes are weighed together, which is quicker."""

    def accepts(self, state: InformationState) -> bool:
        """Always."""
        return True

    def improve(self, state: InformationState, limits: Limits) -> Iterator[CertifiedPlan]:
        """Yield what stopping costs; then once more, or, where there may not be time for all, after every probe."""
        if state.contradiction is not None:
            yield CertifiedPlan(None, quick_bounds(state))
            return
        stop = best_terminal(state).loss
        yield CertifiedPlan(None, Bounds(0.0 if state.legal else stop, stop))
        if limits.deadline_s < math.inf and answers_weighed(state) > self.at_once:
            for probe in state.legal_probes:
                loss = float(probe_values(state, (probe,)).expected_loss[0])
                yield CertifiedPlan(probe, Bounds(0.0, loss))
            stop, cheapest = best_terminal(state).loss, min((view.cost for view in state.legal), default=math.inf)
            yield CertifiedPlan(None, Bounds(min(stop, clairvoyant_loss(state) + cheapest), stop))
            return
        values = probe_values(state)
        first = best_probe(values.expected_loss, values.stop_loss)
        yield CertifiedPlan(None if first is None else values.branches.probes[first], quick_bounds(state, values))


@dataclass(frozen=True)
class LowerBound:
    """A lower bound that needs no search: what information costs at least, or every belief by itself."""

    bound: Callable[[InformationState], float]
    """Returns the bound, or 0 where it does not apply."""

    def accepts(self, state: InformationState) -> bool:
        """Whether there is something to learn; what else it needs it finds out itself."""
        return bool(state.legal)

    def improve(self, state: InformationState, limits: Limits) -> Iterator[CertifiedPlan]:
        """Yield once."""
        yield CertifiedPlan(None, Bounds(self.bound(state), math.inf))


class TableBound:
    """Price every evidence state there is, from the last probe back to the first; where they are few enough.

    It ends with all or with nothing, so it is tried only where a sample says that there is time enough.
    """

    bytes_a_sum = 24.0
    share = 0.7
    """The part of the time left that it may take by the sample."""

    def accepts(self, state: InformationState) -> bool:
        """Whether no probe reads numbers or may be used without end."""
        return bool(state.legal) and not reads_numbers(state) and all(view.most_runs < math.inf for view in state.legal)

    def improve(self, state: InformationState, limits: Limits) -> Iterator[CertifiedPlan]:
        """Yield the optimum."""
        most = math.inf
        if limits.deadline_s < math.inf:
            most = cells_within(state, self.share * limits.left_s)
        table = solve(state, most_cells=most, most_sums=limits.memory / self.bytes_a_sum)
        if table is not None:
            first = best_probe(table.probe_losses(), best_terminal(state).loss)
            probe = None if first is None else table.sensing.probes[first]
            yield CertifiedPlan(probe, Bounds(table.loss, table.loss))


class IndependentParts:
    """Plan for independent parts that share costs only; without a sensing budget, which would join them too."""

    def accepts(self, state: InformationState) -> bool:
        """Whether there are such parts, and few enough combinations of their evidence states."""
        return _parts_of(state) is not None

    def improve(self, state: InformationState, limits: Limits) -> Iterator[CertifiedPlan]:
        """Yield after every sweep; it ends where the bounds are as near as rounding lets them."""
        found = _parts_of(state)
        plan = None if found is None else parts_plan(state, *found, memory=limits.memory)
        while plan is not None:
            yield from (self._reached(plan.bounds, plan.probe_losses()) for _ in plan.sweep())
            plan.check()
            yield self._reached(plan.bounds, plan.probe_losses())
            if plan.bounds.gap <= 1e-12 * plan.bounds.upper:
                return

    def _reached(self, bounds: Bounds, losses: dict[str, float]) -> CertifiedPlan:
        return CertifiedPlan(min(losses, key=losses.__getitem__, default=None), bounds)


@computed_once
def _parts_of(state: InformationState) -> tuple[list[Portion], list[Automaton]] | None:
    if math.isfinite(state.problem.sensing_budget):
        return None
    parts = independent_parts(state)
    if len(parts) < 2:
        return None
    automata = [found for part in parts if (found := automaton(state, part)) is not None]
    return (parts, automata) if len(automata) == len(parts) else None


class Evidence:
    """Search the tree of evidence, best first; where all probes are discrete.

    It begins with the states that the one-step policy reaches, so that no upper bound is above what that policy costs.
    """

    for_one_step = 0.5
    """The part of time and room that this may take."""
    for_endless_steps = 2e7
    """Work on that where probes have no end, so that the policy may have none either: it could take all the room."""

    def accepts(self, state: InformationState) -> bool:
        """Whether there is evidence to come, and none of it a number."""
        return bool(state.legal) and not reads_numbers(state)

    def improve(self, state: InformationState, limits: Limits) -> Iterator[CertifiedPlan]:
        """Yield once the one-step policy has been followed to its end, if there is time and room for that.

        Then after every round, until memory or the tree itself is exhausted.
        """
        pace, tree = Pace(), SearchedPlan(state, discrete_answers(state))
        begun, most = limits.left_s, self.for_one_step * limits.memory
        work = self.for_endless_steps if any(view.most_runs == math.inf for view in state.legal) else math.inf
        tree.cover(lambda own: own.memory > most or own.work > work or limits.left_s < self.for_one_step * begun)
        yield CertifiedPlan(tree.best_probe(), tree.bounds)
        while tree.memory < limits.memory and tree.grow(pace.affords(tree.work, limits.left_s)):
            yield CertifiedPlan(tree.best_probe(), tree.bounds)


class ReadingsBound:
    """Search two trees of evidence, one that learns less than the readings and one that learns more."""

    few_cuts = 24
    for_one_step = 0.1
    """Cuts of all probes together where the one-step policy is followed, and the part of time and room for that."""
    first_cuts = 56
    """Cuts of all probes together, to begin with, in the tree that learns less."""
    more_below = 1.5
    """How many times more there are in the other, whose bound is the coarser one."""
    slack = 0.3
    """About which part of a tree's gap is due to its upper bound: it finds good plans before it knows that they are."""
    finest = 5
    """How many times the cuts may be doubled: then what they leave over is rounding to most."""
    enough, enough_with_rules = 0.1, 0.025
    """A tree is near enough to its own optimum with this part of the gap; the rest is due to the cuts, or to rules."""
    done = 0.02
    """And so near that it ends, where the cuts are the finest."""

    def accepts(self, state: InformationState) -> bool:
        """Whether a probe reads numbers."""
        return reads_numbers(state)

    def improve(self, state: InformationState, limits: Limits) -> Iterator[CertifiedPlan]:
        """Yield after every round of either tree: the one whose bound is further from its own optimum goes next.

        When both are near theirs, the one that gained more when its cuts were last doubled begins again with more.
        """
        ruled, pace = endings_of(state.problem).ruled, Pace()  # with rules, knowing more need not help
        below = _Side(
            lambda n: SearchedPlan(state, better_informed(state, n), relaxed=ruled),
            int(self.more_below * self.first_cuts),
            self.finest,
        )
        first = self.few_cuts if ruled else self.first_cuts  # more gain little with rules, and no answers stay together
        above = _Side(lambda n: SearchedPlan(state, less_informed(state, n)), first, self.finest, self.slack)
        yield CertifiedPlan(above.tree.best_probe(), Bounds(below.tree.bounds.lower, above.tree.bounds.upper))
        yield self._one_step(state, limits, above.tree if ruled else None)
        enough, reached = self.enough_with_rules if ruled else self.enough, Bounds(-math.inf, math.inf)
        while below.open or above.open:
            gap = max(reached.gap, limits.gap) if math.isfinite(reached.gap) else 0.0
            side = max((s for s in (below, above) if s.open), key=lambda own: own.off)
            coarse = [s for s in (below, above) if s.open and s.doublings]
            if coarse and side.off <= enough * gap:
                max(coarse, key=lambda own: (own.moved if ruled else own.gain, -own.cuts)).refine()
            elif side.tree.bounds.gap <= self.done * gap or below.tree.memory + above.tree.memory > limits.memory:
                side.open = False
            else:
                done = below.done + above.done
                side.open = side.tree.grow(pace.affords(done, limits.left_s))
            reached &= Bounds(below.tree.bounds.lower, above.tree.bounds.upper)
            below.best, above.best = max(below.best, reached.lower), max(above.best, -reached.upper)
            yield CertifiedPlan(above.tree.best_probe(), reached)

    def _one_step(self, state: InformationState, limits: Limits, tree: SearchedPlan | None) -> CertifiedPlan:
        """Return what one step ahead costs at most, knowing the intervals of readings, of which there are few."""
        begun, most = limits.left_s, self.for_one_step * limits.memory
        tree = SearchedPlan(state, less_informed(state, self.few_cuts)) if tree is None else tree
        tree.cover(lambda own: own.memory > most or limits.left_s < (1.0 - self.for_one_step) * begun)
        return CertifiedPlan(tree.best_probe(), Bounds(-math.inf, tree.bounds.upper))


@dataclass(eq=False)
class _Side:
    """One of the two trees, with so many cuts, which may be doubled so often."""

    planted: Callable[[int], SearchedPlan]
    cuts: int
    doublings: int
    slack: float = 1.0
    """About which part of its own gap is due to the bound that counts."""
    open: bool = True
    gain: float = math.inf
    """By how much its bound moved before the cuts were last doubled."""
    best: float = -math.inf
    """Its bound; with the sign turned for an upper one."""
    before: float = -math.inf
    past: float = 0.0
    """Work on trees with fewer cuts."""

    def __post_init__(self) -> None:
        self.tree = self.planted(self.cuts)

    @property
    def done(self) -> float:
        """All work so far."""
        return self.past + self.tree.work

    @property
    def off(self) -> float:
        """How far the bound that counts is from what these cuts allow, about."""
        return self.slack * self.tree.bounds.gap

    @property
    def moved(self) -> float:
        """By how much its bound has moved since then; endlessly far where they never were."""
        return self.best - self.before if self.before > -math.inf else math.inf

    def refine(self) -> None:
        """Begin again with twice the cuts."""
        self.cuts, self.doublings = 2 * self.cuts, self.doublings - 1
        self.gain = self.moved
        self.before, self.past = self.best, self.done
        self.tree = self.planted(self.cuts)


READINGS = 500
"""Readings of a probe at which decisions are compared, about."""
METHODS: tuple[BoundMethod, ...] = (
    OneStep(),
    TableBound(),
    LowerBound(one_by_one_bound),
    LowerBound(information_bound),
    IndependentParts(),
    Evidence(),
    ReadingsBound(),
)


@dataclass(eq=False)
class _Reached:
    """The best bounds so far, and the first probe of a policy that attains the upper one."""

    probe: str | None = None
    bounds: Bounds = field(default_factory=lambda: Bounds(-math.inf, math.inf))

    def hear(self, plan: CertifiedPlan) -> None:
        if plan.bounds.upper < self.bounds.upper - 1e-12:
            self.probe = plan.probe
        self.bounds &= plan.bounds


def search(
    state: InformationState,
    limits: Limits,
    *,
    methods: Sequence[BoundMethod] | None = None,
    known: Sequence[CertifiedPlan] = (),
) -> CertifiedPlan:
    """Return the best first step found within the limits, with certified bounds on the optimal expected loss.

    ``known`` are bounds that were found elsewhere, such as what some policy costs.
    With a listener (see ``limits.progress``) an interrupt ends the search, and what it has reached is returned.
    """
    reached = _Reached()
    for plan in known:
        reached.hear(plan)
    try:
        with deadline.ends_at(limits.until):
            _pursue(state, limits, METHODS if methods is None else methods, reached)
    except OutOfTime:
        check_deadline()  # that of somebody who waits for this search
    except KeyboardInterrupt:
        listener = current_listener()
        if listener is None or math.isinf(reached.bounds.upper):
            raise
        listener.interrupted = True
    stop = best_terminal(state).loss
    reached.hear(CertifiedPlan(None, Bounds(0.0, stop)))  # there may not have been time for that
    return CertifiedPlan(reached.probe if stop - reached.bounds.upper > TIE else None, reached.bounds)


def answers_weighed(state: InformationState) -> float:
    """Return about how many probabilities a look one probe ahead is made of."""
    answers = sum(len(v.channel.outcomes) if isinstance(v.channel, Outcomes) else READINGS for v in state.legal)
    return float(answers * len(state.posterior))


def _pursue(state: InformationState, limits: Limits, methods: Sequence[BoundMethod], reached: _Reached) -> None:
    for method in methods:
        if not method.accepts(state):
            continue
        for plan in method.improve(state, limits):
            reached.hear(plan)
            if limits.reached(reached.bounds) or not state.legal:
                return
