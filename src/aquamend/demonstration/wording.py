"""Steps and explanations of the pouring robot in plain words."""

from __future__ import annotations

from aquamend.decision.steps import Continue, Escalate, Reprobe, Restart, RollBack, Step
from aquamend.inference import InformationState
from aquamend.text.words import listed
from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.configurations import ADDED_TO, CONFIGURATIONS, SWAPPED, TARGET, Physical, Sensing
from aquamend.worlds.pouring.declared import Declared


def step_name(step: Step) -> str:
    """Return what a step does with hand and eye."""
    match step:
        case Reprobe(probe=probe):
            return _probe_name(probe)
        case Continue():
            return "continue as planned"
        case Escalate():
            return "safe stop (call a person)"
        case Restart():
            return "restart"
        case RollBack(plan=str(plan)):
            return plan
        case RollBack():
            return _roll_back_name(step)


def _probe_name(probe: str) -> str:
    kind, _, cup = probe.partition("_")
    return {
        "look": f"look at {cup}",
        "weigh": f"weigh {cup}",
        "localise": "find the cups",
        "stamp": "check camera's clock",
    }[kind]


def _roll_back_name(step: RollBack) -> str:
    done = set(step.undo)
    parts = []
    if "pour" in done:
        parts.append("pour back")
    elif "fetch" in done:
        parts.append("grip the pitcher anew")
    if "trust" in done:
        parts.append("recalibrate camera")
    if "decide" in done:
        parts.append("choose anew")
    else:
        # Whoever recalibrates the camera weighs every cup for it.
        weighed = [cup for cup in dim.CUPS if f"measure_{cup}" in done and "trust" not in done]
        parts += [f"weigh {listed(weighed)} anew"] if weighed else []
        parts += ["find cups anew"] if "locate" in done else []
    if "move" in done and "pour" not in done:
        parts.append("aim anew")
    return ", ".join(parts) or "believe otherwise, undo nothing"


def explanations(state: InformationState, declared: Declared) -> dict[str, float]:
    """Return the posterior over what may be the matter, alike configurations taken together; sums to one."""
    target = declared.target
    shares = {
        "nothing is wrong": 0.0,
        f"water added to {target}, still least full": 0.0,
        f"water added to {target}, no longer least full": 0.0,
        "water added to another cup": 0.0,
        f"{target} swapped with another cup": 0.0,
        "two other cups swapped": 0.0,
        "the camera misreads a level": 0.0,
        "the camera is frozen or mixes cups up": 0.0,
        "two things at once": 0.0,
    }
    names = list(shares)
    for configuration, p in zip(CONFIGURATIONS, state.posterior, strict=True):
        shares[names[_which(configuration.physical, configuration.sensing)]] += float(p)
    return shares


def _which(physical: Physical, sensing: Sensing) -> int:
    if physical is not Physical.NOTHING and sensing is not Sensing.SOUND:
        return 8
    if sensing is not Sensing.SOUND:
        return 7 if sensing in (Sensing.FROZEN, Sensing.MIXED_UP) else 6
    if physical in SWAPPED:
        return 4 if TARGET in SWAPPED[physical] else 5
    return {Physical.NOTHING: 0, Physical.LITTLE: 1, Physical.MUCH: 2}.get(physical, 3 if physical in ADDED_TO else 0)
