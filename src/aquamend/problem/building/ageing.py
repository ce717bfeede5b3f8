"""Causes with a rate: what was measured some time ago may have been overtaken since.

A cause that comes at a rate λ has overtaken what was measured a ago with probability 1 − exp(−λ a); of several states
with rates λ_i and the sum Λ, each has with λ_i / Λ (1 − exp(−Λ a)), the first that came. Where the beliefs that it
makes wrong have different ages a_1 < a_2 < …, it came between a_{k−1} and a_k ago (a_0 = 0) with probability

    λ_i / Λ (exp(−Λ a_{k−1}) − exp(−Λ a_k)),

and then makes wrong those of age a_k or more: the younger ones were measured after it. So a state becomes one part
for each such stretch of time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from aquamend.arrays import Floats
from aquamend.errors import Fault
from aquamend.problem.model.ages import Ages

if TYPE_CHECKING:
    from aquamend.problem.building.root_causes import CauseState, RootCause

LEAST = 1e-60
"""What may have come by its rate, or may not have, stays at least so probable: only rounding makes it impossible."""


@dataclass(frozen=True, slots=True)
class Share:
    """A state of a cause, or what of it came within one stretch of time."""

    state: str
    spec: CauseState
    """With the beliefs that it makes wrong, if it came then."""
    word: str
    """What the state is called in conditions."""
    since: float = 0.0
    """It came at least so long ago …"""
    until: float = 0.0
    """… and at most so long."""
    before: str = ""
    """A belief that was measured just after it came; empty where every belief is older."""

    @property
    def name(self) -> str:
        """What it is called among hypotheses."""
        return f"{self.word} (before {self.before})" if self.before else self.word

    def makes_wrong(self, belief: str) -> bool:
        """Whether it makes a belief wrong by itself."""
        return belief in self.spec.failed or belief in self.spec.truth


def own_beliefs(cause: RootCause) -> list[str]:
    """Return the beliefs that a cause makes wrong by itself, without effects."""
    return list(dict.fromkeys(b for state in cause.states.values() for b in (*state.failed, *state.truth)))


def parts_of_cause(cause: RootCause, ages: Ages) -> list[Share]:
    """Return the parts of a sound cause: its states, or each of them once for every stretch of time."""
    if not cause.comes_at_a_rate:
        return [Share(state, spec, cause.label(state)) for state, spec in cause.states.items()]
    known = {belief: ages.of(belief) or 0.0 for belief in own_beliefs(cause)}
    limits = sorted(set(known.values())) or [ages.all or 0.0]
    youngest = {age: belief for belief, age in reversed(known.items())}
    found = []
    for state, spec in cause.states.items():
        for k, (since, until) in enumerate(pairwise([0.0, *limits])):
            failed = tuple(belief for belief in spec.failed if known[belief] >= until)
            truth = {belief: value for belief, value in spec.truth.items() if known[belief] >= until}
            own = replace(spec, failed=failed, truth=truth)
            found.append(Share(state, own, cause.label(state), since, until, youngest[since] if k else ""))
    return found


def may_have_come(cause: RootCause, ages: Ages) -> bool:
    """Whether a cause with a rate can have come since what it makes wrong was measured."""
    rates = [spec.rate for spec in cause.states.values() if spec.rate is not None]
    numbers = [n for rate in rates for n in (rate.values() if isinstance(rate, Mapping) else (rate,))]
    return any(number > 0.0 for number in numbers) and any(part.until > 0.0 for part in parts_of_cause(cause, ages))


def words_of(cause: RootCause, parts: Sequence[Share]) -> dict[str, list[int]]:
    """Return the words for a cause's states and for what came since a belief was measured, with the parts meant."""
    found: dict[str, list[int]] = {}
    for i, part in enumerate(parts):
        found.setdefault(part.word, []).append(i)
        spec = cause.states[part.state]
        for belief in (*spec.failed, *spec.truth):
            if part.makes_wrong(belief):
                found.setdefault(since(part, belief, parts), []).append(i)
    return {word: list(dict.fromkeys(own)) for word, own in found.items()}


def since(part: Share, belief: str, parts: Sequence[Share]) -> str:
    """Return the word for the state of a part having come since a belief was measured."""
    always = all(other.makes_wrong(belief) for other in parts if other.state == part.state)
    return part.word if always else f"{part.word} (since {belief})"


def part_probabilities(parts: Sequence[Share], rates: Mapping[str, Floats]) -> tuple[list[Floats], Floats]:
    """Return the probability of each part, and that the cause has not come, under every hypothesis, from the rates."""
    total = np.sum(list(rates.values()), axis=0)
    share = {state: np.divide(rate, total, out=np.zeros_like(total), where=total > 0) for state, rate in rates.items()}
    found = []
    for part in parts:
        within = -np.expm1(-total * (part.until - part.since))
        own = share[part.state] * np.exp(-total * part.since) * within
        found.append(np.where((rates[part.state] > 0.0) & (within > 0.0), np.maximum(own, LEAST), own))
    return found, np.maximum(np.exp(-total * max((part.until for part in parts), default=0.0)), LEAST)


def ageing_faults(where: str, cause: RootCause, ages: Ages) -> Iterator[Fault]:
    """Yield rates beside priors, rates that are none, and rates without an age."""
    specs = {(f"{where}.states.{state}" if state else where): spec for state, spec in cause.states.items()}
    for at, spec in specs.items():
        if spec.rate is None and spec.prior is None:
            yield Fault(f"{at}.prior", "it is missing", "add the key 'prior', or 'rate'")
        elif spec.rate is not None and spec.prior is not None:
            yield Fault(f"{at}.rate", "there is a prior too", "keep one of the two: a prior follows from rate and age")
        elif spec.rate is None and cause.comes_at_a_rate:
            yield Fault(f"{at}.prior", "another state has a rate", "give all states a rate, or all a prior")
        yield from _number_faults(f"{at}.rate", spec.rate)
    at = next((f"{at}.rate" for at, spec in specs.items() if spec.rate is not None), "")
    if not at:
        return
    for belief in own_beliefs(cause):
        if ages.of(belief) is None:
            said = f"nothing says how long ago {belief!r} was measured"
            yield Fault(at, said, "give `age`, one number for all beliefs or one for this, or a prior instead")
    if not own_beliefs(cause) and ages.all is None:
        said = f"{cause.name!r} makes no belief wrong by itself, and nothing says since when it may have come"
        yield Fault(at, said, "give `age` as one number, or a prior instead")


def _number_faults(at: str, rate: Any) -> Iterator[Fault]:
    for condition, number in rate.items() if isinstance(rate, Mapping) else [("", rate)]:
        if number is not None and not 0.0 <= number < np.inf:
            place = f"{at}.{condition}" if condition else at
            yield Fault(place, f"{number!r} is not a rate", "give a finite number of at least 0")
