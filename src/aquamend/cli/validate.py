"""``aquamend validate`` and ``aquamend lint``: are these files sound, and what looks odd in those that are?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from aquamend.cli import Command
from aquamend.cli.options import Age, AsJson, Files, NoAlarm, Observations, Rung, Silent, ages_of, problem_in, situation
from aquamend.cli.output import Refusals, print_json, refusing
from aquamend.errors import InvalidProblem

if TYPE_CHECKING:
    from aquamend.lint import Finding
    from aquamend.problem import Problem

COMMANDS = {
    "validate": Command("aquamend.cli.validate:validate", "Check problem files for faults."),
    "lint": Command("aquamend.cli.validate:lint", "Say what looks odd in sound files, and what it costs."),
}


def validate(files: Files, *, age: Age = [], as_json: AsJson = False) -> None:  # noqa: B006
    """Check problem files; print every fault found: where it stands, the value, what to do."""
    with refusing("aquamend validate"):
        ages = ages_of(age)
    refusals = Refusals()
    for file in files:
        try:
            problem = problem_in(file, ages)
        except InvalidProblem as error:
            refusals.about(file, error)
            if as_json:
                print_json({"file": file, "valid": False, "faults": _faults(error)})
        else:
            if as_json:
                grown = [step._asdict() for step in problem.model.grown]
                hypotheses = {"hypotheses": len(problem.model.hypotheses), **({"grown": grown} if grown else {})}
                print_json({"file": file, "valid": True, "faults": [], **hypotheses, **_left_out_data(problem)})
            else:
                typer.echo(f"{file}: valid ({_size(problem)}){_growth(problem)}{_left_out_text(problem)}")
    refusals.exit()


def _faults(error: InvalidProblem) -> list[dict[str, Any]]:
    return [
        {"where": f.where, "problem": f.problem, "remedy": f.advice}
        | ({} if f.line is None else {"line": f.line, "column": f.column})
        for f in error.faults
    ]


def _growth(problem: Problem) -> str:
    """Return what made more hypotheses than were written, where anything did: every one takes time."""
    return "".join(f"\n  {step.by}: {step.before:,} → {step.after:,}" for step in problem.model.grown)


def _left_out_data(problem: Problem) -> dict[str, Any]:
    """Return what combinations of causes were left out, for a program; nothing where none were."""
    from aquamend.codec import json_number
    from aquamend.planning.bounds import effect_of_left_out

    effect = effect_of_left_out(problem)
    if effect is None:
        return {}
    return {
        "left_out": {
            "prior": effect.prior,
            "after_alarm": effect.by_now,
            "loss_changes_by_at_most": json_number(effect.loss),
        }
    }


def _left_out_text(problem: Problem) -> str:
    from aquamend.planning.bounds import effect_of_left_out
    from aquamend.story.reasons import left_out_text

    effect = effect_of_left_out(problem)
    return "" if effect is None else f"\n  {left_out_text(effect, problem.unit)}"


def _size(problem: Problem) -> str:
    from aquamend.text import counted

    graph = problem.graph
    counts = {
        "belief": len(graph.beliefs), "action": len(graph.actions), "probe": len(graph.probes),
        "hypothesis": len(problem.model.hypotheses),
    }  # fmt: skip
    return ", ".join(counted(n, noun) for noun, n in counts.items())


def lint(
    files: Files,
    *,
    observe: Observations = [],  # noqa: B006 - typer copies it
    alarm: Rung = [],  # noqa: B006
    silent: Silent = [],  # noqa: B006
    no_alarm: NoAlarm = False,
    age: Age = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Say what looks odd in sound problem files, warnings first, with what it costs in expected loss.

    Hypotheses that no probe separates, probes that cannot pay or that read another quantity, beliefs without support or
    that nobody can correct, looks that pay only together, decisions on a knife's edge, priors that the alarm
    contradicts, monitors that tell nothing. None of these is an error: the exit status is 0.
    """
    from aquamend.lint import findings

    with refusing("aquamend lint"):
        asked = situation(observe=observe, alarm=alarm, silent=silent, no_alarm=no_alarm, age=age)
    refusals = Refusals()
    for file in files:
        with refusals.at(file):
            found = findings(asked.state_in(file))
            if as_json:
                print_json({"file": file, "findings": [_finding_data(finding) for finding in found]})
            elif not found:
                typer.echo(f"{file}: nothing odd")
            else:
                for finding in found:
                    typer.echo(f"{file}: {finding.severity}: {finding.code}: {finding.message}")
    refusals.exit()


def _finding_data(finding: Finding) -> dict[str, str | float | None]:
    from aquamend.codec import json_number

    cost = None if finding.cost is None else json_number(finding.cost)
    return {
        "severity": finding.severity.value,
        "code": finding.code,
        "where": finding.where,
        "message": finding.message,
        "cost": cost,
    }
