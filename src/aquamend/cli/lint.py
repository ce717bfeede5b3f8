"""``aquamend lint``: what looks odd in a sound file, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from aquamend.cli.command import Command
from aquamend.cli.inputs import MonitorsSaid, ages_of, check_shape, problem_in, state_after
from aquamend.cli.options import Age, AsJson, Files, NoAlarm, Observations, Rung, Silent
from aquamend.cli.output import Refusals, print_json, refusing

if TYPE_CHECKING:
    from aquamend.lint import Finding

COMMANDS = {"lint": Command("aquamend.cli.lint:lint", "Say what looks odd in sound files, and what it costs.")}


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

    monitors = MonitorsSaid(alarm, silent, no_alarm)
    with refusing("aquamend lint"):
        check_shape(observe)
        monitors.check()
        ages = ages_of(age)
    refusals = Refusals()
    for file in files:
        with refusals.at(file):
            found = findings(state_after(problem_in(file, ages), observe, monitors))
            if as_json:
                print_json({"file": file, "findings": [_data(finding) for finding in found]})
            elif not found:
                typer.echo(f"{file}: nothing odd")
            else:
                for finding in found:
                    typer.echo(f"{file}: {finding.severity}: {finding.code}: {finding.message}")
    refusals.exit()


def _data(finding: Finding) -> dict[str, str | float | None]:
    from aquamend.codec import json_number

    cost = None if finding.cost is None else json_number(finding.cost)
    return {
        "severity": finding.severity.value,
        "code": finding.code,
        "where": finding.where,
        "message": finding.message,
        "cost": cost,
    }
