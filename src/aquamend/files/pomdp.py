"""A recovery problem as a partially observable Markov decision process with finitely many states.

A state is a hypothesis together with how often each probe that can run out has been used; one more state means that the
recovery has ended. The sensing budget needs no state of its own: the uses say what has been spent.

It is written in Cassandra's ``.pomdp`` format, which most solvers read. Everything is ASCII, numbers have a decimal
point and no exponent, no entry is given twice: some parsers want each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from aquamend.arrays import Bools, Floats, Indices
from aquamend.belief import InformationState, ProbeView
from aquamend.belief.state import BUDGET_TOLERANCE
from aquamend.decision.branches import planning_cuts, planning_likelihood
from aquamend.decision.endings import endings_of
from aquamend.decision.other_endings import LinearEnding
from aquamend.decision.probe_value import could_answer
from aquamend.decision.steps import Continue, Decision, Escalate, RollBack, Wording, step_kind
from aquamend.decision.terminal import listed_endings
from aquamend.errors import AquaMendError, TooLarge
from aquamend.problem.model.kernels import Outcomes
from aquamend.text import shown

MOST_ENTRIES = 500_000
"""Entries of the transition, observation and reward tables, together; about as many lines of text."""
MOST_CANDIDATES = 4096
"""Correction sets compared with each other at once; a second or so."""
LARGEST_PENALTY = 1e6
"""How often the largest finite loss goes into what is written for an infinite one, at most, but for rounding up.

More would drown the digits that a solver computes with.
"""
DONE = "done"
NOTHING = "nothing"
LONGEST_NAME = 20
"""Characters of a name that are repeated in an identifier; the comments have the whole of it."""


@dataclass(frozen=True, eq=False)
class ProbeAction:
    """A probe with finitely many answers."""

    view: ProbeView
    answers: tuple[str, ...] | None
    """Names of the outcomes; None where they are the intervals between the cuts."""
    cuts: Floats
    """Readings at which the intervals meet, sorted."""
    likelihood: Floats
    """Shape ``(n_possible, n_answers)``; rows sum to one."""


@dataclass(frozen=True, eq=False)
class Pomdp:
    """States, actions, observations and losses; `done` and the observation `nothing` are understood."""

    state: InformationState
    """Where the recovery starts from."""
    hypotheses: tuple[str, ...]
    """The possible ones."""
    probes: tuple[ProbeAction, ...]
    endings: tuple[LinearEnding, ...]
    """Each with a loss for every possible hypothesis."""
    uses: tuple[tuple[int, ...], ...]
    """Every reachable count of uses, one number for each probe; 0 for a probe that cannot run out."""
    after: Indices
    """Shape ``(n_uses, n_probes)``; position of the uses after a probe has run, -1 where it may not."""
    penalty: float | None = None
    """What is written for an infinite loss; None where all are finite."""
    penalty_is_exact: bool = True
    """Whether the penalty is large enough never to be risked, so that the optimum is unchanged."""

    @cached_property
    def start(self) -> Floats:
        """Shape ``(n_possible,)``; the posterior the recovery starts from."""
        return self.state.posterior[self.state.posterior > 0.0]

    @cached_property
    def relaxation(self) -> str:
        """Why the optimum is but a lower bound on the problem's own; empty where it is not."""
        endings = endings_of(self.state.problem)
        left_out = ["the rules of support"] if len(endings.support) else []
        left_out += ["that last resorts come last"] if endings.others.last_resorts else []
        if not left_out:
            return ""
        unsaid = " and ".join(left_out)
        return f"A POMDP cannot express {unsaid}. Without that, the optimum here is a lower bound on the problem's own."

    @cached_property
    def ceiling(self) -> float:
        """Most that a recovery of finite loss can cost, endless probes aside; an optimum above it is infinite."""
        cost = [action.view.cost for action in self.probes]
        sensing = max(math.fsum(n * c for n, c in zip(counts, cost, strict=True)) for counts in self.uses)
        losses = np.concatenate([ending.loss for ending in self.endings])
        return sensing + float(losses[np.isfinite(losses)].max(initial=0.0))

    @property
    def most_probes(self) -> float:
        """Most probes that can run in one recovery; infinite where one of them never runs out."""
        return math.inf if math.inf in self.most_uses else max(map(sum, self.uses))

    @cached_property
    def most_uses(self) -> tuple[float, ...]:
        """How often each probe can run at most."""
        endless = (self.after == np.arange(len(self.uses))[:, None]).any(axis=0)
        return tuple(math.inf if never else max(u[p] for u in self.uses) for p, never in enumerate(endless))

    @cached_property
    def counted(self) -> tuple[int, ...]:
        """Positions of the probes whose uses tell states apart."""
        return tuple(p for p in range(len(self.probes)) if any(uses[p] for uses in self.uses))

    @cached_property
    def ending_losses(self) -> Floats:
        """What each ending costs by hypothesis, ``(n_possible, n_endings)``; the penalty for infinity."""
        losses = np.column_stack([ending.loss for ending in self.endings])
        return np.asarray(np.where(np.isinf(losses), self.penalty or 0.0, losses))

    @cached_property
    def illegal_losses(self) -> Floats:
        """What is paid for an action that may not be taken, its own cost aside, shape ``(n_possible,)``.

        It ends the recovery at the most costly decision's loss; no decision is worse. Letting it wait would make
        waiting for ever the best plan where a probe is free.
        """
        return np.asarray(self.ending_losses.max(axis=1))


def pomdp_of(state: InformationState) -> Pomdp:
    """Return the decision problem that is left at a state.

    Probes that cannot be afforded are left out, and those that tell nothing about the possible hypotheses: no plan
    needs them. A continuous probe's readings are cut into the intervals that plans use, which is knowing less, so the
    optimum may be a little above the problem's own, never below. Rules of
    support depend on the posterior, which no POMDP's actions can; they are left out, which is said in ``relaxation``.
    """
    if state.contradiction is not None:
        raise AquaMendError("the evidence contradicts the model, so there is no posterior to start from; leave it out")
    problem, possible = state.problem, state.posterior > 0.0
    probes = _probe_actions(state, possible)
    found = _endings(state, possible)
    entries = int(possible.sum()) * (
        2 * len(probes) + sum(action.likelihood.shape[1] for action in probes) + len(found)
    )  # fmt: skip
    uses, after = _reachable_uses(state, probes, entries)
    names = tuple(name for name, may in zip(problem.model.names, possible, strict=True) if may)
    return _with_penalty(Pomdp(state, names, probes, found, uses, after))


def _probe_actions(state: InformationState, possible: Bools) -> tuple[ProbeAction, ...]:
    """Return the legal probes that tell something as actions."""
    found = []
    for view in state.legal:
        likelihood, answers, cuts = planning_likelihood(state, view)[:, possible].T, None, np.zeros(0)
        if isinstance(view.channel, Outcomes):
            happens = np.asarray(likelihood.any(axis=0))
            answers = tuple(o for o, may in zip(view.channel.outcomes, happens, strict=True) if may)
            likelihood = likelihood[:, happens]
        else:
            cuts = planning_cuts(state, view)
        if not (likelihood != likelihood[0]).any():
            continue
        if view.cost == 0.0 and math.isinf(view.uses_left):
            raise AquaMendError(
                f"probe {view.name!r} is free and may run without end, so in a POMDP never deciding would cost "
                "nothing; give it a cost or max_uses"
            )
        found.append(ProbeAction(view, answers, cuts, likelihood))
    return tuple(found)


def _endings(state: InformationState, possible: Bools) -> tuple[LinearEnding, ...]:
    """Return the decisions worth having, smallest correction sets first.

    A decision is left out if another costs no more under every possible hypothesis, or if it is infinite under all of
    them. Where that leaves nothing, escalation stays, at an infinite loss.
    """
    endings = endings_of(state.problem)
    speaks = endings.support.once_answered(could_answer(state))
    listed = listed_endings(endings, speaks, most=MOST_CANDIDATES, possible=possible)
    if listed is None:
        raise TooLarge(
            f"there are over {MOST_CANDIDATES} correction sets to compare, and a POMDP needs one action for each "
            "that is worth having; export a problem with fewer beliefs that may have failed"
        )
    every: dict[Decision, LinearEnding] = {}
    for ending in listed:
        every.setdefault(ending.decision, ending)
    found = [LinearEnding(e.decision, e.loss[possible]) for e in sorted(every.values(), key=_size)]
    kept = _undominated([ending for ending in found if np.isfinite(ending.loss).any()])
    return kept or (LinearEnding(Escalate(), np.full(int(possible.sum()), math.inf)),)


def _size(ending: LinearEnding) -> float:
    """Return how many beliefs a correction set corrects; all else comes after them."""
    match ending.decision:
        case Continue():
            return 0.0
        case RollBack(plan=None):
            return float(len(ending.decision.correct))
        case _:
            return math.inf


def _undominated(endings: Sequence[LinearEnding]) -> tuple[LinearEnding, ...]:
    """Return those that no other is at most equal to; of equal ones the first."""
    kept: list[int] = []
    losses = [ending.loss for ending in endings]
    weight = [(np.isinf(loss).sum(), loss[np.isfinite(loss)].sum()) for loss in losses]
    for i in sorted(range(len(endings)), key=weight.__getitem__):  # what may dominate comes first
        if not any(bool((losses[j] <= losses[i]).all()) for j in kept):
            kept.append(i)
    return tuple(endings[i] for i in sorted(kept))


def _reachable_uses(
    state: InformationState, probes: Sequence[ProbeAction], entries: int
) -> tuple[tuple[tuple[int, ...], ...], Indices]:
    """Return every count of uses that legal probing can reach, and where each probe leads from there."""
    left = [action.view.uses_left for action in probes]
    # Of a probe that never runs out, no use is counted.
    most = [0 if math.isinf(a.view.most_runs) else math.inf for a in probes]
    runs = [1.0 + a.view.most_runs for a in probes if math.isfinite(a.view.most_runs)]
    # Before walking through a million of them: without a budget, every combination can be reached.
    _refuse_too_many(math.prod(runs) if math.isinf(state.budget_left) else max(runs, default=1.0), entries)
    position = {(0,) * len(probes): 0}
    queue, after = list(position), []
    for uses in queue:  # grows while it is walked
        _refuse_too_many(len(queue), entries)
        spent = math.fsum([state.spent, *(a.view.cost for n, a in zip(uses, probes, strict=True) for _ in range(n))])
        budget = state.problem.sensing_budget + BUDGET_TOLERANCE - spent
        row = []
        for p, action in enumerate(probes):
            if uses[p] >= left[p] or action.view.cost > budget:
                row.append(-1)
                continue
            following = (*uses[:p], int(min(uses[p] + 1, most[p])), *uses[p + 1 :])
            if following not in position:
                position[following] = len(position)
                queue.append(following)
            row.append(position[following])
        after.append(row)
    return tuple(queue), np.array(after, dtype=np.intp).reshape(len(queue), len(probes))


def _refuse_too_many(combinations: float, entries: int) -> None:
    if combinations * entries > MOST_ENTRIES:
        raise TooLarge(
            f"the POMDP has over {combinations:.0f} combinations of uses, each with {entries} entries for its states "
            f"and actions; {MOST_ENTRIES} are written at most: lower max_uses or the sensing budget, or remove probes"
        )


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


def pomdp_text(pomdp: Pomdp, *, discount: float = 1.0) -> str:
    """Return the process as the text of a ``.pomdp`` file; rewards are losses with the sign turned."""
    if not 0.0 < discount <= 1.0:
        raise ValueError(f"the discount is {discount!r}; give a number above 0 and at most 1")
    ids = _Names(pomdp)
    start = np.zeros(len(ids.states) + 1)
    start[: len(pomdp.start)] = pomdp.start
    comments = (*_about(pomdp, discount), *_dictionary(pomdp, ids))
    lines = [
        *(f"# {line.encode('ascii', 'backslashreplace').decode('ascii')}".rstrip() for line in comments),
        "",
        f"discount: {_number(discount)}",
        "values: reward",
        " ".join(["states:", *ids.states, DONE]),
        " ".join(["actions:", *ids.probes, *ids.endings]),
        " ".join(["observations:", *(answer for answers in ids.answers for answer in answers), NOTHING]),
        f"start: {' '.join(map(_number, start))}",
        "",
        *_transitions(pomdp, ids),
        "",
        *_observations(pomdp, ids),
        "",
        *_rewards(pomdp, ids),
    ]
    return "\n".join(lines) + "\n"


def _about(pomdp: Pomdp, discount: float) -> Iterator[str]:
    problem = pomdp.state.problem
    unit = f" (in {shown(problem.unit)})" if problem.unit else ""
    yield f"{shown(problem.name)}: a recovery problem of AquaMend as a POMDP"
    yield f"The optimal expected loss{unit} is minus the optimal value at the start."
    if pomdp.relaxation:
        yield pomdp.relaxation
    if math.isfinite(pomdp.most_probes):
        most = int(pomdp.most_probes)
        yield f"At most {most} probes can run, so a horizon of {most + 1} steps is as good as an infinite one."
        if discount < 1.0:
            yield f"With this discount: -value <= optimal expected loss <= -value / {_number(discount)}^{most}."
    else:
        yield "Some probe can run without end, so the horizon is infinite."
    if pomdp.penalty is not None:
        yield f"An infinite loss is written as {_number(pomdp.penalty)}."
        if math.isfinite(pomdp.most_probes):
            yield f"No finite plan costs more than {pomdp.ceiling:.12g}: an optimal loss above that means infinite."
        if not pomdp.penalty_is_exact:
            yield "Where an infinite loss is very improbable it may be risked: the optimum here may then be too low."
    if any(action.answers is None for action in pomdp.probes):
        yield "Continuous readings are cut into intervals: the optimum here is at worst a little too high for that."
    yield ""


def _dictionary(pomdp: Pomdp, ids: _Names) -> Iterator[str]:
    """Yield which name of the problem stands behind every identifier."""
    words = Wording(pomdp.state)
    endless = [" (1: at least once)" if math.isinf(most) else "" for most in pomdp.most_uses]
    counted = [ids.probes[p] + endless[p] for p in pomdp.counted]
    yield "States: a hypothesis" + (f", then the uses of {', '.join(counted)}." if counted else ".")
    for identifier, name in zip(ids.hypotheses, pomdp.hypotheses, strict=True):
        yield f"  {identifier}: {shown(name)}"
    yield f"  {DONE}: the recovery has ended"
    yield "Actions: one that may not be taken ends the recovery at its cost and the highest loss of all decisions."
    for identifier, action in zip(ids.probes, pomdp.probes, strict=True):
        yield f"  {identifier}: run probe {shown(action.view.name)}"
    for identifier, ending in zip(ids.endings, pomdp.endings, strict=True):
        yield f"  {identifier}: {words.full(ending.decision, most=1_000)}"
    yield "Observations"
    for identifiers, action in zip(ids.answers, pomdp.probes, strict=True):
        for identifier, answer in zip(identifiers, _answers(action), strict=True):
            yield f"  {identifier}: probe {shown(action.view.name)} {answer}"
    yield f"  {NOTHING}: no answer"


def _answers(action: ProbeAction) -> Iterator[str]:
    if action.answers is not None:
        yield from (f"answers {shown(answer)}" for answer in action.answers)
        return
    limits = [f"{cut:.12g}" for cut in action.cuts]
    yield f"reads below {limits[0]}"
    yield from (f"reads from {low} to {high}" for low, high in pairwise(limits))
    yield f"reads above {limits[-1]}"


def _transitions(pomdp: Pomdp, ids: _Names) -> Iterator[str]:
    states, n = ids.states, len(pomdp.hypotheses)
    for p, action in enumerate(ids.probes):
        for u, following in enumerate(pomdp.after[:, p]):
            for h in range(n):
                target = DONE if following < 0 else states[following * n + h]
                yield f"T: {action} : {states[u * n + h]} : {target} 1.0"
        yield f"T: {action} : {DONE} : {DONE} 1.0"
    for action in ids.endings:
        yield f"T: {action} : * : {DONE} 1.0"


def _observations(pomdp: Pomdp, ids: _Names) -> Iterator[str]:
    states, n = ids.states, len(pomdp.hypotheses)
    for identifier, answers, action, after in zip(ids.probes, ids.answers, pomdp.probes, pomdp.after.T, strict=True):
        reached = set(after.tolist())
        for s, state in enumerate(states):
            # An end state that the probe cannot lead to must still have an observation.
            pairs = zip(answers, action.likelihood[s % n], strict=True) if s // n in reached else [(NOTHING, 1.0)]
            for answer, probability in pairs:
                if probability > 0.0:
                    yield f"O: {identifier} : {state} : {answer} {_number(min(probability, 1.0))}"
        yield f"O: {identifier} : {DONE} : {NOTHING} 1.0"
    for identifier in ids.endings:
        yield f"O: {identifier} : * : {NOTHING} 1.0"


def _rewards(pomdp: Pomdp, ids: _Names) -> Iterator[str]:
    n, illegal = len(pomdp.hypotheses), pomdp.illegal_losses
    for p, (identifier, action) in enumerate(zip(ids.probes, pomdp.probes, strict=True)):
        for s, state in enumerate(ids.states):
            loss = action.view.cost + (illegal[s % n] if pomdp.after[s // n, p] < 0 else 0.0)
            yield f"R: {identifier} : {state} : * : * {_number(-loss)}"
    for e, identifier in enumerate(ids.endings):
        for s, state in enumerate(ids.states):
            yield f"R: {identifier} : {state} : * : * {_number(-pomdp.ending_losses[s % n, e])}"


class _Names:
    """The identifiers of one process."""

    def __init__(self, pomdp: Pomdp) -> None:
        self.hypotheses = _identifiers("h", pomdp.hypotheses)
        self.probes = _identifiers("probe", (action.view.name for action in pomdp.probes))
        self.endings = _identifiers("stop", (_kind(ending.decision) for ending in pomdp.endings))
        self.answers = [
            _identifiers(f"answer{p}_", action.answers or [""] * action.likelihood.shape[1])
            for p, action in enumerate(pomdp.probes, start=1)
        ]
        counts = ["".join(f"_{uses[p]}" for p in pomdp.counted) for uses in pomdp.uses]
        counts = [f"_{count}" if count else "" for count in counts]
        self.states = [f"{identifier}{count}" for count in counts for identifier in self.hypotheses]
        """All states but the last, hypothesis by hypothesis for each count of uses."""


def _kind(decision: Decision) -> str:
    if isinstance(decision, RollBack):
        return f"correct {' '.join(decision.correct)}" if decision.plan is None else f"plan {decision.plan}"
    return step_kind(decision)


def _identifiers(prefix: str, names: Iterable[str]) -> list[str]:
    """Return identifiers that begin with a letter and are unique by their number, whatever the names are."""
    plain = (re.sub(r"[^A-Za-z0-9]+", "_", name)[:LONGEST_NAME].strip("_") for name in names)
    return [f"{prefix}{i}_{name}" if name else f"{prefix}{i}" for i, name in enumerate(plain, start=1)]


def _number(value: float) -> str:
    """Return the shortest decimal number that reads back as this float: with a point, without an exponent."""
    return np.format_float_positional(value + 0.0, trim="0")  # minus zero plus zero is zero
