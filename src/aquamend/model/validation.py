"""What a joint model must satisfy, said fault by fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from aquamend.errors import Fault
from aquamend.model.declarations import Declaration
from aquamend.model.hypotheses import Alarm, Cause, Hypothesis
from aquamend.model.kernels import Discrete, Gaussian, Kernel

SUM_TOLERANCE = 1e-6
"""How far written-out probabilities may be from summing to one before it is called a fault."""


def model_faults(
    hypotheses: Sequence[Hypothesis],
    kernels: Mapping[str, Kernel],
    alarm: Alarm | None,
    declarations: Sequence[Declaration],
    *,
    beliefs: Iterable[str] | None = None,
    probes: Iterable[str] | None = None,
) -> list[Fault]:
    """Return every fault of the model; with the graph's names, also what the two disagree on."""
    names = [hypothesis.name for hypothesis in hypotheses]
    faults = list(_hypothesis_faults(hypotheses))
    for probe, kernel in kernels.items():
        faults += _kernel_faults(probe, kernel, names)
    if alarm is not None:
        faults += _alarm_faults(alarm, hypotheses)
    faults += _declaration_faults(declarations, dict.fromkeys(names))
    if beliefs is not None and probes is not None:
        faults += reference_faults(hypotheses, kernels, alarm, declarations, list(beliefs), list(probes))
    return faults


def _hypothesis_faults(hypotheses: Sequence[Hypothesis]) -> Iterator[Fault]:
    if not hypotheses:
        yield Fault("hypotheses", "there are none", "list at least one hypothesis with prior 1")
        return
    seen: set[str] = set()
    for i, hypothesis in enumerate(hypotheses):
        if hypothesis.name in seen:
            yield Fault(f"hypotheses[{i}].name", f"{hypothesis.name!r} is given twice", "rename one of the two")
        seen.add(hypothesis.name)
        if not 0.0 <= hypothesis.prior <= 1.0 + SUM_TOLERANCE:
            yield Fault(
                f"hypotheses[{i}].prior", f"{hypothesis.prior!r} is not a probability", "give a number from 0 to 1"
            )
        if hypothesis.cause not in list(Cause):
            valid = ", ".join(cause.value for cause in Cause)
            yield Fault(f"hypotheses[{i}].cause", f"{hypothesis.cause!r} is not a cause", f"use one of {valid}")
    with np.errstate(all="ignore"):
        total = float(np.sum([hypothesis.prior for hypothesis in hypotheses]))
    if not abs(total - 1.0) <= SUM_TOLERANCE:
        yield Fault("hypotheses", f"the priors sum to {total:.9g}", "make them sum to 1")


def _row_name_faults(where: str, given: Iterable[str], names: Sequence[str]) -> Iterator[Fault]:
    given_names, wanted = set(given), set(names)
    for name in names:
        if name not in given_names:
            yield Fault(where, f"hypothesis {name!r} has no row", "give one for every hypothesis")
    for name in given:
        if name not in wanted:
            yield Fault(f"{where}.{name}", f"{name!r} is not a hypothesis", "rename or remove it")


def _kernel_faults(probe: str, kernel: Kernel, names: Sequence[str]) -> Iterator[Fault]:
    match kernel:
        case Discrete():
            where, raw = f"kernels.{probe}.likelihood", kernel.likelihood
            width = len(kernel.outcomes)
            if width == 0 or len(set(kernel.outcomes)) != width:
                yield Fault(
                    f"kernels.{probe}.outcomes",
                    f"{list(kernel.outcomes)!r} is empty or repeats a name",
                    "name every outcome once",
                )
        case Gaussian():
            where, raw, width = f"kernels.{probe}.gaussian", kernel.mean_sd, 2
    if isinstance(raw, Mapping):
        yield from _row_name_faults(where, raw, names)
        rows: list[tuple[str, Any]] = [(f"{where}.{name}", raw[name]) for name in names if name in raw]
    elif np.ndim(raw) != 2 or len(raw) != len(names):
        yield Fault(where, f"the array has shape {np.shape(raw)}", f"make it ({len(names)}, {width})")
        return
    else:
        yield from _array_row_faults(where, np.asarray(raw, dtype=float), width, discrete=isinstance(kernel, Discrete))
        return
    full = [(place, row) for place, row in rows if len(row) == width]
    for place, row in rows:
        if len(row) != width:
            yield Fault(place, f"{list(row)!r} has {len(row)} numbers", f"give {width}")
    stacked = np.array([row for _, row in full], dtype=float).reshape(len(full), width)
    for i in np.flatnonzero(~_sound_rows(stacked, discrete=isinstance(kernel, Discrete))):
        yield from _row_faults(full[i][0], stacked[i], discrete=isinstance(kernel, Discrete))


def _array_row_faults(where: str, rows: Any, width: int, *, discrete: bool) -> Iterator[Fault]:
    if rows.shape[1] != width:
        yield Fault(where, f"the array has shape {rows.shape}", f"make it ({rows.shape[0]}, {width})")
        return
    for i in np.flatnonzero(~_sound_rows(rows, discrete=discrete))[:5]:
        yield from _row_faults(f"{where}[{i}]", rows[i], discrete=discrete)


def _sound_rows(rows: Any, *, discrete: bool) -> Any:
    """Return which rows are a probability distribution, or a mean and a positive standard deviation."""
    with np.errstate(all="ignore"):  # infinities and NaN are what is being looked for
        if discrete:
            return (rows >= 0).all(axis=1) & (np.abs(rows.sum(axis=1) - 1.0) <= SUM_TOLERANCE)
        return np.isfinite(rows).all(axis=1) & (rows[:, 1] > 1e-100)


def _row_faults(place: str, row: Any, *, discrete: bool) -> Iterator[Fault]:
    if bool(_sound_rows(row[None, :], discrete=discrete)[0]):
        return
    shown = [float(x) for x in row]
    if not discrete:
        yield Fault(place, f"{shown!r} is not a mean and a standard deviation", "give two finite numbers, sd > 0")
    elif not ((row >= 0).all() and np.isfinite(row).all()):
        yield Fault(place, f"{shown!r} has an entry that is not a probability", "give numbers from 0 to 1")
    elif not abs(row.sum() - 1.0) <= SUM_TOLERANCE:
        yield Fault(place, f"{shown!r} sums to {row.sum():.9g}", "make the outcomes' probabilities sum to 1")


def _alarm_faults(alarm: Alarm, hypotheses: Sequence[Hypothesis]) -> Iterator[Fault]:
    names = [hypothesis.name for hypothesis in hypotheses]
    yield from _row_name_faults("alarm.likelihood", alarm.likelihood, names)
    for name, value in alarm.likelihood.items():
        if not 0.0 <= value <= 1.0:
            yield Fault(f"alarm.likelihood.{name}", f"{value!r} is not a probability", "give a number from 0 to 1")
    mass = [h.prior * alarm.likelihood.get(h.name, np.nan) for h in hypotheses]
    if mass and all(m == 0.0 for m in mass):
        yield Fault(
            "alarm.likelihood",
            "the alarm has probability 0 under every hypothesis with a positive prior",
            "an alarm that was raised must be possible: raise a likelihood or add the missing hypothesis",
        )


def _declaration_faults(declarations: Sequence[Declaration], names: Mapping[str, None]) -> Iterator[Fault]:
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
        if declaration.true_value is not None:
            yield from _row_name_faults(f"declarations[{i}].true_value", declaration.true_value, list(names))
        for j, name in enumerate(declaration.invalid_in):
            if name not in names:
                where = f"declarations[{i}].invalid_in[{j}]"
                yield Fault(where, f"{name!r} is not a hypothesis", "rename or remove it")


def reference_faults(
    hypotheses: Sequence[Hypothesis],
    kernels: Mapping[str, Kernel],
    alarm: Alarm | None,
    declarations: Sequence[Declaration],
    beliefs: Sequence[str],
    probes: Sequence[str],
) -> Iterator[Fault]:
    """Yield what a model says of beliefs and probes that the graph does not have, or the other way round."""
    known_beliefs, known_probes = set(beliefs), set(probes)
    for i, hypothesis in enumerate(hypotheses):
        for j, belief in enumerate(hypothesis.failed):
            if belief not in known_beliefs:
                yield Fault(f"hypotheses[{i}].failed[{j}]", f"{belief!r} is not a belief", "rename or remove it")
    for probe in kernels:
        if probe not in known_probes:
            yield Fault(f"kernels.{probe}", f"{probe!r} is not a probe", "rename or remove it")
    for i, probe in enumerate(probes):
        if probe not in kernels:
            yield Fault(f"probes[{i}]", f"{probe!r} has no kernel", "say in kernels how it answers, or remove it")
    for j, belief in enumerate(alarm.suspects if alarm else ()):
        if belief not in known_beliefs:
            yield Fault(f"alarm.suspects[{j}]", f"{belief!r} is not a belief", "rename or remove it")
    for i, declaration in enumerate(declarations):
        if declaration.belief not in known_beliefs:
            yield Fault(f"declarations[{i}].belief", f"{declaration.belief!r} is not a belief", "rename it")
        for j, probe in enumerate(declaration.support):
            if probe not in known_probes:
                yield Fault(f"declarations[{i}].support[{j}]", f"{probe!r} is not a probe", "rename or remove it")
