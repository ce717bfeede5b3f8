"""What arrays are called, and small things done to them in many places."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]

Number = TypeVar("Number", bound=np.generic)

MANY_COLUMNS, FEW_GROUPS = 16, 64
"""Columns from which on groups of rows are compared row by row, and groups up to which one after the other."""


def distinct(values: NDArray[Number]) -> NDArray[Number]:
    """Return the different values, sorted.

    ``np.unique`` does the same, but loads masked arrays first, a twentieth of what a short command takes.
    """
    ordered: NDArray[Number] = np.sort(values, axis=None)
    new = np.ones(len(ordered), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]


def any_in(rows: Bools, first: Indices) -> Bools:
    """Return where any row of each group is true; ``first`` says where each group begins, and none is empty.

    Eight columns at once, so ten times as fast as ``np.logical_or.reduceat``.
    """
    packed = np.bitwise_or.reduceat(np.packbits(rows, axis=1), first, axis=0)
    return np.unpackbits(packed, axis=1, count=rows.shape[1]).view(np.bool_)


def least_in(rows: Floats, first: Indices) -> Floats:
    """Return the least number of each group of rows, column by column; ``first`` as above.

    It goes along the columns, so it is several times as fast as ``np.minimum.reduceat`` where those are many.
    """
    if rows.shape[1] < MANY_COLUMNS:
        return np.asarray(np.minimum.reduceat(rows, first, axis=0))
    if len(first) <= FEW_GROUPS:
        return np.array([rows[a:b].min(axis=0) for a, b in pairwise([*first.tolist(), len(rows)])])
    sizes, least = np.diff(first, append=len(rows)), rows[first]
    for k in range(1, int(sizes.max())):
        longer = np.flatnonzero(sizes > k)
        least[longer] = np.minimum(least[longer], rows[first[longer] + k])
    return least


def sums_of_all(rows: Iterable[NDArray[Number]]) -> NDArray[Number]:
    """Return the sums of all combinations, one entry from each row, the last one fastest; of no rows, zero."""
    total: NDArray[Any] = np.zeros(1, dtype=np.intp)
    for row in rows:
        total = (total[:, None] + row).ravel()
    return total


class Growing:
    """An array whose rows are added many times; it is moved only when it has doubled."""

    __slots__ = ("_rows", "_size")

    def __init__(self, width: tuple[int, ...], kind: type[Any]) -> None:
        self._rows: NDArray[Any] = np.empty((64, *width), dtype=kind)
        self._size = 0

    def add(self, rows: NDArray[Any]) -> None:
        """Put rows at the end."""
        end = self._size + len(rows)
        if end > len(self._rows):
            larger = np.empty((max(end, 2 * len(self._rows)), *self._rows.shape[1:]), dtype=self._rows.dtype)
            larger[: self._size] = self._rows[: self._size]
            self._rows = larger
        self._rows[self._size : end] = rows
        self._size = end

    def __len__(self) -> int:
        return self._size

    @property
    def rows(self) -> NDArray[Any]:
        """All rows, as a view: what is written into it stays; it is not to be kept."""
        return self._rows[: self._size]
