"""Rules: what is so under a condition on causes and beliefs; the most specific decides, or the first in a list.

A condition names causes and beliefs: ``slipped``, ``shelf=moved``, ``pose`` (that belief has failed), or compares what
is true of a belief with a value or with another belief: ``target = B``, ``level_A > level_B``, ``level_A >= 40``. They
are joined by ``&`` and ``|``, turned round by ``not``; ``default`` always holds. A rule is more specific than another
if it holds under fewer hypotheses, all of them the other's too; than ``default`` every other is. Two rules of which
neither is more specific, and which say different things of one hypothesis, contradict each other. In a list
(`FirstThatHolds`) there is nothing to contradict: the first rule that holds decides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Bools, Indices
from aquamend.codec import FirstThatHolds
from aquamend.errors import Fault, UnknownCondition
from aquamend.problem.graph import Value
from aquamend.problem.model.columns import ByHypothesis, finder
from aquamend.problem.model.spreads import SLACK

T = TypeVar("T")
Truths = Mapping[str, NDArray[np.object_]]
"""For every belief with a value, what is true of it under each hypothesis; None where it failed without one."""
MOST_PAIRS = 8
"""Most further pairs of contradicting rules that one fault lists."""
DEFAULT = "default"
"""The condition that always holds."""


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


_COMPARISON = re.compile(r"(?P<left>.*?\S)\s*(?P<sign><=|>=|<|>|=)\s*(?P<right>\S.*)")


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

    def by_hypothesis(self, names: Sequence[str]) -> ByHypothesis[T]:
        """Return what is said by name, where something is said of every hypothesis."""
        return ByHypothesis(names, self.values, self.chosen)

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


_PLAIN = re.compile(r"[A-Za-z_]([\w &|=<>+*.-]*\w)?")
"""Text that needs no quotes between brackets."""


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
