"""How small a difference a set of pairs could have shown."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aquamend.arrays import Floats
from aquamend.learning.samples import sample


def smallest_detectable_difference(
    differences: Sequence[float] | Floats, *, level: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the true mean difference that so many pairs, as scattered as these, show with the given power.

    It is (t_{1 - level/2} + t_{power}) s / √n with n - 1 degrees of freedom: what a two-sided test of the mean at this
    level finds with this probability. A mean that is found and smaller was luck; where nothing is found, what is
    larger than this can be ruled out, and what is smaller cannot. It speaks of the mean, as the bootstrap interval
    does; a signed-rank test weighs pairs by rank and may see other things.

    None with fewer than two pairs, or where some difference is infinite: then there is no spread to go by.

    Reference: Bloom (1995), "Minimum detectable effects: a simple way to report the statistical power of experimental
    designs".
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level is {level}; give a share between 0 and 1, such as 0.05")
    if not 0.5 <= power < 1.0:
        raise ValueError(f"power is {power}; give a share from 0.5 to below 1, such as 0.8")
    values = sample("differences", differences)
    if values.size < 2 or not np.isfinite(values).all():
        return None
    from scipy.special import stdtrit

    multiple = float(stdtrit(values.size - 1, 1.0 - level / 2.0) + stdtrit(values.size - 1, power))
    return multiple * float(values.std(ddof=1)) / math.sqrt(values.size)
