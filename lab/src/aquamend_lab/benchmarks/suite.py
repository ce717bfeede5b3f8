"""What a suite is, and the kind most of them are: policies recover in the worlds of each scenario.

How long a policy thinks, and how much memory it takes, is kept apart from the records, which are reproducible.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Protocol

from aquamend.belief import InformationState
from aquamend.policies import AquaMend, Policy, policy_named
from aquamend.problem import Problem
from aquamend_lab.benchmarks.play import KNOWING_THE_TRUTH, Probabilities, check_names, play
from aquamend_lab.benchmarks.scenario import Scenario, annotate
from aquamend_lab.records import USUAL_KINDS

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
    return scenario.label | {"policy": name, "decision_ms": 1e3 * median(times), "peak_kib": _peak_kib(name, problem)}


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
            old = scenario.state.problem
            problem = replace(old, graph=replace(old.graph), model=replace(old.model))  # nothing of it is worked out
            policy = policy_named(name)
            began = time.thread_time()
            state = InformationState.alarmed(problem)
            for observation in scenario.state.evidence:
                state = state.after(observation)
            policy.next_step(state)
            times[name].append(time.thread_time() - began)
    return [scenario.label | {"policy": name, "decision_ms": 1e3 * median(t)} for name, t in times.items()]


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


@dataclass(frozen=True, eq=False)
class Played:
    """What one scenario leaves behind."""

    records: list[dict[str, Any]]
    annotation: dict[str, Any] | None = None
    timings: list[dict[str, Any]] = field(default_factory=list)


SUITE_PARTS = ("name", "description", "scenarios", "seeds", "policies", "check_policies", "play")


class Suite(Protocol):
    """A versioned set of scenarios, each a pure function of seed and number. A suite never changes meaning.

    It may also have ``groups`` (what the names in a scenario's group stand for: see ``aquamend_lab.records.KINDS``) and
    ``reference`` (the policy that the others are compared with) and ``unit`` (of losses); all are kept in the manifest
    of a run. ``most_scenarios`` says how many there are for each seed, where there cannot be more.
    """

    @property
    def name(self) -> str:
        """Versioned name."""

    @property
    def description(self) -> str:
        """What it asks, in a sentence or two."""

    @property
    def scenarios(self) -> int:
        """Scenarios a seed in the full suite."""

    @property
    def seeds(self) -> int:
        """Seeds in the full suite: 0 … seeds - 1."""

    @property
    def policies(self) -> tuple[str, ...]:
        """Who takes part unless others are named."""

    def check_policies(self, names: list[str]) -> None:
        """Raise ``UnknownName`` where one of the names cannot take part."""

    def play(self, seed: int, number: int, policies: tuple[str, ...]) -> Played:
        """Return the records of these policies on one scenario."""


@dataclass(frozen=True, eq=False)
class RecoverySuite:
    """Policies recover in the worlds of each scenario."""

    name: str
    description: str
    scenarios: int
    seeds: int
    policies: tuple[str, ...]
    make: Callable[[int, int], Scenario]
    expected_risk: bool | tuple[str, ...] = True
    """Whether exact expectations are part of the question, or for whom they are: they may take long."""
    time_decisions: bool = False
    """Whether decision time and memory are part of the question."""
    own: Mapping[str, Callable[[], Policy]] = field(default_factory=dict)
    """Policies that only this suite has, or has another kind of, by name."""
    faces: Mapping[str, str] = field(default_factory=dict)
    """Policies that face another version of a scenario, where it has one: by name, the name of the version."""
    groups: Mapping[str, str] = field(default_factory=lambda: USUAL_KINDS)
    """What the names in a scenario's group stand for: kinds, strata, settings or sizes."""
    reference: str = "aquamend"
    """The policy that the others are compared with."""
    probabilities: Probabilities | None = None
    """What records keep of the posterior; nothing by default, since it makes them large."""
    detailed: bool = False
    """Whether records keep how much was looked at to decide, and what the world has to tell."""
    frozen: Callable[[], Mapping[str, str]] | None = None
    """Fingerprints of what was settled before the first scenario was played; kept in the manifest."""
    normalised: Mapping[str, float] | None = None
    """What a ``probe`` and a ``rollback`` cost, and how many seconds of a restart (``unit_s``) cost one; kept in the
    manifest, for a loss counted in probes beside the one in seconds."""
    unit: str | Mapping[str, Mapping[str, str]] = ""
    """The unit of its losses; or one for each value of a name in groups. Empty where they have none."""
    most_scenarios: int | None = None
    """How many scenarios there are for each seed, where there cannot be more."""
    timed_cold: tuple[str, ...] = ()
    """Policies whose whole first decision is timed on every scenario, from the alarm to the command."""

    def check_policies(self, names: list[str]) -> None:
        """Raise where a name is unknown."""
        check_names([name for name in names if name not in self.own], also=tuple(self.own))

    def play(self, seed: int, number: int, policies: tuple[str, ...]) -> Played:
        """Return the records of these policies on one scenario, what was true in it, and how long they thought."""
        scenario = self.make(seed, number)
        own = {name: self.own[name]() for name in policies if name in self.own}
        posed = {name: scenario.versions.get(self.faces.get(name, ""), scenario) for name in policies}
        wanted = policies if self.expected_risk is True else self.expected_risk or ()
        keep, detailed = self.probabilities, self.detailed
        records = [
            play(posed[name], name, own.get(name), expected=name in wanted, keep=keep, detailed=detailed)
            for name in policies
        ]
        # A policy that knows the truth does not think, and one that failed has no time to show.
        thought = [r["policy"] for r in records if "error" not in r and r["policy"] not in KNOWING_THE_TRUTH]
        timings = [timed(scenario, name) for name in thought] if self.time_decisions else []
        if self.timed_cold and self.reference in policies:  # once a scenario, however often a run is taken up again
            timings += timed_cold(scenario, self.timed_cold, start=seed + number)
        return Played(records, annotate(scenario), timings)
