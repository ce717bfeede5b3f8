"""Numbers given by conditions that ask about beliefs, kept so that they can be read again.

A monitor that rings after a correction speaks of what is wrong by then: a condition such as ``map`` holds where the map
as it is declared *now* is wrong. So the conditions stay with the alarm, beside the table that they make at first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aquamend.arrays import Bools, Floats
from aquamend.codec.conditional_tables import FirstThatHolds
from aquamend.problem.building.independent_causes import LEAK, noisy_or
from aquamend.problem.building.rules import DEFAULT, Vocabulary, resolved

Reader = Callable[[Mapping[str, float], Vocabulary], Iterable[float | None]]
MOST_LISTED = 5_000
"""Hypotheses beyond which conditions are not written by their names."""


@dataclass(frozen=True, eq=False)
class Conditional:
    """Rules that ask about beliefs, with the words that they are written in."""

    rules: Mapping[str, float]
    vocabulary: Vocabulary
    beliefs: tuple[str, ...]
    """The beliefs that they ask about."""
    read: Reader = resolved
    """What the rules say of every hypothesis, None where they say nothing."""

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
        said = list(self.read(self.rules, now))
        if any(one is None for one in said):
            first = list(self.read(self.rules, self.vocabulary))
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

    @property
    def noisy(self) -> bool:
        """Whether they are the numbers of a noisy-or."""
        return self.read is noisy_or

    def as_listed(self) -> Mapping[str, float] | None:
        """Return the rules beside a list of these hypotheses, where causes have no names of their own.

        What does not ask about a belief is said by naming hypotheses. None where that cannot be done.
        """
        names = self.vocabulary.names
        if self.noisy:
            own = self._informative(names) and set(self.rules) <= {LEAK, *self.beliefs}
            return dict(self.rules) if own else None
        if (
            len(names) > MOST_LISTED
            or any(sign in name for name in names for sign in "&|")
            or not self._informative(names)
        ):
            return None
        in_order = isinstance(self.rules, FirstThatHolds)
        written: dict[str, float] = {}
        for condition, value in self.rules.items():
            parts = [condition] if condition.strip() == DEFAULT else list(self._parts(condition))
            if parts and not (in_order and " | ".join(parts) in written):
                written[" | ".join(parts)] = value
        return FirstThatHolds(written.items()) if in_order else written

    def _informative(self, names: Sequence[str]) -> bool:
        """Whether names of hypotheses and of beliefs cannot be taken for each other."""
        return not set(self.beliefs) & set(names) and not any(name.startswith("not ") for name in names)

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


def conditional(rules: Mapping[str, float], vocabulary: Vocabulary, *, read: Reader = resolved) -> Conditional | None:
    """Return these rules so that they can be read again; None where they ask about no belief."""
    atoms = _atoms(rules)
    asked = tuple(belief for belief in vocabulary.beliefs if belief in atoms)
    return Conditional(rules, vocabulary, asked, read) if asked else None


def _atoms(rules: Mapping[str, float]) -> set[str]:
    """Return the words of conditions, also of those with signs in them."""
    return {_bare(atom) for rule in rules for part in (rule, *rule.split("|")) for atom in (part, *part.split("&"))}


def _bare(atom: str) -> str:
    return atom.strip().removeprefix("not ").strip()
