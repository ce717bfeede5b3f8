"""What a joint model must satisfy, said fault by fault."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Floats
from aquamend.codec import SUM_TOLERANCE
from aquamend.errors import Fault
from aquamend.problem.graph.nodes import Belief, Probe, Value
from aquamend.problem.model.columns import ByHypothesis, Names
from aquamend.problem.model.hypotheses import CAUSES, Alarm, Cause, Declaration, Hypotheses, Hypothesis
from aquamend.problem.model.kernels.kernel import HYPOTHESES, Kernel, row_name_faults
from aquamend.problem.model.spreads import Spread, spread_faults

BELIEFS, PROBES = ("beliefs",), ("probes",)


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
            yield Fault(
                f"hypotheses[{i}].prior", f"{hypothesis.prior!r} is not a probability", "give a number from 0 to 1"
            )
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
        one_by_one = row.items()
        if isinstance(row, ByHypothesis):
            one_by_one = {names[s]: value for s, value in row.first_of_each()}.items()
        for name, value in one_by_one:
            if not 0.0 <= value <= 1.0:
                yield Fault(f"{where}.{key}.{name}", f"{value!r} is not a probability", "give a number from 0 to 1")
    # Not by their product, which may be smaller than any number: what is improbable is possible.
    if rung and hypotheses and not _may_ring(alarm.likelihood, priors_of(hypotheses), names):
        yield Fault(
            f"{where}.likelihood",
            "the alarm has probability 0 under every hypothesis with a positive prior",
            "an alarm that was raised must be possible: raise a likelihood or add the missing hypothesis",
        )


def _may_ring(likelihood: Mapping[str, float], prior: Floats, names: Sequence[str]) -> bool:
    if isinstance(likelihood, ByHypothesis):
        return bool(((prior != 0.0) & (likelihood.numbers() != 0.0)).any())
    return any(p != 0.0 and likelihood.get(name) != 0.0 for name, p in zip(names, prior.tolist(), strict=True))


def _declaration_faults(declarations: Sequence[Declaration], names: Collection[str]) -> Iterator[Fault]:
    seen: set[tuple[str, int]] = set()
    for i, declaration in enumerate(declarations):
        key = declaration.name, declaration.version
        if key in seen:
            yield Fault(
                f"declarations[{i}]",
                f"{declaration.name!r} version {declaration.version} is given twice",
                "give it another name or version",
            )
        seen.add(key)
        for j, name in enumerate(declaration.invalid_in or ()):
            if name not in names:
                where = f"declarations[{i}].invalid_in[{j}]"
                yield Fault(where, f"{name!r} is not a hypothesis", "rename or remove it", name, names, HYPOTHESES)


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
            yield Fault(
                f"kernels.{probe}", f"{probe!r} is not a probe", "rename or remove it", probe, known_probes, PROBES
            )
    for i, spec in enumerate(probes):
        if spec.name not in kernels:
            yield Fault(f"probes[{i}]", f"{spec.name!r} has no kernel", "say in kernels how it answers, or remove it")
    for at, one in monitors_at(alarm, alarms).items():
        for j, belief in enumerate(one.suspects):
            if belief in known_beliefs:
                continue
            where = f"{at}.suspects[{j}]"
            yield Fault(where, f"{belief!r} is not a belief", "rename or remove it", belief, known_beliefs, BELIEFS)
    for i, declaration in enumerate(declarations):
        if declaration.belief not in known_beliefs:
            name, where = declaration.belief, f"declarations[{i}].belief"
            yield Fault(where, f"{name!r} is not a belief", "rename it", name, known_beliefs, BELIEFS)
        for j, probe in enumerate(declaration.support):
            if probe not in known_probes:
                where = f"declarations[{i}].support[{j}]"
                yield Fault(where, f"{probe!r} is not a probe", "rename or remove it", probe, known_probes, PROBES)


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
            yield Fault(at, f"{name!r} is not a belief", "rename or remove it", name, known, BELIEFS)
        elif name in truth:
            yield Fault(at, f"{name!r} is given in truth too", "keep one of the two: what is true, or that it failed")
    for name, value in truth.items():
        at = f"{where}.truth.{name}"
        if name not in known:
            yield Fault(at, f"{name!r} is not a belief", "rename or remove it", name, known, BELIEFS)
        elif known[name].declared is None:
            remedy = "give the belief what is declared, or name it in failed instead"
            yield Fault(at, f"{name!r} declares no value to compare with", remedy)
        elif not isinstance(value, str | float | int):
            yield from spread_faults(at, value, known[name])
        elif isinstance(value, str) != isinstance(known[name].declared, str):
            kind = "text" if isinstance(known[name].declared, str) else "a number"
            yield Fault(at, f"{value!r} is not {kind}, and {name!r} declares {kind}", f"give {kind}, without quotes")
