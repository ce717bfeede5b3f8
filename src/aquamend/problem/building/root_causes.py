"""Root causes: what may have happened, each with its own probability; the joint hypotheses follow from them.

    p(s) = Π_c p(state of c under s | states of earlier causes under s)

over all combinations in which at most ``together`` causes are present. What more of them at once would add is left out,
and how probable that is stays known (``Generated.left_out``): the kept priors are divided by 1 − left out.

A cause may come at a rate instead: what was measured some time ago may have been overtaken since. At a rate λ, it has
overtaken what was measured a ago with probability 1 − exp(−λ a); of several states with rates λ_i and the sum Λ, each
has with λ_i / Λ (1 − exp(−Λ a)), the first that came. Where the beliefs that it makes wrong have different ages
a_1 < a_2 < …, it came between a_{k−1} and a_k ago (a_0 = 0) with probability

    λ_i / Λ (exp(−Λ a_{k−1}) − exp(−Λ a_k)),

and then makes wrong those of age a_k or more: the younger ones were measured after it. So a state becomes one part
for each such stretch of time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Bools, Floats, Indices
from aquamend.codec import TRUE_VALUE, Name, number_or_table, place_of_rule
from aquamend.codec.forms import FINITE, PROBABILITY
from aquamend.errors import Fault, InvalidProblem, UnknownCondition
from aquamend.problem import Ages
from aquamend.problem.building.rules import NOTHING, Clash, Vocabulary, clash_fault, resolved
from aquamend.problem.building.truths import UNKNOWN, Effect, Expanded, expanded
from aquamend.problem.faults import probability_faults, refuse
from aquamend.problem.graph import Belief, Value
from aquamend.problem.model import Cause, Hypotheses, Hypothesis
from aquamend.problem.model.hypotheses import CAUSES, Combined
from aquamend.problem.model.joint_model import truth_faults
from aquamend.problem.model.spreads import Spread

Present = NDArray[np.int8] | NDArray[np.int32]
MOST_COMBINATIONS = 1_200_000
"""Most combinations of causes that are made: a second or two, and a few hundred megabytes."""
Truth = Value | Spread
"""What is true of a belief: a value, or one that nobody knows yet."""
LEAST = 1e-60
"""What may have come by its rate, or may not have, stays at least so probable: only rounding makes it impossible."""


@dataclass(frozen=True, slots=True)
class CauseState:
    """One way in which a cause may be present."""

    prior: Annotated[float | Mapping[str, float], number_or_table(PROBABILITY)] | None = None
    """Its probability; or rules for it, by conditions on causes listed before."""
    failed: Sequence[Name] = ()
    """Beliefs that it makes wrong, of those that declare no value."""
    truth: Mapping[Name, Annotated[Value, TRUE_VALUE] | Spread] = field(default_factory=dict)
    """What it makes true of beliefs that declare a value."""
    rate: Annotated[float | Mapping[str, float], number_or_table(FINITE)] | None = None
    """In place of a prior, how often it comes in a unit of time; or rules for it. What is older is likelier wrong."""


@dataclass(frozen=True, slots=True)
class RootCause:
    """Something that may have happened: present in one of its states, or absent."""

    name: str
    states: Mapping[str, CauseState]
    """By name; a cause with a single state may call it by the empty text, and is then named by itself alone."""
    kind: Cause = Cause.UNKNOWN

    @classmethod
    def single(
        cls,
        name: str,
        prior: float | Mapping[str, float],
        failed: Sequence[str] = (),
        truth: Mapping[str, Truth] | None = None,
        kind: Cause = Cause.UNKNOWN,
    ) -> RootCause:
        """Return a cause that is either present or not."""
        return cls(name, {"": CauseState(prior, tuple(failed), dict(truth or {}))}, kind)

    @property
    def comes_at_a_rate(self) -> bool:
        """Whether its probability follows from the age of beliefs."""
        return any(spec.rate is not None for spec in self.states.values())

    @property
    def own_beliefs(self) -> list[str]:
        """The beliefs that it makes wrong by itself, without effects."""
        return list(dict.fromkeys(b for state in self.states.values() for b in (*state.failed, *state.truth)))

    def label(self, state: str) -> str:
        """Return how a state of it is called: ``shelf=moved``, or the cause's own name where it has but one."""
        return f"{self.name}={state}" if state else self.name

    def states_at(self, where: str) -> dict[str, CauseState]:
        """Return its states by their places in a file, where the cause stands at ``where``."""
        return {(f"{where}.states.{state}" if state else where): spec for state, spec in self.states.items()}


@dataclass(frozen=True, slots=True)
class Share:
    """A state of a cause, or what of it came within one stretch of time."""

    state: str
    spec: CauseState
    """With the beliefs that it makes wrong, if it came then."""
    word: str
    """What the state is called in conditions."""
    since: float = 0.0
    """It came at least so long ago …"""
    until: float = 0.0
    """… and at most so long."""
    before: str = ""
    """A belief that was measured just after it came; empty where every belief is older."""

    @property
    def name(self) -> str:
        """What it is called among hypotheses."""
        return f"{self.word} (before {self.before})" if self.before else self.word

    def makes_wrong(self, belief: str) -> bool:
        """Whether it makes a belief wrong by itself."""
        return belief in self.spec.failed or belief in self.spec.truth


def parts_of_cause(cause: RootCause, ages: Ages) -> list[Share]:
    """Return the parts of a sound cause: its states, or each of them once for every stretch of time."""
    if not cause.comes_at_a_rate:
        return [Share(state, spec, cause.label(state)) for state, spec in cause.states.items()]
    known = {belief: ages.of(belief) or 0.0 for belief in cause.own_beliefs}
    limits = sorted(set(known.values())) or [ages.all or 0.0]
    youngest = {age: belief for belief, age in reversed(known.items())}
    found = []
    for state, spec in cause.states.items():
        for k, (since, until) in enumerate(pairwise([0.0, *limits])):
            failed = tuple(belief for belief in spec.failed if known[belief] >= until)
            truth = {belief: value for belief, value in spec.truth.items() if known[belief] >= until}
            own = replace(spec, failed=failed, truth=truth)
            found.append(Share(state, own, cause.label(state), since, until, youngest[since] if k else ""))
    return found


def may_have_come(cause: RootCause, ages: Ages) -> bool:
    """Whether a cause with a rate can have come since what it makes wrong was measured."""
    comes = any(number > 0.0 for spec in cause.states.values() for _, number in _numbers("", spec.rate))
    return comes and any(part.until > 0.0 for part in parts_of_cause(cause, ages))


def words_of(cause: RootCause, parts: Sequence[Share]) -> dict[str, list[int]]:
    """Return the words for a cause's states and for what came since a belief was measured, with the parts meant."""
    found: dict[str, list[int]] = {}
    for i, part in enumerate(parts):
        found.setdefault(part.word, []).append(i)
        spec = cause.states[part.state]
        for belief in (*spec.failed, *spec.truth):
            if part.makes_wrong(belief):
                found.setdefault(since(part, belief, parts), []).append(i)
    return {word: list(dict.fromkeys(own)) for word, own in found.items()}


def since(part: Share, belief: str, parts: Sequence[Share]) -> str:
    """Return the word for the state of a part having come since a belief was measured."""
    always = all(other.makes_wrong(belief) for other in parts if other.state == part.state)
    return part.word if always else f"{part.word} (since {belief})"


def part_probabilities(parts: Sequence[Share], rates: Mapping[str, Floats]) -> tuple[list[Floats], Floats]:
    """Return the probability of each part, and that the cause has not come, under every hypothesis, from the rates."""
    total = np.sum(list(rates.values()), axis=0)
    share = {state: np.divide(rate, total, out=np.zeros_like(total), where=total > 0) for state, rate in rates.items()}
    found = []
    for part in parts:
        within = -np.expm1(-total * (part.until - part.since))
        own = share[part.state] * np.exp(-total * part.since) * within
        found.append(np.where((rates[part.state] > 0.0) & (within > 0.0), np.maximum(own, LEAST), own))
    return found, np.maximum(np.exp(-total * max((part.until for part in parts), default=0.0)), LEAST)


@dataclass(frozen=True, eq=False)
class Generated:
    """The joint hypotheses that follow from causes."""

    made: Expanded
    present: Present
    """Shape ``(n_hypotheses, n_causes)``; in which of its parts each cause is, counted from 1; 0 where absent."""
    left_out: float
    """Prior probability of all combinations that were not generated."""

    @property
    def hypotheses(self) -> Sequence[Hypothesis]:
        """The joint hypotheses, one for each value of a spread."""
        return self.made.hypotheses

    @property
    def vocabulary(self) -> Vocabulary:
        """Words for causes, their states, beliefs and their values."""
        return self.made.vocabulary


def generated(
    causes: Sequence[RootCause],
    beliefs: Sequence[Belief],
    *,
    together: int | None = None,
    effects: Sequence[Effect] = (),
    ages: Ages | None = None,
) -> Generated:
    """Return the joint hypotheses of these causes; ``InvalidProblem`` with every fault where they cannot be.

    ``together`` is how many causes may be present at once; all of them unless given. ``ages`` say how long ago beliefs
    were measured, for causes that come at a rate.
    """
    ages = ages or Ages()
    faults = list(_cause_faults(causes, beliefs, effects, ages))
    parts = [parts_of_cause(cause, ages) for cause in causes]
    refuse([*faults, *_size_faults(parts, together)])
    present = combinations([len(own) for own in parts], len(causes) if together is None else together)
    words = _cause_words(causes, parts, present)
    names = Combined([[part.name for part in own] for own in parts], present, NOTHING)
    prior = _priors(causes, parts, present, Vocabulary(names, words))
    kept = prior > 0.0
    if not kept.all():
        present, prior, names = present[kept], prior[kept], names.taken(kept)
        words = {word: holds[kept] for word, holds in words.items()}
    vocabulary = Vocabulary(names, words)
    total = float(prior.sum())
    if not total > 0.0:
        raise InvalidProblem([Fault("causes", "no combination has a probability above 0", "correct the priors")])
    written, contested = _written(causes, parts, beliefs, present, prior / total, vocabulary)
    made = expanded(written, beliefs, effects, words=vocabulary.words, contested=contested)
    complete = together is None or together >= len(causes)  # then the sum lacks at most what rounding took
    left_out = 0.0 if complete else max(0.0, 1.0 - total)
    return Generated(made, present[made.origin], left_out)


def combinations(parts: Sequence[int], together: int) -> Present:
    """Return, shape ``(n_combinations, n_causes)``, which part of each cause is present, from 1 on; 0 where none is.

    ``parts`` says how many each cause has.
    """
    sizes = np.array(parts, dtype=np.intp)
    small = np.int8 if sizes.max(initial=0) < 128 else np.int32
    found, chosen = [], np.zeros((1, 0), dtype=np.intp)
    for count in range(min(together, len(parts)) + 1):
        if count:
            chosen = _with_one_more(chosen, len(parts))
        ways = sizes[chosen].prod(axis=1)
        which = np.repeat(np.arange(len(chosen)), ways)
        number = np.arange(len(which)) - np.repeat(np.cumsum(ways) - ways, ways)  # of the parts of the same causes
        rows = np.zeros((len(which), len(parts)), dtype=small)
        for k in reversed(range(count)):  # the parts of the last cause change fastest
            own = chosen[which, k]
            rows[np.arange(len(which)), own] = 1 + number % sizes[own]
            number = number // sizes[own]
        found.append(rows)
    return np.concatenate(found)


def _with_one_more(chosen: Indices, n: int) -> Indices:
    """Return every choice of causes with each later one, in order."""
    last = chosen[:, -1] if chosen.shape[1] else np.full(1, -1)
    more = n - 1 - last
    which = np.repeat(np.arange(len(chosen)), more)
    added = np.arange(len(which)) - np.repeat(np.cumsum(more) - more, more) + last[which] + 1
    return np.column_stack([chosen[which], added])


def _cause_words(causes: Sequence[RootCause], parts: Sequence[Sequence[Share]], present: Present) -> dict[str, Bools]:
    words: dict[str, Bools] = {NOTHING: np.asarray((present == 0).all(axis=1))}
    for c, cause in enumerate(causes):
        words[cause.name] = present[:, c] > 0
        for word, own in words_of(cause, parts[c]).items():
            words[word] = np.isin(present[:, c] - 1, own)
    return words


def _kinds(causes: Sequence[RootCause], present: Present) -> NDArray[np.int8]:
    """Return of what kind each combination is: that of its causes, unknown where they differ.

    Whatever is none of the alarm's business does not change what another cause makes of it.
    """
    kind = np.full(len(present), CAUSES.index(Cause.FALSE_ALARM), dtype=np.int8)
    some = np.zeros(len(present), dtype=bool)
    for which in CAUSES:
        own = [c for c, cause in enumerate(causes) if cause.kind == which]
        if own and which is not Cause.FALSE_ALARM:
            here = (present[:, own] > 0).any(axis=1)
            kind[here] = np.where(some[here], CAUSES.index(Cause.UNKNOWN), CAUSES.index(which))
            some |= here
    return kind


def _priors(
    causes: Sequence[RootCause],
    parts: Sequence[Sequence[Share]],
    present: Present,
    vocabulary: Vocabulary,
) -> Floats:
    """Return the probability of every combination, the left-out ones not made up for."""
    prior, earlier = np.ones(len(present)), set[str]()
    for c, cause in enumerate(causes):
        own, absent = _part_priors(f"causes[{c}]", cause, parts[c], vocabulary, earlier)
        for i, p in enumerate(own, start=1):
            prior *= np.where(present[:, c] == i, p, 1.0)
        if absent.min() < -1e-9:
            s = int(absent.argmin())
            said = f"the states of {cause.name!r} have probability {1.0 - absent[s]:.6g} together"
            remedy = "make them sum to at most 1; what is missing is the probability that it is absent"
            raise InvalidProblem([Fault(f"causes[{c}]", said, remedy)])
        prior *= np.where(present[:, c] == 0, np.maximum(absent, 0.0), 1.0)
        earlier |= {cause.name, *(cause.label(state) for state in cause.states)}
    return prior


def _part_priors(
    where: str, cause: RootCause, parts: Sequence[Share], vocabulary: Vocabulary, earlier: set[str]
) -> tuple[list[Floats], Floats]:
    """Return the probability of each part of a cause, and that it is absent, given the earlier causes."""
    key, found = "rate" if cause.comes_at_a_rate else "prior", list[Floats]()
    for at, spec in cause.states_at(where).items():
        chance = spec.rate if cause.comes_at_a_rate else spec.prior
        found.append(_conditional(f"{at}.{key}", cause, 0.0 if chance is None else chance, vocabulary, earlier))
    if cause.comes_at_a_rate:
        return part_probabilities(parts, dict(zip(cause.states, found, strict=True)))
    absent = np.ones(len(vocabulary.names))
    for p in found:
        absent -= p
    return found, absent


def _conditional(
    at: str, cause: RootCause, chance: float | Mapping[str, float], vocabulary: Vocabulary, earlier: set[str]
) -> Floats:
    n = len(vocabulary.names)
    if not isinstance(chance, Mapping):
        return np.full(n, float(chance))
    known = Vocabulary(vocabulary.names, {w: h for w, h in vocabulary.words.items() if w in earlier}, by_name=False)
    try:
        found = resolved(chance, known)
    except UnknownCondition as error:
        listed = ", ".join(sorted(earlier)) or "none"
        remedy = f"give conditions on causes listed before {cause.name!r}: {listed}"
        place = next((place_of_rule(at, chance, rule) for rule in chance if error.word in rule), at)
        raise InvalidProblem([Fault(place, f"{error.word!r} is none of those", remedy)]) from None
    if found.clashes:
        raise InvalidProblem([clash_fault(at, found)])
    missing = np.flatnonzero(found.chosen < 0)
    if len(missing):
        name = vocabulary.names[int(missing[0])]
        raise InvalidProblem([Fault(at, f"nothing is said of {name!r}", "give a default")])
    return np.array(list(found), dtype=float)


def _written(
    causes: Sequence[RootCause],
    parts: Sequence[Sequence[Share]],
    beliefs: Sequence[Belief],
    present: Present,
    prior: Floats,
    vocabulary: Vocabulary,
) -> tuple[Hypotheses, dict[str, tuple[Clash, ...]]]:
    """Return a hypothesis for each combination, with what its causes do, and where two of them contradict each other.

    A belief that declares a value and fails without one has a rule like any other.
    """
    valued = {belief.name for belief in beliefs if belief.declared is not None}
    failed: dict[str, Bools] = {}
    rules: dict[str, dict[str, Truth | None]] = {}
    for own_parts in parts:
        for part in own_parts:
            for belief in part.spec.failed:
                when, none = since(part, belief, own_parts), np.zeros(len(vocabulary.names), dtype=bool)
                failed[belief] = failed.get(belief, none) | vocabulary.where(when)
                if belief in valued:
                    rules.setdefault(belief, {})[when] = UNKNOWN
            for belief, value in part.spec.truth.items():
                rules.setdefault(belief, {})[since(part, belief, own_parts)] = value
    said = {belief: resolved(own, vocabulary) for belief, own in rules.items()}
    truth = {}
    for belief, found in said.items():
        values = np.array([*found.values, None], dtype=object)  # the last one where no rule holds
        truth[belief] = values[found.chosen]
        unknown = (truth[belief] == None) & (found.chosen >= 0)  # noqa: E711  # entry by entry
        if belief in failed or unknown.any():
            failed[belief] = unknown
    order = {belief.name: i for i, belief in enumerate(beliefs)}
    failing = sorted(failed, key=lambda b: order.get(b, len(order)))
    columns = {belief: failed[belief] for belief in failing}
    made = Hypotheses(prior, columns, truth, _kinds(causes, present), vocabulary.names)
    return made, {belief: own.clashes for belief, own in said.items() if own.clashes}


def _cause_faults(
    causes: Sequence[RootCause], beliefs: Sequence[Belief], effects: Sequence[Effect], ages: Ages
) -> Iterator[Fault]:
    if not causes:
        yield Fault("causes", "there are none", "list at least one")
    known, seen = {belief.name: belief for belief in beliefs}, set[str]()
    for i, effect in enumerate(effects):
        yield from truth_faults(f"effects[{i}]", effect.failed, effect.truth, known)
    for c, cause in enumerate(causes):
        where = f"causes[{c}]"
        if cause.name in seen:
            yield Fault(f"{where}.name", f"{cause.name!r} is given twice", "rename one of the two")
        if cause.name in known:
            yield Fault(f"{where}.name", f"{cause.name!r} is a belief too", "call the cause by what happened")
        if cause.name in ("default", NOTHING) or any(sign in cause.name for sign in "&|=+<>"):
            yield Fault(f"{where}.name", f"{cause.name!r} would be misread in a condition", "use another name")
        seen.add(cause.name)
        if not cause.states:
            yield Fault(f"{where}.states", "there are none", "give at least one, or a prior of the cause's own")
        for state in cause.states:
            if any(sign in state for sign in "&|=+<>"):
                yield Fault(f"{where}.states.{state}", f"{state!r} would be misread in a condition", "rename it")
            spec, at = cause.states[state], f"{where}.states.{state}" if state else where
            yield from probability_faults(_numbers(f"{at}.prior", spec.prior))
            yield from truth_faults(at, spec.failed, spec.truth, known)
        yield from _ageing_faults(where, cause, ages)


def _ageing_faults(where: str, cause: RootCause, ages: Ages) -> Iterator[Fault]:
    """Yield rates beside priors, rates that are none, and rates without an age."""
    specs = cause.states_at(where)
    for at, spec in specs.items():
        if spec.rate is None and spec.prior is None:
            yield Fault(f"{at}.prior", "it is missing", "add the key 'prior', or 'rate'")
        elif spec.rate is not None and spec.prior is not None:
            yield Fault(f"{at}.rate", "there is a prior too", "keep one of the two: a prior follows from rate and age")
        elif spec.rate is None and cause.comes_at_a_rate:
            yield Fault(f"{at}.prior", "another state has a rate", "give all states a rate, or all a prior")
        for place, rate in _numbers(f"{at}.rate", spec.rate):
            if not 0.0 <= rate < np.inf:
                yield Fault(place, f"{rate!r} is not a rate", "give a finite number of at least 0")
    at = next((f"{at}.rate" for at, spec in specs.items() if spec.rate is not None), "")
    if not at:
        return
    for belief in cause.own_beliefs:
        if ages.of(belief) is None:
            said = f"nothing says how long ago {belief!r} was measured"
            yield Fault(at, said, "give `age`, one number for all beliefs or one for this, or a prior instead")
    if not cause.own_beliefs and ages.all is None:
        said = f"{cause.name!r} makes no belief wrong by itself, and nothing says since when it may have come"
        yield Fault(at, said, "give `age` as one number, or a prior instead")


def _numbers(at: str, said: float | Mapping[str, float] | None) -> Iterator[tuple[str, float]]:
    """Yield each number of a prior or a rate, which may be rules for it, with its place."""
    if isinstance(said, Mapping):
        yield from ((place_of_rule(at, said, condition), number) for condition, number in said.items())
    elif said is not None:
        yield at, said


def _size_faults(parts: Sequence[Sequence[Share]], together: int | None) -> Iterator[Fault]:
    if together is not None and together < 1:
        yield Fault("together", f"{together!r} leaves no cause", "give a whole number of at least 1")
        return
    sizes = [len(own) for own in parts]
    most = len(sizes) if together is None else min(together, len(sizes))
    # The coefficients of Π (1 + states · x): how many combinations there are of each size.
    counted = min(most, 20)  # twenty causes together are a million combinations already
    counts = [1] + [0] * counted
    for size in sizes:
        for k in range(counted, 0, -1):
            counts[k] += size * counts[k - 1]
    if sum(counts) > MOST_COMBINATIONS:
        fits = max((k for k in range(1, counted + 1) if sum(counts[: k + 1]) <= MOST_COMBINATIONS), default=1)
        many = f"{'at least ' if counted < most else ''}{sum(counts):,} combinations of {len(sizes)} causes"
        problem = f"{many} are more than the {MOST_COMBINATIONS:,} that are made"
        yield Fault("together", problem, f"say how many causes may come together: {fits} is the most that fits")
