"""A scenario: one recovery problem, what is true in it, worlds to play it in, and where its randomness comes from.

Its annotation is the ground truth as records keep it: what failed, what correcting it takes, what looking would have
sufficed.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from aquamend.belief import InformationState, Observation
from aquamend.decision.endings import TIE
from aquamend.decision.steps import Decision
from aquamend.decision.terminal import best_terminal
from aquamend.policies.policy import Committed
from aquamend.problem import Problem
from aquamend.problem.graph import RecoveryGraph, Value
from aquamend.problem.model import Cause, Declaration
from aquamend.recovery import Measure, Robot, Simulated, recovered
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


def one_drawn(possible: Sequence[Truth], suite: str, seed: int, number: int) -> Truth:
    """Return what is true in one scenario, drawn by its weight; as the only truth played, it counts in full."""
    weights = [truth.weight for truth in possible]
    which = generator(f"{suite} truth", seed, number).choice(len(possible), p=weights)
    return replace(possible[int(which)], weight=1.0)


def stream(suite: str, seed: int, number: int) -> tuple[int, int, int]:
    """Return the seed of everything random in one scenario; suites share nothing, nor do scenarios."""
    return zlib.crc32(suite.encode()), seed, number


def generator(suite: str, seed: int, number: int) -> np.random.Generator:
    """Return the generator that makes one scenario (NumPy's PCG64)."""
    return np.random.default_rng(stream(suite, seed, number))


MOST_PROBES = 12
"""Up to here every set of probes is tried; beyond, the minimal set is not annotated."""


def annotate(scenario: Scenario) -> dict[str, Any]:
    """Return the annotation record of a scenario, with one entry for every hidden realisation."""
    problem = scenario.state.problem
    views = {"fine": problem.graph, "linear-chain": problem.graph.linear_chain()}
    return scenario.label | {
        "features": scenario.features,
        "restart_cost": math.inf if problem.restart_plan is None else float(np.min(problem.restart_plan.loss)),
        "truths": [_truth(scenario.state, views, truth) for truth in scenario.truths],
    }


def _truth(state: InformationState, views: dict[str, RecoveryGraph], truth: Truth) -> dict[str, Any]:
    rollback = {name: view.closure(truth.failed) for name, view in views.items()}
    return {
        "failed": truth.failed,
        "rollback": rollback,
        "rollback_cost": {name: state.problem.graph.rollback_cost(undo) for name, undo in rollback.items()},
        "minimal_reprobe": minimal_reprobe(state, truth) if truth.hypothesis is not None else None,
        "attribution": str(truth.cause),
    }


def minimal_reprobe(state: InformationState, truth: Truth) -> tuple[str, ...] | None:
    """Return P*: the cheapest set of probes whose true answers lead to the decision that is best under the truth.

    By enumeration, each probe once; of equally costly sets the smaller, then the first in graph order. The empty set
    where the best decision now is right already. None if no set does it, or there are too many to try.
    """
    graph = state.problem.graph
    if len(graph.probes) > MOST_PROBES:
        return None
    losses: dict[Decision, float] = {}

    def loss_of_stopping(state: InformationState) -> float:
        """Return what the best stop at this state really loses under the truth, what was spent on probes apart."""
        decision = best_terminal(state).decision
        if decision not in losses:
            losses[decision] = recovered(Committed(decision), truth.enter()).loss
        return losses[decision]

    certain = np.zeros_like(state.posterior)
    certain[truth.hypothesis] = 1.0
    best = loss_of_stopping(InformationState(state.problem, certain))
    names = [probe.name for probe in graph.probes]
    cost = {probe.name: probe.cost for probe in graph.probes}
    sets = [s for k in range(len(names) + 1) for s in itertools.combinations(names, k)]
    for chosen in sorted(sets, key=lambda s: sum(cost[name] for name in s)):
        after = _answered(truth.enter(), chosen)
        if after is not None and loss_of_stopping(after) <= best + TIE:
            return chosen
    return None


def _answered(robot: Robot, probes: tuple[str, ...]) -> InformationState | None:
    """Return the state after these probes answered; None where they may not all run."""
    state = robot.alarm()
    for name in probes:
        if state.why_illegal(name):
            return None
        state = state.after(Observation(name, robot.measure(Measure(name)).finding))  # type: ignore[arg-type]
    return state
