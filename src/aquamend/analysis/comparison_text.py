"""Comparisons as a person reads them in a terminal: the verdict first, then the numbers, then where they come from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from aquamend.analysis.comparison import Comparison, Driver
from aquamend.analysis.comparison_words import detectable, left_out, p_text, verdict
from aquamend.analysis.groups import group_name
from aquamend.analysis.metrics import COMPARABLE
from aquamend.text.layout import FAINT, HEADING, Side, grid_of
from aquamend.text.words import column, percent, quantity, shown


def print_comparisons(found: Sequence[Comparison], console: Console, *, family: int) -> None:
    """Print the comparisons of two sides, all groups together first; ``family`` is how many are shown in all."""
    whole = found[0]
    where = ", ".join(dict.fromkeys(shown(run) for run in whole.runs))
    console.print(Text(f"{shown(whole.first)} against {shown(whole.second)}", style=HEADING))
    console.print(Text(f"{COMPARABLE[whole.metric].of_one} · suite {shown(whole.suite)} · {where}", style=FAINT))
    console.print()
    console.print(_verdict(whole))
    console.print()
    console.print(_indented(_numbers(found)))
    console.print(Text(_legend(found, family), style=FAINT))
    if whole.drivers:
        console.print()
        console.print(Text(_drivers_title(whole), style=HEADING))
        console.print(_indented(_drivers(whole)))
    if any(driver.first_steps or driver.second_steps for driver in whole.drivers):
        console.print()
        console.print(_indented(_steps(whole)))
    console.print()


def _indented(content: Table) -> Padding:
    return Padding(content, (0, 0, 0, 2))


def _verdict(whole: Comparison) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_row("▶", Text(verdict(whole), style=HEADING))
    for note in (left_out(whole), detectable(whole)):
        if note:
            grid.add_row("", Text(note))
    return grid


def _numbers(found: Sequence[Comparison]) -> Table:
    grid = grid_of(
        ("group", "left"), ("pairs", "right"), ("wins", "right"), ("ties", "right"), ("losses", "right"),
        ("mean difference", "right"), ("95 % interval", "left"), ("p", "left"), flexible=(0, 5, 6),
    )  # fmt: skip
    for one, mean in zip(found, _signed_column(one.mean_difference for one in found), strict=True):
        grid.add_row(
            group_name(one.group), f"{one.pairs:,}", f"{one.wins:,}", f"{one.ties:,}", f"{one.losses:,}", mean,
            "–" if one.interval is None else " to ".join(_signed(end) for end in one.interval), p_text(one.p_holm),
        )  # fmt: skip
    return grid


def _legend(found: Sequence[Comparison], family: int) -> str:
    first, second = shown(found[0].first), shown(found[0].second)
    repeated = found[0].repeated
    adjusted = f", adjusted by Holm's method for the {family} comparisons shown" if family > 1 else ""
    return (
        f"Differences are {first} − {second}: negative favours {first}, which wins where it has less. "
        "Ties are to nine decimals. The interval is a paired bootstrap of the mean difference; "
        f"p is the exact two-sided signed-rank test{adjusted}."
        + (" Groups repeat the same scenarios: taken together, their pairs are not independent." if repeated else "")
    )


def _drivers_title(whole: Comparison) -> str:
    known = [driver.share for driver in whole.drivers if driver.share is not None]
    share = f", {percent(min(1.0, math.fsum(known)))} of all difference" if known else ""
    return f"Where the difference comes from: {len(whole.drivers):,} of {whole.wins + whole.losses:,} scenarios{share}"


def _drivers(whole: Comparison) -> Table:
    drivers = whole.drivers
    grouped: list[tuple[str, Side]] = [("group", "left")] if whole.group is None else []
    named: list[tuple[str, Side]] = [(shown(whole.first), "right"), (shown(whole.second), "right")]
    grid = grid_of(
        *grouped, ("scenario", "right"), ("seed", "right"), *named, ("difference", "right"), ("share", "right"),
        flexible=(len(grouped) + 2, len(grouped) + 3),
    )  # fmt: skip
    ours, theirs = column(driver.first for driver in drivers), column(driver.second for driver in drivers)
    apart = _signed_column(driver.difference for driver in drivers)
    for driver, *numbers in zip(drivers, ours, theirs, apart, strict=True):
        group = [group_name(driver.group)] if grouped else []
        share = "–" if driver.share is None else percent(driver.share)
        grid.add_row(*group, str(driver.scenario), str(driver.seed), *numbers, share)
    return grid


def _steps(whole: Comparison) -> Table:
    grid = grid_of(("scenario", "right"), ("seed", "right"), ("", "left"), ("what was done", "left"), flexible=(2, 3))
    for driver in whole.drivers:
        for name, steps in _told(driver, whole):
            grid.add_row(str(driver.scenario), str(driver.seed), name, " → ".join(map(shown, steps)))
    return grid


def _told(driver: Driver, whole: Comparison) -> list[tuple[str, tuple[str, ...]]]:
    if driver.first_steps == driver.second_steps:
        return [("both", driver.first_steps)]
    return [(shown(whole.first), driver.first_steps), (shown(whole.second), driver.second_steps)]


def _signed(value: float) -> str:
    if value == 0.0:
        return "0"
    size = "inf" if math.isinf(value) else quantity(abs(value))
    return f"{'+' if value > 0.0 else '−'}{size}"


def _signed_column(values: Iterable[float | None]) -> list[str]:
    numbers = list(values)
    sizes = column(None if number is None else abs(number) for number in numbers)
    return [
        size if number is None or number == 0.0 else f"{'+' if number > 0.0 else '−'}{size}"
        for number, size in zip(numbers, sizes, strict=True)
    ]
