"""Whether readings are in one unit: kilograms among grams make two heaps, one a round factor times the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aquamend.arrays import Floats
from aquamend.text import counted, shown

FACTORS = {
    1000.0: "kilograms and grams, or the like",
    1e6: "milligrams and kilograms, or the like",
    100.0: "centimetres and metres, or shares and percent",
    60.0: "minutes and seconds, or the like",
    3600.0: "hours and seconds",
    25.4: "inches and millimetres",
    57.29578: "degrees and radians",
    28.349523: "ounces and grams",
    453.59237: "pounds and grams",
}
"""What two heaps of readings may differ by, and what that is likely to be."""
FEWEST, SMALLEST_SHARE = 2, 0.02
NEAR = 0.12
"""How near to a factor the medians must be, as a share of it."""
TIGHTEST = 3.0
"""How many times the gap between two heaps must exceed how far the readings of each lie apart, in logarithms."""


def mixed_units(
    probe: str, readings: Floats, places: Sequence[str], thought: float | None, *, heaps_are_known: bool = False
) -> str | None:
    """Return a question about the units of a probe's readings under one rule; None where they seem to be in one.

    Without two heaps, all of them may be in another unit than the file's mean ``thought``. Where the file has several
    heaps itself, two are no surprise.
    """
    size = np.abs(readings)
    known = size > 0
    if int(known.sum()) < 2 * FEWEST + 1:
        return None
    log = np.log(size[known])
    order = np.argsort(log, kind="stable")
    low, high = _heaps(log[order])
    if low is not None and high is not None and not heaps_are_known:
        few_high = len(high) <= len(low)
        few = high if few_high else low
        factor = _named_factor(float(np.exp(np.median(high) - np.median(low))))
        if factor is not None and len(few) >= max(FEWEST, SMALLEST_SHARE * len(log)):
            at = np.flatnonzero(known)[order]
            rows = [places[i] for i in np.sort(at[len(low) :] if few_high else at[: len(low)])]
            ratio = f"{factor:,g} times" if few_high else f"1/{factor:,g} of"
            return (
                f"{_share(len(few), len(log))} of {shown(probe)!r} ({len(few)} of {len(log)}: {', '.join(rows[:5])}"
                f"{', …' if len(rows) > 5 else ''}) is {ratio} the rest: {FACTORS[factor]}? "
                "It stays as it was; bring all of them to one unit"
            )
    if thought and len(log) >= 5:
        return _all_of_them(probe, float(np.median(readings[known])), thought, log)
    return None


def _all_of_them(probe: str, median: float, thought: float, log: Floats) -> str | None:
    ratio = abs(median / thought)
    factor = _named_factor(ratio if ratio > 1.0 else 1.0 / ratio)
    if factor is None or factor < 100.0 or float(np.median(np.abs(log - np.median(log)))) > 0.5:
        return None
    said = f"{factor:,g} times" if ratio > 1.0 else f"1/{factor:,g} of"
    return (
        f"all {counted(len(log), 'reading')} of {shown(probe)!r} are about {said} what the file says ({median:.4g} "
        f"beside {thought:.4g}): {FACTORS[factor]}? It stays as it was; write readings and file in one unit"
    )


def _heaps(log: Floats) -> tuple[Floats, Floats] | tuple[None, None]:
    """Return sorted logarithms as two heaps, cut at the largest gap; nothing where they are not clearly apart."""
    gaps = np.diff(log)
    inner = gaps[FEWEST - 1 : len(gaps) - FEWEST + 1]
    if not len(inner):
        return None, None
    cut = FEWEST + int(inner.argmax())
    low, high = log[:cut], log[cut:]
    apart = float(np.median(high) - np.median(low))
    spread = max(_scatter(low), _scatter(high))
    return (low, high) if gaps[cut - 1] > TIGHTEST * spread and apart > 0.8 else (None, None)


def _scatter(log: Floats) -> float:
    return 1.4826 * float(np.median(np.abs(log - np.median(log))))


def _named_factor(ratio: float) -> float | None:
    near = min(FACTORS, key=lambda factor: abs(np.log(ratio / factor)))
    return near if abs(np.log(ratio / near)) < NEAR else None


def _share(few: int, n: int) -> str:
    for share, said in ((0.5, "half"), (1 / 3, "a third"), (0.25, "a quarter"), (0.2, "a fifth"), (0.1, "a tenth")):
        if abs(few / n - share) < 0.04:
            return said
    return f"{few / n:.0%}"
