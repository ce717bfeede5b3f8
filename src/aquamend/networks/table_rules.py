"""A table with a row for every setting of causes, written as few rules: the first that holds decides.

The table is split by one state of a cause after the other, each time by the one that tells most about which row it is
(in bits), until all rows are the same. What holds where a state is present comes first, so that the rules for the
rest need not say that it is absent: each rule names only what is present.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from aquamend.arrays import Bools, Floats, Indices
from aquamend.errors import AquaMendError

SAME = 1e-12
"""Numbers that differ by less are one."""
MOST_RULES = 20_000
DEFAULT = "default"

Literal = tuple[str, Bools]
"""A word of a condition, and under which settings it holds."""


def as_rules(rows: Floats, words: Sequence[Literal], what: str) -> list[tuple[str, list[float]]]:
    """Return conditions with rows, shape ``(n_settings, width)``, in order; ``what`` is named if they are too many."""
    _, label = np.unique(np.round(rows / SAME), axis=0, return_inverse=True)
    first = np.unique(label, return_index=True)[1]
    found = []
    for path, of in _split(label.reshape(-1), words, np.arange(len(rows)), ()):
        found.append((" & ".join(path) or DEFAULT, [float(f"{p:.15g}") for p in rows[first[of]].tolist()]))
        if len(found) > MOST_RULES:
            said = f"what {what} says of its causes takes more than {MOST_RULES:,} rules"
            raise AquaMendError(f"{said}; take fewer causes, let fewer come together, or leave it out")
    return found


def _split(
    label: Indices, words: Sequence[Literal], among: Indices, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], int]]:
    own = label[among]
    if (own == own[0]).all():
        yield path, int(own[0])
        return
    best, least = None, np.inf
    for k, (_, holds) in enumerate(words):
        here = holds[among]
        if here.any() and not here.all():
            left = _bits(own[here]) + _bits(own[~here])
            if left < least:
                best, least = k, left
    if best is None:
        raise AquaMendError("two settings of the causes that no word tells apart have different rows")
    word, holds = words[best]
    here = holds[among]
    yield from _split(label, words, among[here], (*path, word))
    yield from _split(label, words, among[~here], path)


def _bits(label: Indices) -> float:
    """Return how much is left to be said of which label each entry has."""
    counts = np.bincount(label)
    counts = counts[counts > 0]
    return float(-(counts * np.log(counts / len(label))).sum())


def as_noisy_or(present: Floats, words: Sequence[Literal]) -> dict[str, float] | None:
    """Return the numbers of a noisy-or, with its leak; None where a probability, one for each setting, is none.

    1 − p(s) = (1 − leak) Π (1 − number) over what is present: so each number follows from the settings with one alone.
    """
    count = np.sum([holds for _, holds in words], axis=0)
    if not (count == 0).any():
        return None
    stays = 1.0 - present
    leak, none = float(present[np.flatnonzero(count == 0)[0]]), float(stays[np.flatnonzero(count == 0)[0]])
    numbers, expected = {"leak": leak}, np.full(len(present), none)
    for word, holds in words:
        alone = np.flatnonzero(holds & (count == 1))
        if not len(alone) or none <= 0.0 or stays[alone[0]] > none + SAME:
            return None
        factor = float(stays[alone[0]]) / none
        numbers[word] = max(0.0, 1.0 - factor)
        expected = np.where(holds, expected * factor, expected)
    return numbers if np.abs(expected - stays).max() <= 1e-9 else None
