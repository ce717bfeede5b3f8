"""Kernels that follow the truth: written once for a belief, and right whatever that belief turns out to be.

The mean of a continuous probe may be ``BELIEF``, ``BELIEF + NUMBER``, ``BELIEF - NUMBER`` or ``NUMBER * BELIEF +
NUMBER``. A value of a spread stands for its whole step, over which the truth is taken to be uniform: what follows it
has the variance sd² + (factor · step)² / 12. A discrete probe may answer with a belief's value (`ValueOf`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aquamend.arrays import Floats
from aquamend.errors import Fault
from aquamend.problem.building.rules import Truths
from aquamend.problem.graph import Belief
from aquamend.problem.model import Discrete, Kernel, ValueOf
from aquamend.text import named

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_SCALED = re.compile(rf"(?P<factor>{_NUMBER})\s*\*\s*(?P<rest>\S.*)")
_SHIFTED = re.compile(rf"(?P<rest>.*?\S)\s*(?P<sign>[-+])\s*(?P<offset>{_NUMBER.removeprefix('[-+]?')})")


@dataclass(frozen=True, slots=True)
class FollowedTruth:
    """A mean that is a belief's true value, scaled and shifted."""

    belief: str
    factor: float = 1.0
    offset: float = 0.0


def belief_followed(mean: str, beliefs: Mapping[str, Any]) -> FollowedTruth | None:
    """Return what a mean that is written as text follows; None where it names no belief."""
    text, factor, offset = mean.strip(), 1.0, 0.0
    if text in beliefs:
        return FollowedTruth(text)
    shifted = _SHIFTED.fullmatch(text)
    if shifted is not None:
        text, offset = shifted["rest"], float(shifted["sign"] + shifted["offset"])
    scaled = _SCALED.fullmatch(text)
    if text not in beliefs and scaled is not None:
        text, factor = scaled["rest"], float(scaled["factor"])
    return FollowedTruth(text, factor, offset) if text in beliefs else None


def follows(row: Any) -> bool:
    """Whether a row of a continuous kernel, or a table of several, has a mean that follows a belief."""
    return isinstance(row, Sequence) and not isinstance(row, str) and any(isinstance(x, str) or follows(x) for x in row)


def standing_in(row: Any) -> Any:
    """Return a row with a number in the place of every mean that follows a belief, so that the rest can be judged."""
    if isinstance(row, str):
        return 0.0
    return [standing_in(x) for x in row] if isinstance(row, Sequence) else row


def mean_faults(where: str, row: Any, beliefs: Mapping[str, Belief]) -> Iterator[Fault]:
    """Yield the means in a row that follow nothing that has a number."""
    for mean in _texts(row):
        found = belief_followed(mean, beliefs)
        if found is None:
            said = f"{mean!r} is neither a number nor a belief with one"
            yield Fault(where, said, "write a number, BELIEF, BELIEF + NUMBER or NUMBER * BELIEF + NUMBER")
        elif not isinstance(beliefs[found.belief].declared, float | int):
            said = f"{found.belief!r} declares no number that a mean could follow"
            yield Fault(where, said, "follow a belief that declares a number, or write a number")


def _texts(row: Any) -> Iterator[str]:
    for x in row if isinstance(row, Sequence) and not isinstance(row, str) else ():
        yield from [x] if isinstance(x, str) else _texts(x)


def rows_following(
    rows: Mapping[str, Any], names: Sequence[str], truth: Truths, widths: Mapping[str, Floats], where: str
) -> tuple[dict[str, Any], list[Fault]]:
    """Return the rows with numbers for all means, and the faults: a belief that failed has no value to follow."""
    found, without = dict(rows), dict[str, list[str]]()
    for s, name in enumerate(names):
        row = rows.get(name)
        if not follows(row):
            continue
        own = {f.belief for mean in _texts(row) if (f := belief_followed(mean, truth)) is not None}
        missing = [belief for belief in own if truth[belief][s] is None]
        if missing:
            without.setdefault(missing[0], []).append(name)
        elif any(isinstance(truth[belief][s], str) for belief in own):
            found[name] = standing_in(row)  # a text that is true of a number is a fault where it stands
        else:
            found[name] = _numbers(row, s, truth, widths)
    faults = []
    for belief, where_not in without.items():
        more = f" and {len(where_not) - 1} more" if len(where_not) > 1 else ""
        said = f"{belief!r} failed without a value under {where_not[0]!r}{more}, so that no mean follows it there"
        faults.append(Fault(where, said, "give that hypothesis a row of its own"))
    return found, faults


def _numbers(row: Any, s: int, truth: Truths, widths: Mapping[str, Floats]) -> Any:
    if not isinstance(row[0], str | float | int):
        return [_numbers(part, s, truth, widths) for part in row]
    *weight, mean, sd = row
    if not isinstance(mean, str):
        return list(row)
    found = belief_followed(mean, truth)
    value = truth[found.belief][s] if found is not None else None
    if found is None or not isinstance(value, float | int):
        raise ValueError(f"{mean!r} follows no number")  # mean_faults has been asked before
    step = float(widths[found.belief][s]) if found.belief in widths else 0.0
    return [*weight, found.factor * value + found.offset, math.hypot(sd, found.factor * step / math.sqrt(12.0))]


def value_table(kernel: ValueOf, names: Sequence[str], truth: Truths, own: Mapping[str, Any]) -> Kernel:
    """Return the table of a probe that answers with a belief's value; ``own`` are rows that were listed."""
    values = list(dict.fromkeys(value for value in (kernel.declared, *truth[kernel.of]) if value is not None))
    outcomes = [named(value) for value in values] + ([] if kernel.none is None else ["none"])
    none = kernel.none or 0.0
    last = [] if kernel.none is None else [none]
    alike = (1.0 - none) / len(values)
    rows = {}
    for s, name in enumerate(names):
        true = truth[kernel.of][s]
        if true is None or len(values) == 1:
            row = [alike] * len(values)
        else:
            other = max(0.0, 1.0 - kernel.right - none) / (len(values) - 1)
            row = [kernel.right if value == true else other for value in values]
        rows[name] = own.get(name, row + last)
    return Discrete(outcomes, rows, numbers=isinstance(kernel.declared, float | int))
