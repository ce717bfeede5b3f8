"""Root causes: what may have happened, each with its own probability; the joint hypotheses follow from them.

    p(s) = Π_c p(state of c under s | states of earlier causes under s)

over all combinations in which at most ``together`` causes are present. What more of them at once would add is left out,
and how probable that is stays known (``Generated.left_out``): the kept priors are divided by 1 − left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from aquamend.errors import Fault, InvalidProblem, UnknownCondition
from aquamend.graph import Belief, Value
from aquamend.model import Cause, Hypothesis
from aquamend.modelling.rules import Bools, Vocabulary, resolved
from aquamend.problem import differs
from aquamend.text.words import named

Floats = NDArray[np.float64]
NOTHING = "nothing"
"""The hypothesis under which no cause is present, and the condition for it."""
MOST_HYPOTHESES = 50_000
"""Most combinations that are generated; beyond, say how many causes may come together."""


@dataclass(frozen=True, slots=True)
class CauseState:
    """One way in which a cause may be present."""

    prior: float | Mapping[str, float]
    """Its probability; or rules for it, by conditions on causes listed before."""
    failed: Sequence[str] = ()
    """Beliefs that it makes wrong, of those that declare no value."""
    truth: Mapping[str, Value] = field(default_factory=dict)
    """What it makes true of beliefs that declare a value."""


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
        truth: Mapping[str, Value] | None = None,
        kind: Cause = Cause.UNKNOWN,
    ) -> RootCause:
        """Return a cause that is either present or not."""
        return cls(name, {"": CauseState(prior, tuple(failed), dict(truth or {}))}, kind)

    def label(self, state: str) -> str:
        """Return how a state of it is called: ``shelf=moved``, or the cause's own name where it has but one."""
        return f"{self.name}={state}" if state else self.name


@dataclass(frozen=True, slots=True)
class Effect:
    """What several causes do together, beside or instead of what each does alone."""

    when: str
    """A condition on causes."""
    failed: Sequence[str] = ()
    truth: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Generated:
    """The joint hypotheses that follow from causes."""

    hypotheses: tuple[Hypothesis, ...]
    present: NDArray[np.intp]
    """Shape ``(n_hypotheses, n_causes)``; in which of its states each cause is, counted from 1; 0 where absent."""
    vocabulary: Vocabulary
    """Words for causes, their states and beliefs."""
    left_out: float
    """Prior probability of all combinations that were not generated."""


def generated(
    causes: Sequence[RootCause],
    beliefs: Sequence[Belief],
    *,
    together: int | None = None,
    effects: Sequence[Effect] = (),
) -> Generated:
    """Return the joint hypotheses of these causes; ``InvalidProblem`` with every fault where they cannot be.

    ``together`` is how many causes may be present at once; all of them unless given.
    """
    faults = [*_cause_faults(causes, beliefs), *_size_faults(causes, together)]
    if faults:
        raise InvalidProblem(faults)
    present = _combinations(causes, len(causes) if together is None else together)
    words = _cause_words(causes, present)
    names = _names(causes, present)
    vocabulary = Vocabulary(names, words)
    prior = _priors(causes, present, vocabulary)
    kept = prior > 0.0
    present, prior, names = present[kept], prior[kept], [name for name, k in zip(names, kept, strict=True) if k]
    vocabulary = Vocabulary(names, {word: holds[kept] for word, holds in words.items()})
    total = float(prior.sum())
    if not total > 0.0:
        raise InvalidProblem([Fault("causes", "no combination has a probability above 0", "correct the priors")])
    hypotheses = _hypotheses(causes, beliefs, effects, present, prior / total, vocabulary)
    complete = together is None or together >= len(causes)  # then the sum lacks at most what rounding took
    left_out = 0.0 if complete else max(0.0, 1.0 - total)
    return Generated(hypotheses, present, with_beliefs(vocabulary, hypotheses, beliefs), left_out)


def with_beliefs(vocabulary: Vocabulary, hypotheses: Sequence[Hypothesis], beliefs: Sequence[Belief]) -> Vocabulary:
    """Return the vocabulary with a word for every belief (it has failed) and for every value that is its truth."""
    words = dict(vocabulary.words)
    hidden = set(vocabulary.names) if not words else set[str]()  # listed hypotheses come before beliefs
    for belief in beliefs:
        truth = [h.truth.get(belief.name, belief.declared) for h in hypotheses]
        failed = np.array([belief.name in h.failed for h in hypotheses], dtype=bool)
        if belief.declared is not None:
            failed = np.array([differs(t, belief.declared, belief.tolerance) for t in truth], dtype=bool)
            for value in dict.fromkeys(t for t in truth if t is not None):
                words.setdefault(f"{belief.name}={named(value)}", np.array([t == value for t in truth], dtype=bool))
        if belief.name not in hidden:
            words.setdefault(belief.name, failed)
    return Vocabulary(vocabulary.names, words)


def _combinations(causes: Sequence[RootCause], together: int) -> NDArray[np.intp]:
    """Return, shape ``(n_combinations, n_causes)``, which state each cause is in; 0 where it is absent."""
    rows: list[list[int]] = []
    for count in range(min(together, len(causes)) + 1):
        for chosen in combinations(range(len(causes)), count):
            for states in product(*(range(1, len(causes[c].states) + 1) for c in chosen)):
                row = [0] * len(causes)
                for c, state in zip(chosen, states, strict=True):
                    row[c] = state
                rows.append(row)
    return np.array(rows, dtype=np.intp).reshape(len(rows), len(causes))


def _cause_words(causes: Sequence[RootCause], present: NDArray[np.intp]) -> dict[str, Bools]:
    words: dict[str, Bools] = {NOTHING: np.asarray((present == 0).all(axis=1))}
    for c, cause in enumerate(causes):
        words[cause.name] = present[:, c] > 0
        for i, state in enumerate(cause.states, start=1):
            words[cause.label(state)] = present[:, c] == i
    return words


def _names(causes: Sequence[RootCause], present: NDArray[np.intp]) -> list[str]:
    labels = [["", *(cause.label(state) for state in cause.states)] for cause in causes]
    return [" + ".join(labels[c][state] for c, state in enumerate(row) if state) or NOTHING for row in present.tolist()]


def _priors(causes: Sequence[RootCause], present: NDArray[np.intp], vocabulary: Vocabulary) -> Floats:
    """Return the probability of every combination, the left-out ones not made up for."""
    prior, earlier = np.ones(len(present)), set[str]()
    for c, cause in enumerate(causes):
        absent = np.ones(len(present))
        for i, (state, spec) in enumerate(cause.states.items(), start=1):
            p = _conditional(f"causes[{c}]", cause, state, spec, vocabulary, earlier)
            absent -= p
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


def _conditional(
    where: str, cause: RootCause, state: str, spec: CauseState, vocabulary: Vocabulary, earlier: set[str]
) -> Floats:
    n = len(vocabulary.names)
    if not isinstance(spec.prior, Mapping):
        return np.full(n, float(spec.prior))
    at = f"{where}.states.{state}.prior" if state else f"{where}.prior"
    known = Vocabulary(vocabulary.names, {w: h for w, h in vocabulary.words.items() if w in earlier}, by_name=False)
    try:
        found = resolved(spec.prior, known)
    except UnknownCondition as error:
        listed = ", ".join(sorted(earlier)) or "none"
        remedy = f"give conditions on causes listed before {cause.name!r}: {listed}"
        raise InvalidProblem([Fault(f"{at}.{error.word}", f"{error.word!r} is none of those", remedy)]) from None
    if found.clashes:
        raise InvalidProblem([Fault(at, str(clash), clash.remedy) for clash in found.clashes])
    missing = np.flatnonzero(found.chosen < 0)
    if len(missing):
        name = vocabulary.names[int(missing[0])]
        raise InvalidProblem([Fault(at, f"nothing is said of {name!r}", "give a default")])
    return np.array(list(found), dtype=float)


def _hypotheses(
    causes: Sequence[RootCause],
    beliefs: Sequence[Belief],
    effects: Sequence[Effect],
    present: NDArray[np.intp],
    prior: Floats,
    vocabulary: Vocabulary,
) -> tuple[Hypothesis, ...]:
    failed, truth = _consequences(causes, effects, vocabulary)
    order = {belief.name: i for i, belief in enumerate(beliefs)}
    found = []
    for s, (name, p) in enumerate(zip(vocabulary.names, prior.tolist(), strict=True)):
        own = sorted((b for b, holds in failed.items() if holds[s]), key=lambda b: order.get(b, len(order)))
        values = {b: value for b, of in truth.items() if (value := of[s]) is not None}
        # Whatever is none of the alarm's business does not change what another cause makes of it.
        kinds = {causes[int(c)].kind for c in np.flatnonzero(present[s])} - {Cause.FALSE_ALARM}
        kind = Cause.FALSE_ALARM if not kinds else kinds.pop() if len(kinds) == 1 else Cause.UNKNOWN
        found.append(Hypothesis(name, p, tuple(own), kind, values))
    return tuple(found)


def _consequences(
    causes: Sequence[RootCause], effects: Sequence[Effect], vocabulary: Vocabulary
) -> tuple[dict[str, Bools], dict[str, list[Value | None]]]:
    """Return under which hypotheses each belief is named as failed, and what each one with a value has for truth."""
    failed: dict[str, Bools] = {}
    rules: dict[str, dict[str, Value]] = {}
    faults: list[Fault] = []
    said = [(cause.label(state), spec.failed, spec.truth) for cause in causes for state, spec in cause.states.items()]
    for i, effect in enumerate(effects):
        try:
            vocabulary.where(effect.when)
        except UnknownCondition as error:
            faults.append(Fault(f"effects[{i}].when", str(error), "name causes, joined by & and |"))
        else:
            said.append((effect.when, effect.failed, effect.truth))
    for when, breaks, makes in said:
        for belief in breaks:
            failed[belief] = failed.get(belief, np.zeros(len(vocabulary.names), dtype=bool)) | vocabulary.where(when)
        for belief, value in makes.items():
            rules.setdefault(belief, {})[when] = value
    truth: dict[str, list[Value | None]] = {}
    for belief, own in rules.items():
        found = resolved(own, vocabulary)
        truth[belief] = list(found)
        for clash in found.clashes:
            problem = f"{clash} in what is true of {belief!r}"
            both = f"{clash.first} & {clash.second}"
            remedy = f"make them states of one cause, or say in effects what is true when '{both}'"
            faults.append(Fault("causes", problem, remedy))
    if faults:
        raise InvalidProblem(faults)
    return failed, truth


def _cause_faults(causes: Sequence[RootCause], beliefs: Sequence[Belief]) -> Iterator[Fault]:
    if not causes:
        yield Fault("causes", "there are none", "list at least one")
    known, seen = {belief.name for belief in beliefs}, set[str]()
    for c, cause in enumerate(causes):
        where = f"causes[{c}]"
        if cause.name in seen:
            yield Fault(f"{where}.name", f"{cause.name!r} is given twice", "rename one of the two")
        if cause.name in known:
            yield Fault(f"{where}.name", f"{cause.name!r} is a belief too", "call the cause by what happened")
        if cause.name in ("default", NOTHING) or any(sign in cause.name for sign in "&|=+"):
            yield Fault(f"{where}.name", f"{cause.name!r} would be misread in a condition", "use another name")
        seen.add(cause.name)
        if not cause.states:
            yield Fault(f"{where}.states", "there are none", "give at least one, or a prior of the cause's own")
        for state in cause.states:
            if any(sign in state for sign in "&|=+"):
                yield Fault(f"{where}.states.{state}", f"{state!r} would be misread in a condition", "rename it")
            yield from _prior_faults(where, state, cause.states[state])


def _prior_faults(where: str, state: str, spec: CauseState) -> Iterator[Fault]:
    at = f"{where}.states.{state}.prior" if state else f"{where}.prior"
    for condition, p in spec.prior.items() if isinstance(spec.prior, Mapping) else [("", spec.prior)]:
        if not 0.0 <= p <= 1.0:
            place = f"{at}.{condition}" if condition else at
            yield Fault(place, f"{p!r} is not a probability", "give a number from 0 to 1")


def _size_faults(causes: Sequence[RootCause], together: int | None) -> Iterator[Fault]:
    if together is not None and together < 1:
        yield Fault("together", f"{together!r} leaves no cause", "give a whole number of at least 1")
        return
    sizes = [len(cause.states) for cause in causes]
    most = len(sizes) if together is None else min(together, len(sizes))
    # The coefficients of Π (1 + states · x): how many combinations there are of each size.
    counted = min(most, 20)  # twenty causes together are a million combinations already
    counts = [1] + [0] * counted
    for size in sizes:
        for k in range(counted, 0, -1):
            counts[k] += size * counts[k - 1]
    if sum(counts) > MOST_HYPOTHESES:
        fits = max((k for k in range(1, counted + 1) if sum(counts[: k + 1]) <= MOST_HYPOTHESES), default=1)
        many = f"{'at least ' if counted < most else ''}{sum(counts):,} combinations of {len(sizes)} causes"
        problem = f"{many} are more than the {MOST_HYPOTHESES:,} that are made"
        yield Fault("together", problem, f"say how many causes may come together: {fits} is the most that fits")
