"""What counts as no difference."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DECIMALS = 9
"""Differences are rounded this far before zeros and ties are looked for; floating point leaves less than that."""


def difference(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return left minus right, not rounded; two infinities of one sign are equal, NaN stays NaN."""
    result = np.zeros_like(left)
    np.subtract(left, right, out=result, where=left != right)
    return result


def rounded(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return differences with what floating point leaves taken away: those that are zero now are ties."""
    return np.round(differences, DECIMALS)
