"""What a joint model must satisfy, said fault by fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from aquamend.codec import SUM_TOLERANCE
from aquamend.errors import Fault
from aquamend.problem.graph.nodes import Belief, Probe, Value
from aquamend.problem.model.declarations import Declaration
from aquamend.problem.model.hypotheses import Alarm, Cause, Hypothesis
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
    names = [hypothesis.name for hypothesis in hypotheses]
    faults = list(hypothesis_faults(hypotheses))
    for probe, kernel in kernels.items():
        faults += kernel.faults(f"kernels.{probe}", names)
    monitors = monitors_at(alarm, alarms)
    if alarm is not None and alarms:
        faults.append(Fault("alarms", "there is an `alarm` too", "keep one of the two: give that alarm a name here"))
    for where, one in monitors.items():  # the only one has rung, unless somebody says that it has not
        faults += _alarm_faults(where, one, hypotheses, rung=len(monitors) == 1)
    faults += _declaration_faults(declarations, dict.fromkeys(names))
    return faults


def hypothesis_faults(hypotheses: Sequence[Hypothesis]) -> Iterator[Fault]:
    """Yield names given twice, and priors and causes that are none."""
    if not hypotheses:
        yield Fault("hypotheses", "there are none", "list at least one hypothesis with prior 1")
        return
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
    with np.errstate(all="ignore"):
        total = float(np.sum([hypothesis.prior for hypothesis in hypotheses]))
    if not abs(total - 1.0) <= SUM_TOLERANCE:
        yield Fault("hypotheses", f"the priors sum to {total:.9g}", "make them sum to 1")


def monitors_at(alarm: Alarm | None, alarms: Mapping[str, Alarm] | None) -> dict[str, Alarm]:
    """Return every monitor by its place in a problem."""
    named = {f"alarms.{name}": one for name, one in (alarms or {}).items()}
    return named if alarm is None else {"alarm": alarm, **named}


def _alarm_faults(where: str, alarm: Alarm, hypotheses: Sequence[Hypothesis], *, rung: bool) -> Iterator[Fault]:
    if alarm.noisy_or is not None:
        yield Fault(
            f"{where}.noisy_or", "it is no table yet", "make the model with aquamend.problem.building.joint_model"
        )
        return
    names = [hypothesis.name for hypothesis in hypotheses]
    for key, row in (("likelihood", alarm.likelihood), ("again", alarm.again)):
        if row is None:
            continue
        yield from row_name_faults(f"{where}.{key}", row, names)
        for name, value in row.items():
            if not 0.0 <= value <= 1.0:
                yield Fault(f"{where}.{key}.{name}", f"{value!r} is not a probability", "give a number from 0 to 1")
    # Not by their product, which may be smaller than any number: what is improbable is possible.
    if rung and hypotheses and all(h.prior == 0.0 or alarm.likelihood.get(h.name) == 0.0 for h in hypotheses):
        yield Fault(
            f"{where}.likelihood",
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
