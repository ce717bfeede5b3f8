"""The public model of an alarm: 72 configurations, what each breaks and shows, and what every way out costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aquamend.model import (
    Alarm,
    Cause,
    Coverage,
    Declaration,
    Discrete,
    FitGroup,
    Gaussian,
    Hypothesis,
    JointModel,
)
from aquamend.problem import Plan, Problem
from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.alarms import alarm_likelihood
from aquamend.worlds.pouring.configurations import (
    ADDED_TO,
    CONFIGURATIONS,
    SWAPPED,
    Configuration,
    Physical,
    Sensing,
    Supposed,
    suppose,
)
from aquamend.worlds.pouring.declared import ROLES, Declared
from aquamend.worlds.pouring.episode import Stage
from aquamend.worlds.pouring.failures import failures_of
from aquamend.worlds.pouring.fitted import Fitted
from aquamend.worlds.pouring.looking import FRESH, STALE
from aquamend.worlds.pouring.monitor import ROUTINE, Report
from aquamend.worlds.pouring.pricing import SAFE_STOP_LOSS, finishing_s, restart_losses
from aquamend.worlds.pouring.recovery_graph import EXECUTED, recovery_graph

TWO_AT_ONCE = 0.02
"""Prior probability that a physical change and an error of the camera come together."""
AS_BELIEVED = "as believed"


@dataclass(frozen=True, eq=False, slots=True)
class AlarmModel:
    """A problem, and what its losses leave out."""

    problem: Problem
    finishing_s: float
    """What completing the task takes after any decision but a safe stop; no part of the problem's losses."""


def alarm_model(
    declared: Declared,
    stage: Stage,
    report: Report,
    fitted: Fitted,
    *,
    offsets_mm: Sequence[float] = (0.0, 0.0, 0.0),
    linear_chain: bool = False,
) -> AlarmModel:
    """Return the recovery problem after an alarm, from public things only.

    Its losses are what comes on top of finishing the task, which is due after every decision but a safe stop; that one
    saves it, and is priced accordingly.
    """
    graph = recovery_graph(declared, stage, fitted, linear_chain=linear_chain)
    measured = measured_g(declared)
    supposed = [suppose(c, measured, poured_g=declared.poured_g, shifts=fitted.shifts) for c in CONFIGURATIONS]
    hypotheses = [
        _hypothesis(c, failures_of(s, c, declared), declared) for c, s in zip(CONFIGURATIONS, supposed, strict=True)
    ]
    heard = {
        h.name: alarm_likelihood(report, declared, c, fitted.alarms)
        for h, c in zip(hypotheses, CONFIGURATIONS, strict=True)
    }
    kernels = _kernels(supposed, declared, fitted)
    model = JointModel(hypotheses, kernels, Alarm(heard, suspects(report)), _declarations(declared, hypotheses))
    finishing = finishing_s(stage, fitted)
    problem = Problem(
        graph,
        model,
        restart=Plan("restart", restart_losses(supposed, declared, stage, fitted), undo=EXECUTED[stage]),
        escalate=SAFE_STOP_LOSS - finishing,
        coverage=coverage(declared, stage, fitted, offsets_mm),
        name="pour into the least full cup",
        unit="s",
    )
    return AlarmModel(problem, finishing)


def measured_g(declared: Declared) -> tuple[float, ...]:
    """Return what was measured of every role, before anything was poured."""
    now = [declared.quantity_g[cup] for cup in declared.order]
    return now[0] - declared.poured_g, *now[1:]


def named(configuration: Configuration, declared: Declared) -> str:
    """Return a configuration with the cups' own names in it."""
    text = f"{configuration.physical}, {configuration.sensing}"
    for role, cup in zip(ROLES, declared.order, strict=True):
        text = text.replace(role, cup)
    return text


def prior(configuration: Configuration) -> float:
    """Return the prior: four families equally likely, equal within a family, seldom two at once.

    A family is nothing at all, water added, cups swapped, or an error of the camera.
    """
    physical, sensing = configuration.physical, configuration.sensing
    family = (1.0 - TWO_AT_ONCE) / 4
    if physical is not Physical.NOTHING and sensing is not Sensing.SOUND:
        return TWO_AT_ONCE / ((len(Physical) - 1) * (len(Sensing) - 1))
    if sensing is not Sensing.SOUND:
        return family / (len(Sensing) - 1)
    if physical in ADDED_TO:
        return family / len(ADDED_TO)
    return family / len(SWAPPED) if physical in SWAPPED else family


def _hypothesis(configuration: Configuration, failed: tuple[str, ...], declared: Declared) -> Hypothesis:
    cause = Cause.EXTERNAL if configuration.physical is not Physical.NOTHING else Cause.SELF_ERROR
    return Hypothesis(
        named(configuration, declared), prior(configuration), failed, cause if failed else Cause.FALSE_ALARM
    )


def suspects(report: Report) -> tuple[str, ...]:
    """Return the beliefs that a report points at."""
    if report.signal == ROUTINE:
        return ("target",)
    return f"quantity_{report.cup}", f"binding_{report.cup}", "target"


def _kernels(supposed: Sequence[Supposed], declared: Declared, fitted: Fitted) -> dict[str, Gaussian | Discrete]:
    readings, kernels = fitted.readings, dict[str, Gaussian | Discrete]()
    for role, cup in enumerate(declared.order):
        looks = [
            (s.looked[role].g, math.hypot(s.looked[role].sd_g, readings.look_sd_g(disturbed=s.disturbed[role])))
            for s in supposed
        ]
        weighs = [(s.weighed[role].g, math.hypot(s.weighed[role].sd_g, readings.weigh_sd_g)) for s in supposed]
        kernels[f"look_{cup}"] = Gaussian(np.array(looks))
        kernels[f"weigh_{cup}"] = Gaussian(np.array(weighs))
    outcomes = localise_outcomes(declared)
    wrong = (1.0 - readings.localise_right) / (len(outcomes) - 1)
    likelihood = np.full((len(supposed), len(outcomes)), wrong)
    for row, s in zip(likelihood, supposed, strict=True):
        row[outcomes.index(localise_outcome(s.seen_at, declared))] = readings.localise_right
    kernels["localise"] = Discrete(outcomes, likelihood)
    stale = [configuration.sensing is Sensing.FROZEN for configuration in CONFIGURATIONS]
    right = readings.stamp_right
    kernels["stamp"] = Discrete((FRESH, STALE), [(1 - right, right) if old else (right, 1 - right) for old in stale])
    return kernels


def localise_outcomes(declared: Declared) -> tuple[str, ...]:
    """Return what finding the cups may say."""
    return AS_BELIEVED, *(_exchanged(pair, declared) for pair in SWAPPED.values())


def localise_outcome(seen_at: Sequence[int], declared: Declared) -> str:
    """Return what it says when every role is seen on the place of another, or of its own."""
    moved = tuple(role for role, place in enumerate(seen_at) if role != place)
    return _exchanged(moved, declared) if len(moved) == 2 else AS_BELIEVED


def _exchanged(pair: Sequence[int], declared: Declared) -> str:
    one, other = sorted(declared.order[role] for role in pair)
    return f"{one} and {other} exchanged"


def _declarations(declared: Declared, hypotheses: Sequence[Hypothesis]) -> list[Declaration]:
    values = {f"quantity_{x}": f"{declared.quantity_g[x]:.1f} g" for x in dim.CUPS}
    values |= {f"rank_{x}": f"fuller than {declared.target}" for x in declared.order[1:]}
    values |= {f"binding_{x}": f"place {declared.place[x] + 1}" for x in dim.CUPS}
    values |= {"target": declared.target, "camera": "sound"}
    return [
        Declaration(
            name=name,
            belief=name,
            version=declared.version(name),
            value=value,
            invalid_in=tuple(h.name for h in hypotheses if name in h.failed),
            support=declared.support.get(name, ()),
        )
        for name, value in values.items()
    ]


def coverage(declared: Declared, stage: Stage, fitted: Fitted, offsets_mm: Sequence[float]) -> Coverage:
    """Return whether calibration supports screening at this alarm, as the paper asks: at T1, near enough records."""
    probes = (*(f"{kind}_{cup}" for cup in dim.CUPS for kind in ("look", "weigh")), "localise", "stamp")
    measured = measured_g(declared)
    return Coverage(
        stage=stage.value,
        covered_stages=(Stage.MOVED.value,),
        groups=tuple(
            FitGroup(group.name, probes, group.gaps_g, group.offsets_mm)
            for group in fitted.groups
            if group.stage == stage.value
        ),
        quantities_g=tuple(g - measured[0] for g in measured[1:]),
        offsets_mm=tuple(offsets_mm),
    )
