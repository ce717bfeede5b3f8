"""What may be true: joint hypotheses about physical changes and persistent sensing errors.

What is said of very many hypotheses are arrays: names and rows are made when somebody asks for them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Bools, Floats, Indices, distinct
from aquamend.codec import NOT_WRITTEN, TRUE_VALUE, Name, Probability, ProbabilityTable
from aquamend.problem.graph.nodes import Belief, Value
from aquamend.problem.model.spreads import Spread

T = TypeVar("T")
CHUNK = 4096
"""Names made at once, where all are asked for."""


class Cause(StrEnum):
    """Why a belief may have failed (the paper's four attribution categories)."""

    EXTERNAL = "external"
    """The world changed."""
    SELF_ERROR = "self_error"
    """The agent mis-estimated, or its sensing is biased."""
    FALSE_ALARM = "false_alarm"
    """Nothing task-relevant failed."""
    UNKNOWN = "unknown"
    """Unresolved; handled conservatively."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One complete explanation, with its prior probability and the beliefs it makes fail."""

    name: Name
    """Its name, which no other hypothesis has."""
    prior: Probability
    """Its probability before the alarm."""
    failed: Sequence[Name] = ()
    """Beliefs that fail: those that declare no value, and those of which no true value can be named."""
    cause: Cause = Cause.UNKNOWN
    """Why something failed; unknown unless given."""
    truth: Mapping[Name, Annotated[Value, TRUE_VALUE] | Spread] = field(default_factory=dict)
    """What would be true of beliefs that declare a value, where it differs; a spread where nobody knows yet.

    A spread stands for one hypothesis for each of its values; ``building.expanded`` makes them.
    """
    part_of: Annotated[str, NOT_WRITTEN] = ""
    """The hypothesis that it is a part of, where that was split because a probe may repeat itself."""

    def true_of(self, belief: Belief) -> Value | None:
        """Return what is true of a belief that declares a value; None where it failed and no value can be named."""
        value = None if belief.name in self.failed else self.truth.get(belief.name, belief.declared)
        return value if isinstance(value, str | float | int) else None


@dataclass(frozen=True, eq=False)
class Hypotheses(Sequence[Hypothesis]):
    """Very many hypotheses as columns, with an entry for each of them; one becomes an object when it is asked for.

    >>> Hypotheses(prior, failed={"pose": pose_has_failed})
    """

    prior: Floats
    """Shape ``(n_hypotheses,)``; as for all columns."""
    failed: Mapping[str, Bools] = field(default_factory=dict)
    """By belief, where it fails without a value; left out where it never does."""
    truth: Mapping[str, NDArray[np.object_]] = field(default_factory=dict)
    """By belief that declares a value, what is true instead; None where nothing is said."""
    cause: NDArray[np.int8] | Cause = Cause.UNKNOWN
    """Why something failed: one cause for all, or positions in ``list(Cause)``."""
    names: Sequence[str] = ()
    """Their names; h0, h1 and so on unless given."""

    def __post_init__(self) -> None:
        if not len(self.names):
            object.__setattr__(self, "names", Numbered(len(self.prior)))

    @classmethod
    def of(cls, hypotheses: Sequence[Hypothesis]) -> Hypotheses:
        """Return hypotheses as columns; of a belief whose true value is a spread nothing is known but that it fails."""
        if isinstance(hypotheses, Hypotheses):
            return hypotheses
        n = len(hypotheses)
        failed: dict[str, Bools] = defaultdict(lambda: np.zeros(n, dtype=bool))
        truth: dict[str, NDArray[np.object_]] = defaultdict(lambda: np.full(n, None, dtype=object))
        for s, hypothesis in enumerate(hypotheses):
            for belief in hypothesis.failed:
                failed[belief][s] = True
            for belief, value in hypothesis.truth.items():
                if isinstance(value, str | float | int):
                    truth[belief][s] = value
                else:
                    failed[belief][s] = True
        prior = np.array([hypothesis.prior for hypothesis in hypotheses], dtype=np.float64)
        position = {cause: i for i, cause in enumerate(CAUSES)}
        cause = np.array([position.get(hypothesis.cause, -1) for hypothesis in hypotheses], dtype=np.int8)
        return cls(prior, dict(failed), dict(truth), cause, tuple(hypothesis.name for hypothesis in hypotheses))

    def true_values(self, declared: Mapping[str, Value], *, exactly: bool = False) -> dict[str, NDArray[Any]]:
        """Return what is true of every belief that declares a value, ``(n_hypotheses,)``: numbers, or text.

        Where no value can be named, nan or None. ``exactly`` keeps numbers as the objects that they were given as.
        """
        found: dict[str, NDArray[Any]] = {}
        for belief, value in declared.items():
            found[belief] = np.full(len(self), value, dtype=object if exactly or isinstance(value, str) else float)
            if belief in self.truth:
                said = self.truth[belief] != None  # noqa: E711  # entry by entry
                found[belief][said] = self.truth[belief][said]
            if belief in self.failed:
                found[belief][self.failed[belief]] = None  # nan among numbers
        return found

    def __len__(self) -> int:
        return len(self.prior)

    @overload
    def __getitem__(self, at: int) -> Hypothesis: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Hypothesis]: ...
    def __getitem__(self, at: int | slice) -> Hypothesis | Sequence[Hypothesis]:
        if isinstance(at, slice):
            return tuple(map(self.__getitem__, range(len(self))[at]))
        failed = tuple(belief for belief, column in self.failed.items() if column[at])
        truth = {belief: value for belief, column in self.truth.items() if (value := column[at]) is not None}
        return Hypothesis(self.names[at], float(self.prior[at]), failed, CAUSES[int(self.causes[at])], truth)

    @property
    def causes(self) -> NDArray[np.int8]:
        """Shape ``(n_hypotheses,)``; positions in ``list(Cause)``."""
        if isinstance(self.cause, Cause):
            return np.broadcast_to(np.int8(CAUSES.index(self.cause)), len(self))
        return self.cause


CAUSES = tuple(Cause)


@dataclass(frozen=True, slots=True)
class Alarm:
    """How likely the monitor was to raise this alarm under every hypothesis."""

    likelihood: ProbabilityTable = field(default_factory=dict)
    """For every hypothesis, how probable this alarm was if it is true."""
    suspects: Sequence[Name] = ()
    """Beliefs that the monitor flags."""
    again: ProbabilityTable | None = None
    """How probable one more such alarm is under every hypothesis, once it has been raised; None: nobody knows."""
    conditions: Annotated[Any, NOT_WRITTEN] = None
    """The `Conditional` that the likelihood was given by, where they ask about beliefs; None: it stays as it is."""
    again_by: Annotated[Any, NOT_WRITTEN] = None
    """Those of ``again``, likewise."""
    noisy_or: Mapping[Name, Probability] | None = None
    """In place of the likelihood: how probable each cause or failed belief makes it by itself, and a leak.

    ``building.joint_model`` makes a likelihood of it.
    """

    one_of: ClassVar[tuple[str, ...]] = ("likelihood", "noisy_or")


@dataclass(frozen=True, slots=True)
class Declaration:
    """One version of a statement about a belief, with its value and the evidence that supports it."""

    name: Name
    """What was stated."""
    belief: Name
    """The belief that it is about."""
    version: int = 1
    """Which version of the statement it is; 1 unless given."""
    value: Annotated[Value, TRUE_VALUE] | None = None
    """What it declares; taken from the belief where that declares a value."""
    invalid_in: Sequence[Name] | None = None
    """The hypotheses under which this version is invalid.

    None: where the belief has failed, or, if it says another value than the belief declares, where that is not true.
    """
    support: Sequence[Name] = ()
    """The probes whose evidence it rests on; empty where not recorded."""

    def __str__(self) -> str:
        return f"{self.name} (v{self.version})" if self.version != 1 else self.name


class Names(Sequence[str]):
    """Names in order that no memory is spent on."""

    __hash__ = None  # type: ignore[assignment]

    @abstractmethod
    def made(self, at: Indices) -> list[str]:
        """Return the names at these positions."""

    @abstractmethod
    def find(self, name: str) -> int | None:
        """Return where a name stands; None where it is not among them."""

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        if isinstance(at, slice):
            return tuple(self.made(np.arange(len(self))[at]))
        return self.made(np.array([range(len(self))[at]]))[0]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), CHUNK):
            yield from self.made(np.arange(start, min(start + CHUNK, len(self))))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(str.__eq__, self, other))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:3]))
        return f"<{len(self):,} names: {shown}{', …' if len(self) > 3 else ''}>"


class Numbered(Names):
    """h0, h1, h2 and so on."""

    def __init__(self, n: int) -> None:
        self._n = n

    def __len__(self) -> int:
        return self._n

    def made(self, at: Indices) -> list[str]:
        """Return the names at these positions."""
        return [f"h{i}" for i in at.tolist()]

    def find(self, name: str) -> int | None:
        """Return where a name stands."""
        number = int(name[1:]) if name[:1] == "h" and name[1:].isdecimal() else self._n
        return number if number < self._n and name == f"h{number}" else None


class Combined(Names):
    """Names put together from those of what is present: ``shelf=moved + slipped``."""

    between = " + "

    def __init__(self, labels: Sequence[Sequence[str]], present: NDArray[np.integer[Any]], nothing: str) -> None:
        """``present``, shape ``(n, n_things)``, says which of a thing's ``labels``, from 1 on; 0 where it is absent."""
        self._labels, self._present, self._nothing = labels, present, nothing

    def __len__(self) -> int:
        return len(self._present)

    def taken(self, at: Any) -> Combined:
        """Return those at some positions."""
        return Combined(self._labels, self._present[at], self._nothing)

    def made(self, at: Indices) -> list[str]:
        """Return the names at these positions."""
        own = self._present[at]
        row, thing = np.nonzero(own)
        words = [self._labels[c][p - 1] for c, p in zip(thing.tolist(), own[row, thing].tolist(), strict=True)]
        ends = np.searchsorted(row, np.arange(len(own) + 1)).tolist()
        return [self.between.join(words[a:b]) or self._nothing for a, b in pairwise(ends)]

    def find(self, name: str) -> int | None:
        """Return where a name stands."""
        wanted = np.zeros(self._present.shape[1], dtype=self._present.dtype)
        for word in () if name == self._nothing else name.split(self.between):
            if word not in self._places:
                return None
            thing, part = self._places[word]
            wanted[thing] = part
        here = np.flatnonzero((self._present == wanted).all(axis=1))
        return int(here[0]) if len(here) and self.made(here[:1])[0] == name else None

    @cached_property
    def _places(self) -> dict[str, tuple[int, int]]:
        return {word: (c, p) for c, own in enumerate(self._labels) for p, word in enumerate(own, start=1)}


def finder(names: Sequence[str]) -> Callable[[str], int | None]:
    """Return what tells where a name stands; None where it is not among them."""
    return names.find if isinstance(names, Names) else {name: i for i, name in enumerate(names)}.get


class ByHypothesis(Mapping[str, T]):
    """What is said of every hypothesis by its name, where few different things are said: which of them, as an array."""

    def __init__(self, names: Sequence[str], values: Sequence[T], chosen: Indices) -> None:
        """``chosen``, shape ``(n_hypotheses,)``, says which of the values each hypothesis has."""
        self.names, self.different, self.chosen = names, values, chosen

    def __getitem__(self, name: str) -> T:
        at = self._find(name)
        if at is None:
            raise KeyError(name)
        return self.different[int(self.chosen[at])]

    def __len__(self) -> int:
        return len(self.chosen)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def rows(self) -> list[T]:
        """Return what is said of every hypothesis, in order."""
        return [self.different[k] for k in self.chosen.tolist()]

    def numbers(self) -> Floats:
        """Return the same as an array."""
        return np.asarray(self.different, dtype=np.float64)[self.chosen]

    def first_of_each(self) -> list[tuple[int, T]]:
        """Return each thing that is said, with the first hypothesis of which it is, in the order of these."""
        first = np.full(len(self.different), len(self.chosen))
        np.minimum.at(first, self.chosen, np.arange(len(self.chosen)))
        order = [k for k in np.argsort(first, kind="stable").tolist() if first[k] < len(self.chosen)]
        return [(int(first[k]), self.different[k]) for k in order]

    @classmethod
    def of_numbers(cls, names: Sequence[str], numbers: Floats) -> ByHypothesis[float]:
        """Return a number for every hypothesis."""
        values = distinct(numbers)
        return ByHypothesis(names, values.tolist(), np.searchsorted(values, numbers))

    @cached_property
    def _find(self) -> Callable[[str], int | None]:
        return finder(self.names)
