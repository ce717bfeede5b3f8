"""Spreads: a truth that nobody knows yet, as one value for each step of what it may be.

A change of unknown size is one story and many values. Each value becomes a hypothesis of its own, so that every
instrument which reads the same unknown amount is judged by the same amount, and what a new value is worth follows from
the posterior alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from aquamend.codec import TRUE_VALUE, Finite, Key
from aquamend.codec.forms import NAME
from aquamend.errors import Fault
from aquamend.problem.graph.nodes import Belief, Value, kind_faults
from aquamend.text import named

SLACK = 1e-9
"""How far beyond a limit a number still counts as lying on it."""
REACH_SD = 3.0
"""How far a normal spread reaches, in its standard deviations."""
STEP_SHARE = 2.0 / 3.0
"""The default step as a share of the tolerance, so that two neighbouring values are right for each other."""
MOST_STEPS = 50_000


@dataclass(frozen=True, slots=True)
class Normal:
    """Any number near a mean, in even steps as far as three standard deviations."""

    mean: Annotated[Finite, Key("normal")]
    """Numbers near a mean: the mean and the standard deviation."""
    sd: Annotated[Finite, Key("normal")]
    step: Finite | None = None
    """How far apart the numbers are; two thirds of the belief's tolerance unless given."""


@dataclass(frozen=True, slots=True)
class Uniform:
    """Any number from ``low`` to ``high``, in even steps, all alike."""

    low: Annotated[Finite, Key("uniform")]
    """Numbers of a range, all alike: the lowest and the highest."""
    high: Annotated[Finite, Key("uniform")]
    step: Finite | None = None
    """How far apart the numbers are; two thirds of the belief's tolerance unless given."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of these values."""

    values: Sequence[Annotated[Value, TRUE_VALUE]] | Mapping[Annotated[Value, NAME], Finite]
    """The values one by one, all alike or each with a weight."""

    @property
    def weights(self) -> tuple[float, ...]:
        """One for each value."""
        return tuple(self.values.values()) if isinstance(self.values, Mapping) else (1.0,) * len(self.values)


Spread = Normal | Uniform | OneOf


@dataclass(frozen=True, slots=True)
class Steps:
    """A spread as finitely many values."""

    values: tuple[Value, ...]
    shares: tuple[float, ...]
    """How probable each is; they sum to one."""
    width: float
    """How wide a range each value stands for; 0 where the values are listed."""


def differs(value: Value | None, other: Value | None, tolerance: float) -> bool:
    """Whether two values are not the same: numbers by more than the tolerance, an equal distance not counting."""
    if isinstance(value, str) or isinstance(other, str) or value is None or other is None:
        return value != other
    return abs(value - other) > tolerance + SLACK


def values_of_spread(spread: Spread, belief: Belief) -> Steps:
    """Return a sound spread as values: those that are within tolerance of what is declared are left out."""
    if isinstance(spread, OneOf):
        total = math.fsum(spread.weights)
        return Steps(tuple(spread.values), tuple(weight / total for weight in spread.weights), 0.0)
    step = _step(spread, belief)
    if isinstance(spread, Normal):
        most = math.floor(REACH_SD * spread.sd / step + SLACK)
        pairs = [
            (_rounded(spread.mean + k * step), math.exp(-0.5 * (k * step / spread.sd) ** 2) if k else 1.0)
            for k in range(-most, most + 1)
        ]
    else:
        count = math.floor((spread.high - spread.low) / step + SLACK)
        pairs = [(_rounded(spread.low + k * step), 1.0) for k in range(count + 1)]
    kept = [(value, weight) for value, weight in pairs if differs(value, belief.declared, belief.tolerance)]
    total = math.fsum(weight for _, weight in kept)
    return Steps(tuple(value for value, _ in kept), tuple(weight / total for _, weight in kept), step)


def _rounded(value: float) -> float:
    """Return a value as a person would write it: 40, where its sum comes to 40.00000000000001."""
    return float(f"{value:.12g}")


def _step(spread: Normal | Uniform, belief: Belief) -> float:
    return STEP_SHARE * belief.tolerance if spread.step is None else spread.step


def spread_faults(where: str, spread: Spread, belief: Belief) -> Iterator[Fault]:
    """Yield what is wrong with a spread of what is true of a belief."""
    if isinstance(spread, OneOf):
        yield from _listed_faults(where, spread, belief)
        return
    kind = "normal" if isinstance(spread, Normal) else "uniform"
    if isinstance(belief.declared, str):
        yield Fault(where, f"{kind} is for numbers, and {belief.name!r} declares text", "give values: [...]")
        return
    if isinstance(spread, Normal):
        if not (math.isfinite(spread.mean) and 0.0 <= spread.sd < math.inf):
            said = f"{[spread.mean, spread.sd]!r} is not a mean and a standard deviation"
            yield Fault(f"{where}.normal", said, "give two finite numbers, sd of at least 0")
            return
        span = 2.0 * REACH_SD * spread.sd
    else:
        if not -math.inf < spread.low <= spread.high < math.inf:
            yield Fault(f"{where}.uniform", f"{[spread.low, spread.high]!r} is no range", "give [low, high], low first")
            return
        span = spread.high - spread.low
    yield from _step_faults(where, spread, belief, span)


def _step_faults(where: str, spread: Normal | Uniform, belief: Belief, span: float) -> Iterator[Fault]:
    step = _step(spread, belief)
    if spread.step is None and step == 0.0:
        said = f"there is no step, and the tolerance of {belief.name!r} is 0"
        yield Fault(f"{where}.step", said, "say in `step` how far apart the values are, or give the belief a tolerance")
    elif not (step > 0.0 and math.isfinite(step)):
        yield Fault(f"{where}.step", f"{step!r} is no step", "give a number above 0")
    elif span / step > MOST_STEPS:
        yield Fault(where, f"steps of {step:g} make more than {MOST_STEPS:,} values", "give a larger step")
    elif not values_of_spread(spread, belief).values:
        said = f"every value is within {belief.tolerance:g} of the {named(belief.declared or 0.0)} declared"
        yield Fault(where, f"{said}, so nothing has failed", "give values further away, or remove it")


def _listed_faults(where: str, spread: OneOf, belief: Belief) -> Iterator[Fault]:
    if not spread.values:
        yield Fault(f"{where}.values", "there are none", "list what may be true")
    seen: set[Value] = set()
    for i, value in enumerate(spread.values):
        weighted = isinstance(spread.values, Mapping)
        at = f"{where}.values.{named(value)}" if weighted else f"{where}.values[{i}]"
        if value in seen:
            yield Fault(at, f"{named(value)!r} is given twice", "give it once")
        seen.add(value)
        if belief.declared is not None:
            yield from kind_faults(at, value, belief.name, belief.declared)
        if not differs(value, belief.declared, belief.tolerance):
            said = f"{named(value)} is what {belief.name!r} declares"
            if belief.tolerance:
                said = f"{named(value)} is within {belief.tolerance:g} of the {named(belief.declared or 0.0)} declared"
            yield Fault(at, f"{said}, so the belief has not failed", "remove the value")
        if not 0.0 < spread.weights[i] < math.inf:
            yield Fault(at, f"the weight {spread.weights[i]!r} is not above 0", "give a number above 0")
