"""A scenario: one recovery problem, what is true in it, worlds to play it in, and where its randomness comes from."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from aquamend.belief import InformationState
from aquamend.problem import Problem
from aquamend.problem.graph import Value
from aquamend.problem.model import Cause, Declaration
from aquamend.recovery import Simulated
from aquamend.testing.model_world import ModelWorld


@dataclass(frozen=True, eq=False)
class Truth:
    """One hidden realisation that policies are scored on; they never see it."""

    name: str
    failed: tuple[str, ...]
    cause: Cause
    enter: Callable[[], Simulated]
    """Return a new world in which this is so."""
    weight: float = 1.0
    """Its share of the scores, where a suite plays several."""
    hypothesis: int | None = None
    """Position of the hypothesis that says so, where the world is drawn from the public model itself."""
    values: Mapping[str, Value] = field(default_factory=dict)
    """What is true of beliefs that declare a value, where a world knows; for the oracle."""
    invalid: Callable[[Declaration], bool | None] | None = None
    """Tells whether some version of a declaration is invalid here; None where nobody can say."""


Expectations = dict[tuple[str, type], dict[str, Any]]
"""What policies are expected to cost, by name and class."""


@dataclass(frozen=True, eq=False)
class Scenario:
    """A pure function of (suite, seed, number): public evidence, and the truths to score on."""

    suite: str
    seed: int
    number: int
    state: InformationState
    """What the policies start from."""
    truths: tuple[Truth, ...]
    possible: tuple[Truth, ...] = ()
    """All that the public posterior allows, each with its probability, where expectations are wanted."""
    group: dict[str, Any] = field(default_factory=dict)
    """What tables are broken down by; empty where a suite has one table."""
    features: dict[str, Any] = field(default_factory=dict)
    """How the scenario was made, for filtering."""
    budget: float = math.inf
    """What may be spent on sensing, where a world lets a robot go beyond that and find out."""
    expected: Expectations | None = None
    """Where scenarios share a problem: what is expected of policies in it, computed for the first of them."""
    most_states: int | None = None
    """Evidence states that an exact expectation may take, where not as many as there are."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """What declarations are called in tables of probabilities, where that differs from scenario to scenario."""
    versions: Mapping[str, Scenario] = field(default_factory=dict)
    """The same scenario as some policies face it, such as without a budget, by the name of that version."""

    @property
    def label(self) -> dict[str, Any]:
        """Suite, scenario, seed and group: what every line about this scenario begins with."""
        return {"suite": self.suite, "scenario": self.number, "seed": self.seed, "group": self.group}


def failed_under(problem: Problem, hypothesis: int) -> tuple[str, ...]:
    """Return the beliefs that a hypothesis makes fail, in graph order."""
    return tuple(b.name for b, z in zip(problem.graph.beliefs, problem.failed[hypothesis], strict=True) if z)


def truths_of_model(state: InformationState, suite: str, seed: int, number: int) -> tuple[Truth, ...]:
    """Return what the public posterior allows: every possible hypothesis as a truth, weighted by its probability."""
    answers = stream(suite, seed, number)  # the same for every policy

    def truth(h: int) -> Truth:
        true = state.problem.model.hypotheses[h]
        world = ModelWorld(state, h, answers)
        weight = float(state.posterior[h])
        failed, cause = failed_under(state.problem, h), Cause(true.cause)
        return Truth(
            true.name, failed, cause, lambda: replace(world), weight, h,
            invalid=lambda d: true.name in (d.invalid_in or ()),
        )  # fmt: skip

    return tuple(truth(h) for h, p in enumerate(state.posterior) if p > 0)


def stream(suite: str, seed: int, number: int) -> tuple[int, int, int]:
    """Return the seed of everything random in one scenario; suites share nothing, nor do scenarios."""
    return zlib.crc32(suite.encode()), seed, number


def generator(suite: str, seed: int, number: int) -> np.random.Generator:
    """Return the generator that makes one scenario (NumPy's PCG64)."""
    return np.random.default_rng(stream(suite, seed, number))
