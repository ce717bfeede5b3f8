"""Rules: what is so under a condition on causes and beliefs; the most specific decides, or the first in a list.

A condition names causes and beliefs: ``slipped``, ``shelf=moved``, ``pose`` (that belief has failed), or compares what
is true of a belief with a value or with another belief: ``target = B``, ``level_A > level_B``, ``level_A >= 40``. They
are joined by ``&`` and ``|``, turned round by ``not``; ``default`` always holds. A rule is more specific than another
if it holds under fewer hypotheses, all of them the other's too; than ``default`` every other is. Two rules of which
neither is more specific, and which say different things of one hypothesis, contradict each other. In a list
(`FirstThatHolds`) there is nothing to contradict: the first rule that holds decides.

Where causes each bring something about by themselves, `noisy_or` needs one number for each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Bools, Floats, Indices
from aquamend.codec import FirstThatHolds, place
from aquamend.errors import Fault, UnknownCondition
from aquamend.problem.faults import refuse
from aquamend.problem.graph import Value
from aquamend.problem.model.hypotheses import finder
from aquamend.problem.model.kernels.discrete_outcomes import noisy_or_faults
from aquamend.problem.model.spreads import SLACK

T = TypeVar("T")
Truths = Mapping[str, NDArray[np.object_]]
"""For every belief with a value, what is true of it under each hypothesis; None where it failed without one."""
MOST_PAIRS = 8
"""Most further pairs of contradicting rules that one fault lists."""
DEFAULT = "default"
"""The condition that always holds."""
NOTHING = "nothing"
"""The hypothesis under which no cause is present, and the condition for it."""
LEAK = "leak"
"""What stands for all causes that are not listed; no cause may have this name."""
MOST_LISTED = 5_000
"""Hypotheses beyond which conditions are not written by their names."""
_COMPARISON = re.compile(r"(?P<left>.*?\S)\s*(?P<sign><=|>=|<|>|=)\s*(?P<right>\S.*)")
_PLAIN = re.compile(r"[A-Za-z_]([\w &|=<>+*.-]*\w)?")
"""Text that needs no quotes between brackets."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """What conditions may speak of, and under which hypotheses each word holds."""

    names: Sequence[str]
    """The hypotheses that no word of the same name hides; a condition may be one of these."""
    words: Mapping[str, Bools]
    """For every word, shape ``(n_hypotheses,)``."""
    by_name: bool = True
    """Whether a hypothesis may be named as a whole."""
    truth: Truths = field(default_factory=dict)
    """For every belief with a value, what is true of it under each hypothesis; None where it failed without one."""
    listed: bool = False
    """Whether the hypotheses were listed, rather than made from causes."""
    beliefs: Sequence[str] = ()
    """The words that mean a belief which has failed."""
    lenient: bool = False
    """Whether the first of two rules decides that contradict each other: sound ones may, once beliefs are older."""
    whole: Sequence[str] = ()
    """For every hypothesis, the one as written that it is a part of, where a spread stands for several."""

    def where(self, condition: str) -> Bools:
        """Return under which hypotheses a condition holds, shape ``(n_hypotheses,)``."""
        text = condition.strip()
        found = self._word(text)
        if found is not None:
            return found
        if "|" in text:
            return np.asarray(np.logical_or.reduce([self.where(part) for part in text.split("|")]))
        if "&" in text:
            return np.asarray(np.logical_and.reduce([self.where(part) for part in text.split("&")]))
        if text.startswith("not "):
            return ~self.where(_positive(text))
        cause, equals, state = text.partition("=")
        if equals:  # a shelf that was moved, written with blanks
            found = self._word(f"{cause.strip()}={state.strip()}")
            if found is not None:
                return found
        found = self._compared(text)
        if found is not None:
            return found
        raise UnknownCondition(text, [*self.words, *(self.names if self.by_name else ())])

    def _compared(self, text: str) -> Bools | None:
        """Return where a comparison holds; None where the text is none. What failed without a value compares to none.

        Numbers that differ by rounding alone are equal.
        """
        parts = _COMPARISON.fullmatch(text)
        if parts is None or parts["left"] not in self.truth:
            return None
        left, sign, right = self.truth[parts["left"]].tolist(), parts["sign"], parts["right"]
        numbers = any(isinstance(value, float | int) for value in left)
        if all(value is None for value in left):
            return np.zeros(len(left), dtype=bool)
        if right in self.truth:
            others: Sequence[Value | None] = self.truth[right].tolist()
            if (sign != "=" and not numbers) or any(isinstance(b, str) == numbers for b in others if b is not None):
                return None  # text is not more than text, and never a number
        else:
            value = _number(right) if numbers else right
            if value is None or (not numbers and sign != "="):
                return None
            others = [value] * len(left)
        pairs = zip(left, others, strict=True)
        return np.array([a is not None and b is not None and _holds(a, sign, b) for a, b in pairs], dtype=bool)

    def _word(self, text: str) -> Bools | None:
        if text in self.words:
            return self.words[text]
        at = self._find(text) if self.by_name else None
        if at is not None:
            return np.asarray(np.arange(len(self.names)) == at)
        return np.ones(len(self.names), dtype=bool) if text == DEFAULT else None

    @cached_property
    def _find(self) -> Callable[[str], int | None]:
        return finder(self.names)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _holds(a: Value, sign: str, b: Value) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return sign == "=" and a == b
    if abs(a - b) <= SLACK * max(1.0, abs(a), abs(b)):
        return sign in ("=", "<=", ">=")
    return sign[0] == ("<" if a < b else ">")


def _positive(text: str) -> str:
    """Return a condition less its first ``not``; two that follow each other mean nothing, and are no word either."""
    rest = text.removeprefix("not ").strip()
    if rest.startswith("not "):
        raise UnknownCondition(text, ())
    return rest


@dataclass(frozen=True, eq=False)
class Clash:
    """Two rules that say different things of a hypothesis, neither of them more specific."""

    first: str
    second: str
    hypothesis: str

    def __str__(self) -> str:
        return f"{self.first!r} and {self.second!r} both hold under {self.hypothesis!r}, and neither is more specific"

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return f"add a rule for '{_grouped(self.first)} & {_grouped(self.second)}'"


def _grouped(condition: str) -> str:
    return condition if "|" not in condition else f"… of {condition}"


@dataclass(frozen=True, eq=False)
class Resolved(Generic[T]):
    """What the rules say of every hypothesis."""

    conditions: Sequence[str]
    values: Sequence[T]
    chosen: Indices
    """Shape ``(n_hypotheses,)``; which rule decides; -1 where none holds."""
    clashes: tuple[Clash, ...]
    holds: Bools
    """Shape ``(n_rules, n_hypotheses)``; without rows where the order of the rules decides, and they are not needed."""

    def __iter__(self) -> Iterator[T | None]:
        return (None if i < 0 else self.values[i] for i in self.chosen.tolist())

    def by_specificity(self) -> list[tuple[str, T]]:
        """Return the rules as a list in which the first that holds decides: the narrower first, the default last."""
        reach = self.holds.sum(axis=1)
        order = sorted(range(len(reach)), key=lambda i: (self.conditions[i] == DEFAULT, reach[i], i))
        return [(self.conditions[i], self.values[i]) for i in order]


def clash_fault(where: str, found: Resolved[Any]) -> Fault:
    """Return the fault of rules that contradict each other, with the list to write instead."""
    first, *others = found.clashes
    pairs = "".join(f"; so do {one.first!r} and {one.second!r} under {one.hypothesis!r}" for one in others[:MOST_PAIRS])
    if len(others) > MOST_PAIRS:
        pairs += f"; and {len(others) - MOST_PAIRS} more pairs"
    listed = ", ".join(f"[{_in_a_file(rule)}, {_in_a_file(row)}]" for rule, row in found.by_specificity())
    remedy = (
        f"write them as a list, in which the first that holds decides, in the order that you mean: [{listed}]; "
        f"or {first.remedy}"
    )
    return Fault(where, f"{first}{pairs}", remedy)


def _in_a_file(value: Any) -> str:
    """Return a condition or a row as it is written in YAML between brackets."""
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value.lower() not in ("true", "false", "null", "inf")
        return value if plain else json.dumps(value, ensure_ascii=False)
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_in_a_file, value))}]"
    number = float(value)
    return repr(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def resolved(rules: Mapping[str, T], vocabulary: Vocabulary) -> Resolved[T]:
    """Return what the rules say of every hypothesis; each pair of rules that contradict each other is named once."""
    conditions, values = list(rules), list(rules.values())
    n = len(vocabulary.names)
    if not conditions:
        return Resolved((), (), np.full(n, -1), (), np.zeros((0, n), dtype=bool))
    if isinstance(rules, FirstThatHolds):
        deciding = np.full(n, -1)
        for i, condition in enumerate(conditions):
            deciding[(deciding < 0) & vocabulary.where(condition)] = i
        return Resolved(conditions, values, deciding, (), np.zeros((0, n), dtype=bool))
    holds = np.array([vocabulary.where(condition) for condition in conditions])
    counts = holds.astype(float)
    outside = counts @ (1.0 - counts).T  # of each rule, how many of its hypotheses are not the other's
    narrower = (outside == 0) & (outside.T > 0)
    best = holds & ~((narrower.T.astype(float) @ counts) > 0)
    if DEFAULT in rules:  # also where another rule holds everywhere
        default = conditions.index(DEFAULT)
        best[default] &= ~np.delete(holds, default, axis=0).any(axis=0)
    chosen = np.where(best.any(axis=0), best.argmax(axis=0), -1)
    clashes: dict[tuple[int, int], Clash] = {}
    for s in np.flatnonzero(best.sum(axis=0) > 1).tolist():
        first = int(chosen[s])
        for other in np.flatnonzero(best[:, s])[1:].tolist():
            if values[other] != values[first]:
                clash = Clash(conditions[first], conditions[other], vocabulary.names[s])
                clashes.setdefault((first, other), clash)
    return Resolved(conditions, values, chosen, tuple(clashes.values()), holds)


def noisy_or(numbers: Mapping[str, float], vocabulary: Vocabulary, *, where: str = "noisy_or") -> Floats:
    """Return the probability under every hypothesis, shape ``(n_hypotheses,)``; ``InvalidProblem`` with every fault.

    p(s) = 1 − (1 − leak) Π_c (1 − p_c)  over the causes, or failed beliefs, c that are present under s
    """
    refuse([*noisy_or_faults(where, numbers), *_name_faults(where, numbers, vocabulary)])
    stays_away = np.full(len(vocabulary.names), 1.0 - numbers.get(LEAK, 0.0))
    for name, p in numbers.items():
        if name != LEAK:
            stays_away = np.where(vocabulary.where(name), stays_away * (1.0 - p), stays_away)
    return np.asarray(1.0 - stays_away)


def _name_faults(where: str, numbers: Mapping[str, float], vocabulary: Vocabulary) -> Iterator[Fault]:
    """Yield names of nothing that can be present, and a cause or belief called like the leak."""
    listed = vocabulary.names if vocabulary.listed else ()
    known = dict.fromkeys(word for word in (*vocabulary.words, *listed) if vocabulary.listed or word != NOTHING)
    if LEAK in known:
        said = f"{LEAK!r} is also the name of a cause, hypothesis or belief"
        yield Fault(place(where, LEAK), said, "rename that: here it is the probability where no cause is present")
    for name in numbers:
        if name not in known and name != LEAK:
            said = f"{name!r} names no cause, belief or hypothesis"
            remedy = f"name one for each number, without conditions; what is not listed is the {LEAK}"
            yield Fault(place(where, name), said, remedy, name, [*known, LEAK])


@dataclass(frozen=True, eq=False)
class Conditional:
    """Rules that ask about beliefs, with the words that they are written in, so that they can be read again.

    A monitor that rings after a correction speaks of what is wrong by then: a condition such as ``map`` holds where the
    map as it is declared *now* is wrong. So they stay with the alarm, beside the table that they make at first.
    """

    rules: Mapping[str, float]
    vocabulary: Vocabulary
    beliefs: tuple[str, ...]
    """The beliefs that they ask about."""
    noisy: bool = False
    """Whether they are the numbers of a noisy-or."""

    def _said(self, vocabulary: Vocabulary) -> list[float | None]:
        """Return what the rules say of every hypothesis, None where they say nothing."""
        return list((noisy_or if self.noisy else resolved)(self.rules, vocabulary))

    @cached_property
    def _pattern(self) -> Bools:
        """Shape ``(n_hypotheses, n_beliefs)``; which of the beliefs were wrong as they were declared at first."""
        return np.column_stack([self.vocabulary.words[belief] for belief in self.beliefs])

    def row(self, wrong: Mapping[str, Bools]) -> Floats:
        """Return a number for every hypothesis, where each of these beliefs is wrong under these hypotheses.

        Where two rules have come to contradict each other, the first decides. Where none holds any more, a hypothesis
        is like the first of those under which the same beliefs were wrong at first.
        """
        now = replace(self.vocabulary, words={**self.vocabulary.words, **{b: wrong[b] for b in self.beliefs}})
        said = self._said(now)
        if any(one is None for one in said):
            first = self._said(self.vocabulary)
            like = {key.tobytes(): first[s] for s, key in reversed([*enumerate(self._pattern)])}
            pattern = np.column_stack([wrong[belief] for belief in self.beliefs])
            said = [like.get(pattern[s].tobytes(), first[s]) if one is None else one for s, one in enumerate(said)]
        return np.array(said, dtype=float)

    def taken(self, origin: Sequence[int], names: Sequence[str]) -> Conditional:
        """Return the same for other hypotheses, each made from one of these."""
        at, old = np.asarray(origin, dtype=np.intp), self.vocabulary
        by_name = {name: s for s, name in enumerate(old.names) if name in _atoms(self.rules) and name not in old.words}
        words = {word: holds[at] for word, holds in old.words.items()} | {n: at == s for n, s in by_name.items()}
        truth = {belief: values[at] for belief, values in old.truth.items()}
        return replace(self, vocabulary=replace(old, names=tuple(names), words=words, truth=truth, whole=()))

    def as_listed(self) -> Mapping[str, float] | None:
        """Return the rules beside a list of these hypotheses, where causes have no names of their own.

        What does not ask about a belief is said by naming hypotheses. None where that cannot be done.
        """
        names = self.vocabulary.names
        if not self.noisy and (len(names) > MOST_LISTED or any(sign in name for name in names for sign in "&|")):
            return None
        if set(self.beliefs) & set(names) or any(name.startswith("not ") for name in names):
            return None  # names of hypotheses and of beliefs could be taken for each other
        if self.noisy:
            return dict(self.rules) if set(self.rules) <= {LEAK, *self.beliefs} else None
        in_order = isinstance(self.rules, FirstThatHolds)
        written: dict[str, float] = {}
        for condition, value in self.rules.items():
            parts = [condition] if condition.strip() == DEFAULT else list(self._parts(condition))
            if parts and not (in_order and " | ".join(parts) in written):
                written[" | ".join(parts)] = value
        return FirstThatHolds(written.items()) if in_order else written

    def _parts(self, condition: str) -> Iterator[str]:
        """Yield what to join by ``|``: names of hypotheses, each with what is asked of beliefs."""
        for part in [condition] if condition.strip() in self.vocabulary.words else condition.split("|"):
            atoms = [atom.strip() for atom in part.split("&")]
            asking = [atom for atom in atoms if _bare(atom) in self.beliefs]
            others = [self.vocabulary.where(atom) for atom in atoms if atom not in asking]
            if not others:
                yield " & ".join(asking)
                continue
            for s in np.flatnonzero(np.logical_and.reduce(others)).tolist():
                yield " & ".join([self.vocabulary.names[s], *asking])


def conditional(rules: Mapping[str, float], vocabulary: Vocabulary, *, noisy: bool = False) -> Conditional | None:
    """Return these rules so that they can be read again; None where they ask about no belief."""
    atoms = _atoms(rules)
    asked = tuple(belief for belief in vocabulary.beliefs if belief in atoms)
    return Conditional(rules, vocabulary, asked, noisy) if asked else None


def _atoms(rules: Mapping[str, float]) -> set[str]:
    """Return the words of conditions, also of those with signs in them."""
    return {_bare(atom) for rule in rules for part in (rule, *rule.split("|")) for atom in (part, *part.split("&"))}


def _bare(atom: str) -> str:
    return atom.strip().removeprefix("not ").strip()
