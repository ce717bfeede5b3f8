"""``aquamend evaluate``: what following a policy to the end costs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aquamend.cli.command import Command
from aquamend.cli.inputs import MonitorsSaid, ages_of, problem_in
from aquamend.cli.options import Age, AsJson, Before, Files, NoAlarm, Rung, Silent, a_number
from aquamend.cli.output import Refusals, print_json, print_text
from aquamend.cli.progress import following
from aquamend.errors import NotDiscrete

if TYPE_CHECKING:
    from aquamend.belief import InformationState
    from aquamend.policies import Evaluation
    from aquamend.problem import Problem

COMMANDS = {"evaluate": Command("aquamend.cli.evaluate:evaluate", "Compare policies by expected loss.")}


SAMPLING_S = 30.0
"""How long recoveries of one policy are sampled, unless the user says."""


def evaluate(
    files: Files,
    *,
    policy: Annotated[
        list[str],
        typer.Option(
            "--policy", metavar="NAME[,NAME...]", help="Policies to compare, by the names that `decide` takes."
        ),
    ] = ["best"],  # noqa: B006 - typer copies it
    deadline: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            callback=a_number,
            help="Give a policy up after so long. Default: never, 30 s where sampled.",
        ),
    ] = None,
    episodes: Annotated[
        int, typer.Option(metavar="N", min=2, help="Recoveries to sample where a policy runs probes that read numbers.")
    ] = 2_000,
    alarm: Rung = [],  # noqa: B006
    silent: Silent = [],  # noqa: B006
    no_alarm: NoAlarm = False,
    before: Before = None,
    age: Age = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Compare policies by the expected loss of following each to the end.

    Sensing, recovery and residual loss together: exactly, over all outcomes, or from sampled recoveries with a 95 %
    interval where the policy runs probes that read numbers. All policies meet the same samples. Where one of several
    files or policies cannot be evaluated, the others still are, nobody is named best, and the exit status is 2. An
    interrupt gives one up, and says what it costs at least.
    """
    refusals, monitors = Refusals(), MonitorsSaid(alarm, silent, no_alarm, before)
    with refusals.at("aquamend evaluate"):
        monitors.check()
        ages = ages_of(age)
    names = _known(policy, refusals)
    refusals.exit()
    for file in files:
        with refusals.at(file):
            state, found = monitors.start(problem_in(file, ages)), {}
            for name in names:
                with refusals.at(f"{file}: policy {name}"):
                    found[name] = _evaluated(state, name, deadline, episodes)
                    if as_json:
                        print_json(_as_data(file, name, found[name]))
            if found and not as_json:
                _print_table(state.problem, file, found, [name for name in names if name not in found])
    refusals.exit()


def _known(texts: list[str], refusals: Refusals) -> list[str]:
    from aquamend.policies import policy_named
    from aquamend.policies.registry import names_in

    names = [name for text in texts for name in names_in(text)]
    for name in names:
        with refusals.at("aquamend evaluate"):
            policy_named(name)
    return list(dict.fromkeys(names))


def _evaluated(state: InformationState, name: str, deadline: float | None, episodes: int) -> Evaluation:
    from aquamend.policies import Exact, policy_named
    from aquamend.policies import evaluate as evaluated
    from aquamend.policies.evaluation import sampled_value

    policy = policy_named(name)
    try:
        with following(f"evaluate {name}") as report:
            return evaluated(policy, state, deadline_s=math.inf if deadline is None else deadline, report=report)
    except NotDiscrete:
        if isinstance(policy, Exact):  # its plan is only the best found so far, so that its value belongs to no policy
            raise
        return sampled_value(policy, state, episodes=episodes, seconds=SAMPLING_S if deadline is None else deadline)


def _as_data(file: str, name: str, found: Evaluation) -> dict[str, Any]:
    from aquamend.codec import json_number
    from aquamend.policies.evaluation import SampledEvaluation

    data: dict[str, Any] = {
        "file": file,
        "policy": name,
        "expected_loss": json_number(found.expected_loss),
        "expected_probes": json_number(found.expected_probes),
        "expected_undone": json_number(found.expected_undone),
        "success": json_number(found.success),
        "residual": json_number(found.residual),
        "escalated": json_number(found.escalated),
        "left_wrong": {name: json_number(p) for name, p in found.left_wrong.items()},
    }
    if isinstance(found, SampledEvaluation):
        data |= {"interval": [json_number(end) for end in found.interval], "episodes": len(found.losses)}
    return data


def _print_table(problem: Problem, file: str, found: dict[str, Evaluation], missing: list[str]) -> None:
    from aquamend.story.decision_in_terminal import print_evaluations

    print_text(lambda console: print_evaluations(problem, found, console, file=file, missing=missing))
