"""What belongs to one moment, read a second time: what monitors say, how old beliefs are, what counts before an action.

The third part of the reference. It imports nothing of aquamend.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tests.reference.worlds import Problem, Value, World, named, noisy_or, number, row_of

# Monitors.


def monitors(problem: Problem) -> dict[str, dict[str, Any]]:
    """Return every alarm of the file by its name; the one without is called ``alarm``."""
    return {"alarm": problem["alarm"]} if "alarm" in problem else problem.get("alarms", {})


def rung_unless_said(problem: Problem) -> tuple[str, ...]:
    """Return the only alarm, which has rung unless somebody says that it has not."""
    return tuple(monitors(problem)) if len(monitors(problem)) == 1 else ()


def ringing(problem: Problem, worlds: Sequence[World], table: Any, now: dict[str, Value | None]) -> np.ndarray:
    """Return how likely a monitor is to ring in every world.

    ``now`` says what was declared since, by belief; ``None`` is a repair. The bare name of a belief holds where what is
    declared now is wrong. What is true stays what it was.
    """
    beliefs = [
        {**entry, "declared": now[entry["name"]]} if now.get(entry["name"]) is not None else entry
        for entry in problem["beliefs"]
    ]
    repaired = {name for name, value in now.items() if value is None}
    today = []
    for world in worlds:
        known = {entry["name"]: world.value(entry) for entry in problem["beliefs"] if "declared" in entry}
        truth = {name: value for name, value in known.items() if value is not None}
        today.append(replace(world, truth=truth, failed=world.failed - repaired))
    return np.array([number(row_of({**problem, "beliefs": beliefs}, table, world)) for world in today])


def heard(problem: Problem, worlds: Sequence[World], rung: Sequence[str], silent: Sequence[str]) -> np.ndarray:
    """Return the likelihood of what the monitors said in every world; one that rang twice counts by its ``again``."""
    likelihood = np.ones(len(worlds))
    for k, name in enumerate(rung):
        again = name in rung[:k]
        likelihood = likelihood * (
            ringing(problem, worlds, monitors(problem)[name]["again"], {}) if again else _rings(problem, worlds, name)
        )
    for name in silent:
        likelihood = likelihood * (1 - _rings(problem, worlds, name))
    return likelihood


def _rings(problem: Problem, worlds: Sequence[World], name: str) -> np.ndarray:
    monitor = monitors(problem)[name]
    if "noisy_or" in monitor:
        return np.array([noisy_or(problem, monitor["noisy_or"], world) for world in worlds])
    return ringing(problem, worlds, monitor["likelihood"], {})


# Ages.


def aged(problem: Problem, ages: float | dict[str, float] | None = None) -> Problem:
    """Return the problem with a prior in place of every rate: one state for each stretch of time in which it came.

    ``ages`` stand in for those of the file: one number replaces all of them, a mapping some.
    """
    given = problem.get("age") if ages is None else ages
    causes = []
    for cause in problem.get("causes", []):
        states = list(cause["states"].items()) if "states" in cause else [("", cause)]
        if not any("rate" in state for _, state in states):
            causes.append(cause)
            continue
        own = {name for _, state in states for name in (*state.get("failed", ()), *state.get("truth", {}))}
        old = {name: number(given[name] if isinstance(given, dict) else given) for name in own}
        limits = sorted(set(old.values())) or [number(given)]
        total = math.fsum(number(state["rate"]) for _, state in states)
        absent = math.exp(-total * limits[-1])
        causes.append({**cause, "stretches": list(_stretches(states, limits, old)), "absent": absent})
    return {**{key: value for key, value in problem.items() if key != "age"}, **({"causes": causes} if causes else {})}


def _stretches(states: Any, limits: list[float], old: dict[str, float]) -> Any:
    """Yield for every state and stretch of time its name and what it makes wrong, with its prior."""
    total = math.fsum(number(state["rate"]) for _, state in states)
    for name, state in states:
        for low, high in itertools.pairwise([0.0, *limits]):
            share = number(state["rate"]) / total if total else 0.0
            prior = share * (math.exp(-total * low) - math.exp(-total * high))
            failed = [belief for belief in state.get("failed", ()) if old[belief] >= high]
            truth = {belief: value for belief, value in state.get("truth", {}).items() if old[belief] >= high}
            yield name, {"prior": prior, "failed": failed, "truth": truth, "since": low}


# Before an action.


def before(problem: Problem, action: str) -> Problem:
    """Return the problem in which only beliefs from which the action can be reached count.

    ``fixed`` beliefs cannot be corrected: no value is declared of them, and nothing that was done rests on them.
    """
    if named(problem["actions"], action).get("status") == "executed":
        raise ValueError(f"{action} is executed already")
    edges = [(source, target) for source, target, _ in problem.get("edges", [])]
    done = {entry["name"] for entry in problem["actions"] if entry.get("status") == "executed"}
    beliefs = []
    for entry in problem["beliefs"]:
        reached = _reached(entry["name"], edges)
        own = entry if action in reached else {**entry, "residual": 0.0, "may_keep": True, "needs_support": False}
        beliefs.append({**own, "fixed": "declared" not in entry and not done & reached})
    return {**problem, "beliefs": beliefs}


def _reached(start: str, edges: list[tuple[str, str]]) -> set[str]:
    found, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        new = {target for source, target in edges if source == here} - found
        found |= new
        waiting += sorted(new)
    return found
