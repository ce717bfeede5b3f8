"""What commands are given: the arguments that several share, a problem, what its monitors say, and answers."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aquamend.errors import BadArgument, Fault, InvalidProblem, UnknownName
from aquamend.policies import POLICIES

if TYPE_CHECKING:
    from aquamend.belief import InformationState, Observation
    from aquamend.problem import Ages, Problem

INTERRUPTED = 130
"""Exit status after an interrupt, as shells have it."""
STANDARD_INPUT = "-"
"""What stands for standard input where a file is named."""
_NUMBER = re.compile(r"\d+\.?\d*(e[-+]?\d+)?|\.\d+(e[-+]?\d+)?", re.IGNORECASE)


def an_option(metavar: str, said: str, *names: str) -> Any:
    """Return an option whose default help does not show; without names it is called like its parameter."""
    return typer.Option(*names, metavar=metavar, help=said, show_default=False)


def an_argument(metavar: str, said: str) -> Any:
    """Return an argument whose default help does not show."""
    return typer.Argument(metavar=metavar, help=said, show_default=False)


def a_number(value: float | None) -> float | None:
    """Refuse nan, which is beyond no least and no largest value."""
    if value is not None and math.isnan(value):
        raise typer.BadParameter("nan is not a number")
    return value


def a_finite_number(value: float) -> float:
    """Refuse nan and infinity, for which nothing can wait."""
    if not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number")
    return value


Files = Annotated[list[str], an_argument("FILE", "Problem files, JSON or YAML; - for standard input.")]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON Lines instead of text: one object for each line.")]

PageFile = Annotated[
    Path | None, an_option("FILE", "Write one self-contained page here, and print nothing else.", "--html")
]

StoryFile = Annotated[
    Path | None, an_option("FILE", "Write all that the page shows here, as JSON, and print nothing else.", "--story")
]

Observations = Annotated[
    list[str],
    an_option(
        "PROBE=OUTCOME",
        "An answer received since the alarm (a number for a probe that reads one). Repeat it for every answer.",
        "--observe",
    ),
]

Rung = Annotated[
    list[str],
    an_option(
        "NAME",
        "A monitor that has rung; the only one of a problem has, unless you say otherwise. Repeat it for several.",
        "--alarm",
    ),
]

Silent = Annotated[
    list[str],
    an_option(
        "NAME",
        "A monitor that was watching and has not rung. Repeat it for several; the others say nothing.",
        "--silent",
    ),
]

NoAlarm = Annotated[bool, typer.Option("--no-alarm", help="No monitor has rung: begin with the priors.")]

Age = Annotated[
    list[str],
    an_option(
        "[BELIEF=]AGE",
        "How long ago beliefs were measured, for causes with a rate: all, or one by its name. Repeat it.",
        "--age",
    ),
]

Before = Annotated[
    str | None,
    an_option(
        "ACTION", "Ask, without an alarm, whether this action may be done now; only beliefs that lead to it count."
    ),
]

PolicyName = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="NAME",
        help=f"Who decides: {', '.join(POLICIES)}, lookahead-K for any K, robust-R for any R up to 1, or a class of "
        "your own as module:Class.",
    ),
]


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
            raise BadArgument(f"--age {text!r} is no age; give a finite number of at least 0, or BELIEF=NUMBER")
        if belief:
            by_belief[belief] = age
        else:
            every = age
    return Ages(every, by_belief)


def _standard_input() -> str:
    from aquamend.codec.plain_text import MAX_BYTES, decoded

    raw = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise InvalidProblem([Fault("file", "standard input is too large", "give a smaller problem")])
    return decoded(raw)


@dataclass(frozen=True, slots=True)
class AskedSituation:
    """What is asked about, in whatever problem: what its monitors said, the answers since, and how old beliefs are."""

    answers: Sequence[str]
    """As they were written, ``PROBE=OUTCOME``, in their order."""
    rung: Sequence[str]
    silent: Sequence[str]
    no_alarm: bool
    before: str | None
    """The action before which it is asked whether to go on: no monitor has rung then."""
    ages: Ages

    def state_in(self, file: str) -> InformationState:
        """Return the state of the problem in a file."""
        return self.state(problem_in(file, self.ages))

    def state(self, problem: Problem) -> InformationState:
        """Return the state of a problem after what the monitors said and the answers given."""
        state = self._start(problem)
        for text in self.answers:
            state = state.after(_observation(problem, text))
        return state

    def _start(self, problem: Problem) -> InformationState:
        from aquamend.belief import InformationState

        if self.before is not None:
            from aquamend.problem.building.compensations import before_action

            return InformationState.alarmed(before_action(problem, self.before), (), silent=self.silent)
        only = problem.model.only_monitor
        if only in self.silent and not self.no_alarm:
            said = f"{only!r} is the only alarm of this problem, and has rung unless --no-alarm is given"
            raise BadArgument(f"--silent {said}; add --no-alarm")
        rung = self.rung or (() if self.no_alarm or only is None else (only,))
        return InformationState.alarmed(problem, rung, silent=self.silent)


def situation(
    *,
    observe: Sequence[str] = (),
    alarm: Sequence[str],
    silent: Sequence[str],
    no_alarm: bool,
    before: str | None = None,
    age: Sequence[str],
) -> AskedSituation:
    """Return what options of these names say; what can be meant in no problem is refused."""
    for text in observe:
        probe, equals, outcome = text.partition("=")
        if not (probe and equals and outcome):
            raise BadArgument(f"--observe {text!r} is not of the form PROBE=OUTCOME, such as look=high or weigh=12.5")
    if before is not None and alarm:
        said = f"--before {before!r} asks where no alarm has rung, and --alarm {alarm[0]!r} says that one has"
        raise BadArgument(f"{said}; keep one of the two")
    if no_alarm and alarm:
        raise BadArgument(f"--no-alarm and --alarm {alarm[0]!r} exclude each other; keep one of the two")
    for name in silent:
        if name in alarm:
            raise BadArgument(f"{name!r} is given to --alarm and to --silent; keep one of the two")
    return AskedSituation(observe, alarm, silent, no_alarm, before, ages_of(age))


def template_in(file: str) -> dict[str, Any]:
    """Return the problem in a file as plain data to write numbers into, once it is known to be sound."""
    from aquamend.codec.plain_text import data_at
    from aquamend.files import load_problem

    load_problem(file)  # which says of every fault where it stands
    data: dict[str, Any] = data_at(file)
    return data


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
    raise BadArgument(f"--observe {text!r} needs a finite number, since probe {probe!r} reads one")
