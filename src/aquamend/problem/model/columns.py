"""What is said of very many hypotheses, as arrays: names and rows are made when somebody asks for them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Floats, Indices, distinct

T = TypeVar("T")
CHUNK = 4096
"""Names made at once, where all are asked for."""


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
