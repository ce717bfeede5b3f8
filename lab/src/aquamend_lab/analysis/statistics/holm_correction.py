"""Holm's correction for several tests of one family."""

from __future__ import annotations

from collections.abc import Mapping


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return the adjusted p-value of every test of one family, in the order given.

    With p sorted upwards, the adjusted value of the i-th is the largest of (m - j + 1) p_j over j <= i, at most 1. It
    bounds the chance of any false claim in the family, however the tests depend on each other.

    References: Holm (1979), "A simple sequentially rejective multiple test procedure"; the paper's appendix, "Paired
    inference".
    """
    for name, p in p_values.items():
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"the p-value of {name!r} is {p}; give probabilities, from 0 to 1")
    adjusted: dict[str, float] = {}
    largest = 0.0
    for position, name in enumerate(sorted(p_values, key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - position) * p_values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}
