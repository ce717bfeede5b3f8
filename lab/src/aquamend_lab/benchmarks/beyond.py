"""Beyond the model: what is true is nothing that a policy plans with.

Problem files, each met in several worlds that differ in what nobody knows: a cause that is on no list, a probe that
has died and reads fine, a prior three times off. A person can be called at the price in the file, which includes the
wait; they set everything right, whatever it was, and a recovery that ends with them is no success.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from aquamend.arrays import Bools, Floats
from aquamend.belief import InformationState, surprises
from aquamend.belief.state import normalised
from aquamend.decision.steps import Escalate, Step
from aquamend.errors import InvalidRun
from aquamend.policies import Description, Policy, policy_named
from aquamend.problem import Problem
from aquamend.problem.model import Cause, Hypothesis
from aquamend.recovery import Act, Measure, Receipt, Recovery, Verdict
from aquamend.testing.model_world import ModelWorld
from aquamend_lab.benchmarks.contestants import FacingAVersion, description_of
from aquamend_lab.benchmarks.problem_folder import sound_problem
from aquamend_lab.benchmarks.scenario import Scenario, Truth, failed_under, generator, stream
from aquamend_lab.benchmarks.suite import RecoverySuite
from aquamend_lab.records import PROBLEM, SETTING

NAME = "beyond-v1"
FILES = ("delivery_robot", "force_sensor_drift", "kitting_swapped_tote", "pouring", "stale_map")
"""Examples whose losses are seconds, and in which a person can be called."""

AS_MODELLED = "as the model says"
FAILURES = "real failures"
UNLISTED = "cause on no list"
DEAD_PROBE = "dead probe reads fine"
MORE_FALSE = "3 × false alarms"
FEWER_FALSE = "⅓ × false alarms"
WORLDS = (AS_MODELLED, FAILURES, UNLISTED, DEAD_PROBE, MORE_FALSE, FEWER_FALSE)
"""The second is what the third and the fourth are to be compared with: the same failures, all of them listed."""
FALSE_ALARMS = {MORE_FALSE: 3.0, FEWER_FALSE: 1.0 / 3.0}
"""How many times more probable it really is that nothing failed, in odds."""

NOBODY = "there is nobody to ask"
RIGHT_ODDS = "the right odds are known"
"""The versions of a scenario that some policies face."""


@dataclass(eq=False)
class OutsideWorld:
    """A world in which more is possible than the robot knows."""

    believed: InformationState
    """What the robot takes for possible at the alarm."""
    real: ModelWorld
    dead: str | None = None
    """A probe that reads as if nothing were wrong, whatever is true."""
    fine: ModelWorld | None = None
    """The world in which nothing is wrong."""

    def alarm(self) -> InformationState:
        """Return the public evidence."""
        return self.believed

    def measure(self, step: Measure) -> Receipt:
        """Run a probe; a dead one tells of the world in which nothing is wrong."""
        if step.probe == self.dead and self.fine is not None:
            return self.fine.measure(step)
        return self.real.measure(step)

    def perform(self, act: Act) -> Receipt:
        """Do one thing at its price."""
        return self.real.perform(act)

    def judge(self, recovery: Recovery) -> Verdict:
        """Own up to what was left wrong."""
        return self.real.judge(recovery)


@dataclass(frozen=True, slots=True)
class Surprised:
    """A policy that calls a person as soon as an answer was surprising by the whole model."""

    name: str
    below: float
    """The chance below which an answer is surprising."""

    @property
    def description(self) -> Description:
        """The policy's own, under a title that says so."""
        about = description_of(self.name)
        return replace(about, title=f"{about.title}, person if surprised (< {self.below:g})", marker="P")

    def next_step(self, state: InformationState) -> Step:
        """Return the call for a person after a surprise, else the policy's step."""
        return Escalate() if surprises(state, below=self.below) else policy_named(self.name).next_step(state)


@dataclass(frozen=True, slots=True)
class CallAPerson:
    """Call a person at once, whatever the alarm is about."""

    description: ClassVar[Description] = Description(
        "Call a person", "Call a person at once, whatever the alarm is about.", "#1b1c1e", "P", probes=False
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the call."""
        return Escalate()


ALONE = {f"{name}-alone": name for name in ("aquamend", "robust-0.3")}
WITH_RIGHT_ODDS = {f"{name}-right-odds": name for name in ("aquamend", "best")}
OWN: dict[str, Callable[[], Policy]] = {
    "aquamend-surprise-0.001": partial(Surprised, "aquamend", 0.001),
    "aquamend-surprise-0.05": partial(Surprised, "aquamend", 0.05),
    "call-a-person": CallAPerson,
    **{row: partial(FacingAVersion, name, "nobody to ask", "#9a9da1") for row, name in ALONE.items()},
    **{row: partial(FacingAVersion, name, "given the right odds", "#5f7d95") for row, name in WITH_RIGHT_ODDS.items()},
}
POLICIES = (
    "aquamend", "best", "robust-0.1", "robust-0.3", "troubleshooting", "decoupled", "greedy", "restart", "no-reprobe",
    *OWN,
)  # fmt: skip


@dataclass(eq=False)
class BeyondFiles:
    """The worlds of some problem files."""

    paths: tuple[Path, ...]
    _believed: dict[tuple[int, str, str], InformationState] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def states(self) -> list[InformationState]:
        """Each problem after its alarm."""
        missing = [path for path in self.paths if not path.is_file()]
        if missing:
            raise InvalidRun(missing[0], "it is not there", "run this suite in a checkout of the project")
        return [InformationState.alarmed(sound_problem(path)) for path in self.paths]

    def make(self, seed: int, number: int) -> Scenario:
        """Return one scenario; a file meets the same draws in every world, one after the other."""
        which, world = number // len(WORLDS), WORLDS[number % len(WORLDS)]
        start = self.states[which]
        problem, rng = start.problem, generator(NAME, seed, which)
        happens = self._happens(start, world)
        truth = int(np.searchsorted(np.cumsum(happens), rng.random() * happens.sum(), side="right"))
        dead = str(rng.choice([probe.name for probe in problem.graph.probes]))
        believed = self._believed_of(which, world, truth)
        answers = stream(NAME, seed, which)

        def posed(believed: InformationState) -> Scenario:
            real = ModelWorld(start, truth, answers)
            fine = ModelWorld(start, int(_nothing_wrong(problem).argmax()), answers)

            def enter() -> OutsideWorld:
                return OutsideWorld(believed, replace(real), dead if world == DEAD_PROBE else None, replace(fine))

            happened = problem.model.hypotheses[truth]
            known = Truth(happened.name, failed_under(problem, truth), Cause(happened.cause), enter)
            group = {"problem": self.paths[which].stem, "world": world}
            return Scenario(NAME, seed, number, believed, (known,), group=group, features={"dead": dead})

        unattended = self._believed_of(which, NOBODY + world, truth, lambda: _without_a_person(believed))
        informed = replace(start, posterior=normalised(happens), origin=None)
        odds = self._believed_of(which, world + RIGHT_ODDS, truth, lambda: informed)
        return replace(posed(believed), versions={NOBODY: posed(unattended), RIGHT_ODDS: posed(odds)})

    def _happens(self, start: InformationState, world: str) -> Floats:
        """Return how likely each hypothesis really is."""
        nothing = _nothing_wrong(start.problem)
        if world in FALSE_ALARMS:
            return np.where(nothing, FALSE_ALARMS[world], 1.0) * start.posterior
        return start.posterior if world == AS_MODELLED else np.where(nothing, 0.0, start.posterior)

    def _believed_of(
        self, which: int, world: str, truth: int, make: Callable[[], InformationState] | None = None
    ) -> InformationState:
        """Return what the robot takes for possible; the same object for the same, so that decisions are kept."""
        start = self.states[which]
        cause = causes_of(start.problem.model.hypotheses[truth])[0] if world.endswith(UNLISTED) else ""
        key = which, world, cause
        if key not in self._believed:
            self._believed[key] = make() if make else without_cause(start, cause) if cause else start
        return self._believed[key]


def causes_of(hypothesis: Hypothesis) -> list[str]:
    """Return the causes that are at work under a hypothesis, by name."""
    return (hypothesis.part_of or hypothesis.name).split(" (")[0].split(" + ")


def without_cause(state: InformationState, cause: str) -> InformationState:
    """Return the state of somebody who has never heard of a cause: nothing that it takes part in is possible."""
    known = np.array([cause not in causes_of(h) for h in state.problem.model.hypotheses])
    return replace(state, posterior=normalised(state.posterior * known), origin=None)


def _without_a_person(state: InformationState) -> InformationState:
    return replace(state, problem=replace(state.problem, escalate=None), origin=None)


def _nothing_wrong(problem: Problem) -> Bools:
    return np.asarray(~problem.failed.any(axis=1))


def beyond_suite(name: str, paths: Sequence[Path]) -> RecoverySuite:
    """Return the suite of some problem files in worlds that they do not describe."""
    files = BeyondFiles(tuple(paths))
    return RecoverySuite(
        name=name,
        description=(
            "Problem files in worlds that they do not describe: a cause that is on no list, a dead probe that reads "
            "fine, three times and a third of the false alarms. What that costs each policy, and what robustness, "
            "surprise and a person to call buy."
        ),
        scenarios=len(paths) * len(WORLDS),
        seeds=100,
        policies=POLICIES,
        make=files.make,
        expected_risk=False,
        own=OWN,
        faces=dict.fromkeys(ALONE, NOBODY) | dict.fromkeys(WITH_RIGHT_ODDS, RIGHT_ODDS),
        groups={"problem": PROBLEM, "world": SETTING},
        unit="s",
        most_scenarios=len(paths) * len(WORLDS),
    )


EXAMPLES = Path(__file__).parents[4] / "examples"
BEYOND = beyond_suite(NAME, [EXAMPLES / f"{name}.yaml" for name in FILES])
