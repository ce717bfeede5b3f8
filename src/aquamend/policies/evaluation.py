"""What following a policy to the end costs: exactly, or where probes read numbers by sampled recoveries.

Exactly, every outcome of every probe is followed. To sample, a hypothesis is drawn from the posterior and answers under
it; the policy is followed; and the ending counts at its expected loss given what was observed, E[loss | evidence],
rather than at the loss under the hypothesis drawn: the mean is the same, and it varies less. All policies meet the same
hypotheses and the same answers to the same uses of the same probes, so that differences between them vary least.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any, NoReturn

import numpy as np

from aquamend import deadline
from aquamend.arrays import Floats, Indices
from aquamend.belief import InformationState, Observation
from aquamend.deadline import OutOfTime, check_deadline
from aquamend.decision.probe_value import clairvoyant_loss
from aquamend.decision.steps import Continue, Decision, Escalate, NewDeclaration, Reprobe, Restart, RollBack, Step
from aquamend.decision.terminal import best_terminal, completed, expected_loss, price, wrong_probability
from aquamend.errors import BadArgument, NotDiscrete, TooLarge
from aquamend.planning.bounds import Bounds
from aquamend.planning.limits import current_listener
from aquamend.planning.search import CertifiedPlan
from aquamend.policies.planners import Exact
from aquamend.policies.policy import Policy
from aquamend.problem import Problem
from aquamend.problem.graph import Action
from aquamend.problem.model.kernels import Outcomes

EPISODES = 2_000
MOST_SAMPLED_PROBES = 1_000
WITHIN_95 = 1.959964
MOST_STATES = 1_000_000
MOST_PROBES = 2_000
CERTAIN_ENOUGH = 1e-6
"""A policy that still probes after so many, with more than this probability, is taken to have no end."""

NEGLIGIBLE = 1e-14
"""Probability below which a state no longer probes: it changes no expectation that a float can show."""

GRACE_S, GRACE = 0.02, 0.1
"""How long it may take to tell what is left at least, when the time is up: so long, and this part of the deadline."""

Evidence = tuple[tuple[str, str], ...]
Followed = Callable[[int, float], None]
"""Hears how many evidence states were visited, and which probability has come to an end."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Expectations over the posterior and all outcomes, from one state on."""

    expected_loss: float
    """Sensing, recovery and residual together."""
    expected_probes: float
    expected_undone: float
    """Executed actions undone."""
    success: float
    """Probability that nothing wrong is left, kept or newly declared, and that nothing was escalated."""
    residual: float = 0.0
    """Expected loss of what is left wrong; part of the expected loss."""
    escalated: float = 0.0
    """Probability of ending with a person."""
    left_wrong: Mapping[str, float] = field(default_factory=dict)
    """For every belief that may be left wrong, how probably it is."""


def named_totals(totals: Floats, problem: Problem) -> dict[str, Any]:
    """Return expectations in the order of ``ended`` by their names."""
    names = ("expected_loss", "expected_probes", "expected_undone", "success", "residual", "escalated")
    wrong = zip((belief.name for belief in problem.graph.beliefs), totals[len(names) :].tolist(), strict=True)
    found = dict(zip(names, totals.tolist(), strict=False))
    return {**found, "left_wrong": {name: min(1.0, p) for name, p in wrong if p > 0.0}}


def policy_and_state(one: object, other: object) -> tuple[Policy, InformationState]:
    """Return the policy and the state, whichever was given first; a problem stands for the state after its alarm."""
    for policy, at in ((one, other), (other, one)):
        state = InformationState.alarmed(at) if isinstance(at, Problem) else at
        if isinstance(state, InformationState) and not isinstance(policy, InformationState | Problem):
            from aquamend.policies.registry import policy_named  # which knows of all policies, and these of evaluation

            named = policy_named(policy) if isinstance(policy, str) else policy
            if isinstance(named, Policy):
                return named, state
    kinds = f"{type(one).__name__} and {type(other).__name__}"
    raise BadArgument(f"evaluate takes a policy and a state (or a problem), but was given {kinds}")


def evaluate(
    policy: Policy | str | InformationState | Problem,
    state: InformationState | Problem | Policy | str,
    *,
    deadline_s: float = math.inf,
    most_states: int | None = None,
    report: Followed | None = None,
) -> Evaluation:
    """Return the exact expectation of following the policy from this state to the end.

    States are visited once per multiset of evidence, so a policy must depend on what was observed and not on the order.
    A state whose probability has fallen below 1e-14 takes its best terminal decision, so that probing which may go on
    for ever still has a value. Probing that goes on with certainty is refused. ``report`` hears how far it is; then
    an interrupt ends it as a deadline does: refused, with what the policy costs at least. Policy and state may come in
    either order; a policy may be named, and a problem stands for the state after its alarm.
    """
    policy, state = policy_and_state(policy, state)
    if isinstance(policy, Exact):
        _check_completes(policy, state, deadline_s)
    following = _Following(policy, state.problem, report, most_states or MOST_STATES)
    try:
        with deadline.ends_at(deadline.clock() + deadline_s):
            return following.to_the_end(state)
    except OutOfTime:
        check_deadline()  # that of somebody who waits for this evaluation
        grace_s = GRACE_S + GRACE * deadline_s
        raise following.unfinished(f"not finished after {deadline_s:g} s", grace_s) from None
    except KeyboardInterrupt:
        if report is None:
            raise
        raise following.unfinished("interrupted") from None


def upper_bound(policy: Policy, state: InformationState, *, deadline_s: float = math.inf) -> CertifiedPlan | None:
    """Return what following a policy costs, as an upper bound with its first probe; None where that is not known.

    It is not where the policy runs probes that read numbers, reaches too many states or takes too long.
    """
    try:
        loss = evaluate(policy, state, deadline_s=deadline_s).expected_loss
    except (NotDiscrete, TooLarge):
        return None
    step = policy.next_step(state)
    return CertifiedPlan(step.probe if isinstance(step, Reprobe) else None, Bounds(-math.inf, loss))


@dataclass(eq=False)
class _Following:
    """How far a policy has been followed."""

    policy: Policy
    problem: Problem
    report: Followed | None
    most_states: int = MOST_STATES
    total: Floats = field(init=False)
    visited: int = 0
    finished: float = 0.0
    """Probability of having come to an end."""
    layer: dict[Evidence, tuple[InformationState, float]] = field(default_factory=dict)
    following: dict[Evidence, tuple[InformationState, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.total = spent_on(self.problem)

    def to_the_end(self, state: InformationState) -> Evaluation:
        self.layer, probes = {_key(state): (state, 1.0)}, 0
        while self.layer:
            if probes > MOST_PROBES and math.fsum(p for _, p in self.layer.values()) > CERTAIN_ENOUGH:
                raise TooLarge(f"the policy still goes on after {MOST_PROBES} probes; evaluate one that ends")
            if self.visited + len(self.layer) > self.most_states:
                raise TooLarge(
                    f"the policy reaches over {self.most_states} evidence states; evaluate a smaller problem"
                )
            while self.layer:
                check_deadline()
                self._visit_next()
                listener = current_listener()
                if listener is not None and listener.interrupted:  # while the policy searched
                    raise self.unfinished("interrupted")
            self.layer, self.following, probes = self.following, {}, probes + 1
        return Evaluation(**named_totals(self.total, self.problem))

    def _visit_next(self) -> None:
        """Ask the policy at a state of this layer; a state at which it is asked in vain is left where it is."""
        key = next(iter(self.layer))
        here, probability = self.layer[key]
        step = self._step(here, probability)
        # Taken out before it counts: an interrupt in between leaves something out, and what is left is still a bound.
        del self.layer[key]
        self.visited += 1
        if isinstance(step, Reprobe):
            self.total += probability * spent_on(self.problem, here.probe(step.probe).cost, 1.0)
            _follow(here, step.probe, probability, self.following)
        else:
            self.total += probability * ended(here, step)
            self.finished += probability
        if self.report is not None:
            self.report(self.visited, self.finished)

    def _step(self, here: InformationState, probability: float) -> Step:
        """Return the policy's step; of what hardly ever comes, the best ending, unless that has no finite loss."""
        stop = best_terminal(here) if probability < NEGLIGIBLE else None
        if stop is None or math.isinf(stop.loss):
            return self.policy.next_step(here)
        return stop.decision

    def unfinished(self, why: str, grace_s: float = math.inf) -> TooLarge:
        """Return why it was not followed to the end, and what it costs at least: what is left, if all were known.

        Where telling that would take longer than the grace, what is left counts as nothing.
        """
        left = {**self.layer, **self.following}.values()  # by key: an interrupt may come while they change places
        least = float(self.total[0])
        with suppress(OutOfTime), deadline.ends_at(deadline.clock() + grace_s):
            least += math.fsum(p * clairvoyant_loss(here) for here, p in left)
        return TooLarge(
            f"{why}, with {self.finished:.0%} of the probability followed to the end; its expected loss is at least "
            f"{least:.6g}; give it a longer --deadline, or a smaller problem",
            lower=least,
        )


def _check_completes(policy: Exact, state: InformationState, deadline_s: float) -> None:
    """Refuse to evaluate a plan that is not complete; one that takes too long to make is not."""
    try:
        with deadline.ends_at(deadline.clock() + deadline_s):
            if not policy.completes(state):
                _refuse(policy, state)
    except OutOfTime:
        check_deadline()
        raise TooLarge(
            f"not finished after {deadline_s:g} s: the complete adaptive plan took longer to make; "
            "give it a longer --deadline, or evaluate another policy"
        ) from None


def _refuse(policy: Exact, state: InformationState) -> NoReturn:
    """Say why following a plan that is only the best found so far has no exact value worth waiting for."""
    continuous = [view.name for view in state.legal if not isinstance(view.channel, Outcomes)]
    if continuous:
        raise NotDiscrete("evaluating exact", continuous)
    bounds = policy.bounds(state)
    raise TooLarge(
        f"the complete adaptive tree is too large to tabulate; its value lies between {bounds.lower:.6g} and "
        f"{bounds.upper:.6g}; ask `decide --policy exact` for the next step, or evaluate another policy",
        lower=bounds.lower,
        upper=bounds.upper,
    )


def _key(state: InformationState) -> Evidence:
    return tuple(sorted((o.probe, str(o.outcome)) for o in state.evidence))


def _follow(
    state: InformationState, probe: str, probability: float, following: dict[Evidence, tuple[InformationState, float]]
) -> None:
    """Add the states after every possible answer to those that follow."""
    channel = state.probe(probe).channel
    if not isinstance(channel, Outcomes):
        raise NotDiscrete("evaluate", [probe])
    for outcome, p in zip(channel.outcomes, state.posterior @ channel.table, strict=True):
        if probability * p > 0.0:
            child = state.after(Observation(probe, outcome))
            first, known = following.setdefault(_key(child), (child, 0.0))
            following[_key(child)] = first, known + probability * float(p)


def spent_on(problem: Problem, cost: float = 0.0, probes: float = 0.0) -> Floats:
    """Return what sensing adds, in the order of ``ended``; nothing by default."""
    totals = np.zeros(6 + len(problem.graph.beliefs))
    totals[:2] = cost, probes
    return totals


def ended(state: InformationState, decision: Decision) -> Floats:
    """Return what ending so means: loss, no probes, actions undone, success, residual loss, whether it was escalated.

    Then, for every belief, the probability that it is left wrong.
    """
    problem, stop = state.problem, price(state, decision)
    found = spent_on(problem, stop.loss)
    correct: tuple[str, ...] = ()
    declared, plan = tuple[NewDeclaration, ...](), None
    match decision:
        case Continue():
            pass
        case Escalate():
            found[5] = 1.0
            return found
        case RollBack(plan=None):
            whole = completed(state, decision)
            correct, found[2], declared = whole.correct, len(whole.undo), whole.declare
        case Restart() | RollBack():
            plan = problem.restart_plan if isinstance(decision, Restart) else problem.plan_named(str(decision.plan))
            if plan is None:
                return found
            correct, found[2] = plan.correct, len(set(plan.undo))
    unsure = {} if plan is None else plan.unsure
    found[3] = _success(state, correct, declared, undone=plan is None, partly=unsure)
    found[4] = stop.residual if plan is None else expected_loss(state, plan.loss - plan.price)
    found[6:] = _left_wrong(state, correct, declared, undone=plan is None, unsure=unsure)
    return found


def _left_wrong(
    state: InformationState,
    correct: tuple[str, ...],
    declared: tuple[NewDeclaration, ...],
    *,
    undone: bool,
    unsure: Mapping[str, float],
) -> Floats:
    """Return how probably each belief is left wrong, shape ``(n_beliefs,)``."""
    problem, index = state.problem, state.problem.graph.belief_index
    left, said = state.failure_probabilities.copy(), {new.belief: new.value for new in declared}
    for name in correct:
        i = index[name]
        values = problem.new_values[i] if undone else ()
        chosen = next((value for value in values if value.value == said.get(name)), None)
        left[i] = unsure.get(name, 0.0) * left[i] if chosen is None else wrong_probability(state, chosen)
    return left


def _success(
    state: InformationState,
    correct: tuple[str, ...],
    declared: tuple[NewDeclaration, ...],
    *,
    undone: bool,
    partly: Mapping[str, float],
) -> float:
    """Return the probability that nothing wrong is left where these beliefs are corrected, with these new values.

    What is left wrong of several beliefs is independent given the hypothesis and what was undone. An action is undone
    once for all beliefs above it: where that fails, each of them is left as it was.
    """
    problem, index = state.problem, state.problem.graph.belief_index
    wrong = problem.failed.copy() if state.contradiction is None else np.ones_like(problem.failed)
    new = {name: partly.get(name, 0.0) * wrong[:, index[name]] for name in correct}
    for each in declared:
        new[each.belief] = problem.wrong_where(index[each.belief], each.value)
    unsure = [action for action in problem.graph.executed if undone and action.undo_succeeds < 1.0]
    needed = {name: _needed(problem, name, unsure) for name in new}
    right = {0: np.ones(len(wrong))}  # the actions that must have been undone, as bits, to the share of what is right
    later = [mask for mask in needed.values() if mask]
    for name, mask in needed.items():
        if mask:
            right = _split(right, 1.0 - wrong[:, index[name]], later.pop(0), 1.0 - new[name])
            right = _settled(right, unsure, reduce(or_, later, 0))
        wrong[:, index[name]] = 0.0 if mask else new[name]
    share = right[0] * (1.0 - wrong).prod(axis=1)
    good, bad = float(state.posterior @ share), float(state.posterior @ (1.0 - share))
    return good / (good + bad)


def _needed(problem: Problem, belief: str, unsure: Sequence[Action]) -> int:
    below = problem.graph.downstream(belief)
    return sum(1 << k for k, action in enumerate(unsure) if action.name in below)


def _split(right: Mapping[int, Floats], kept: Floats, mask: int, new: Floats) -> dict[int, Floats]:
    """Return the shares once a belief is right with ``new`` where these actions were undone, and else with ``kept``."""
    found: dict[int, Floats] = {}
    for others, share in right.items():
        for both, part in ((others, share * kept), (others | mask, share * (new - kept))):
            found[both] = found.get(both, 0.0) + part
    return found


def _settled(right: Mapping[int, Floats], unsure: Sequence[Action], later: int) -> dict[int, Floats]:
    """Return the shares with the chances counted of actions that no later belief needs, so that few are kept apart."""
    found: dict[int, Floats] = {}
    for mask, share in right.items():
        chance = math.prod(action.undo_succeeds for k, action in enumerate(unsure) if mask & ~later & 1 << k)
        found[mask & later] = found.get(mask & later, 0.0) + chance * share
    return found


@dataclass(frozen=True, slots=True, eq=False)
class SampledEvaluation(Evaluation):
    """Means over sampled recoveries."""

    losses: Floats = field(default_factory=lambda: np.zeros(0))
    """Shape ``(n_episodes,)``; sensing and expected remaining loss of each."""
    wanted: int = 0
    """How many recoveries were to be sampled; there may not have been time for all."""

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval of the expected loss."""
        return half_width(self.losses)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the expected loss; by the normal approximation."""
        return self.expected_loss - self.half_width, self.expected_loss + self.half_width


def half_width(values: Floats) -> float:
    """Return half of the 95 % interval of a mean."""
    if not np.isfinite(values).all():
        return math.inf
    return WITHIN_95 * float(values.std(ddof=1)) / math.sqrt(len(values))


def sampled_value(
    policy: Policy, state: InformationState, *, episodes: int = EPISODES, seed: int = 0, seconds: float = math.inf
) -> SampledEvaluation:
    """Return the means over so many sampled recoveries, or over those done in time; ``TooLarge`` if there is but one.

    The interval says how much those are worth.
    """
    policy, state = policy_and_state(policy, state)
    truths = _hypotheses(state, episodes, seed)
    rows: list[Floats] = []
    known: dict[tuple[Observation, ...], InformationState] = {state.evidence: state}
    try:
        with deadline.ends_at(deadline.clock() + seconds):
            for episode, truth in enumerate(truths.tolist()):
                check_deadline()
                rows.append(_followed(policy, state, truth, (seed, episode), known))
    except OutOfTime:
        check_deadline()  # that of somebody who waits for these samples
    if len(rows) < 2:
        problem = f"{len(rows)} of {episodes:,} recoveries were sampled in {seconds:g} s, too few to tell a mean"
        raise TooLarge(f"{problem}; give it a longer --deadline, or evaluate another policy")
    table = np.array(rows)
    return SampledEvaluation(**named_totals(table.mean(axis=0), state.problem), losses=table[:, 0], wanted=episodes)


def _hypotheses(state: InformationState, episodes: int, seed: int) -> Indices:
    """Return true hypotheses in proportion to the posterior, in a random order: systematic sampling."""
    rng = np.random.default_rng((seed, len(state.posterior)))
    at = (np.arange(episodes) + rng.random()) / episodes
    truths = np.searchsorted(np.cumsum(state.posterior), at).clip(0, len(state.posterior) - 1)
    return np.asarray(rng.permutation(truths), dtype=np.intp)


def _followed(
    policy: Policy,
    start: InformationState,
    truth: int,
    seed: tuple[int, int],
    known: dict[tuple[Observation, ...], InformationState],
) -> Floats:
    """Return loss, probes, actions undone and success of one recovery."""
    state, spent = start, spent_on(start.problem)
    while isinstance(step := policy.next_step(state), Reprobe):
        view = state.probe(step.probe)
        use = state.uses.get(step.probe, 0)
        rng = np.random.default_rng((*seed, view.index, use))
        observation = Observation(step.probe, view.channel.sample(truth, rng))
        spent += spent_on(start.problem, view.cost, 1.0)
        if spent[1] > MOST_SAMPLED_PROBES:
            raise TooLarge(f"the policy still goes on after {MOST_SAMPLED_PROBES} probes; evaluate one that ends")
        evidence = (*state.evidence, observation)
        if isinstance(observation.outcome, str):  # what was computed at a state is kept for those who come again
            state = known[evidence] if evidence in known else known.setdefault(evidence, state.after(observation))
        else:
            state = state.after(observation)
    return np.asarray(spent + ended(state, step))


def paired_difference(one: Evaluation, other: Evaluation) -> tuple[float, float]:
    """Return the mean difference of two expected losses, one − other, and half of its 95 % interval."""
    difference = one.expected_loss - other.expected_loss
    if isinstance(one, SampledEvaluation) and isinstance(other, SampledEvaluation):
        n = min(len(one.losses), len(other.losses))
        paired = one.losses[:n] - other.losses[:n]
        return float(paired.mean()), half_width(paired)
    widths = [e.half_width for e in (one, other) if isinstance(e, SampledEvaluation)]
    return difference, max(widths, default=0.0)
