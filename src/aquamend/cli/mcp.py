"""``aquamend mcp``: recovery as tools for agents, over standard input and output."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aquamend.cli.command import Command
from aquamend.cli.options import PolicyName
from aquamend.cli.output import Refusals, refusing
from aquamend.cli.session import DEFAULT, JournalFile, log_at
from aquamend.errors import AquaMendError

if TYPE_CHECKING:
    from aquamend.recovery import Robot

COMMANDS = {"mcp": Command("aquamend.cli.mcp:mcp", "Serve recovery as tools for agents.", needs_arguments=False)}


def mcp(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE]...", help="Problem files that agents may name, each by its name without .yaml."),
    ] = None,
    *,
    journal: JournalFile = DEFAULT,
    policy: PolicyName = "best",
    robot: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:NAME",
            help="Who does what is decided: an object or class of yours with measure and perform. Unless given, the "
            "agent does, and reports.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve recovery as tools of the Model Context Protocol, over standard input and output, until that is closed.

    Agents name problems and nothing else: no policy, no module and no path. Every fact is in the journal before the
    next thing is asked for, so that no act is asked for twice, whichever program dies.
    """
    from aquamend.cli.decide import make_policy
    from aquamend.files import load_problem

    refusals, problems = Refusals(), {}
    for file in files or []:
        with refusals.at(file):
            if (name := Path(file).stem) in problems:
                raise AquaMendError(f"two files are named {name!r}; give one of them another name")
            problems[name] = load_problem(file)
    refusals.exit()
    with refusing("aquamend mcp"):
        from aquamend.adapters.agents import Recoveries, server

        own = make_policy(policy)  # a name that is none is refused before anybody asks
        hands = None if robot is None else _robot(robot)
        with log_at(journal) as log:
            chooser = own if ":" in policy else policy
            server(Recoveries(problems, log, policy=chooser, robot=hands)).run("stdio")


def _robot(name: str) -> Robot:
    """Return a user's own robot: ``module:Class`` or ``module:object``."""
    from aquamend.plugins import made

    try:
        robot: Robot = made(name)
    except Exception as error:  # noqa: BLE001 - somebody's module may raise anything when it is imported
        raise AquaMendError(f"--robot {name}: {type(error).__name__}: {error}; name it as module:Class") from None
    if missing := [method for method in ("measure", "perform") if not callable(getattr(robot, method, None))]:
        raise AquaMendError(f"--robot {name} has no {missing[0]}; see docs/your-robot.md")
    return robot
