"""A scenario: one recovery problem, what is true in it, and how to say so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aquamend.benchmarks.random_source import stream
from aquamend.problem import Problem


@dataclass(frozen=True, slots=True)
class Truth:
    """One hidden realisation that policies are scored on; they never see it."""

    hypothesis: int
    """Position of the true hypothesis in the problem's model."""
    weight: float = 1.0
    """Its share of the scores, where a suite enumerates several."""


@dataclass(frozen=True, eq=False)
class Scenario:
    """A pure function of (suite, seed, number): a public problem, and the truths to score on."""

    suite: str
    seed: int
    number: int
    problem: Problem
    truths: tuple[Truth, ...]
    group: dict[str, Any] = field(default_factory=dict)
    """What tables are broken down by; empty where a suite has one table."""
    features: dict[str, Any] = field(default_factory=dict)
    """How the scenario was made, for filtering."""

    @property
    def stream(self) -> tuple[int, int, int]:
        """Seed of what probes answer here, the same for every policy."""
        return stream(self.suite, self.seed, self.number)

    @property
    def label(self) -> dict[str, Any]:
        """Suite, scenario, seed and group: what every line about this scenario begins with."""
        return {"suite": self.suite, "scenario": self.number, "seed": self.seed, "group": self.group}
