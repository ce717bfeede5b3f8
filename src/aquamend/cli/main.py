"""The program ``aquamend``: its commands, and what the process does about pipes, interrupts and threads."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from typing import Annotated

import typer

from aquamend.cli.bench import bench
from aquamend.cli.compare import compare
from aquamend.cli.decide import decide
from aquamend.cli.demo import demo
from aquamend.cli.evaluate import evaluate
from aquamend.cli.export import export
from aquamend.cli.fit import fit
from aquamend.cli.graph import graph
from aquamend.cli.learn import learn
from aquamend.cli.lint import lint
from aquamend.cli.new import new, schema
from aquamend.cli.replay import replay
from aquamend.cli.report import report
from aquamend.cli.session import session
from aquamend.cli.validate import validate

app = typer.Typer(
    name="aquamend",
    help="Decide how a robot recovers when something it measured, and acted on, may no longer be true.",
    epilog="Exit status: 0 if all is well, 2 if a file, a name or an option is wrong (said on standard error).",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(short_help="Watch a robot recover, and keep the story as a page.")(demo)
app.command(no_args_is_help=True, short_help="Decide what to do next, and say why.")(decide)
app.command(no_args_is_help=True, short_help="Compare policies by expected loss.")(evaluate)
app.command(no_args_is_help=True, short_help="Run a benchmark suite, or list the suites.")(bench)
app.command(no_args_is_help=True, short_help="Write one page about one or more runs.")(report)
app.command(no_args_is_help=True, short_help="Compare two policies, or two runs, scenario by scenario.")(compare)
app.command(no_args_is_help=True, short_help="Turn a saved recording into a page that plays it.")(replay)
app.command(no_args_is_help=True, short_help="Learn a problem's numbers from past alarms.")(learn)
app.command(no_args_is_help=True, short_help="Calibrate a world's model from runs of its own.")(fit)
app.add_typer(session, name="session", short_help="Read the journal of a robot's recoveries.")
app.command(no_args_is_help=True, short_help="Write a problem file to begin with.")(new)
app.command(no_args_is_help=True, short_help="Check problem files for faults.")(validate)
app.command(no_args_is_help=True, short_help="Say what looks odd in sound files, and what it costs.")(lint)
app.command(short_help="Print the JSON Schema of problem files, or of sessions.")(schema)
app.command(no_args_is_help=True, short_help="Print the recovery graph for drawing.")(graph)
app.command(no_args_is_help=True, short_help="Write the problem for other people's solvers.")(export)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"aquamend {version('aquamend')}")
        raise typer.Exit


@app.callback()
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
    try:
        app(prog_name="aquamend")
    except OSError as error:
        raise SystemExit(f"aquamend: the output could not be written: {error}") from None
