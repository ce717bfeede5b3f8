"""The one-step alternatives as functions of the posterior.

A terminal decision u, new values included, is linear in the posterior: f_u(p) = Σ_s p_s ℓ(u, s). A probe m followed by
the best decision is concave and piecewise linear, f_m(p) = c_m + Σ_y min_u Σ_s p_s k(y|s) ℓ(u, s), over what may be
decided once it has answered. Stopping is the probe that costs and tells nothing. Where beliefs need support, a decision
also has conditions on the posterior, and these functions hold where the conditions do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aquamend.arrays import Bools, Floats, Indices
from aquamend.belief import InformationState, expected
from aquamend.belief.state import REJECT_AT
from aquamend.belief.support import spoken, spoken_after
from aquamend.decision.branches import planning_likelihood
from aquamend.decision.closures import Groups
from aquamend.decision.endings import TIE, Endings, endings_of
from aquamend.decision.other_endings import LinearEnding, OtherEndings
from aquamend.decision.probe_value import probe_values
from aquamend.decision.steps import Continue, Decision, Escalate, Reprobe, Restart, RollBack, Step
from aquamend.decision.terminal import best_terminal, completed, listed_endings, price
from aquamend.problem.graph import RecoveryGraph
from aquamend.problem.model.kernels import Outcomes

MOST_DECISIONS = 2000
MOST_LOSSES = 150_000
"""Decisions, and decisions times hypotheses, up to which every terminal decision is listed."""
BEATS_ALL = -1e30
"""A loss below any other."""


@dataclass(frozen=True, eq=False)
class Rival:
    """An alternative: pay, hear an answer, decide."""

    probe: str | None
    """None: stop now."""
    cost: float
    kernel: Floats
    """Shape ``(n_answers, n)``; ones for stopping, intervals of readings for a continuous probe."""
    speaks: Bools
    """Shape ``(n_answers, n_pairs)``; who speaks for what by the time of the decision."""
    endings: tuple[LinearEnding, ...]
    losses: Floats
    """ℓ(u, s), shape ``(n_decisions, n)``; infinite where u is inadmissible under s."""
    exact: bool
    """Whether all answers and all decisions are here: no readings cut, no decision left out."""
    open: Bools | None = None
    """Shape ``(n_answers, n_decisions)``; which decisions who then speaks allows, where beliefs need support."""

    @cached_property
    def barred(self) -> Bools:
        """Shape ``(n_decisions, n)``; where a decision is inadmissible."""
        return np.isinf(self.losses)

    @cached_property
    def finite(self) -> Floats:
        """The losses, with zero where inadmissible."""
        return np.where(self.barred, 0.0, self.losses)

    @cached_property
    def tables(self) -> Floats:
        """k(y|s) ℓ(u, s) with 0 · ∞ = 0, shape ``(n_answers, n_decisions, n)``."""
        with np.errstate(invalid="ignore"):
            tables = np.where(self.kernel[:, None, :] > 0, self.kernel[:, None, :] * self.losses, 0.0)
        return tables if self.open is None else np.where(self.open[:, :, None], tables, math.inf)

    @cached_property
    def sides(self) -> list[Floats]:
        """The tables, less the decisions that another one beats after that answer."""
        return [undominated(table) for table in self.tables]

    def branch_losses(self, x: Floats, possible: Bools) -> Floats:
        """Return Σ_s x_s k(y|s) ℓ(u, s), shape ``(n_answers, n_decisions)``; infinite where u is inadmissible.

        Only hypotheses in ``possible`` make a decision inadmissible.
        """
        losses = (self.kernel * x) @ self.finite.T
        if self.barred.any():
            hit = (self.kernel[:, possible] > 0).astype(float) @ self.barred[:, possible].T.astype(float)
            losses = np.where(hit > 0, math.inf, losses)
        return np.asarray(losses if self.open is None else np.where(self.open, losses, math.inf))

    def choice(self, x: Floats, possible: Bools, *, conditions: bool = False) -> Indices | None:
        """Return the best decision after each answer, conditions aside unless asked for; None where there is none."""
        branches = self.branch_losses(x, possible)
        if conditions:
            for y, weight in enumerate(self.kernel * x):
                bad = [not admissible(ending.support, weight) for ending in self.endings]
                branches[y, bad] = math.inf
        chosen = branches.argmin(axis=1)
        return chosen if np.isfinite(branches[np.arange(len(chosen)), chosen]).all() else None

    def rule(self, chosen: Indices) -> Floats:
        """Return a rule's loss under every hypothesis, c + Σ_y k(y|s) ℓ(ρ(y), s)."""
        total = self.cost + (self.kernel * self.finite[chosen]).sum(axis=0)
        total[((self.kernel > 0) & self.barred[chosen]).any(axis=0)] = math.inf
        return np.asarray(total)


def admissible(support: Sequence[Floats], weight: Floats) -> bool:
    """Whether every clause has a row with Σ_s w_s (c_s − ½) < 0; rows are given as c − ½."""
    return all(bool((clause @ weight < 0.0).any()) for clause in support)


def undominated(choices: Floats) -> Floats:
    """Return the rows that no other row beats everywhere, one of each; as they are where comparing costs too much."""
    choices = np.unique(choices, axis=0)
    if len(choices) ** 2 * choices.shape[1] > 500_000:
        return choices
    beaten: Bools = np.all(choices[:, None, :] >= choices[None, :, :], axis=2)
    np.fill_diagonal(beaten, False)
    return np.asarray(choices[~beaten.any(axis=1)])


@dataclass(frozen=True, eq=False)
class Rivals:
    """Everything that could be done at a state, over the n hypotheses that may carry probability."""

    state: InformationState
    inside: Indices
    """Positions of the n hypotheses still possible: what evidence has ruled out stays ruled out."""
    posterior: Floats
    """Shape ``(n,)``."""
    own: Rival
    """The step; a terminal decision stands alone in it."""
    decision: Decision | None
    """The step, completed, where it is a terminal decision."""
    stop: Rival
    """All other terminal decisions."""
    probes: tuple[Rival, ...]
    """All other legal probes."""
    ruled: bool
    """Whether decisions have conditions beyond the hypotheses: support, or being a last resort."""
    complete: bool
    """Whether every terminal decision is listed, not just those that differ from the step in one group of beliefs."""

    def full(self, x: Floats) -> Floats:
        """Return a distribution over all hypotheses."""
        posterior = np.zeros(len(self.state.posterior))
        posterior[self.inside] = x / x.sum()
        return posterior

    def at(self, x: Floats) -> InformationState:
        """Return the state with another posterior; what was possible at the alarm, and who spoke, stay as they are."""
        return replace(self.state, posterior=self.full(x), origin=self.state.origin or self.state)

    def name(self, decision: Decision, x: Floats) -> str:
        """Return a decision in words: a correction set by the beliefs it corrects that may have failed under x."""
        if isinstance(decision, RollBack) and decision.plan is None:
            graph, q = self.state.problem.graph, self.full(x) @ self.state.problem.failed
            correct = [(name, graph.belief_index[name]) for name in decision.correct]
            kept = [name for name, i in correct if q[i] * min(graph.beliefs[i].residual, 1e300) > TIE]
            kept = kept or [name for name, i in correct if graph.belief_charges[i]]
            return label(replace(decision, correct=tuple(kept)) if kept else Continue())
        return label(decision)


def label(decision: Decision) -> str:
    """Return a terminal decision in a few words."""
    match decision:
        case RollBack(plan=str(plan)):
            return f"follow plan {plan}"
        case RollBack(correct=names):
            more = f" and {len(names) - 3} more" if len(names) > 4 else ""
            return "roll back " + ", ".join(names[:3] if more else names) + more
        case Continue():
            return "continue"
        case Restart():
            return "restart"
        case Escalate():
            return "escalate"


def step_loss(state: InformationState, step: Step) -> float:
    """Return what a step costs one step ahead, priced in full."""
    if isinstance(step, Reprobe):
        return float(probe_values(state, [step.probe]).expected_loss[0])
    return price(state, step).loss


def best_alternative(state: InformationState, without: Step | None = None) -> tuple[str, float]:
    """Return the best one-step alternative (but this probe) in words, and its loss."""
    stop = best_terminal(state)
    rivals = [name for name in state.legal_probes if without != Reprobe(name)]
    losses = probe_values(state, rivals).expected_loss
    best = int(losses.argmin()) if rivals else None
    if best is not None and losses[best] < stop.loss - TIE:
        return f"run probe {rivals[best]}", float(losses[best])
    return label(stop.decision), stop.loss


def other_steps(state: InformationState, step: Step) -> Rivals | None:
    """Return what could be done at a state, the step apart; None where the decisions are too many to tell."""
    endings, inside = endings_of(state.problem), np.flatnonzero(state.posterior > 0)
    speaks = spoken(endings.support, state)
    listed = _listed(endings, speaks, inside)
    declared_there = (None, ()) if isinstance(step, Reprobe) else _own(state, endings, step)
    if declared_there is None or (listed is None and not declared_there[1]):
        return None  # with decisions left out, a probe would look worse than it is, and seem to flip at once
    (own, near), complete, last = declared_there, listed is not None, endings.others.last_resorts
    listed = (*near, *endings.others.usual) if listed is None else listed
    if any(not e.support and np.isfinite(e.loss[inside]).all() for e in listed):
        last = ()  # something else is always admissible
    stop = _option((None, 0.0, np.ones((1, len(inside))), speaks[None, :]), (*listed, *last), inside, exact=not last)
    names = dict.fromkeys([*state.legal_probes, *([step.probe] if isinstance(step, Reprobe) else [])])
    probes = {name: _probe_option(state, name, stop, last, inside, complete=complete) for name in names}
    if own is None:
        mine = probes.pop(getattr(step, "probe", ""))
        probes = {name: option for name, option in probes.items() if not _twins(option, mine)}
    else:
        mine = _option((None, 0.0, stop.kernel, stop.speaks), (own,), inside, exact=True)
        stop = _rivals(stop, mine.losses[0], len(listed) if any(own is e for e in endings.others.last_resorts) else 0)
    return Rivals(
        state=state,
        inside=inside,
        posterior=state.posterior[inside] / state.posterior.sum(),
        own=mine,
        decision=None if own is None else own.decision,
        stop=stop,
        probes=tuple(probes.values()),
        ruled=bool(last) or len(endings.support) > 0,
        complete=complete,
    )


_Asked = tuple[str | None, float, Floats, Bools]
"""Probe, cost, kernel and who speaks for what: the first fields of an option."""


def _option(asked: _Asked, endings: Sequence[LinearEnding], inside: Indices, *, exact: bool) -> Rival:
    """Return an option over the possible hypotheses, its clauses written as rows c − ½."""
    losses = np.array([ending.loss[inside] for ending in endings]).reshape(len(endings), len(inside))
    signed = [replace(e, support=tuple(clause[:, inside] - REJECT_AT for clause in e.support)) for e in endings]
    return Rival(*asked, tuple(signed), losses, exact)


def _probe_option(
    state: InformationState, probe: str, stop: Rival, last: Sequence[LinearEnding], inside: Indices, *, complete: bool
) -> Rival:
    """Return a probe with what may be decided once it has answered."""
    view, endings = state.probe(probe), endings_of(state.problem)
    rows, exact = planning_likelihood(state, view), isinstance(view.channel, Outcomes)
    speaks = spoken_after(endings.support, state, view.index, rows)
    asked = (probe, view.cost, np.ascontiguousarray(rows[:, inside]), speaks)
    ways, which = np.unique(speaks, axis=0, return_inverse=True)
    listed = [_listed(endings, own, inside) for own in ways] if len(endings.support) else [None]
    if any(own is None for own in listed):
        return Rival(*asked, stop.endings, stop.losses, exact and complete and not len(endings.support))
    every = [ending for own in listed for ending in (*(own or ()), *last)]
    group = np.repeat(np.arange(len(listed)), [len(own or ()) + len(last) for own in listed])
    return replace(_option(asked, every, inside, exact=exact), open=group == which.ravel()[:, None])


def _twins(option: Rival, other: Rival) -> bool:
    same = option.cost == other.cost and option.kernel.shape == other.kernel.shape
    same = same and np.array_equal(option.losses, other.losses)
    return bool(same and np.allclose(option.kernel, other.kernel, rtol=0.0, atol=1e-12))


def _rivals(stop: Rival, own: Floats, n_before: int) -> Rival:
    """Return stopping without the decisions that cost what the step does, whatever is true.

    A last resort gives way to the ``n_before`` other decisions wherever they are admissible, at any price.
    """
    losses = stop.losses.copy()
    losses[:n_before][np.isfinite(losses[:n_before])] = BEATS_ALL
    with np.errstate(invalid="ignore"):
        same = (losses == own) | (np.abs(losses - own) <= TIE)
    other = np.flatnonzero(~same.all(axis=1))
    return replace(stop, losses=losses[other], endings=tuple(stop.endings[u] for u in other))


def _listed(endings: Endings, speaks: Bools, inside: Indices) -> tuple[LinearEnding, ...] | None:
    """Return every terminal decision but the last resorts, less those that another beats; None where too many."""
    possible = np.zeros(len(endings.features), dtype=bool)
    possible[inside] = True
    most = min(MOST_DECISIONS, max(64, MOST_LOSSES // len(inside)))
    # What beats a decision may be inadmissible where the decision is not, if there are rules of support.
    pruned = None if len(endings.support) else possible
    sets = listed_endings(replace(endings, others=OtherEndings()), speaks, most=most, possible=pruned)
    return None if sets is None else (*sets, *endings.others.usual)


def _own(
    state: InformationState, endings: Endings, step: Decision
) -> tuple[LinearEnding, Sequence[LinearEnding]] | None:
    """Return a terminal step as a linear function of the posterior, and the correction sets next to it, or None.

    A set that beats the step does so in some group of beliefs that share no operation with the rest, so those that
    differ in one group stand for all. None where a group's closures are too many to list.
    """
    never = LinearEnding(step, np.full(len(state.posterior), math.inf))
    if not isinstance(step, Continue) and not (isinstance(step, RollBack) and step.plan is None):
        listed = (*endings.others.usual, *endings.others.last_resorts)
        same = (e for e in listed if _key(e.decision) == _key(step))
        return next(same, never), ()
    graph, decision = state.problem.graph, _completed(state, endings, step)
    own, sides = LinearEnding(decision, np.full(len(state.posterior), graph.rollback_cost(decision.undo))), []
    for members, group in _by_group(endings):
        ways = listed_endings(group, spoken(endings.support, state), most=MOST_DECISIONS)
        if ways is None or endings.groups.cuts:
            return None
        kept = [name for name in decision.correct if name in members]
        wanted = tuple(kept), tuple(new for new in decision.declare if new.belief in kept)
        mine = [way for way in ways if _key(way.decision) == wanted and _open(way, state)]
        old = min(mine, key=lambda way: len(way.support), default=never)  # what cannot be wrong needs no evidence
        own = LinearEnding(
            decision, own.loss + old.loss - graph.rollback_cost(graph.closure(wanted[0])), own.support + old.support
        )
        sides.append((members, old, ways))
    return own, [_changed(graph, own, members, old, new) for members, old, ways in sides for new in ways]


def _open(ending: LinearEnding, state: InformationState) -> bool:
    """Whether an ending is admissible at a state."""
    clauses = all(bool((clause @ state.posterior < REJECT_AT).any()) for clause in ending.support)
    return clauses and math.isfinite(expected(state.posterior, ending.loss))


def _key(decision: Decision) -> object:
    match decision:
        case RollBack(correct, _, declare, None):
            return correct, declare
        case Continue():
            return (), ()
        case RollBack(plan=plan):
            return plan
        case Restart() | Escalate():
            return type(decision)


def _completed(state: InformationState, endings: Endings, step: RollBack | Continue) -> RollBack:
    """Return a step with all that it undoes and declares, and with what the undone actions carry corrected too."""
    graph, whole = state.problem.graph, completed(state, step if isinstance(step, RollBack) else RollBack(()))
    charges = 0
    for charged, action in zip(graph.action_charges, graph.executed, strict=True):
        charges |= sum(1 << charge for charge in charged) if action.name in whole.undo else 0
    correct = tuple(
        belief.name
        for i, belief in enumerate(graph.beliefs)
        if belief.name in whole.correct
        or (i in endings.losses.beliefs and not belief.declares and not graph.belief_charges[i] & ~charges)
    )
    return replace(whole, correct=correct)


def _by_group(endings: Endings) -> Iterator[tuple[frozenset[str], Endings]]:
    """Yield the names of every group of beliefs that shares no operation with the rest, and its decisions alone."""
    groups = endings.groups
    alone = Groups(groups.solo[:0], groups.solo_cost[:0], groups.stuck[:0], (), ())
    parts = [
        (groups.solo[[i]], replace(alone, solo=groups.solo[[i]], solo_cost=groups.solo_cost[[i]]))
        for i in range(len(groups.solo))
    ]
    parts += [(groups.stuck[[i]], replace(alone, stuck=groups.stuck[[i]])) for i in range(len(groups.stuck))]
    parts += [(closures.members, replace(alone, listed=(closures,))) for closures in groups.listed]
    for members, group in parts:
        names = frozenset(endings.losses.graph.beliefs[endings.losses.beliefs[i]].name for i in members)
        yield names, replace(endings, groups=group, others=OtherEndings())


def _changed(
    graph: RecoveryGraph, own: LinearEnding, members: frozenset[str], old: LinearEnding, new: LinearEnding
) -> LinearEnding:
    """Return the step with something else done about one group of beliefs."""
    correct = {name for name in getattr(own.decision, "correct", ()) if name not in members}
    correct |= {*getattr(new.decision, "correct", ())}
    names = tuple(belief.name for belief in graph.beliefs if belief.name in correct)
    support = tuple(clause for clause in own.support if not any(clause is gone for gone in old.support))
    with np.errstate(invalid="ignore"):
        loss = own.loss - old.loss + new.loss
    return LinearEnding(RollBack(names, graph.closure(names)) if names else Continue(), loss, support + new.support)
