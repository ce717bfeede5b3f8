"""The finite joint model: hypotheses, a kernel per probe, an alarm likelihood and declarations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from aquamend.arrays import Floats, Indices
from aquamend.caching import KeepsResults
from aquamend.errors import InvalidProblem, UnknownName
from aquamend.problem.model.columns import ByHypothesis, Names
from aquamend.problem.model.hypotheses import CAUSES, Alarm, Cause, Declaration, Hypotheses, Hypothesis
from aquamend.problem.model.kernels.kernel import Channel, Kernel, frozen
from aquamend.problem.model.model_faults import model_faults, names_of, priors_of

UNNAMED = "alarm"
"""What the only monitor is called where the problem gives it no name."""


class Grown(NamedTuple):
    """What made more hypotheses than were written."""

    by: str
    before: int
    after: int


@dataclass(frozen=True, eq=False)
class JointModel(KeepsResults):
    """Everything probabilistic about a problem; says nothing about costs."""

    hypotheses: Sequence[Hypothesis]
    kernels: Mapping[str, Kernel] = field(default_factory=dict)
    alarm: Alarm | None = None
    """What the only monitor said, which goes without a name."""
    declarations: Sequence[Declaration] = ()
    left_out: float = 0.0
    """Prior probability of what is not among the hypotheses: more causes at once than were asked for."""
    grown: Sequence[Grown] = ()
    """What multiplied the hypotheses, one after the other: causes, spreads, errors that persist."""
    alarms: Mapping[str, Alarm] = field(default_factory=dict)
    """Several monitors by name, in place of ``alarm``; independent given the hypothesis."""

    def __post_init__(self) -> None:
        if not isinstance(self.hypotheses, Hypotheses):
            object.__setattr__(self, "hypotheses", tuple(self.hypotheses))
        object.__setattr__(self, "declarations", tuple(self.declarations))
        faults = model_faults(self.hypotheses, self.kernels, self.alarm, self.declarations, self.alarms)
        if faults:
            raise InvalidProblem(faults)

    @cached_property
    def names(self) -> Sequence[str]:
        """The hypotheses' names, in order."""
        return names_of(self.hypotheses)

    @cached_property
    def hypothesis_index(self) -> dict[str, int]:
        """Position of every hypothesis, by name."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def prior(self) -> Floats:
        """Shape ``(n_hypotheses,)``; sums to one."""
        prior = priors_of(self.hypotheses)
        return frozen(prior / prior.sum())

    @property
    def monitors(self) -> Mapping[str, Alarm]:
        """Every monitor by its name; one that goes without is called ``alarm``."""
        return self.alarms if self.alarm is None else {UNNAMED: self.alarm}

    @property
    def only_monitor(self) -> str | None:
        """The name of the only monitor, which has rung unless somebody says that it has not; None: none, or several."""
        return next(iter(self.monitors)) if len(self.monitors) == 1 else None

    @cached_property
    def alarm_likelihood(self) -> Floats | None:
        """Of the only monitor, shape ``(n_hypotheses,)``; None where there is none, or several."""
        return None if self.only_monitor is None else self.rung[self.only_monitor]

    @cached_property
    def rung(self) -> Mapping[str, Floats]:
        """How likely each monitor was to ring, shape ``(n_hypotheses,)``."""
        return {name: self._row(alarm.likelihood) for name, alarm in self.monitors.items()}

    @cached_property
    def rung_again(self) -> Mapping[str, Floats]:
        """How likely each is to ring once more, shape ``(n_hypotheses,)``, where the model says so."""
        return {name: self._row(a.again) for name, a in self.monitors.items() if a.again is not None}

    def _row(self, by_name: Mapping[str, float]) -> Floats:
        if isinstance(by_name, ByHypothesis):
            return frozen(by_name.numbers())
        return frozen(np.array([by_name[name] for name in self.names], dtype=float))

    @cached_property
    def channels(self) -> dict[str, Channel]:
        """Every kernel compiled, by probe name."""
        return {probe: kernel.channel(self.names) for probe, kernel in self.kernels.items()}

    @cached_property
    def causes(self) -> Indices:
        """Shape ``(n_hypotheses,)``; position of each hypothesis's cause in ``list(Cause)``."""
        if isinstance(self.hypotheses, Hypotheses):
            return self.hypotheses.causes.astype(np.intp)
        position = {cause: i for i, cause in enumerate(CAUSES)}
        return np.array([position[Cause(h.cause)] for h in self.hypotheses], dtype=np.intp)

    def names_where(self, marked: Floats) -> tuple[str, ...]:
        """Return the names of the hypotheses with an entry other than zero."""
        at = np.flatnonzero(marked)
        return tuple(self.names.made(at) if isinstance(self.names, Names) else [self.names[s] for s in at.tolist()])

    def among(self, names: Sequence[str]) -> Floats:
        """Return, shape ``(n_hypotheses,)``, one where the hypothesis is among these names."""
        unknown = [name for name in names if name not in self.hypothesis_index]
        if unknown:
            raise UnknownName("hypothesis", unknown[0], self.hypothesis_index)
        found = np.zeros(len(self.hypotheses))
        found[[self.hypothesis_index[name] for name in names]] = 1.0
        return found
