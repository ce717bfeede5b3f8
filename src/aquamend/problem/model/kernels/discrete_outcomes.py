"""Probes with finitely many outcomes, given by a row for every hypothesis, or by one number for each cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from aquamend.arrays import Floats, Indices
from aquamend.codec import NOT_WRITTEN, SUM_TOLERANCE, Name, Probability, by_condition
from aquamend.codec.forms import NAME, PROBABILITY, list_of, row
from aquamend.errors import AquaMendError, Fault
from aquamend.problem.faults import probability_faults
from aquamend.problem.model.kernels.kernel import Answer, Channel, Rows, frozen, labels_of, named_rows, stacked

ROWS = by_condition(row(PROBABILITY, low=0.0, high=1.0))


@dataclass(frozen=True, eq=False)
class Discrete:
    """A probe with finitely many outcomes."""

    outcomes: Annotated[Sequence[str], list_of(NAME, instead="unreadable name {}".format)]
    """The names of its possible answers, each once."""
    likelihood: Annotated[Rows, ROWS]
    """For every hypothesis, the probability of each outcome, in the order of the outcomes."""
    numbers: Annotated[bool, NOT_WRITTEN] = False
    """Whether the outcomes are numbers, the values of a belief that declares one: 18 may be answered as 18.0 too."""

    table: ClassVar[str] = "likelihood"

    def faults(self, where: str, names: Sequence[str]) -> Iterator[Fault]:
        """Yield outcomes named twice, rows that are missing and rows that are no distribution."""
        width = len(self.outcomes)
        if width == 0 or len(set(self.outcomes)) != width:
            problem = f"{list(self.outcomes)!r} is empty or repeats a name"
            yield Fault(f"{where}.outcomes", problem, "name every outcome once")
        faults, rows, place_of = named_rows(f"{where}.likelihood", self.likelihood, names, width)
        yield from faults
        with np.errstate(all="ignore"):  # infinities and NaN are what is being looked for
            sound = (rows >= 0).all(axis=1) & (np.abs(rows.sum(axis=1) - 1.0) <= SUM_TOLERANCE)
        for i in np.flatnonzero(~sound).tolist():
            place, row = place_of(i), rows[i]
            shown = [float(p) for p in row]
            if not ((row >= 0).all() and np.isfinite(row).all()):
                yield Fault(place, f"{shown!r} has an entry that is not a probability", "give numbers from 0 to 1")
            else:
                yield Fault(place, f"{shown!r} sums to {row.sum():.9g}", "make the outcomes' probabilities sum to 1")

    def channel(self, names: Sequence[str]) -> Outcomes:
        """Return the table of likelihoods."""
        rows = stacked(self.likelihood, names)
        return Outcomes(tuple(self.outcomes), frozen(rows / rows.sum(axis=1, keepdims=True)), self.numbers)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """A discrete kernel in hypothesis order."""

    outcomes: tuple[str, ...]
    table: Floats
    """Shape ``(n_hypotheses, n_outcomes)``; rows sum to one; read-only."""
    numbers: bool = False
    """Whether an answer that is the same number as an outcome is that outcome, however it is written."""

    @cached_property
    def _labels(self) -> tuple[Indices, Indices]:
        return labels_of(self.table)

    @property
    def of(self) -> Indices:
        """Shape ``(n_hypotheses,)``; hypotheses with the same label answer alike."""
        return self._labels[0]

    @property
    def n_labels(self) -> int:
        """How many different rows there are."""
        return len(self._labels[1])

    def likelihood(self, answer: Answer) -> Floats:
        """Return an outcome's column."""
        return np.asarray(self.table[:, self.outcomes.index(str(answer))])

    def sample(self, hypothesis: int, rng: np.random.Generator) -> str:
        """Return an outcome drawn under one hypothesis."""
        row = self.table[hypothesis]
        return self.outcomes[min(int(np.searchsorted(row.cumsum(), rng.random(), side="right")), len(row) - 1)]

    def parse(self, said: Answer) -> str | None:
        """Return the outcome of that name, or that number."""
        if isinstance(said, str) and said in self.outcomes:
            return said
        value = _number(said) if self.numbers else None
        return None if value is None else next((name for name in self.outcomes if _number(name) == value), None)

    @property
    def expected(self) -> str:
        """Return the outcomes in words."""
        return "one of " + ", ".join(repr(outcome) for outcome in self.outcomes)


def _number(said: Answer) -> float | None:
    try:
        return float(said)
    except ValueError:
        return None


@dataclass(frozen=True, eq=False)
class NoisyOr:
    """A probe with two outcomes, the second of which each cause that is present may bring about by itself.

    As it is written down: ``aquamend.joint_model`` makes a table of it, once it is known which causes there are.
    """

    noisy_or: Mapping[Name, Probability]
    """How probable each cause or failed belief makes the second outcome by itself, and a leak."""
    outcomes: Annotated[Sequence[str], list_of(NAME, instead="unreadable name {}".format)]
    """The names of its two answers."""

    table: ClassVar[str] = "noisy_or"

    def faults(self, where: str, names: Sequence[str]) -> Iterator[Fault]:
        """Yield outcomes that are not two, and numbers that are no probabilities."""
        if len(self.outcomes) != 2 or self.outcomes[0] == self.outcomes[1]:
            said = f"{list(self.outcomes)!r} is not two outcomes, of which noisy_or gives the second's probability"
            yield Fault(f"{where}.outcomes", said, "name two, or give a likelihood")
        yield from noisy_or_faults(f"{where}.noisy_or", self.noisy_or)

    def channel(self, names: Sequence[str]) -> Channel:
        """Refuse: which causes are present under a hypothesis is not known here."""
        raise AquaMendError("a noisy-or needs the model's causes; make the model with aquamend.joint_model")


def noisy_or_faults(where: str, numbers: Mapping[str, float]) -> Iterator[Fault]:
    """Yield the numbers that are no probabilities."""
    return probability_faults((f"{where}.{name}", p) for name, p in numbers.items())
