"""Reading the samples that are given: one-dimensional, numeric, of one length; and what counts as no difference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aquamend.arrays import Floats

DECIMALS = 9
"""Differences are rounded this far before zeros and ties are looked for; floating point leaves less than that."""


def sample(name: str, values: Sequence[float] | Floats) -> Floats:
    """Return the values as an array of shape ``(n,)``; infinities may be among them, NaN may not."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; give one number a pair, in one dimension")
    missing = np.flatnonzero(np.isnan(array))
    if missing.size:
        raise ValueError(f"{name}[{missing[0]}] is NaN; leave out what is unavailable before comparing")
    return array


def probability_sample(name: str, values: Sequence[float] | Floats) -> Floats:
    """Return the values as an array of shape ``(n,)``, all in [0, 1]."""
    array = sample(name, values)
    outside = np.flatnonzero((array < 0.0) | (array > 1.0))
    if outside.size:
        raise ValueError(f"{name}[{outside[0]}] is {array[outside[0]]}; give numbers from 0 to 1")
    return array


def require_same_length(first: str, count: int, second: str, other: int) -> None:
    """Raise ``ValueError`` unless two samples pair up."""
    if count != other:
        raise ValueError(f"{first} has {count} values but {second} has {other}; give one of each a scenario")


def difference(left: Floats, right: Floats) -> Floats:
    """Return left minus right, not rounded; two infinities of one sign are equal, NaN stays NaN."""
    result = np.zeros_like(left)
    np.subtract(left, right, out=result, where=left != right)
    return result


def rounded(differences: Floats) -> Floats:
    """Return differences with what floating point leaves taken away: those that are zero now are ties."""
    return np.round(differences, DECIMALS)
