"""Root causes: what may have happened, each with its own probability; the joint hypotheses follow from them.

    p(s) = Π_c p(state of c under s | states of earlier causes under s)

over all combinations in which at most ``together`` causes are present. A cause with a rate has the probability that it
has come since (``ageing``). What more of them at once would add is left out, and how probable that is stays known
(``Generated.left_out``): the kept priors are divided by 1 − left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Bools, Floats, Indices
from aquamend.codec import TRUE_VALUE, Name, number_or_table, place_of_rule
from aquamend.codec.forms import FINITE, PROBABILITY
from aquamend.errors import Fault, InvalidProblem, UnknownCondition
from aquamend.problem.building.ageing import Share, ageing_faults, part_probabilities, parts_of_cause, since, words_of
from aquamend.problem.building.rules import Clash, Vocabulary, clash_fault, resolved
from aquamend.problem.building.truths import UNKNOWN, Effect, Expanded, expanded
from aquamend.problem.graph import Belief, Value
from aquamend.problem.model import Cause, Hypotheses, Hypothesis
from aquamend.problem.model.ages import Ages
from aquamend.problem.model.columns import Combined
from aquamend.problem.model.hypotheses import CAUSES
from aquamend.problem.model.model_faults import truth_faults
from aquamend.problem.model.spreads import Spread

Present = NDArray[np.int8] | NDArray[np.int32]
NOTHING = "nothing"
"""The hypothesis under which no cause is present, and the condition for it."""
MOST_COMBINATIONS = 1_200_000
"""Most combinations of causes that are made: a second or two, and a few hundred megabytes."""
Truth = Value | Spread
"""What is true of a belief: a value, or one that nobody knows yet."""


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

    def label(self, state: str) -> str:
        """Return how a state of it is called: ``shelf=moved``, or the cause's own name where it has but one."""
        return f"{self.name}={state}" if state else self.name


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
    faults += _size_faults(parts, together)
    if faults:
        raise InvalidProblem(faults)
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
            raise InvalidProblem(
                [
                    Fault(
                        f"causes[{c}]",
                        f"the states of {cause.name!r} have probability {1.0 - absent[s]:.6g} together",
                        "make them sum to at most 1; what is missing is the probability that it is absent",
                    )
                ]
            )
        prior *= np.where(present[:, c] == 0, np.maximum(absent, 0.0), 1.0)
        earlier |= {cause.name, *(cause.label(state) for state in cause.states)}
    return prior


def _part_priors(
    where: str, cause: RootCause, parts: Sequence[Share], vocabulary: Vocabulary, earlier: set[str]
) -> tuple[list[Floats], Floats]:
    """Return the probability of each part of a cause, and that it is absent, given the earlier causes."""
    key, found = "rate" if cause.comes_at_a_rate else "prior", dict[str, Floats]()
    for state, spec in cause.states.items():
        at = f"{where}.states.{state}.{key}" if state else f"{where}.{key}"
        chance = spec.rate if cause.comes_at_a_rate else spec.prior
        found[state] = _conditional(at, cause, 0.0 if chance is None else chance, vocabulary, earlier)
    if cause.comes_at_a_rate:
        return part_probabilities(parts, found)
    absent = np.ones(len(vocabulary.names))
    for p in found.values():
        absent -= p
    return list(found.values()), absent


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
        raise InvalidProblem(
            [Fault(_place_of_word(at, chance, error.word), f"{error.word!r} is none of those", remedy)]
        ) from None
    if found.clashes:
        raise InvalidProblem([clash_fault(at, found)])
    missing = np.flatnonzero(found.chosen < 0)
    if len(missing):
        name = vocabulary.names[int(missing[0])]
        raise InvalidProblem([Fault(at, f"nothing is said of {name!r}", "give a default")])
    return np.array(list(found), dtype=float)


def _place_of_word(at: str, rules: Mapping[str, float], word: str) -> str:
    """Return the place of the first rule in whose condition a word stands."""
    return next((place_of_rule(at, rules, one) for one in rules if word in one), at)


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
            yield from _prior_faults(f"{at}.prior", spec)
            yield from truth_faults(at, spec.failed, spec.truth, known)
        yield from ageing_faults(where, cause, ages)


def _prior_faults(at: str, spec: CauseState) -> Iterator[Fault]:
    for condition, p in spec.prior.items() if isinstance(spec.prior, Mapping) else [("", spec.prior)]:
        if p is not None and not 0.0 <= p <= 1.0:
            place = place_of_rule(at, spec.prior, condition) if isinstance(spec.prior, Mapping) else at
            yield Fault(place, f"{p!r} is not a probability", "give a number from 0 to 1")


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
