"""The program ``aquamend``: its commands, and what the process does about pipes, interrupts and threads."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Mapping
from typing import Annotated

import typer

from aquamend.cli.command import Command, added_commands

COMMANDS = {
    "decide": Command("aquamend.cli.decide:decide", "Decide what to do next, and say why."),
    "plan": Command("aquamend.cli.plan:plan", "Print what a policy will do, answer by answer."),
    "evaluate": Command("aquamend.cli.evaluate:evaluate", "Compare policies by expected loss."),
    "learn": Command("aquamend.cli.learn:learn", "Learn a problem's numbers from past alarms."),
    "session": Command("aquamend.cli.session:session", "Read the journal of a robot's recoveries."),
    "serve": Command("aquamend.cli.serve:serve", "Serve decisions and sessions over HTTP.", needs_arguments=False),
    "mcp": Command("aquamend.cli.mcp:mcp", "Serve recovery as tools for agents.", needs_arguments=False),
    "new": Command("aquamend.cli.new:new", "Write a problem file to begin with."),
    "validate": Command("aquamend.cli.validate:validate", "Check problem files for faults."),
    "lint": Command("aquamend.cli.lint:lint", "Say what looks odd in sound files, and what it costs."),
    "schema": Command(
        "aquamend.cli.new:schema", "Print the JSON Schema of problem files, or of sessions.", needs_arguments=False
    ),
    "graph": Command("aquamend.cli.graph:graph", "Print the recovery graph for drawing."),
    "export": Command("aquamend.cli.export:export", "Write the problem for other people's solvers."),
}
"""The product's own, in the order in which help lists them; installed packages add theirs after these."""


def program(commands: Mapping[str, Command]) -> typer.Typer:
    """Return the program with these commands; only their modules are imported."""
    made = typer.Typer(
        name="aquamend",
        help="Decide how a robot recovers when something it measured, and acted on, may no longer be true.",
        epilog="Exit status: 0 if all is well, 2 if a file, a name or an option is wrong (said on standard error).",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_options)
    for name, command in commands.items():
        function = command.load()
        if isinstance(function, typer.Typer):
            made.add_typer(function, name=name, short_help=command.short_help)
        else:
            made.command(name, no_args_is_help=command.needs_arguments, short_help=command.short_help)(function)
    return made


def all_commands() -> dict[str, Command]:
    """Return the product's commands, and those that installed packages add."""
    return {**COMMANDS, **added_commands(COMMANDS)}


def __getattr__(name: str) -> typer.Typer:
    if name == "app":  # with all commands, for whoever runs the program from Python
        return program(all_commands())
    raise AttributeError(name)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"aquamend {version('aquamend')}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the program on the arguments of the process."""
    # For worker processes, which inherit it: each has a core of its own, and more threads only cost time.
    for library in ("OPENBLAS", "OMP", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    if not sys.warnoptions:  # what libraries warn of concerns whoever develops this, not whoever uses it
        warnings.simplefilter("ignore")
    sys.path.append(os.getcwd())  # a policy of one's own (module:Class) usually lies where one stands
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # end quietly under `| head`
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows a question mark
    asked = {name: COMMANDS[name] for name in sys.argv[1:2] if name in COMMANDS}  # others need not be imported for one
    try:
        program(asked or all_commands())(prog_name="aquamend")
    except OSError as error:
        raise SystemExit(f"aquamend: the output could not be written: {error}") from None
