"""``aquamend decide``, ``plan`` and ``evaluate``: the next step and why, those that follow, what all of them cost."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from aquamend.cli import Command
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
    an_argument,
    an_option,
    situation,
)
from aquamend.cli.output import Refusals, following, print_json, print_text, refusing, searching, write_story
from aquamend.errors import BadArgument, NotDiscrete

if TYPE_CHECKING:
    from rich.console import Console

    from aquamend.belief import InformationState
    from aquamend.policies import Evaluation, Policy
    from aquamend.policies.decision_report import DecisionReport
    from aquamend.policies.plan_tree import PlanTree

COMMANDS = {
    "decide": Command("aquamend.cli.decide:decide", "Decide what to do next, and say why."),
    "plan": Command("aquamend.cli.decide:plan", "Print what a policy will do, answer by answer."),
    "evaluate": Command("aquamend.cli.decide:evaluate", "Compare policies by expected loss."),
}

SAMPLING_S = 30.0
"""How long recoveries of one policy are sampled, unless the user says."""


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

    with refusing("aquamend decide"):
        asked = situation(observe=observe, alarm=alarm, silent=silent, no_alarm=no_alarm, before=before, age=age)
        make_policy(policy, deadline=deadline, gap=gap)
        if (html or story) and (len(files) > 1 or as_json):
            raise BadArgument("--html and --story write one decision; give one file, without --json")
    refusals = Refusals()
    for i, file in enumerate(files):
        with refusals.at(file):
            made = make_policy(policy, deadline=deadline, gap=gap)
            with searching(f"decide {file}") as search:
                report = decision_report(asked.state_in(file), made, name=policy, surprising=surprising)
            if html or story:
                from aquamend.story.of_decision import decision_story  # here, since it takes as long as to decide

                write_story(decision_story(report, file=file), page=html, data=story)
            elif as_json:
                print_json(decision_json(report, file=file, robustness=robustness) | _safety(report, made)[0])
            else:
                _print(report, file, _safety(report, made)[1], first=i == 0)
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
        raise BadArgument(f"{name!r} has no search that {asked} could limit; use {' or '.join(searching)}")
    limited: Policy = replace(cast("Any", policy), **limits)
    return limited


def _settings(policy: object) -> set[str]:
    """Return the names of what a policy can be made with."""
    return {field.name for field in fields(policy) if field.init} if is_dataclass(policy) else set()


def _safety(report: DecisionReport, policy: Policy) -> tuple[dict[str, Any], str]:
    """Return what a robust policy is safe against, and at which price, as data and in words; nothing of another."""
    from aquamend.codec import json_number
    from aquamend.policies.myopic import Robust
    from aquamend.text import quantity

    if not isinstance(policy, Robust):
        return {}, ""
    weighed, unit = policy.weighed(report.state), report.state.problem.unit
    worst, price = json_number(weighed.worst), json_number(weighed.price)
    said = (
        f"Safe within a total variation of {policy.radius:g}: at worst this step loses {quantity(weighed.worst, unit)} "
        f"on average. If the model is right, that safety costs {quantity(weighed.price, unit)}."
    )
    return {"robust": {"radius": policy.radius, "worst_loss": worst, "price": price}}, said


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


class PlanFormat(StrEnum):
    """Languages a plan can be written in."""

    TEXT = "text"
    MERMAID = "mermaid"


def plan(
    file: Annotated[str, an_argument("FILE", "A problem file, JSON or YAML; - for standard input.")],
    *,
    policy: PolicyName = "best",
    versus: Annotated[
        str | None, an_option("NAME", "Set another policy's plan beside it, and say where they part.")
    ] = None,
    observe: Observations = [],  # noqa: B006 - typer copies it
    alarm: Rung = [],  # noqa: B006
    silent: Silent = [],  # noqa: B006
    no_alarm: NoAlarm = False,
    before: Before = None,
    age: Age = [],  # noqa: B006
    nodes: Annotated[
        int, typer.Option(metavar="N", min=1, help="Follow the plan no further once it has so many nodes.")
    ] = 60,
    seconds: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0.0, callback=a_number, help="Nor longer than this; by default as long as it takes."
        ),
    ] = None,
    language: Annotated[PlanFormat, typer.Option("--format", help="text, or mermaid for a drawing.")] = PlanFormat.TEXT,
    as_json: AsJson = False,
) -> None:
    """Print what a policy will do, answer by answer: each step, how probable it is, and what is lost from there on.

    Readings are told apart by the intervals that lead to different steps. The likeliest answers are followed first;
    what is beyond is said. An interrupt prints the tree as far as it has grown.
    """
    with refusing("aquamend plan"):
        if as_json and language is not PlanFormat.TEXT:
            raise BadArgument(f"--json and --format {language.value} exclude each other; keep one of the two")
        asked = situation(observe=observe, alarm=alarm, silent=silent, no_alarm=no_alarm, before=before, age=age)
        names = [policy, *([] if versus is None else [versus])]
        chosen = [make_policy(name) for name in names]
    with refusing(file):
        from aquamend.policies.plan_tree import plan_tree

        most_s = math.inf if seconds is None else seconds
        with searching(f"plan {file}") as search:
            state = asked.state_in(file)
            pairs = zip(chosen, names, strict=True)
            trees = [plan_tree(own, state, nodes=nodes, seconds=most_s, name=name) for own, name in pairs]
        _print_trees(trees, state, language, as_json)
        if search.interrupted:
            typer.echo("interrupted; the tree is as far as it had grown by then", err=True)
            raise typer.Exit(INTERRUPTED)


def _print_trees(trees: list[PlanTree], state: InformationState, language: PlanFormat, as_json: bool) -> None:
    from aquamend.codec import dump
    from aquamend.policies.plan_tree import two_plans
    from aquamend.story.plan_drawing import mermaid_plan, print_plan, print_two_plans

    if language is PlanFormat.MERMAID:
        typer.echo(mermaid_plan(trees, state))
    elif as_json:
        print_json(dump(trees[0] if len(trees) == 1 else two_plans(*trees)))
    elif len(trees) == 1:
        print_text(lambda console: print_plan(trees[0], state, console))
    else:
        print_text(lambda console: print_two_plans(two_plans(*trees), state, console))


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
    refusals = Refusals()
    with refusals.at("aquamend evaluate"):
        asked = situation(alarm=alarm, silent=silent, no_alarm=no_alarm, before=before, age=age)
    names = _known(policy, refusals)
    refusals.exit()
    for file in files:
        with refusals.at(file):
            state, found = asked.state_in(file), {}
            for name in names:
                with refusals.at(f"{file}: policy {name}"):
                    found[name] = _evaluated(state, name, deadline, episodes)
                    if as_json:
                        print_json(_as_data(file, name, found[name]))
            if found and not as_json:
                from aquamend.story.decision_in_terminal import print_evaluations

                missing = [name for name in names if name not in found]
                print_text(partial(print_evaluations, state.problem, found, file=file, missing=missing))
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

    numbers = ("expected_loss", "expected_probes", "expected_undone", "success", "residual", "escalated")
    data: dict[str, Any] = {
        "file": file,
        "policy": name,
        **{key: json_number(getattr(found, key)) for key in numbers},
        "left_wrong": {name: json_number(p) for name, p in found.left_wrong.items()},
    }
    if isinstance(found, SampledEvaluation):
        data |= {"interval": [json_number(end) for end in found.interval], "episodes": len(found.losses)}
    return data
