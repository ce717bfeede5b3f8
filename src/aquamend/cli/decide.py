"""``aquamend decide``: the next step, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from aquamend.cli.complaints import Complaints
from aquamend.cli.observations import check_shape, state_after
from aquamend.cli.options import AsJson, Files, Observations, PolicyName
from aquamend.cli.output import print_json, print_text
from aquamend.errors import AquaMendError

if TYPE_CHECKING:
    from rich.console import Console

    from aquamend.explanation.report import DecisionReport
    from aquamend.policies import Policy


class MisplacedOption(AquaMendError, ValueError):
    """An option that means nothing for the policy asked for."""


def decide(
    files: Files,
    *,
    policy: PolicyName = "aquamend",
    observe: Observations = [],  # noqa: B006 - typer copies it
    deadline: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0.0, help="How long `exact` may search. Default: 3.")
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option(metavar="X", min=0.0, help="How close to optimal `exact` must come before it stops early."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Decide what to do next: look again, roll back, continue, restart or escalate.

    The text shows every alternative with its expected loss, why the winner won and what would flip it. Where one of
    several files (or an answer for it) is wrong, the others are still decided, and the exit status is 2.
    """
    from aquamend.explanation.as_json import decision_json

    complaints = Complaints()
    try:
        check_shape(observe)
        make_policy(policy, deadline=deadline, gap=gap)
    except AquaMendError as error:
        complaints.about("aquamend decide", error)
        complaints.exit()
    for i, file in enumerate(files):
        try:
            report = _report(file, policy, make_policy(policy, deadline=deadline, gap=gap), observe)
        except AquaMendError as error:
            complaints.about(file, error)
            continue
        if as_json:
            print_json(decision_json(report, file=file))
        else:
            _print(report, file, first=i == 0)
    complaints.exit()


def make_policy(name: str, *, deadline: float | None = None, gap: float | None = None) -> Policy:
    """Return a new policy by name, with the search limits that only ``exact`` knows."""
    from aquamend.policies import Exact, policy_named

    policy = policy_named(name)
    limits = {key: value for key, value in (("deadline_s", deadline), ("gap", gap)) if value is not None}
    if not limits:
        return policy
    if not isinstance(policy, Exact):
        raise MisplacedOption(f"--deadline and --gap limit the search of --policy exact; {name!r} does not search")
    return Exact(**limits)


def _report(file: str, name: str, policy: Policy, observe: list[str]) -> DecisionReport:
    from aquamend.explanation.report import decision_report
    from aquamend.problem_file import load_problem

    return decision_report(state_after(load_problem(file), observe), policy, name=name)


def _print(report: DecisionReport, file: str, *, first: bool) -> None:
    from aquamend.explanation.as_text import print_decision

    def render(console: Console) -> None:
        if not first:
            console.rule(style="dim")
        print_decision(report, console, file=file)

    print_text(render)
