"""The program ``aquamend``: its commands, and what the process does about pipes, interrupts and threads."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated

import typer

import aquamend.cli
from aquamend import plugins
from aquamend.cli import Command

WHERE = {
    "decide": "decide",
    "plan": "decide",
    "evaluate": "decide",
    "learn": "learn",
    "alarm": "learn",
    "session": "session",
    "serve": "serve",
    "studio": "serve",
    "mcp": "serve",
    "new": "new",
    "validate": "validate",
    "lint": "validate",
    "schema": "new",
    "graph": "export",
    "import": "import_network",
    "export": "export",
}
"""The product's own commands in the order in which help lists them, and the module of each, so that one of them runs
without importing the others. Help lists after them what else is declared here, then those of installed packages."""


def own_commands(asked: Sequence[str] = ()) -> dict[str, Command]:
    """Return the commands that the modules beside this one declare; of the asked one's module alone, where it is here.

    A module that declares one command, named like it, needs no entry in ``WHERE``.
    """
    beside = [module.name for module in iter_modules(aquamend.cli.__path__) if module.name != "main"]
    wanted = [module for name in asked if (module := WHERE.get(name, name)) in beside]
    found: dict[str, Command] = {}
    for module in wanted or beside:
        found |= getattr(import_module(f"aquamend.cli.{module}"), "COMMANDS", {})
    rank = {name: place for place, name in enumerate(WHERE)}
    return dict(sorted(found.items(), key=lambda item: (rank.get(item[0], len(rank)), item[0])))


def added_commands(taken: Collection[str]) -> dict[str, Command]:
    """Return the commands of installed packages by name; none takes a name that is taken."""
    return {
        name: plugins.found_at(place) for name, place in plugins.added(plugins.COMMANDS).items() if name not in taken
    }


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
    own = own_commands()
    return {**own, **added_commands(own)}


def __getattr__(name: str) -> typer.Typer:
    if name == "app":  # with all commands, to run the program from Python
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
    if not sys.warnoptions:  # what libraries warn of concerns developers, not users
        warnings.simplefilter("ignore")
    sys.path.append(os.getcwd())  # a policy of one's own (module:Class) usually lies where one stands
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # end quietly under `| head`
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows a question mark
    asked = sys.argv[1:2]
    found = own_commands(asked)  # others need not be imported for one
    found = found if found.keys() & {*asked} else all_commands()
    try:
        program(found)(prog_name="aquamend")
    except OSError as error:
        raise SystemExit(f"aquamend: the output could not be written: {error}") from None
