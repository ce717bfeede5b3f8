"""Knobs: the numbers of a problem that a person is least sure of, turned to see where the decision flips.

A knob turns one number and leaves all else as it is: how probable it was before the alarm that a belief is wrong (the
hypotheses under which it is, and those under which it is not, keep their proportions), what a probe costs, what a wrong
belief costs if kept, what undoing an action costs, and how much a probe's answers say. That last one, its quality,
is a power of the likelihood: 1 is the sensor as it is described, 0 one that says nothing, 2 one whose answers count
twice; of a normal reading the standard deviation is divided by its root.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np

from aquamend.arrays import Floats
from aquamend.codec import Amount, Name
from aquamend.errors import AquaMendError, Fault, UnknownName
from aquamend.problem import Problem
from aquamend.problem.model import Kernel
from aquamend.problem.model.hypotheses import Hypotheses
from aquamend.problem.model.kernels import Outcomes, Readings
from aquamend.problem.model.kernels.kernel import Channel, frozen

PLACES, HALVINGS = 13, 7
"""Places of a knob at which the decision is asked for, and how often an interval in which it changes is halved."""


class Turns(StrEnum):
    """What a knob turns."""

    PRIOR = "prior"
    COST = "cost"
    RESIDUAL = "residual"
    UNDO = "undo"
    QUALITY = "quality"


@dataclass(frozen=True, slots=True)
class Knob:
    """A number that can be turned."""

    turns: Turns
    name: Name
    """Of the belief, probe, action or operation."""
    now: Amount
    """Its value in the problem."""
    low: Amount
    high: Amount

    @property
    def key(self) -> str:
        """How settings name it: ``cost look``."""
        return f"{self.turns.value} {self.name}"


@dataclass(frozen=True, slots=True)
class Tick:
    """Where the decision flips as a knob is turned up."""

    at: Amount
    before: str
    """The step below this place."""
    after: str
    """The step above it."""


def knobs_of(problem: Problem) -> Iterator[Knob]:
    """Yield the knobs of a problem: every finite number of its kind."""
    graph = problem.graph
    wrong = problem.failed.T @ problem.model.prior
    for belief, p in zip(graph.beliefs, wrong.tolist(), strict=True):
        if 0.0 < p < 1.0:
            yield Knob(Turns.PRIOR, belief.name, p, 0.001, 0.999)
    for probe in graph.probes:
        yield Knob(Turns.COST, probe.name, probe.cost, 0.0, _far(probe.cost))
    for probe in graph.probes:
        yield Knob(Turns.QUALITY, probe.name, 1.0, 0.05, 3.0)
    for belief in graph.beliefs:
        if belief.may_keep and math.isfinite(belief.residual):
            yield Knob(Turns.RESIDUAL, belief.name, belief.residual, 0.0, _far(belief.residual))
    for action in graph.executed:
        if action.reversible and action.undo is not None and math.isfinite(action.undo):
            yield Knob(Turns.UNDO, action.name, action.undo, 0.0, _far(action.undo))
    for operation in graph.operations:
        yield Knob(Turns.UNDO, operation.name, operation.cost, 0.0, _far(operation.cost))


def _far(value: float) -> float:
    return 4.0 * value if value > 0.0 else 10.0


def turned(problem: Problem, settings: Mapping[str, float]) -> Problem:
    """Return the problem with these knobs turned: ``{"cost look": 0.5}``; the others stay as they are."""
    if not settings:
        return problem
    known = {knob.key: knob for knob in knobs_of(problem)}
    for key, value in settings.items():
        if key not in known:
            raise UnknownName("knob", key, known)
        low, high = (0.0, 1.0) if known[key].turns is Turns.PRIOR else (0.0, math.inf)
        if not low <= value <= high or math.isinf(value) or (known[key].turns is Turns.QUALITY and value == 0.0):
            raise AquaMendError(f"knob {key!r} cannot be turned to {value!r}; give a finite number from {low:g} on")
    values = {(known[key].turns, known[key].name): value for key, value in settings.items()}

    def cost(turns: Turns, name: str, now: Any) -> Any:
        return values.get((turns, name), now)

    graph = problem.graph
    changed = replace(
        graph,
        beliefs=tuple(replace(b, residual=cost(Turns.RESIDUAL, b.name, b.residual)) for b in graph.beliefs),
        probes=tuple(replace(p, cost=cost(Turns.COST, p.name, p.cost)) for p in graph.probes),
        actions=tuple(replace(a, undo=cost(Turns.UNDO, a.name, a.undo)) for a in graph.actions),
        operations=tuple(replace(o, cost=cost(Turns.UNDO, o.name, o.cost)) for o in graph.operations),
    )
    model = problem.model
    qualities = {name: value for (turns, name), value in values.items() if turns is Turns.QUALITY and value != 1.0}
    kernels = {n: _Tempered(k, qualities[n]) if n in qualities else k for n, k in model.kernels.items()}
    priors = {name: value for (turns, name), value in values.items() if turns is Turns.PRIOR}
    hypotheses = _with_priors(problem, priors) if priors else model.hypotheses
    return replace(problem, graph=changed, model=replace(model, hypotheses=hypotheses, kernels=kernels))


def _with_priors(problem: Problem, wanted: Mapping[str, float]) -> Any:
    prior, graph = problem.model.prior.copy(), problem.graph
    for _ in range(40 if len(wanted) > 1 else 1):  # several at once: iterative proportional fitting
        for belief, p in wanted.items():
            wrong = problem.failed[:, graph.belief_index[belief]] > 0
            mass = float(prior[wrong].sum())
            if 0.0 < mass < 1.0:
                prior = np.where(wrong, prior * (p / mass), prior * ((1.0 - p) / (1.0 - mass)))
    prior = prior / prior.sum()
    listed = problem.model.hypotheses
    if isinstance(listed, Hypotheses):
        return replace(listed, prior=frozen(prior))
    return tuple(replace(h, prior=float(p)) for h, p in zip(listed, prior, strict=True))


@dataclass(frozen=True, eq=False)
class _Tempered:
    """A kernel whose likelihood is raised to a power."""

    kernel: Kernel
    quality: float

    table: ClassVar[str] = "kernel"

    def faults(self, where: str, names: Sequence[str]) -> Iterable[Fault]:
        return ()

    def channel(self, names: Sequence[str]) -> Channel:
        channel = self.kernel.channel(names)
        if isinstance(channel, Outcomes):
            table: Floats = channel.table**self.quality
            return replace(channel, table=frozen(table / table.sum(axis=1, keepdims=True)))
        if isinstance(channel, Readings):
            return replace(channel, sd=frozen(channel.sd / math.sqrt(self.quality)))
        return channel


def ticks(knob: Knob, decided: Callable[[float], str]) -> Iterator[Tick]:
    """Yield where the decision flips along a knob, from low to high; ``decided`` says it at a value.

    Between two of a few places the decision is taken not to change where it is the same at both, so a narrow interval
    of another decision can be missed.
    """
    places = sorted({knob.now, *np.linspace(knob.low, knob.high, PLACES).tolist()})
    steps = [decided(place) for place in places]
    for i in range(len(places) - 1):
        low, high, before, after = places[i], places[i + 1], steps[i], steps[i + 1]
        if before == after:
            continue
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if decided(middle) == before:
                low = middle
            else:
                high = middle
        yield Tick(0.5 * (low + high), before, after)
