"""The terminal decision at one state: the best one, the price of any, and the list of all (V_stop, Eq. 5).

All three come from what the endings say of each belief at the state: what keeping it costs, and what each new value of
it does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from aquamend.arrays import Bools, Floats, Indices
from aquamend.belief import InformationState, expected
from aquamend.belief.state import REJECT_AT, TINY, conditioned_each
from aquamend.belief.support import spoken
from aquamend.caching import computed_once
from aquamend.decision.closures import CutGroup
from aquamend.decision.endings import TIE, BeliefPrices, Endings, endings_of, worst_case_endings
from aquamend.decision.other_endings import LinearEnding
from aquamend.decision.probe_value import probe_values
from aquamend.decision.steps import Continue, Decision, Escalate, NewDeclaration, Restart, RollBack
from aquamend.problem import NewValue, Problem
from aquamend.problem.graph import RecoveryGraph
from aquamend.problem.graph.recovery_graph import unions

MOST_SHOWN = 200
"""Correction sets considered for showing; the best one is found without listing them."""
SAME_PROBABILITY = 1e-14
"""Relative difference of two probabilities that rounding alone may make."""


@dataclass(frozen=True, slots=True)
class PricedEnding:
    """A way of ending the recovery now, with its expected remaining loss and what that is made of."""

    decision: Decision
    recovery: float
    """Cost of the physical recovery (or of restarting, or of handing over)."""
    residual: float
    """Expected loss of what is left wrong: true failures kept, and new values that are wrong too."""

    @property
    def loss(self) -> float:
        """Expected remaining loss."""
        return self.recovery + self.residual


@dataclass(frozen=True, eq=False)
class _Here:
    """One state, or one branch of it that is only thought of, as the endings see it."""

    problem: Problem
    posterior: Floats | None
    """None once evidence contradicts the model: then everything is priced as in its worst case."""
    endings: Endings
    local: BeliefPrices
    """Of this one branch."""
    others: Sequence[float]
    """What the endings cost that are no correction sets: the usual ones, then the last resorts."""

    @property
    def gain(self) -> Floats:
        """Shape ``(n_priced,)``."""
        return self.local.gain[:, 0]

    @cached_property
    def barred(self) -> Indices:
        """The features of the options that may not be taken, by the rules of support."""
        return self.endings.support.column[self.local.barred[:, 0]]

    def best(self) -> PricedEnding:
        """Return the ending of least expected loss."""
        every = zip(self.endings.others.every, self.others, strict=True)
        others = [PricedEnding(ending.decision, loss, 0.0) for ending, loss in every]
        usual = len(self.endings.others.usual)
        candidates = [*([self.best_correction()] if self.endings.corrections else []), *others[:usual]]
        if not any(math.isfinite(stop.loss) for stop in candidates):
            candidates = others[usual:]
        best = min((stop.loss for stop in candidates), default=math.inf)
        if math.isinf(best):
            return PricedEnding(Escalate(), math.inf, 0.0)
        return next(stop for stop in candidates if stop.loss <= best + TIE)

    def best_correction(self) -> PricedEnding:
        """Return the correction set of least expected loss, the smallest of those that tie."""
        groups, gain = self.endings.groups, self.gain
        corrected = [int(i) for i, cost in zip(groups.solo, groups.solo_cost, strict=True) if cost + TIE < gain[i]]
        # A free correction changes no loss unless the belief is at risk; the tie rule leaves it out.
        for group in groups.listed:
            losses = group.losses(np.ones(1), gain[:, None])[:, 0]
            if math.isfinite(losses.min()):
                tied = np.flatnonzero(losses <= losses.min() + TIE)
                sets = [_smallest(group.members, group.keep[:, u] > 0, gain[group.members] - group.own) for u in tied]
                corrected += sorted(sets, key=lambda members: (len(members), members))[0]
        for cut in groups.cuts:
            corrected += _smallest_cut(cut, gain[cut.members])
        return self.correcting(sorted(self.endings.losses.beliefs[corrected].tolist()))

    def correcting(self, beliefs: Sequence[int]) -> PricedEnding:
        """Return the decision that corrects these beliefs and no others, with its price; none: to continue."""
        undoing, cost = _undoing(self.problem, tuple(beliefs))
        correcting = replace(undoing, declare=self.declared_by(beliefs))
        decision = correcting if beliefs else Continue()
        if not self.endings.corrections:
            return PricedEnding(decision, math.inf, 0.0)
        return PricedEnding(decision, cost, self.residual(correcting))

    def residual(self, decision: RollBack) -> float:
        """Return the expected loss of what a correction set leaves wrong."""
        index, own = self.problem.graph.belief_index, self.endings.losses
        corrected = {index[name] for name in decision.correct}
        said = {index[new.belief]: new.value for new in decision.declare}
        new = {(v.belief, v.value): float(loss) for v, loss in zip(own.values, self.local.new[:, 0], strict=True)}
        losses = []
        for belief, keep, correct in zip(
            own.beliefs.tolist(), self.local.keep[:, 0], self.local.correct[:, 0], strict=True
        ):
            if belief in said:
                losses.append(new.get((belief, said[belief]), math.inf))
            else:
                losses.append(float(correct if belief in corrected else keep))
        return math.fsum(losses) if all(map(math.isfinite, losses)) else math.inf

    def declarable(self, belief: int) -> list[tuple[NewValue, float]]:
        """Return what a corrected belief may be now, and how probably each is wrong; in file order."""
        own, start = self.endings.losses.values, self.endings.columns.new.start
        barred = [own[c - start] for c in self.barred if c >= start]
        closed = {value.value for value in barred if value.belief == belief}
        values = [v for v in self.problem.new_values[belief] if v.value is None or v.value not in closed]
        return [(value, self.wrong_probability(value)) for value in values]

    def wrong_probability(self, value: NewValue) -> float:
        """Return Σ_s p(s) e(s); without a posterior, the worst that is possible."""
        if self.posterior is not None:
            return float(self.posterior @ value.wrong)
        return 1.0 if value.value is not None else float(value.wrong.max(initial=0.0))

    def best_value(self, belief: int) -> tuple[NewValue, float] | None:
        """Return the value least probably wrong, and how probably that is; None if none may be declared."""
        options = self.declarable(belief)
        least = min((wrong for _, wrong in options), default=math.inf)
        return next((option for option in options if option[1] <= least * (1.0 + SAME_PROBABILITY)), None)

    def declared_by(self, beliefs: Iterable[int]) -> tuple[NewDeclaration, ...]:
        """Return the best new values of those corrected beliefs that declare one and may declare another."""
        found, valued = [], self.problem.truth
        for belief in beliefs:
            best = self.best_value(belief) if belief in valued else None  # a repair declares nothing
            if best is not None and best[0].value is not None:
                found.append(NewDeclaration(self.problem.graph.beliefs[belief].name, best[0].value))
        return tuple(found)


@computed_once
def _undoing(problem: Problem, beliefs: tuple[int, ...]) -> tuple[RollBack, float]:
    """Return what correcting these beliefs undoes, and what that costs."""
    names = tuple(problem.graph.beliefs[i].name for i in beliefs)
    undone, cost = problem.graph.correcting(names)
    return RollBack(names, undone), cost


@computed_once
def _here(state: InformationState) -> _Here:
    """Return the state as the endings see it; once no posterior is left, its worst case."""
    problem = state.problem
    if state.contradiction is None:
        return _branches(problem, state.posterior[None, :], spoken(endings_of(problem).support, state))[0]
    endings = worst_case_endings(problem)
    local = endings.by_belief(endings.features.max(axis=0, keepdims=True), spoken(endings.support, state))
    return _Here(problem, None, endings, local, [float(ending.loss.max()) for ending in endings.others.every])


def _branches(problem: Problem, posteriors: Floats, speaks: Bools) -> list[_Here]:
    """Return what the endings see with each of these posteriors, ``(n_branches, n_hypotheses)``, all at once."""
    endings, possible = endings_of(problem), posteriors > 0.0
    prices = endings.by_belief(posteriors @ endings.features, speaks)
    others = [(posteriors * np.where(possible, ending.loss, 0.0)).sum(axis=1) for ending in endings.others.every]
    return [
        _Here(problem, posterior, endings, prices.of(k), [float(losses[k]) for losses in others])
        for k, posterior in enumerate(posteriors)
    ]


@computed_once
def best_terminal(state: InformationState) -> PricedEnding:
    """Return the terminal decision of least expected loss; ties go to the smallest correction set, then file order.

    Last resorts count only where nothing else is admissible. Once evidence contradicts the model no posterior is left
    to average over: every belief is then taken to have failed, and the same minimum is the decision that is best in the
    worst case.
    """
    return _here(state).best()


@computed_once
def decided_after(state: InformationState, probe: str) -> tuple[tuple[float, PricedEnding] | None, ...]:
    """Return how probable each answer of a legal probe is, and the best terminal decision after it.

    The answers are those of `probe_values`; None for one that cannot come.
    """
    branches = probe_values(state).branches
    own = branches.of(probe)
    probability = np.maximum(branches.likelihood[own] @ state.posterior, TINY)
    after = conditioned_each(state.posterior, branches.likelihood[own])
    come = [k for k, posterior in enumerate(after) if posterior is not None]
    found: list[tuple[float, PricedEnding] | None] = [None] * len(after)
    if come:
        posteriors = np.array([after[k] for k in come])
        for k, here in zip(come, _branches(state.problem, posteriors, branches.speaks[own][come]), strict=True):
            found[k] = float(probability[k]), here.best()
    return tuple(found)


def price(state: InformationState, decision: Decision) -> PricedEnding:
    """Return what a terminal decision costs at this state, whether or not it is the best; infinite if inadmissible.

    A rollback pays for all that it undoes, the closure of what it corrects included. Where its values are not said, the
    best ones are declared.
    """
    here, graph = _here(state), state.problem.graph
    match decision:
        case Continue() | RollBack(plan=None) if not here.endings.corrections:  # correcting nothing is a set, too
            return PricedEnding(decision, math.inf, 0.0)
        case Continue():
            return PricedEnding(decision, 0.0, here.residual(RollBack(())))
        case RollBack(correct, undo, declare, None):
            graph.positions([new.belief for new in declare])  # or an error that names one that is none
            undone = {*graph.closure(correct), *undo}
            recovery = graph.rollback_cost([action.name for action in graph.executed if action.name in undone])
            recovery = math.inf if any(name in graph.fixed for name in decision.correct) else recovery
            return PricedEnding(decision, recovery, here.residual(decision))
        case RollBack():
            state.problem.plan_named(str(decision.plan))
        case Restart() | Escalate():
            pass
    every = [ending.decision for ending in here.endings.others.every]
    # Most often it is asked of one of these itself, and comparing them takes longer.
    at = [k for k, own in enumerate(every) if own is decision] or [k for k, own in enumerate(every) if own == decision]
    if not at and isinstance(decision, RollBack):
        at = [k for k, own in enumerate(every) if decision.plan == getattr(own, "plan", None)]
    return PricedEnding(decision, here.others[at[0]] if at else math.inf, 0.0)


def expected_loss(state: InformationState, loss: Floats) -> float:
    """Return the expectation of a loss under each hypothesis; the worst case once no posterior is left."""
    return float(loss.max()) if state.contradiction is not None else expected(state.posterior, loss)


def correction(state: InformationState, beliefs: Iterable[str]) -> PricedEnding:
    """Return the decision that corrects these beliefs and no others, with its price; correcting none is to continue."""
    return _here(state).correcting(sorted(set(state.problem.graph.positions(beliefs))))


def declarable(state: InformationState, belief: int) -> list[tuple[NewValue, float]]:
    """Return what a corrected belief may be now, and how probably each is wrong; in file order."""
    return _here(state).declarable(belief)


def wrong_probability(state: InformationState, value: NewValue) -> float:
    """Return how probably a new value is wrong; without a posterior, the worst that is possible."""
    return _here(state).wrong_probability(value)


def best_value(state: InformationState, belief: int) -> tuple[NewValue, float] | None:
    """Return the value least probably wrong, and how probably that is; None if none may be declared.

    Of values that are wrong with the same probability, the first.
    """
    return _here(state).best_value(belief)


def mean_truth(state: InformationState, belief: int, value: float) -> float | None:
    """Return the posterior mean of what is true within tolerance of a number, which may be declared instead of it."""
    near = 1.0 - state.problem.wrong_where(belief, value)
    weight = state.posterior * near
    total = float(weight.sum())
    if state.contradiction is not None or not total > 0.0:
        return None
    truth = np.where(near > 0.0, state.problem.truth[belief], 0.0).astype(float)
    return float(weight @ truth / total)


def completed(state: InformationState, step: RollBack) -> RollBack:
    """Return a correction with all that it undoes and declares said, in the graph's order."""
    graph, said = state.problem.graph, {new.belief for new in step.declare}
    undone = {*graph.closure(step.correct), *step.undo}
    unsaid = graph.positions([belief for belief in step.correct if belief not in said])
    declare = (*step.declare, *_here(state).declared_by(unsaid))
    return replace(
        step,
        undo=tuple(action.name for action in graph.executed if action.name in undone),
        declare=tuple(sorted(declare, key=lambda new: graph.positions([new.belief]))),
    )


def may_be_kept(state: InformationState, belief: int) -> bool:
    """Whether support allows a belief to be kept; what a possible failure would cost is not asked here."""
    here = _here(state)
    at = np.flatnonzero(here.endings.losses.beliefs == belief) + here.endings.columns.kept.start
    return not np.isin(at, here.barred).any()


def left_by_correcting(state: InformationState, belief: int) -> float:
    """Return L_i r_i: the expected loss that correcting a belief leaves; infinite where no value may be declared."""
    here = _here(state)
    at = np.flatnonzero(here.endings.losses.beliefs == belief)
    return float(here.local.correct[at[0], 0]) if len(at) else 0.0


def _smallest(members: Indices, keep: Bools, gain: Floats, slack: float = TIE) -> list[int]:
    """Return the members a closure corrects, less those whose own gain is too small to tell from a tie."""
    needed = []
    for i in sorted(np.flatnonzero(~keep).tolist(), key=lambda i: gain[i]):
        if gain[i] <= slack:
            slack -= max(float(gain[i]), 0.0)
        else:
            needed.append(int(members[i]))
    return sorted(needed)


def _smallest_cut(cut: CutGroup, gain: Floats) -> list[int]:
    """Return the members that the best set of a cut corrects, or those of a smaller set whose loss is as good as equal.

    Smaller sets are found by letting every member gain a little less.
    """
    less = np.array([0.0, TIE / len(gain), TIE])
    chosen = cut.best(np.maximum(gain[:, None] - less, 0.0), tie=0.1 * TIE)[1]
    above = cut.losses(gain, chosen)
    above -= above.min()
    which = min(np.flatnonzero(above <= TIE).tolist(), key=lambda k: int(chosen[:, k].sum()))
    return _smallest(cut.members, ~chosen[:, which], gain, TIE - float(above[which]))


def correction_stops(state: InformationState, *, most: int = 16) -> list[PricedEnding]:
    """Return the correction sets worth showing, best first: for each closure, all beliefs that gain by it.

    Where the closures are too many to list, those reached from the best one by adding or dropping one belief.
    """
    here = _here(state)
    if not here.endings.corrections:
        return []
    graph = state.problem.graph
    gaining = here.endings.losses.beliefs[here.gain > 0].tolist()
    best = here.best_correction().decision
    chosen = frozenset(best.correct) if isinstance(best, RollBack) else frozenset[str]()
    masks = {b: graph.belief_charges[b] for b in gaining}
    found = unions(masks.values(), MOST_SHOWN)
    if found is not None:
        covered = [[graph.beliefs[i].name for i, mask in masks.items() if mask & ~union == 0] for union in found]
        sets = [chosen, frozenset(), *map(frozenset, covered)]
    else:
        names = [graph.beliefs[i].name for i in gaining[:MOST_SHOWN]]
        sets = [chosen, frozenset(), frozenset(graph.beliefs[i].name for i in gaining), *[chosen ^ {n} for n in names]]
    stops = sorted((correction(state, s) for s in dict.fromkeys(sets)), key=lambda stop: stop.loss)
    return [stop for stop in stops if math.isfinite(stop.loss)][:most]


def listed_endings(
    endings: Endings, speaks: Bools, *, most: int, possible: Bools | None = None
) -> tuple[LinearEnding, ...] | None:
    """Return every terminal decision, the smallest correction sets first; None where there are more than ``most``.

    Each is linear in the posterior; where support is needed, it has conditions. With ``possible``, the hypotheses that
    may be true, those decisions are left out that another one beats under all of these, conditions aside.
    """
    others = (*endings.others.usual, *endings.others.last_resorts)
    if not endings.corrections:
        return others
    if endings.groups.cuts:
        return None
    found = [_Partial((), (), 0, np.zeros(len(endings.features)), ())]
    for ways in _ways(endings, speaks, most):
        if ways is None or len(found) * len(ways) > most:
            return None
        found = [partial + way for partial in found for way in ways]
        if possible is not None:
            found = _undominated(found, possible, [ending.loss[possible] for ending in endings.others.usual])
    found.sort(key=lambda partial: (len(partial.correct), sorted(partial.correct)))
    return (*(partial.ending(endings.losses.graph) for partial in found), *others)


@dataclass(frozen=True, eq=False, slots=True)
class _Partial:
    """What is done about some of the beliefs."""

    correct: tuple[int, ...]
    declare: tuple[NewDeclaration, ...]
    charges: int
    loss: Floats
    support: tuple[Floats, ...]

    def __add__(self, other: _Partial) -> _Partial:
        return _Partial(
            (*self.correct, *other.correct), (*self.declare, *other.declare), self.charges | other.charges,
            self.loss + other.loss, (*self.support, *other.support),
        )  # fmt: skip

    def ending(self, graph: RecoveryGraph) -> LinearEnding:
        correct = tuple(graph.beliefs[b].name for b in sorted(self.correct))
        declare = tuple(sorted(self.declare, key=lambda new: graph.positions([new.belief])))
        decision = RollBack(correct, graph.closure(correct), declare) if correct else Continue()
        return LinearEnding(decision, self.loss, tuple(clause for clause in self.support if not _always(clause)))


def _ways(endings: Endings, speaks: Bools, most: int) -> Iterator[list[_Partial] | None]:
    """Yield, group by group of beliefs that share operations, all that may be done about them; None for too much."""
    graph, priced = endings.losses.graph, endings.losses.beliefs
    masks = [graph.belief_charges[b] for b in priced]
    groups: list[tuple[Indices, Bools | None]] = []
    groups += [(group.members, group.covers(most)) for group in endings.groups.listed]
    for i in endings.groups.solo:  # what costs nothing to undo needs no way of its own that undoes nothing
        groups.append((np.array([i]), np.array([[False, True]])[:, int(masks[i] == 0) :]))
    groups += [(np.array([i]), np.array([[False]])) for i in endings.groups.stuck]
    for members, covered in groups:
        if covered is None:
            yield None
            return
        ways = []
        for chosen in covered.T:
            options = [
                _correcting(endings, int(i), speaks) if c else _keeping(endings, int(i), speaks)
                for i, c in zip(members, chosen, strict=True)
            ]
            union = 0
            for i in members[chosen]:
                union |= masks[i]
            for combination in product(*options):
                way = _Partial((), (), union, np.full(len(endings.features), graph.charged(union)), ())
                for part in combination:
                    way = way + part
                corrected = 0
                for belief in way.correct:
                    corrected |= graph.belief_charges[belief]
                if corrected == union:  # else it undoes what nothing corrected rests on
                    ways.append(way)
        yield ways


def _keeping(endings: Endings, i: int, speaks: Bools) -> list[_Partial]:
    return _option(endings, endings.columns.kept.start + i, _Partial((), (), 0, np.zeros(1), ()), speaks)


def _correcting(endings: Endings, i: int, speaks: Bools) -> list[_Partial]:
    """Return what undoing a belief's closure allows: correcting it, or, where that needs a value, also keeping it."""
    own = endings.losses
    at = int(own.beliefs[i])
    belief = own.graph.beliefs[at]
    if i not in own.valued:
        return [_Partial((at,), (), 0, np.zeros(len(endings.features)), ())]
    options = _keeping(endings, i, speaks) if belief.declares else []
    for k in np.flatnonzero(own.owner == i):
        value = own.values[k].value
        new = () if value is None else (NewDeclaration(belief.name, value),)
        options += _option(
            endings, endings.columns.new.start + int(k), _Partial((at,), new, 0, np.zeros(1), ()), speaks
        )
    return options


def _option(endings: Endings, column: int, chosen: _Partial, speaks: Bools) -> list[_Partial]:
    """Return an option with its loss and its conditions: with evidence that can be relied on, or where it is right.

    The second way has an infinite loss wherever the option is wrong.
    """
    feature, support = endings.features[:, column], endings.support
    loss = endings.losses.option_loss(column - endings.columns.options.start, feature)
    option = np.flatnonzero(support.column == column)
    if not len(option):
        return [replace(chosen, loss=loss)]
    pairs = np.flatnonzero((support.option == option[0]) & speaks)
    evidence = np.array([endings.features[:, s] if s else np.zeros(len(feature)) for s in support.source[pairs]])
    wrong = feature / support.weight[option[0]]
    found = [] if not len(pairs) else [replace(chosen, loss=loss, support=(wrong[None, :], evidence))]
    if not found or not _always(evidence):
        found.append(replace(chosen, loss=np.where(feature > 0.0, math.inf, loss)))
    return found


def _always(clause: Floats) -> bool:
    """Whether a clause holds whatever the posterior is."""
    return bool((clause.max(axis=1, initial=0.0) < REJECT_AT).any())


def _undominated(found: list[_Partial], possible: Bools, rivals: Sequence[Floats]) -> list[_Partial]:
    """Return those that no other is at most equal to under every possible hypothesis; of equal ones the smallest."""
    if not found:
        return []
    losses = np.column_stack([partial.loss[possible] for partial in found])
    infinite = np.isinf(losses)
    finite_sums = np.where(infinite, 0.0, losses).sum(axis=0)
    size = [len(partial.correct) for partial in found]
    kept = np.zeros((losses.shape[1], len(losses)))
    positions: list[int] = []
    # A column comes after all that may dominate it; only rounding can let a dominated one through, which is harmless.
    for i in np.lexsort((size, finite_sums, infinite.sum(axis=0))):
        column = losses[:, i]
        if not (kept[: len(positions)] <= column).all(axis=1).any():
            kept[len(positions)] = column
            positions.append(int(i))
    undominated = [i for i in sorted(positions) if not any((rival < losses[:, i]).all() for rival in rivals)]
    return [found[i] for i in undominated]
