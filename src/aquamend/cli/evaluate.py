"""``aquamend evaluate``: what following a policy to the end costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from aquamend.cli.complaints import Complaints
from aquamend.cli.options import AsJson, Files
from aquamend.cli.output import print_json, print_text
from aquamend.errors import AquaMendError

if TYPE_CHECKING:
    from aquamend.policies import Evaluation
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
    as_json: AsJson = False,
) -> None:
    """Compare policies by the exact expected loss of following each to the end, over all outcomes.

    Sensing, recovery and residual loss together. A policy may run discrete probes only. Where one of several files or
    policies cannot be evaluated, the others still are, and the exit status is 2.
    """
    from aquamend.problem_file import load_problem

    complaints = Complaints()
    names = _known(policy, complaints)
    complaints.exit()
    for file in files:
        try:
            problem = load_problem(file)
        except AquaMendError as error:
            complaints.about(file, error)
            continue
        found = {}
        for name, evaluation in _evaluated(problem, names, file, complaints):
            found[name] = evaluation
            if as_json:
                print_json(_as_data(file, name, evaluation))
        if found and not as_json:
            _print_table(problem, file, found)
    complaints.exit()


def _known(given: list[str], complaints: Complaints) -> list[str]:
    from aquamend.policies import policy_named

    names = [name.strip() for text in given for name in text.split(",")]
    for name in names:
        try:
            policy_named(name)
        except AquaMendError as error:
            complaints.about("aquamend evaluate", error)
    return list(dict.fromkeys(names))


def _evaluated(
    problem: Problem, names: list[str], file: str, complaints: Complaints
) -> Iterator[tuple[str, Evaluation]]:
    from aquamend.inference import InformationState
    from aquamend.policies import evaluate as evaluated
    from aquamend.policies import policy_named

    for name in names:
        try:
            yield name, evaluated(policy_named(name), InformationState.alarmed(problem))
        except AquaMendError as error:
            complaints.about(f"{file}: policy {name}", error)


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


def _print_table(problem: Problem, file: str, found: dict[str, Evaluation]) -> None:
    from aquamend.explanation.evaluation_text import print_evaluations

    print_text(lambda console: print_evaluations(problem, found, console, file=file))
