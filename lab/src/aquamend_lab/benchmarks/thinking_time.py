"""How long a policy thinks, and how much memory it takes: kept apart from the records, which are reproducible."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from aquamend.belief import InformationState
from aquamend.policies import AquaMend, policy_named
from aquamend.problem import Problem
from aquamend_lab.benchmarks.scenario import Scenario

CALLS, COLD_CALLS = 3, 4
ENOUGH_S = 0.5
"""A decision that takes longer than this is timed once."""


def timed(scenario: Scenario, name: str) -> dict[str, Any]:
    """Return the median time of the first decision, and the peak of Python's memory while it is made.

    Every call gets a new policy and a new state, so nothing decided before is kept; what is compiled once for a
    problem (closures, kernels as arrays) is compiled before the clock starts.
    """
    problem = scenario.state.problem
    AquaMend().next_step(InformationState.alarmed(problem))
    times: list[float] = []
    while len(times) < CALLS and sum(times) < ENOUGH_S:
        policy, state = policy_named(name), InformationState.alarmed(problem)
        start = time.perf_counter()
        policy.next_step(state)
        times.append(time.perf_counter() - start)
    return scenario.label | {
        "policy": name,
        "decision_ms": 1e3 * median(times),
        "peak_kib": _peak_kib(name, problem),
    }


def timed_cold(scenario: Scenario, names: Sequence[str], *, start: int = 0) -> list[dict[str, Any]]:
    """Return the median time of four complete first decisions of each policy, from the alarm to the command.

    The problem is made again for every call, so nothing is known from before: the alarm is conditioned on, what is
    compiled for a problem is compiled, and what belongs to the alarm is taken in, all inside the clock. It counts this
    thread's own time on the processor, since scenes are played beside each other. Policies take turns,
    ``start`` says who begins.
    """
    times: dict[str, list[float]] = {name: [] for name in names}
    for call in range(COLD_CALLS):
        for i in range(len(names)):
            name = names[(start + call + i) % len(names)]
            policy, problem = policy_named(name), _fresh(scenario.state.problem)
            began = time.thread_time()
            state = InformationState.alarmed(problem)
            for observation in scenario.state.evidence:
                state = state.after(observation)
            policy.next_step(state)
            times[name].append(time.thread_time() - began)
    return [scenario.label | {"policy": name, "decision_ms": 1e3 * median(t)} for name, t in times.items()]


def _fresh(problem: Problem) -> Problem:
    """Return the same problem, of which nothing has been worked out yet."""
    return replace(problem, graph=replace(problem.graph), model=replace(problem.model))


def _peak_kib(name: str, problem: Problem) -> float:
    policy, state = policy_named(name), InformationState.alarmed(problem)
    if tracemalloc.is_tracing():  # somebody else is measuring
        return float("nan")
    tracemalloc.start()
    try:
        policy.next_step(state)
        return tracemalloc.get_traced_memory()[1] / 1024
    finally:
        tracemalloc.stop()
