"""``aquamend compare``: two policies of a run, or two runs, scenario by scenario."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from aquamend.cli.options import AsJson
from aquamend.cli.output import Refusals, print_json, print_text
from aquamend.errors import AquaMendError, UnknownName
from aquamend_lab.analysis.comparison import Comparison, Side, adjusted, side
from aquamend_lab.analysis.comparison import compare as compared
from aquamend_lab.analysis.comparison_text import as_data, print_comparisons
from aquamend_lab.analysis.metrics import COMPARABLE
from aquamend_lab.analysis.table import require_same_scenarios, table_of
from aquamend_lab.records import load_run

RUNS = Path("runs")
"""Where runs are looked for when none is named."""


class _Unclear(AquaMendError):
    """The arguments do not say what to compare."""


def compare(
    first: Annotated[
        str,
        typer.Argument(
            metavar="A", help="A policy, the folder of a run, or RUN:POLICY for one policy of it.", show_default=False
        ),
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="What to compare it with, of the same kind.")],
    *,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="DIR",
            help="The run that holds both policies; may be left out if there is just one in runs/.",
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy", metavar="NAME", help="With two runs: compare this policy only, not all they share.",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            help="Compare what recovering cost (loss), what it was expected to cost (expected-risk), one part of it "
            "(sensing, rollback, continuation, residual), all but one (loss-without-continuation, …), decision time "
            "(decision-ms), or how far estimates err (error).",
        ),
    ] = "loss",
    drivers: Annotated[
        int, typer.Option("--drivers", metavar="N", min=0, help="Scenarios to show that the difference comes from.")
    ] = 5,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Compare two policies, or two runs, on the scenarios that both met; with RUN:POLICY, policies of two runs.

    Says who loses less and by how much, with a bootstrap interval, an exact signed-rank test and the scenarios that
    the difference comes from. Differences are A minus B: negative favours A.
    """
    refusals = Refusals()
    found: list[list[Comparison]] = []
    try:
        sides = _sides(first, second, run=run, policy=policy)
        found = _compared(sides, _column(metric), drivers=drivers)
    except AquaMendError as error:
        refusals.about("aquamend compare", error)
    refusals.exit()
    _print(found, as_json=as_json)


def _column(metric: str) -> str:
    """Return the column that an option names, in words joined by hyphens."""
    names = {name.replace("_", "-"): name for name in COMPARABLE}
    if metric not in names:
        raise UnknownName("metric", metric, names)
    return names[metric]


def _sides(first: str, second: str, *, run: str | None, policy: str | None) -> list[tuple[Side, Side]]:
    chosen = [_of_a_run(name) for name in (first, second)]
    if any(chosen):
        return _chosen(chosen, (first, second), run=run, policy=policy)
    folders = [name for name in (first, second) if _is_folder(name)]
    if len(folders) == 1:
        other = second if folders[0] == first else first
        raise _Unclear(
            f"{folders[0]!r} is a folder but {other!r} is not; give two policies, or the folders of two runs"
        )
    if folders:
        if run is not None:
            raise _Unclear(f"--run {run} says where two policies are, but two runs are given; leave it out")
        return _common(first, second, policy)
    if policy is not None:
        raise _Unclear(
            f"--policy {policy} goes with two runs, but {first!r} and {second!r} are no folders; leave it out"
        )
    loaded = table_of(load_run(run if run is not None else _only_run()))
    return [(side(loaded, first), side(loaded, second))]


def _of_a_run(name: str) -> tuple[str, str] | None:
    """Return folder and policy where both are named, ``RUN:POLICY``; a policy's own name may have colons too."""
    for at in (place for place, letter in enumerate(name) if letter == ":" and 0 < place < len(name) - 1):
        if (Path(name[:at]) / "manifest.json").is_file():
            return name[:at], name[at + 1 :]
    folder, _, policy = name.partition(":")
    return (folder, policy) if policy and "/" in folder else None


def _chosen(
    chosen: list[tuple[str, str] | None], names: tuple[str, str], *, run: str | None, policy: str | None
) -> list[tuple[Side, Side]]:
    """Return one policy of each of two runs, which may be the same."""
    for option, wanted in (("--run", run), ("--policy", policy)):
        if wanted is not None:
            raise _Unclear(f"{option} {wanted} is said already by RUN:POLICY; leave it out")
    if None in chosen:
        other = names[chosen.index(None)]
        raise _Unclear(f"{other!r} does not say of which run; give RUN:POLICY for both")
    (ours, first), (theirs, second) = (found for found in chosen if found is not None)
    tables = {folder: table_of(load_run(folder)) for folder in dict.fromkeys((ours, theirs))}
    labels = (first, second) if first != second else (f"{first} in {ours}", f"{second} in {theirs}")
    return [(side(tables[ours], first, name=labels[0]), side(tables[theirs], second, name=labels[1]))]


def _is_folder(name: str) -> bool:
    """Return whether a run's folder is meant, sound or not: no policy has a separator in its name, but in arguments."""
    return (Path(name) / "manifest.json").is_file() or ("(" not in name and ("/" in name or "\\" in name))


def _only_run() -> Path:
    found = sorted(path.parent for path in RUNS.glob("*/manifest.json"))
    if len(found) == 1:
        return found[0]
    listed = f"there are {len(found)}: {', '.join(map(str, found[:10]))}" if found else "there is none"
    raise _Unclear(f"which run? in {RUNS}/ {listed}; name one with --run DIR")


def _common(first: str, second: str, policy: str | None) -> list[tuple[Side, Side]]:
    """Return the policies that two runs share, each with the other run's."""
    ours, theirs = table_of(load_run(first)), table_of(load_run(second))
    require_same_scenarios(ours.run, theirs.run)
    shared = [name for name in ours.policies if name in theirs.policies]
    if policy is None and not shared:
        raise _Unclear(f"{first} and {second} have no policy in common; give runs that share one")
    return [
        (side(ours, name, name=f"{name} in {first}"), side(theirs, name, name=f"{name} in {second}"))
        for name in ([policy] if policy is not None else shared)
    ]


def _compared(sides: list[tuple[Side, Side]], metric: str, *, drivers: int) -> list[list[Comparison]]:
    found = [compared(first, second, metric=metric, drivers=drivers) for first, second in sides]
    if not any(one.pairs for several in found for one in several):
        raise _Unclear(_nothing(sides, metric))
    together = iter(adjusted([one for several in found for one in several]))
    return [[next(together) for _ in several] for several in found]


def _nothing(sides: list[tuple[Side, Side]], metric: str) -> str:
    """Return why nothing could be compared: say so where estimators and not policies were run."""
    estimators = any(first.table.has("estimate") for first, _ in sides)
    option = metric.replace("_", "-")
    if estimators and metric != "error":
        return f"{sides[0][0].folder} compares estimators, which have no {option}; give --metric error"
    return f"no scenario has a number for --metric {option} on both sides; choose another --metric, or other runs"


def _print(found: list[list[Comparison]], *, as_json: bool) -> None:
    family = sum(map(len, found))
    for several in found:
        if as_json:
            for one in several:
                print_json(as_data(one))
        else:
            print_text(partial(print_comparisons, several, family=family))
