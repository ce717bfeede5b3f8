"""What commands are given: a problem, from a file or from standard input, what its monitors say, and answers."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from aquamend.errors import AquaMendError, Fault, InvalidProblem, UnknownName

if TYPE_CHECKING:
    from aquamend.belief import InformationState, Observation
    from aquamend.problem import Ages, Problem

STANDARD_INPUT = "-"
"""What stands for standard input where a file is named."""


def problem_in(file: str, ages: Ages | None = None) -> Problem:
    """Return the problem that a file describes, or standard input; ``InvalidProblem`` with every fault.

    Where ages are given and nothing ages, a warning says that they do not count.
    """
    from aquamend.files import load_problem, read_problem

    problem = read_problem(_standard_input(), ages=ages) if file == STANDARD_INPUT else load_problem(file, ages=ages)
    if problem.ageing is None and ages is not None and (ages.all is not None or ages.by_belief):
        warning = "warning: --age changes nothing, since nothing ages here; give a cause a rate in place of its prior"
        typer.echo(f"{file}: {warning}", err=True)
    return problem


def ages_of(written: Sequence[str]) -> Ages:
    """Return the ages that ``--age 120`` and ``--age level_A=60`` give."""
    from aquamend.problem import Ages

    every, by_belief = None, {}
    for text in written:
        belief, equals, said = text.rpartition("=")
        age = float(said) if _NUMBER.fullmatch(said.strip()) else math.inf
        if not math.isfinite(age) or (equals and not belief):
            raise BadAge(f"--age {text!r} is no age; give a finite number of at least 0, or BELIEF=NUMBER")
        if belief:
            by_belief[belief] = age
        else:
            every = age
    return Ages(every, by_belief)


class BadAge(AquaMendError, ValueError):
    """An ``--age`` that is none."""


_NUMBER = re.compile(r"\d+\.?\d*(e[-+]?\d+)?|\.\d+(e[-+]?\d+)?", re.IGNORECASE)


def _standard_input() -> str:
    from aquamend.codec.plain_text import MAX_BYTES, decoded

    raw = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise InvalidProblem([Fault("file", "standard input is too large", "give a smaller problem")])
    return decoded(raw)


class BadObservation(AquaMendError, ValueError):
    """An ``--observe`` that does not say which probe answered what."""

    def __init__(self, written: str, problem: str) -> None:
        self.written = written
        super().__init__(f"--observe {written!r} {problem}")


def check_shape(written: Sequence[str]) -> None:
    """Raise for the first text that is no ``PROBE=OUTCOME`` in any problem."""
    for text in written:
        probe, equals, outcome = text.partition("=")
        if not (probe and equals and outcome):
            raise BadObservation(text, "is not of the form PROBE=OUTCOME, such as look=high or weigh=12.5")


@dataclass(frozen=True, slots=True)
class MonitorsSaid:
    """What was said of the monitors, for whatever problem."""

    rung: Sequence[str] = ()
    silent: Sequence[str] = ()
    no_alarm: bool = False
    before: str | None = None
    """The action before which it is asked whether to go on: no monitor has rung then."""

    def check(self) -> None:
        """Refuse what contradicts itself in any problem."""
        if self.before is not None and self.rung:
            said = (
                f"--before {self.before!r} asks where no alarm has rung, and --alarm {self.rung[0]!r} says that one has"
            )
            raise BadMonitors(f"{said}; keep one of the two")
        if self.no_alarm and self.rung:
            raise BadMonitors(f"--no-alarm and --alarm {self.rung[0]!r} exclude each other; keep one of the two")
        for name in self.silent:
            if name in self.rung:
                raise BadMonitors(f"{name!r} is given to --alarm and to --silent; keep one of the two")

    def start(self, problem: Problem) -> InformationState:
        """Return the state of a problem that its monitors lead to, before any answer."""
        from aquamend.belief import InformationState

        if self.before is not None:
            from aquamend.problem.building.compensations import before_action

            return InformationState.alarmed(before_action(problem, self.before), (), silent=self.silent)
        only = problem.model.only_monitor
        if only in self.silent and not self.no_alarm:
            said = f"{only!r} is the only alarm of this problem, and has rung unless --no-alarm is given"
            raise BadMonitors(f"--silent {said}; add --no-alarm")
        rung = self.rung or (() if self.no_alarm or only is None else (only,))
        return InformationState.alarmed(problem, rung, silent=self.silent)


class BadMonitors(AquaMendError, ValueError):
    """Options that say of a monitor what cannot be."""


def template_in(file: str) -> dict[str, Any]:
    """Return the problem in a file as plain data to write numbers into, once it is known to be sound."""
    from aquamend.codec.plain_text import data_at
    from aquamend.files import load_problem

    load_problem(file)  # which says of every fault where it stands
    data: dict[str, Any] = data_at(file)
    return data


def state_after(problem: Problem, written: Sequence[str], heard: MonitorsSaid | None = None) -> InformationState:
    """Return the state after what the monitors said and the answers given, in their order."""
    state = (heard or MonitorsSaid()).start(problem)
    for text in written:
        state = state.after(_observation(problem, text))
    return state


def _observation(problem: Problem, text: str) -> Observation:
    """Return the answer meant; a name with an equals sign in it is found if a probe has it."""
    from aquamend.belief import Observation
    from aquamend.problem.model.kernels import Outcomes

    probes = problem.graph.probe_index
    ends = [i for i, character in enumerate(text) if character == "="]
    end = next((i for i in ends if text[:i] in probes), ends[0])
    probe, said = text[:end], text[end + 1 :]
    if probe not in probes:
        raise UnknownName("probe", probe, probes)
    channel = problem.model.channels[probe]
    # The state would not ask once its evidence is contradictory, but a misspelt outcome is still a mistake.
    answer = channel.parse(said)
    if answer is not None:
        return Observation(probe, answer)
    if isinstance(channel, Outcomes):
        raise UnknownName(f"outcome of probe {probe!r}", said, channel.outcomes)
    raise BadObservation(text, f"needs a finite number, since probe {probe!r} reads one")
