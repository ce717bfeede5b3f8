"""``aquamend fit``: calibrate a world's public model from runs of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aquamend.cli.options import INTERRUPTED
from aquamend.cli.output import Refusals, check_writable, print_text, progress_bar
from aquamend.errors import AquaMendError, UnknownName

if TYPE_CHECKING:
    from rich.console import Console

    from aquamend_lab.pouring.model.fitted import Fitted

WORLDS = ("pouring",)

World = Annotated[str, typer.Argument(metavar="WORLD", help="Which world to calibrate: pouring.", show_default=False)]
Out = Annotated[Path, typer.Option(metavar="FILE", help="Where to write the model.")]
Records = Annotated[
    Path, typer.Option(metavar="FILE", help="Where the calibration records are kept; those in it are not run again.")
]
Runs = Annotated[int | None, typer.Option(min=1, help="Calibration runs. Default: all.", show_default=False)]
Jobs = Annotated[int, typer.Option(min=-1, help="Processes to use; -1 for one on each core.")]


def fit(
    world: World,
    *,
    out: Out = Path("runs/pouring-model.json"),
    records: Records = Path("runs/pouring-calibration.jsonl"),
    runs: Runs = None,
    jobs: Jobs = -1,
) -> None:
    """Run calibration scenes, fit readings, alarms and durations to three in four of them, and freeze the model.

    The rest are held back, and what is printed at the end is how the model fares on those. Calibration has seeds that
    no benchmark uses. Interrupted, the same command goes on where it was.
    """
    refusals = Refusals()
    try:
        if world not in WORLDS:
            raise UnknownName("world to calibrate", world, WORLDS)
        if jobs == 0:
            raise AquaMendError("--jobs is 0; give at least 1 process, or -1 for one on each core")
        check_writable(out, out.parent)
        fitted = _fit_pouring(out, records, runs, jobs)
    except KeyboardInterrupt:
        typer.echo("interrupted; what is finished is kept. Go on with the same command.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except AquaMendError as error:
        refusals.about("aquamend fit", error)
        refusals.exit()
    else:
        print_text(lambda console: _print_fitted(console, fitted, out))


def _fit_pouring(out: Path, records: Path, runs: int | None, jobs: int) -> Fitted:
    from aquamend_lab.pouring.calibration_run import RUNS, campaign
    from aquamend_lab.pouring.model.fitted import save_fitted
    from aquamend_lab.pouring.robot_fit import fit as fit_records

    try:
        with progress_bar("calibrating") as progress:
            found = campaign(records, runs=runs or RUNS, jobs=jobs, progress=progress)
        fitted = fit_records(found)
        save_fitted(fitted, out)
    except OSError as error:
        problem = f"{out} or {records} cannot be written ({error.strerror})"
        raise AquaMendError(f"{problem}; name other files with --out and --records") from None
    return fitted


def _print_fitted(console: Console, fitted: Fitted, out: Path) -> None:
    from rich.table import Table

    from aquamend_lab.pouring.model.configurations import CONFIGURATIONS

    console.print(
        f"{len(CONFIGURATIONS)} configurations, fitted to {fitted.records} records in {len(fitted.groups)} groups; "
        f"{out} (hash {fitted.hash})",
        soft_wrap=True,
    )
    held: dict[str, Any] = dict(fitted.calibration)
    console.print(f"On the {held['records']} records held back:", style="bold")
    within = held["readings within"]
    console.print(
        f"  readings in their central 50 %: {within['50 %']:.0%}, 95 %: {within['95 %']:.0%}; "
        f"contradictions: {held['contradicted']}"
    )
    for time, share in held["probability of what was so"].items():
        console.print(f"  probability of what was really so, {time}: {share:.2f} on average")
    for time, kinds in held["declarations"].items():
        table = Table(
            title=f"How likely declarations are invalid, {time}", title_justify="left", box=None, padding=(0, 2)
        )
        for column in ("declaration", "queries", "invalid", "predicted", "Brier", "ECE"):
            table.add_column(column, justify="left" if column == "declaration" else "right")
        for kind, s in kinds.items():
            shown = [f"{s[key]:.3f}" for key in ("invalid", "predicted", "brier", "ece")]
            table.add_row(kind, str(s["queries"]), *shown)
        console.print(table)
