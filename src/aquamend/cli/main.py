"""The program ``aquamend``: its commands, and what the process does about pipes, interrupts and threads."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from importlib import import_module
from typing import Annotated, NamedTuple

import typer


class Command(NamedTuple):
    """A command: where its function is, what it does in a few words, and whether it needs arguments."""

    module: str
    short_help: str
    needs_arguments: bool = True


COMMANDS = {
    "demo": Command("demo", "Watch a robot recover, and keep the story as a page.", needs_arguments=False),
    "decide": Command("decide", "Decide what to do next, and say why."),
    "evaluate": Command("evaluate", "Compare policies by expected loss."),
    "bench": Command("bench", "Run a benchmark suite, or list the suites."),
    "report": Command("report", "Write one page about one or more runs."),
    "compare": Command("compare", "Compare two policies, or two runs, scenario by scenario."),
    "replay": Command("replay", "Turn a saved recording into a page that plays it."),
    "learn": Command("learn", "Learn a problem's numbers from past alarms."),
    "fit": Command("fit", "Calibrate a world's model from runs of its own."),
    "session": Command("session", "Read the journal of a robot's recoveries."),
    "new": Command("new", "Write a problem file to begin with."),
    "validate": Command("validate", "Check problem files for faults."),
    "lint": Command("lint", "Say what looks odd in sound files, and what it costs."),
    "schema": Command("new", "Print the JSON Schema of problem files, or of sessions.", needs_arguments=False),
    "graph": Command("graph", "Print the recovery graph for drawing."),
    "export": Command("export", "Write the problem for other people's solvers."),
}
"""In the order in which help lists them."""


def program(*names: str) -> typer.Typer:
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
    for name in names:
        command = COMMANDS[name]
        function = getattr(import_module(f"aquamend.cli.{command.module}"), name)
        if isinstance(function, typer.Typer):
            made.add_typer(function, name=name, short_help=command.short_help)
        else:
            made.command(name, no_args_is_help=command.needs_arguments, short_help=command.short_help)(function)
    return made


def __getattr__(name: str) -> typer.Typer:
    if name == "app":  # with all commands, for whoever runs the program from Python
        return program(*COMMANDS)
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
    asked = [name for name in sys.argv[1:2] if name in COMMANDS]  # other commands need not be imported for one
    try:
        program(*(asked or COMMANDS))(prog_name="aquamend")
    except OSError as error:
        raise SystemExit(f"aquamend: the output could not be written: {error}") from None
