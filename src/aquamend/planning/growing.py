"""Arrays that grow at their end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


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
