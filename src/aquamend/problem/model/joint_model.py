"""The finite joint model: hypotheses, a kernel per probe, an alarm likelihood and declarations.

And what it must satisfy, said fault by fault.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Floats, Indices
from aquamend.caching import KeepsResults
from aquamend.codec import SUM_TOLERANCE
from aquamend.errors import Fault, UnknownName
from aquamend.problem.faults import not_a, probability_faults, refuse, unknown_among
from aquamend.problem.graph.nodes import Belief, Probe, Value, kind_faults
from aquamend.problem.model.hypotheses import (
    CAUSES,
    Alarm,
    ByHypothesis,
    Cause,
    Declaration,
    Hypotheses,
    Hypothesis,
    Names,
)
from aquamend.problem.model.kernels.kernel import Channel, Kernel, frozen, row_name_faults
from aquamend.problem.model.spreads import Spread, spread_faults

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
        refuse(model_faults(self.hypotheses, self.kernels, self.alarm, self.declarations, self.alarms))

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
    def columns(self) -> Hypotheses:
        """The hypotheses as columns, however they were given."""
        return Hypotheses.of(self.hypotheses)

    @cached_property
    def causes(self) -> Indices:
        """Shape ``(n_hypotheses,)``; position of each hypothesis's cause in ``list(Cause)``."""
        return self.columns.causes.astype(np.intp)

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


def model_faults(
    hypotheses: Sequence[Hypothesis],
    kernels: Mapping[str, Kernel],
    alarm: Alarm | None,
    declarations: Sequence[Declaration],
    alarms: Mapping[str, Alarm] | None = None,
) -> list[Fault]:
    """Return every fault of the model by itself."""
    names = names_of(hypotheses)
    faults = list(hypothesis_faults(hypotheses))
    for probe, kernel in kernels.items():
        faults += kernel.faults(f"kernels.{probe}", names)
    monitors = monitors_at(alarm, alarms)
    if alarm is not None and alarms:
        faults.append(Fault("alarms", "there is an `alarm` too", "keep one of the two: give that alarm a name here"))
    for where, one in monitors.items():  # the only one has rung, unless somebody says that it has not
        faults += _alarm_faults(where, one, hypotheses, rung=len(monitors) == 1)
    faults += _declaration_faults(declarations, names if isinstance(names, Names) else dict.fromkeys(names))
    return faults


def names_of(hypotheses: Sequence[Hypothesis]) -> Sequence[str]:
    """Return the names of hypotheses, in order."""
    return hypotheses.names if isinstance(hypotheses, Hypotheses) else tuple(h.name for h in hypotheses)


def priors_of(hypotheses: Sequence[Hypothesis]) -> Floats:
    """Return their probabilities as they were given, shape ``(n_hypotheses,)``."""
    if isinstance(hypotheses, Hypotheses):
        return np.asarray(hypotheses.prior, dtype=np.float64)
    return np.array([hypothesis.prior for hypothesis in hypotheses], dtype=np.float64)


def hypothesis_faults(hypotheses: Sequence[Hypothesis]) -> Iterator[Fault]:
    """Yield names given twice, and priors and causes that are none."""
    if not hypotheses:
        yield Fault("hypotheses", "there are none", "list at least one hypothesis with prior 1")
    elif isinstance(hypotheses, Hypotheses):
        yield from _column_faults(hypotheses)
    else:
        yield from _listed_faults(hypotheses)
    with np.errstate(all="ignore"):
        total = float(np.sum(priors_of(hypotheses)))
    if hypotheses and not abs(total - 1.0) <= SUM_TOLERANCE:
        yield Fault("hypotheses", f"the priors sum to {total:.9g}", "make them sum to 1")


def _column_faults(hypotheses: Hypotheses) -> Iterator[Fault]:
    n, names = len(hypotheses), hypotheses.names
    columns: dict[str, NDArray[Any]] = {"prior": hypotheses.prior, "cause": hypotheses.causes}
    columns |= {f"failed.{belief}": column for belief, column in hypotheses.failed.items()}
    columns |= {f"truth.{belief}": column for belief, column in hypotheses.truth.items()}
    for key, column in columns.items():
        if np.shape(column) != (n,):
            said = f"it has shape {np.shape(column)}"
            yield Fault(f"hypotheses.{key}", said, f"give one entry for each of the {n:,}")
    if len(names) != n or (not isinstance(names, Names) and len(set(names)) != n):
        yield Fault("hypotheses.names", f"{len(names):,} for {n:,}, or one given twice", "name each of them once")
    wrong = np.flatnonzero(~((hypotheses.prior >= 0.0) & (hypotheses.prior <= 1.0 + SUM_TOLERANCE)))
    for s in wrong[:1].tolist():
        said = f"{float(hypotheses.prior[s])!r} is not a probability"
        yield Fault(f"hypotheses[{s}].prior", said, "give a number from 0 to 1")
    if not ((hypotheses.causes >= 0) & (hypotheses.causes < len(CAUSES))).all():
        remedy = f"give numbers from 0 to {len(CAUSES) - 1}"
        yield Fault("hypotheses.cause", "one is no position in list(Cause)", remedy)


def _listed_faults(hypotheses: Sequence[Hypothesis]) -> Iterator[Fault]:
    seen, causes = set[str](), tuple(Cause)
    for i, hypothesis in enumerate(hypotheses):
        if hypothesis.name in seen:
            yield Fault(f"hypotheses[{i}].name", f"{hypothesis.name!r} is given twice", "rename one of the two")
        seen.add(hypothesis.name)
        if not 0.0 <= hypothesis.prior <= 1.0 + SUM_TOLERANCE:
            said = f"{hypothesis.prior!r} is not a probability"
            yield Fault(f"hypotheses[{i}].prior", said, "give a number from 0 to 1")
        if hypothesis.cause not in causes:
            valid = ", ".join(cause.value for cause in Cause)
            yield Fault(f"hypotheses[{i}].cause", f"{hypothesis.cause!r} is not a cause", f"use one of {valid}")


def monitors_at(alarm: Alarm | None, alarms: Mapping[str, Alarm] | None) -> dict[str, Alarm]:
    """Return every monitor by its place in a problem."""
    named = {f"alarms.{name}": one for name, one in (alarms or {}).items()}
    return named if alarm is None else {"alarm": alarm, **named}


def _alarm_faults(where: str, alarm: Alarm, hypotheses: Sequence[Hypothesis], *, rung: bool) -> Iterator[Fault]:
    if alarm.noisy_or is not None:
        yield Fault(f"{where}.noisy_or", "it is no table yet", "make the model with aquamend.joint_model")
        return
    names = names_of(hypotheses)
    for key, row in (("likelihood", alarm.likelihood), ("again", alarm.again)):
        if row is None:
            continue
        yield from row_name_faults(f"{where}.{key}", row, names)
        said = ((names[s], p) for s, p in row.first_of_each()) if isinstance(row, ByHypothesis) else row.items()
        yield from probability_faults((f"{where}.{key}.{name}", p) for name, p in said)
    # Not by their product, which may be smaller than any number: what is improbable is possible.
    if rung and hypotheses and not _may_ring(alarm.likelihood, priors_of(hypotheses), names):
        problem = "the alarm has probability 0 under every hypothesis with a positive prior"
        remedy = "an alarm that was raised must be possible: raise a likelihood or add the missing hypothesis"
        yield Fault(f"{where}.likelihood", problem, remedy)


def _may_ring(likelihood: Mapping[str, float], prior: Floats, names: Sequence[str]) -> bool:
    if isinstance(likelihood, ByHypothesis):
        return bool(((prior != 0.0) & (likelihood.numbers() != 0.0)).any())
    return any(p != 0.0 and likelihood.get(name) != 0.0 for name, p in zip(names, prior.tolist(), strict=True))


def _declaration_faults(declarations: Sequence[Declaration], names: Collection[str]) -> Iterator[Fault]:
    seen: set[tuple[str, int]] = set()
    for i, declaration in enumerate(declarations):
        key = declaration.name, declaration.version
        if key in seen:
            said = f"{declaration.name!r} version {declaration.version} is given twice"
            yield Fault(f"declarations[{i}]", said, "give it another name or version")
        seen.add(key)
        yield from unknown_among("hypothesis", f"declarations[{i}].invalid_in", declaration.invalid_in or (), names)


def reference_faults(
    hypotheses: Sequence[Hypothesis],
    kernels: Mapping[str, Kernel],
    alarm: Alarm | None,
    declarations: Sequence[Declaration],
    beliefs: Sequence[Belief],
    probes: Sequence[Probe],
    alarms: Mapping[str, Alarm] | None = None,
) -> Iterator[Fault]:
    """Yield what a model says of beliefs and probes that the graph does not have, or the other way round."""
    known_beliefs, known_probes = {b.name: b for b in beliefs}, dict.fromkeys(p.name for p in probes)
    if isinstance(hypotheses, Hypotheses):
        yield from _columns_truth_faults(hypotheses, known_beliefs)
    else:
        for i, hypothesis in enumerate(hypotheses):
            yield from truth_faults(f"hypotheses[{i}]", hypothesis.failed, hypothesis.truth, known_beliefs)
    for probe in kernels:
        if probe not in known_probes:
            yield not_a("probe", f"kernels.{probe}", probe, known_probes)
    for i, spec in enumerate(probes):
        if spec.name not in kernels:
            yield Fault(f"probes[{i}]", f"{spec.name!r} has no kernel", "say in kernels how it answers, or remove it")
    for at, one in monitors_at(alarm, alarms).items():
        yield from unknown_among("belief", f"{at}.suspects", one.suspects, known_beliefs)
    for i, declaration in enumerate(declarations):
        if declaration.belief not in known_beliefs:
            where = f"declarations[{i}].belief"
            yield not_a("belief", where, declaration.belief, known_beliefs, remedy="rename it")
        yield from unknown_among("probe", f"declarations[{i}].support", declaration.support, known_probes)


def _columns_truth_faults(hypotheses: Hypotheses, known: Mapping[str, Belief]) -> Iterator[Fault]:
    """Yield the faults of what columns say, each of them once: with the first hypothesis of which it is said."""
    failed, truth = hypotheses.failed, hypotheses.truth
    yield from truth_faults("hypotheses", [b for b in failed if b not in known], {}, known)
    for belief, column in truth.items():
        said = np.flatnonzero(column != None)  # noqa: E711  # entry by entry
        first = {value: s for s, value in zip(reversed(said.tolist()), reversed(column[said].tolist()), strict=True)}
        for value, s in first.items():
            both = [belief] if belief in failed and bool((failed[belief] & (column == value)).any()) else []
            yield from truth_faults(f"hypotheses[{s}]", both, {belief: value}, known)


def truth_faults(
    where: str, failed: Sequence[str], truth: Mapping[str, Value | Spread], known: Mapping[str, Belief]
) -> Iterator[Fault]:
    """Yield what a hypothesis, a cause's state or an effect says of beliefs that it cannot say."""
    for j, name in enumerate(failed):
        at = f"{where}.failed[{j}]"
        if name not in known:
            yield not_a("belief", at, name, known)
        elif name in truth:
            yield Fault(at, f"{name!r} is given in truth too", "keep one of the two: what is true, or that it failed")
    for name, value in truth.items():
        at, declared = f"{where}.truth.{name}", known[name].declared if name in known else None
        if name not in known:
            yield not_a("belief", at, name, known)
        elif declared is None:
            remedy = "give the belief what is declared, or name it in failed instead"
            yield Fault(at, f"{name!r} declares no value to compare with", remedy)
        elif not isinstance(value, str | float | int):
            yield from spread_faults(at, value, known[name])
        else:
            yield from kind_faults(at, value, name, declared, remedy=", without quotes")
