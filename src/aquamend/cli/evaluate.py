"""``aquamend evaluate``: what following a policy to the end costs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from aquamend.cli.complaints import Complaints
from aquamend.cli.options import AsJson, Files
from aquamend.cli.output import print_json, print_text
from aquamend.cli.problems import problem_at
from aquamend.errors import TooLarge

if TYPE_CHECKING:
    from aquamend.decision import Step
    from aquamend.inference import InformationState
    from aquamend.policies import Evaluation, Policy
    from aquamend.problem import Problem


def evaluate(
    files: Files,
    *,
    policy: Annotated[
        list[str],
        typer.Option(
            "--policy", metavar="NAME[,NAME...]", help="Policies to compare, by the names that `decide` takes."
        ),
    ] = ["aquamend"],  # noqa: B006 - typer copies it
    deadline: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0.0, help="Give a policy up after so long. Default: never."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare policies by the exact expected loss of following each to the end, over all outcomes.

    Sensing, recovery and residual loss together. A policy may run discrete probes only. Where one of several files or
    policies cannot be evaluated, the others still are, and the exit status is 2.
    """
    complaints = Complaints()
    names = _known(policy, complaints)
    complaints.exit()
    for file in files:
        with complaints.at(file):
            problem, found = problem_at(file), {}
            for name in names:
                with complaints.at(f"{file}: policy {name}"):
                    found[name] = _evaluated(problem, name, deadline)
                    if as_json:
                        print_json(_as_data(file, name, found[name]))
            if found and not as_json:
                _print_table(problem, file, found, [name for name in names if name not in found])
    complaints.exit()


def _known(given: list[str], complaints: Complaints) -> list[str]:
    from aquamend.policies import policy_named

    names = [name.strip() for text in given for name in text.split(",")]
    for name in names:
        with complaints.at("aquamend evaluate"):
            policy_named(name)
    return list(dict.fromkeys(names))


def _evaluated(problem: Problem, name: str, deadline: float | None) -> Evaluation:
    from aquamend.inference import InformationState
    from aquamend.policies import Exact, policy_named
    from aquamend.policies import evaluate as evaluated

    policy = policy_named(name)
    if deadline is not None and not isinstance(policy, Exact):  # whose plan is made at once, or refused
        policy = _Until(policy, deadline, time.monotonic() + deadline)
    return evaluated(policy, InformationState.alarmed(problem))


@dataclass(frozen=True, slots=True)
class _Until:
    """A policy that refuses to go on after a moment."""

    policy: Policy
    deadline_s: float
    moment: float

    def next_step(self, state: InformationState) -> Step:
        """Return the policy's step, or give up."""
        if time.monotonic() >= self.moment:
            raise TooLarge(
                f"not finished after {self.deadline_s:g} s; give it a longer --deadline, or a smaller problem"
            )
        return self.policy.next_step(state)


def _as_data(file: str, name: str, found: Evaluation) -> dict[str, str | float | None]:
    from aquamend.records import json_number

    return {
        "file": file,
        "policy": name,
        "expected_loss": json_number(found.expected_loss),
        "expected_probes": json_number(found.expected_probes),
        "expected_undone": json_number(found.expected_undone),
        "success": json_number(found.success),
    }


def _print_table(problem: Problem, file: str, found: dict[str, Evaluation], missing: list[str]) -> None:
    from aquamend.explanation.as_text import print_evaluations

    print_text(lambda console: print_evaluations(problem, found, console, file=file, missing=missing))
