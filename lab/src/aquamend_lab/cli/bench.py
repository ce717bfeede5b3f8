"""``aquamend bench``: run a suite, or list the suites there are."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aquamend.cli.options import INTERRUPTED
from aquamend.cli.output import Refusals, print_text, progress_bar
from aquamend.errors import AquaMendError

if TYPE_CHECKING:
    from rich.console import Console

    from aquamend_lab.records import Run

Suite = Annotated[
    str,
    typer.Argument(
        metavar="SUITE",
        help="A suite by name, `module:Suite` for one of your own, a folder of problem files, or `list` to see ours.",
        show_default=False,
    ),
]
Policies = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Who takes part, by name; `module:Class` takes a policy of your own, `module:Class(floor=0.2)` with "
        "settings. Default: the suite's own list.",
        show_default=False,
    ),
]
Scenarios = Annotated[
    int | None, typer.Option(min=1, help="Scenarios a seed. Default: all of the suite's.", show_default=False)
]
Seeds = Annotated[
    int | None, typer.Option(min=1, help="Seeds 0 to N-1. Default: the suite's number.", show_default=False)
]
Jobs = Annotated[int, typer.Option(min=-1, help="Processes to use; -1 for one on each core.")]
Out = Annotated[
    str | None, typer.Option(metavar="DIR", help="Folder for the records. Default: runs/SUITE.", show_default=False)
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Continue the run in the folder, or extend it by what is asked.")
]
Compress = Annotated[bool, typer.Option("--compress", help="Keep the records gzipped.")]
Cluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Let a Dask cluster do the work instead.", show_default=False)
]


def bench(
    suite: Suite,
    *,
    policies: Policies = None,
    scenarios: Scenarios = None,
    seeds: Seeds = None,
    jobs: Jobs = -1,
    out: Out = None,
    resume: Resume = False,
    compress: Compress = False,
    cluster: Cluster = None,
) -> None:
    """Let policies meet the same scenarios, and keep one record for each.

    An interrupted or killed run loses only what was in the making: with --resume it goes on from there. What the
    folder was asked to hold stays asked for; --resume with more seeds, scenarios or policies adds to it.
    """
    if suite == "list":
        print_text(_print_suites)
        return
    from aquamend.policies.registry import names_in
    from aquamend_lab.benchmarks.catalogue import suite_named
    from aquamend_lab.benchmarks.runner import Wanted, run_suite

    refusals = Refusals()
    names = None if policies is None else tuple(dict.fromkeys(names_in(policies)))
    try:
        if jobs == 0:
            raise AquaMendError("--jobs is 0; give at least 1 process, or -1 for one on each core")
        name = suite_named(suite).name
        with progress_bar(name) as progress:
            run = run_suite(
                suite,
                Path("runs") / name if out is None else out,
                asked=Wanted(names, scenarios, seeds),
                jobs=jobs,
                cluster=cluster,
                resume=resume,
                compress=compress,
                progress=progress,
            )
    except KeyboardInterrupt:
        again = _continuation(suite, out, compress=compress, cluster=cluster)
        typer.echo(f"interrupted; what is finished is kept. Go on with: {again}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except AquaMendError as error:
        refusals.about("aquamend bench", error)
        refusals.exit()
    else:
        print_text(lambda console: _print_done(console, run))


def _continuation(suite: str, out: str | None, *, compress: bool, cluster: str | None) -> str:
    """Return the command that goes on from here; what was asked for is in the folder."""
    words = ["aquamend", "bench", suite, "--resume"]
    words += ["--out", out] if out is not None else []
    words += ["--compress"] if compress else []
    words += ["--cluster", cluster] if cluster is not None else []
    return shlex.join(words)


def _print_suites(console: Console) -> None:
    from rich.padding import Padding

    from aquamend_lab.benchmarks.catalogue import SUITES

    for suite in SUITES.values():
        size = f"{suite.seeds:,} seeds × {suite.scenarios:,} scenarios; {', '.join(suite.policies)}"
        console.print(suite.name, style="bold")
        console.print(Padding(suite.description, (0, 0, 0, 2)))
        console.print(Padding(size, (0, 0, 1, 2), style="dim"))


def _print_done(console: Console, run: Run) -> None:
    failures = sum(record.get("error") is not None for record in run.records)
    from aquamend_lab.analysis.table import narrowed

    console.print(f"{len(run.records):,} record{'s' if len(run.records) != 1 else ''} in {run.folder}", soft_wrap=True)
    if left_out := narrowed(run):
        console.print(left_out, style="yellow")
    if failures:
        console.print(f"{failures:,} of them say that a policy refused or failed, and why", style="yellow")
    console.print(f"Read them with: aquamend report {shlex.quote(str(run.folder))}", style="dim", soft_wrap=True)
