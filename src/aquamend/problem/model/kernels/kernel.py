"""What a sensor model is: a kernel as a person writes it, and the channel that the rest of the program uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Floats, Indices
from aquamend.errors import Fault
from aquamend.problem.faults import not_a
from aquamend.problem.model.hypotheses import ByHypothesis

Answer = str | float
"""What a probe says: the name of an outcome, or a reading."""
Rows: TypeAlias = Mapping[str, Sequence[float]] | Sequence[Sequence[float]] | Floats
"""One row for each hypothesis: by its name, or as an array in hypothesis order."""


class Kernel(Protocol):
    """How a probe answers under every hypothesis, as it is written down."""

    table: ClassVar[str]
    """Which of its attributes has a row for every hypothesis. In a file, its first key tells the kind of kernel."""

    def faults(self, where: str, names: Sequence[str]) -> Iterable[Fault]:
        """Yield what is wrong with it; ``where`` is its place in a file."""

    def channel(self, names: Sequence[str]) -> Channel:
        """Return the kernel compiled, hypotheses in this order."""


class Channel(Protocol):
    """A kernel compiled to arrays: what all kinds have in common."""

    @property
    def of(self) -> Indices:
        """Shape ``(n_hypotheses,)``; hypotheses with the same label answer alike."""

    @property
    def n_labels(self) -> int:
        """How many labels there are."""

    def likelihood(self, answer: Answer) -> Floats:
        """Return the likelihood of an answer up to a common factor, shape ``(n_hypotheses,)``; zeros if impossible."""

    def sample(self, hypothesis: int, rng: np.random.Generator) -> Answer:
        """Return an answer drawn under one hypothesis."""

    def parse(self, said: Answer) -> Answer | None:
        """Return the answer that a person or a program gave; None if it is none."""

    @property
    def expected(self) -> str:
        """What an answer looks like, in words."""


def in_order_of_names(rows: Rows, names: Sequence[str]) -> list[Any]:
    """Return the rows in the order of the names."""
    if isinstance(rows, ByHypothesis):
        return rows.rows()
    return [rows[name] for name in names] if isinstance(rows, Mapping) else list(rows)


def stacked(rows: Rows, names: Sequence[str]) -> Floats:
    """Return the rows as an array, in the order of the names."""
    return (
        rows.numbers() if isinstance(rows, ByHypothesis) else np.array(in_order_of_names(rows, names), dtype=np.float64)
    )


def rows_of(kernel: Kernel) -> Any:
    """Return the rows of a kernel, as they were given."""
    return getattr(kernel, kernel.table)


def with_rows(kernel: Kernel, rows: Mapping[str, Any]) -> Kernel:
    """Return the kernel with other rows, by the names of hypotheses."""
    changed: Any = kernel
    return replace(changed, **{kernel.table: rows})  # type: ignore[no-any-return]


def rows_by_name(kernel: Kernel, names: Sequence[str]) -> Kernel:
    """Return the kernel with its rows by the names of hypotheses, in this order."""
    return with_rows(kernel, dict(zip(names, in_order_of_names(rows_of(kernel), names), strict=True)))


def row_name_faults(where: str, row_names: Iterable[str], names: Sequence[str]) -> Iterator[Fault]:
    """Yield the hypotheses without a row and the rows without a hypothesis."""
    if isinstance(row_names, ByHypothesis) and row_names.names is names:
        return
    given_names, wanted = set(row_names), set(names)
    if given_names == wanted:
        return
    for name in names:
        if name not in given_names:
            yield Fault(where, f"hypothesis {name!r} has no row", "give one for every hypothesis")
    for name in row_names:
        if name not in wanted:
            yield not_a("hypothesis", f"{where}.{name}", name, names)


def named_rows(
    where: str, rows: Any, names: Sequence[str], width: int
) -> tuple[list[Fault], Floats, Callable[[int], str]]:
    """Return the faults of names and widths, the rows of the right width as an array, and what tells their places.

    A row that several hypotheses have from one rule comes once, with the place of the first of them.
    """
    if not isinstance(rows, Mapping):
        if np.ndim(rows) == 2 and np.shape(rows) == (len(names), width):
            return [], np.asarray(rows, dtype=np.float64), lambda i: f"{where}[{i}]"
        fault = Fault(where, f"the array has shape {np.shape(rows)}", f"make it ({len(names)}, {width})")
        return [fault], np.zeros((0, width)), lambda i: where
    if isinstance(rows, ByHypothesis) and rows.names is names:
        faults, placed = [], [(f"{where}.{names[s]}", row) for s, row in rows.first_of_each()]
    else:
        faults = list(row_name_faults(where, rows, names))
        every = [(name, rows[name]) for name in names if name in rows]
        first = {id(row): k for k, (_, row) in zip(range(len(every) - 1, -1, -1), reversed(every), strict=True)}
        placed = [(f"{where}.{every[k][0]}", every[k][1]) for k in sorted(first.values())]
    faults += [
        Fault(place, f"{list(row)!r} has {len(row)} numbers", f"give {width}")
        for place, row in placed
        if len(row) != width
    ]
    fit = [(place, row) for place, row in placed if len(row) == width]
    return faults, np.array([row for _, row in fit], dtype=np.float64).reshape(len(fit), width), lambda i: fit[i][0]


def labels_of(rows: NDArray[Any]) -> tuple[Indices, Indices]:
    """Return the label of every row, equal rows alike, and where each label first stands."""
    order = np.lexsort(rows.T[::-1])
    ordered, of = rows[order], np.empty(len(rows), dtype=np.intp)
    new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    of[order] = np.cumsum(new) - 1
    return of, order[new]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, read-only from now on."""
    array.setflags(write=False)
    return array
