"""``aquamend decide``: the next step, and why."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from aquamend.cli.command import Command
from aquamend.cli.inputs import MonitorsSaid, ages_of, check_shape, problem_in, state_after
from aquamend.cli.options import (
    INTERRUPTED,
    Age,
    AsJson,
    Before,
    Files,
    NoAlarm,
    Observations,
    PageFile,
    PolicyName,
    Rung,
    Silent,
    StoryFile,
    a_number,
)
from aquamend.cli.output import Refusals, print_json, print_text, refusing, write_story
from aquamend.cli.progress import searching
from aquamend.errors import AquaMendError

if TYPE_CHECKING:
    from rich.console import Console

    from aquamend.policies import Policy
    from aquamend.policies.decision_report import DecisionReport

COMMANDS = {"decide": Command("aquamend.cli.decide:decide", "Decide what to do next, and say why.")}


class MisplacedOption(AquaMendError, ValueError):
    """An option that means nothing for the policy asked for."""


def decide(
    files: Files,
    *,
    policy: PolicyName = "best",
    observe: Observations = [],  # noqa: B006 - typer copies it
    alarm: Rung = [],  # noqa: B006
    silent: Silent = [],  # noqa: B006
    no_alarm: NoAlarm = False,
    before: Before = None,
    age: Age = [],  # noqa: B006
    deadline: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0.0, callback=a_number, help="How long `best`, `exact` or `certified` may search."
        ),
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            min=0.0,
            callback=a_number,
            help="How close to optimal `exact` or `certified` must come before they stop early.",
        ),
    ] = None,
    surprising: Annotated[
        float,
        typer.Option(metavar="P", min=0.0, max=1.0, callback=a_number, help="Warn of answers less probable than this."),
    ] = 0.001,
    robustness: Annotated[
        bool,
        typer.Option("--robustness", help="With --json, say too what would flip the decision; the text always does."),
    ] = False,
    html: PageFile = None,
    story: StoryFile = None,
    as_json: AsJson = False,
) -> None:
    """Decide what to do next: look again, roll back, continue, restart or escalate.

    With --before, whether an action may be done now: go on, measure first, go back or ask.
    The text shows every alternative with its expected loss, why the winner won and what would flip it. Where one of
    several files (or an answer for it) is wrong, the others are still decided, and the exit status is 2. An interrupt
    ends a long search: the best step found by then is shown, with its bounds.
    """
    from aquamend.files.decision_format import decision_json
    from aquamend.policies.decision_report import decision_report

    monitors = MonitorsSaid(alarm, silent, no_alarm, before)
    with refusing("aquamend decide"):
        check_shape(observe)
        monitors.check()
        ages = ages_of(age)
        make_policy(policy, deadline=deadline, gap=gap)
        if (html or story) and (len(files) > 1 or as_json):
            raise MisplacedOption("--html and --story write one decision; give one file, without --json")
    refusals = Refusals()
    for i, file in enumerate(files):
        with refusals.at(file):
            made = make_policy(policy, deadline=deadline, gap=gap)
            with searching(f"decide {file}") as search:
                state = state_after(problem_in(file, ages), observe, monitors)
                report = decision_report(state, made, name=policy, surprising=surprising)
            if html or story:
                from aquamend.story.of_decision import decision_story  # here, since it takes as long as to decide

                write_story(decision_story(report, file=file), page=html, data=story)
            elif as_json:
                print_json(decision_json(report, file=file, robustness=robustness) | _safety_data(report, made))
            else:
                _print(report, file, _safety_text(report, made), first=i == 0)
            if search.interrupted:
                typer.echo("interrupted; the bounds are those reached by then", err=True)
                raise typer.Exit(INTERRUPTED)
    refusals.exit()


def make_policy(name: str, *, deadline: float | None = None, gap: float | None = None) -> Policy:
    """Return a new policy by name, with search limits where it is one that has them."""
    from aquamend.policies import POLICIES, policy_named

    policy = policy_named(name)
    limits = {key: value for key, value in (("deadline_s", deadline), ("gap", gap)) if value is not None}
    if not limits:
        return policy
    if not limits.keys() <= _settings(policy):
        searching = [f"--policy {other}" for other, make in POLICIES.items() if limits.keys() <= _settings(make())]
        asked = " and ".join(f"--{key.removesuffix('_s')}" for key in limits)
        raise MisplacedOption(f"{name!r} has no search that {asked} could limit; use {' or '.join(searching)}")
    limited: Policy = replace(cast("Any", policy), **limits)
    return limited


def _settings(policy: object) -> set[str]:
    """Return the names of what a policy can be made with."""
    return {field.name for field in fields(policy) if field.init} if is_dataclass(policy) else set()


def _safety_data(report: DecisionReport, policy: Policy) -> dict[str, Any]:
    """Return what a robust policy is safe against, and at which price."""
    from aquamend.codec import json_number
    from aquamend.policies.robust import Robust

    if not isinstance(policy, Robust):
        return {}
    weighed = policy.weighed(report.state)
    worst, price = json_number(weighed.worst), json_number(weighed.price)
    return {"robust": {"radius": policy.radius, "worst_loss": worst, "price": price}}


def _safety_text(report: DecisionReport, policy: Policy) -> str:
    from aquamend.policies.robust import Robust
    from aquamend.text import quantity

    if not isinstance(policy, Robust):
        return ""
    weighed, unit = policy.weighed(report.state), report.state.problem.unit
    return (
        f"Safe within a total variation of {policy.radius:g}: at worst this step loses {quantity(weighed.worst, unit)} "
        f"on average. If the model is right, that safety costs {quantity(weighed.price, unit)}."
    )


def _print(report: DecisionReport, file: str, safety: str, *, first: bool) -> None:
    from aquamend.story.decision_in_terminal import print_decision

    def render(console: Console) -> None:
        if not first:
            console.rule(style="dim")
        print_decision(report, console, file=file)
        if safety:
            console.print(safety)
            console.print()

    print_text(render)
