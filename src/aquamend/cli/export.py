"""``aquamend export``: a problem in a format that other people's solvers read."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aquamend.cli.command import Command
from aquamend.cli.inputs import MonitorsSaid, ages_of, check_shape, problem_in, state_after
from aquamend.cli.options import Age, Before, NoAlarm, Observations, Rung, Silent
from aquamend.cli.output import Refusals
from aquamend.errors import AquaMendError

if TYPE_CHECKING:
    from aquamend.belief import InformationState

COMMANDS = {"export": Command("aquamend.cli.export:export", "Write the problem for other people's solvers.")}


class ExportFormat(StrEnum):
    """Formats a problem can be exported in."""

    POMDP = "pomdp"


def _checked_discount(discount: float) -> float:
    if not 0.0 < discount <= 1.0:
        raise typer.BadParameter(f"{discount} is not above 0 and at most 1")
    return discount


def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A problem file, JSON or YAML.", show_default=False)],
    *,
    language: Annotated[
        ExportFormat, typer.Option("--format", help="pomdp: the format of pomdp-solve, SARSOP and others.")
    ] = ExportFormat.POMDP,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="PATH", help="Write this file instead of standard output.", show_default=False),
    ] = None,
    discount: Annotated[
        float,
        typer.Option(
            "--discount",
            metavar="D",
            callback=_checked_discount,
            help="Discount factor; some solvers want one below 1.",
        ),
    ] = 1.0,
    observe: Observations = [],  # noqa: B006 - typer copies it
    alarm: Rung = [],  # noqa: B006
    silent: Silent = [],  # noqa: B006
    no_alarm: NoAlarm = False,
    before: Before = None,
    age: Age = [],  # noqa: B006
) -> None:
    """Write the problem as a POMDP, so that its optimal loss can be checked with other solvers.

    The optimal expected loss is minus the value at the start. The comments in the file say what every name stands for,
    and, as does standard error, where the optimum is but a lower bound.
    """
    refusals, monitors, text = Refusals(), MonitorsSaid(alarm, silent, no_alarm, before), ""
    with refusals.at(file):
        check_shape(observe)
        monitors.check()
        text = _text(file, state_after(problem_in(file, ages_of(age)), observe, monitors), language, discount)
    refusals.exit()
    if out is None:
        typer.echo(text, nl=False)
    else:
        _write(out, text, refusals)
    refusals.exit()


def _text(file: str, state: InformationState, language: ExportFormat, discount: float) -> str:
    from aquamend.files.pomdp import pomdp_of, pomdp_text

    match language:
        case ExportFormat.POMDP:
            pomdp = pomdp_of(state)
            if pomdp.relaxation:
                typer.echo(f"{file}: {pomdp.relaxation}", err=True)
            return pomdp_text(pomdp, discount=discount)


def _write(path: Path, text: str, refusals: Refusals) -> None:
    from aquamend.files.atomic import write_atomically

    try:
        write_atomically(path, text.encode("ascii"))
    except OSError as error:
        refusals.about(str(path), AquaMendError(f"cannot be written ({error.strerror}); give another --out"))
