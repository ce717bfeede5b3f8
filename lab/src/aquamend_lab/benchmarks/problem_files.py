"""Problem files as suites: those of a folder, and ours in worlds that they do not describe.

In a folder every file is a scenario, and every seed draws what is true in it, as the file itself says.

Beyond the model, what is true is nothing that a policy plans with. Each file is met in several worlds that differ in
what nobody knows: a cause that is on no list, a probe that has died and reads fine, a prior three times off. A person
can be called at the price in the file, which includes the wait; they set everything right, whatever it was, and a
recovery that ends with them is no success.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from aquamend.arrays import Bools, Floats
from aquamend.belief import InformationState, surprises
from aquamend.belief.state import normalised
from aquamend.decision.steps import Escalate, Step
from aquamend.errors import InvalidProblem, InvalidRun
from aquamend.files import load_problem
from aquamend.policies import Description, Policy, policy_named
from aquamend.problem import Problem
from aquamend.problem.model import Cause, Hypothesis
from aquamend.recovery import Act, Measure, Receipt, Recovery, Verdict
from aquamend.testing.model_world import ModelWorld
from aquamend_lab.benchmarks.play import FacingAVersion, description_of
from aquamend_lab.benchmarks.scenario import (
    Expectations,
    Scenario,
    Truth,
    failed_under,
    generator,
    one_drawn,
    stream,
    truths_of_model,
)
from aquamend_lab.benchmarks.suite import RecoverySuite
from aquamend_lab.records import PROBLEM, SETTING

SUFFIXES = (".json", ".yaml", ".yml")
SEEDS = 20
MOST_STATES = 10_000
"""Evidence states that a policy is followed through for its expected risk, once for each file in a process."""
FOLDER_POLICIES = (
    "oracle", "aquamend", "lookahead-2", "troubleshooting", "greedy", "rollback-only", "no-reprobe", "restart",
)  # fmt: skip


def problem_files(folder: Path) -> list[Path]:
    """Return the problem files of a folder, by name."""
    return sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES and path.is_file())


def problem_folder(folder: Path) -> RecoverySuite:
    """Return the suite of a folder's problem files, under the folder's name; all of them must be sound.

    Policies meet a truth that is drawn from what each file says is possible after its alarm, so files are right about
    their own world. What following them costs in expectation is exact where probes have outcomes. Losses have the unit
    of their file: each is a group of its own, never averaged with another.
    """
    files = _files(folder, fingerprint(folder))
    count = len(files.paths)
    units = {name: problem.unit for name, problem in zip(files.names, files.problems, strict=True)}
    return RecoverySuite(
        name=folder.resolve().name,
        description=f"{count} problem file{'s' if count != 1 else ''}, each with a truth drawn from its own model.",
        scenarios=count,
        seeds=SEEDS,
        policies=FOLDER_POLICIES,
        make=files.scenario,
        groups={"problem": PROBLEM},
        unit={"problem": units} if any(units.values()) else "",
        most_scenarios=count,
    )


def fingerprint(folder: Path) -> str:
    """Return a hash of a folder's problem files."""
    digest = hashlib.sha256()
    for path in problem_files(folder):
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=4)
def _files(folder: Path, content: str) -> _Files:
    """Return the files of a folder, read once in a process for as long as their ``content`` is what it was."""
    files = _Files(folder)
    files.problems  # noqa: B018 - every fault is reported before anything is begun
    return files


def sound_problem(path: Path) -> Problem:
    """Return the problem in a file; raise with its first fault where it has any."""
    try:
        return load_problem(path)
    except InvalidProblem as error:
        more = f" and {len(error.faults) - 1} more faults" if len(error.faults) > 1 else ""
        remedy = f"mend it; `aquamend validate {path.name}` tells every fault"
        raise InvalidRun(path, f"{error.faults[0]}{more}", remedy) from None


@dataclass(frozen=True, eq=False)
class _Files:
    folder: Path

    @cached_property
    def paths(self) -> list[Path]:
        found = problem_files(self.folder)
        if not found:
            remedy = f"give a folder with {', '.join(SUFFIXES)} files in it"
            raise InvalidRun(self.folder, "there are no problem files in it", remedy)
        return found

    @cached_property
    def problems(self) -> list[Problem]:
        return [sound_problem(path) for path in self.paths]

    @cached_property
    def names(self) -> list[str]:
        """What each problem is called: its file without the suffix, where that is enough to tell them apart."""
        stems = [path.stem for path in self.paths]
        return [path.stem if stems.count(path.stem) == 1 else path.name for path in self.paths]

    @cached_property
    def states(self) -> list[InformationState]:
        """Each problem after its alarm."""
        return [InformationState.alarmed(problem) for problem in self.problems]

    @cached_property
    def expected(self) -> list[Expectations]:
        """What following policies costs in expectation: the same whatever truth is drawn."""
        return [{} for _ in self.paths]

    def scenario(self, seed: int, number: int) -> Scenario:
        """Return one file's problem, with a truth for this seed."""
        suite = self.folder.resolve().name
        state = self.states[number]
        possible = truths_of_model(state, suite, seed, number)
        true, group = one_drawn(possible, suite, seed, number), {"problem": self.names[number]}
        expected = self.expected[number]
        return Scenario(
            suite, seed, number, state, (true,), possible, group, expected=expected, most_states=MOST_STATES
        )


BEYOND_NAME = "beyond-v1"
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
BEYOND_POLICIES = (
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
        problem, rng = start.problem, generator(BEYOND_NAME, seed, which)
        happens = self._happens(start, world)
        truth = int(np.searchsorted(np.cumsum(happens), rng.random() * happens.sum(), side="right"))
        dead = str(rng.choice([probe.name for probe in problem.graph.probes]))
        believed = self._believed_of(which, world, truth)
        answers = stream(BEYOND_NAME, seed, which)

        def posed(believed: InformationState) -> Scenario:
            real = ModelWorld(start, truth, answers)
            fine = ModelWorld(start, int(_nothing_wrong(problem).argmax()), answers)

            def enter() -> OutsideWorld:
                return OutsideWorld(believed, replace(real), dead if world == DEAD_PROBE else None, replace(fine))

            happened = problem.model.hypotheses[truth]
            known = Truth(happened.name, failed_under(problem, truth), Cause(happened.cause), enter)
            group = {"problem": self.paths[which].stem, "world": world}
            return Scenario(BEYOND_NAME, seed, number, believed, (known,), group=group, features={"dead": dead})

        alone = replace(believed, problem=replace(believed.problem, escalate=None), origin=None)
        unattended = self._believed_of(which, NOBODY + world, truth, lambda: alone)
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
        policies=BEYOND_POLICIES,
        make=files.make,
        expected_risk=False,
        own=OWN,
        faces=dict.fromkeys(ALONE, NOBODY) | dict.fromkeys(WITH_RIGHT_ODDS, RIGHT_ODDS),
        groups={"problem": PROBLEM, "world": SETTING},
        unit="s",
        most_scenarios=len(paths) * len(WORLDS),
    )


EXAMPLES = Path(__file__).parents[4] / "examples"
BEYOND = beyond_suite(BEYOND_NAME, [EXAMPLES / f"{name}.yaml" for name in FILES])
