"""A folder of problem files as a suite: every file is a scenario, and every seed draws what is true in it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from aquamend.belief import InformationState
from aquamend.errors import InvalidProblem, InvalidRun
from aquamend.files import load_problem
from aquamend.problem import Problem
from aquamend_lab.benchmarks.scenario import Expectations, Scenario, one_drawn, truths_of_model
from aquamend_lab.benchmarks.suite import RecoverySuite
from aquamend_lab.records import PROBLEM

SUFFIXES = (".json", ".yaml", ".yml")
SEEDS = 20
MOST_STATES = 10_000
"""Evidence states that a policy is followed through for its expected risk, once for each file in a process."""
POLICIES = (
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
        policies=POLICIES,
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
        return Scenario(
            suite,
            seed,
            number,
            state,
            truths=(one_drawn(possible, suite, seed, number),),
            possible=possible,
            group={"problem": self.names[number]},
            expected=self.expected[number],
            most_states=MOST_STATES,
        )
