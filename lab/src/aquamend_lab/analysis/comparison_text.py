"""A comparison in words, and on a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, assert_never

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from aquamend.codec import json_number
from aquamend.text import FAINT, HEADING, Heading, column, grid_of, percent, quantity, shown
from aquamend_lab.analysis.comparison import Comparison, ComparisonVerdict, Conclusion, Driver, mean_side, verdict_of
from aquamend_lab.analysis.metrics import COMPARABLE
from aquamend_lab.analysis.table import group_name

SMALLEST_P = 1e-4


def as_data(found: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data for JSON: unavailable is null, infinity is "inf", an interval is a pair."""
    data: dict[str, Any] = _plain(asdict(found))
    policies, runs, drivers = (data.pop(name) for name in ("policies", "runs", "drivers"))
    for place, name in enumerate(("first", "second")):
        data[name] = {"policy": policies[place], "run": runs[place]}
    return data | {"finding": verdict_of(found).finding.name.lower(), "verdict": verdict(found), "drivers": drivers}


def verdict(found: Comparison) -> str:
    """Return what was found in a sentence or three, with the numbers that it rests on."""
    reached = verdict_of(found)
    if reached.finding is Conclusion.NO_PAIRS:
        return "No scenario could be compared."
    if found.exact and reached.finding is Conclusion.TIE:
        return "Exactly the same."
    if reached.finding is Conclusion.EXACT:
        return f"{_difference(found, reached).removesuffix(' on average')}, exactly."
    if reached.finding is Conclusion.TIE:
        return f"A tie: all {found.pairs:,} differences are zero." if found.pairs > 1 else "A tie: no difference."
    ties = f"{found.ties:,} of {found.pairs:,} scenarios {'ties' if found.ties == 1 else 'tie'}"
    return f"{_difference(found, reached)}; {ties}. {_established(found, reached)}".rstrip()


def _difference(found: Comparison, reached: ComparisonVerdict) -> str:
    metric, first, second = COMPARABLE[found.metric].of_one, shown(found.first), shown(found.second)
    if reached.finding is Conclusion.BOTH_INFINITE:
        return f"{first} and {second} each have infinite {metric} where the other has not"
    side = mean_side(found)
    if side is None:
        return f"{first} and {second} have the same {metric} on average"
    better, worse = (first, second) if side == "first" else (second, first)
    if reached.finding is Conclusion.INFINITE:
        return f"{worse} has infinite {metric} where {better} has not"
    size = quantity(abs(found.mean_difference or 0.0), found.unit if COMPARABLE[found.metric].priced else "")
    return f"{better} {f'loses {size} less' if found.metric == 'loss' else f'has {size} less {metric}'} on average"


def _established(found: Comparison, reached: ComparisonVerdict) -> str:
    tested = _tested(found)
    match reached.finding:
        case Conclusion.CLEAR:
            return f"The difference is statistically significant ({tested})."
        case Conclusion.MEAN_ONLY:
            return (
                "The interval of that average leaves zero out, but scenario by scenario no difference is established "
                f"({tested})."
            )
        case Conclusion.RANKS_ONLY:
            joined = "Scenario by scenario" if mean_side(found) == reached.better else "But scenario by scenario"
            return f"{joined} {_ranks(found, tested)}; the interval of the average includes zero."
        case Conclusion.OPPOSED:
            return f"But scenario by scenario {_ranks(found, tested)}."
        case Conclusion.OPEN:
            return f"That may be chance ({tested}): no difference is established."
        case Conclusion.NO_PAIRS | Conclusion.TIE | Conclusion.EXACT | Conclusion.INFINITE | Conclusion.BOTH_INFINITE:
            return ""
        case _:
            assert_never(reached.finding)


def _ranks(found: Comparison, tested: str) -> str:
    """Return whom the ranks favour, and that it has less more often where it does: ranks weigh, they do not count."""
    positive, negative = found.rank_sums or (0.0, 0.0)
    first_favoured = negative > positive
    name = shown(found.first if first_favoured else found.second)
    less, more = (found.wins, found.losses) if first_favoured else (found.losses, found.wins)
    often = f"{name} has less on {less:,} and more on {more:,}, and " if less > more else ""
    return f"{often}the ranks favour {'it' if often else name} ({tested})"


def _tested(found: Comparison) -> str:
    corrected = " after Holm's correction" if found.p_holm != found.p_value else ""
    text = p_text(found.p_holm)
    return f"exact p {text if text.startswith('<') else f'= {text}'}{corrected}"


def p_text(p: float | None) -> str:
    """Return a p-value with four decimals; below one in ten thousand only that it is."""
    if p is None or math.isnan(p):
        return "–"
    return "< 0.0001" if p < SMALLEST_P else f"{p:.4f}"


def detectable(found: Comparison) -> str:
    """Return how large a difference would have been seen; nothing where there is no spread to tell by."""
    if not found.detectable:
        return ""
    size = quantity(found.detectable, found.unit if COMPARABLE[found.metric].priced else "")
    return f"Pairs as scattered as these show a true mean difference of {size} four times in five."


def left_out(found: Comparison) -> str:
    """Return how many scenarios could not be paired and why; nothing if all could."""
    if not found.unpaired:
        return ""
    refusals = [
        f"{shown(name)} refused or failed on {errors:,}"
        for name, errors in ((found.first, found.first_errors), (found.second, found.second_errors))
        if errors
    ]
    why = f" ({'; '.join(refusals)})" if refusals else ""
    total = found.pairs + found.unpaired
    return f"{found.unpaired:,} of {total:,} scenarios lack one of the two numbers{why} and are left out."


def _plain(value: Any) -> Any:
    """Return tuples as lists, with numbers that JSON has."""
    match value:
        case float():
            return json_number(value)
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value


def print_comparisons(found: Sequence[Comparison], console: Console, *, family: int) -> None:
    """Print the comparisons of two sides, all groups together first; ``family`` is how many are shown in all."""
    first = found[0]
    where = ", ".join(dict.fromkeys(shown(run) for run in first.runs))
    console.print(Text(f"{shown(first.first)} against {shown(first.second)}", style=HEADING))
    metric = COMPARABLE[first.metric].of_one_in(_one_unit(found))
    console.print(Text(f"{metric} · suite {shown(first.suite)} · {where}", style=FAINT))
    console.print()
    for one in [first] if _has_whole(found) else found:
        console.print(_verdict(one, named=not _has_whole(found)))
    console.print()
    console.print(_indented(_numbers(found)))
    console.print(Text(_legend(found, family), style=FAINT))
    if _has_whole(found):
        _print_drivers(first, console)
    console.print()


def _has_whole(found: Sequence[Comparison]) -> bool:
    """Whether the first comparison is of all scenarios; groups that may not be taken together have none."""
    return len(found) == 1 or found[0].group is None


def _one_unit(found: Sequence[Comparison]) -> str:
    """Return the unit of all the comparisons; empty where they have several, or none."""
    units = {one.unit for one in found}
    return units.pop() if len(units) == 1 else ""


def _print_drivers(whole: Comparison, console: Console) -> None:
    if whole.drivers:
        console.print()
        console.print(Text(_drivers_title(whole), style=HEADING))
        console.print(_indented(_drivers(whole)))
    if any(driver.first_steps or driver.second_steps for driver in whole.drivers):
        console.print()
        console.print(_indented(_steps(whole)))


def _indented(content: Table) -> Padding:
    return Padding(content, (0, 0, 0, 2))


def _verdict(whole: Comparison, *, named: bool) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    head = f"{group_name(whole.group)}: " if named else ""
    grid.add_row("▶", Text(head + verdict(whole), style=HEADING))
    for note in (left_out(whole), detectable(whole)):
        if note:
            grid.add_row("", Text(note))
    return grid


def _numbers(found: Sequence[Comparison]) -> Table:
    several, rows = not _one_unit(found), []
    for one, mean in zip(found, _signed_column(one.mean_difference for one in found), strict=True):
        unit = f" ({shown(one.unit)})" if several and one.unit and COMPARABLE[one.metric].priced else ""
        interval = "–" if one.interval is None else " to ".join(_signed(end) for end in one.interval)
        counts = (f"{count:,}" for count in (one.pairs, one.wins, one.ties, one.losses))
        rows.append((group_name(one.group) + unit, *counts, mean, interval, p_text(one.p_holm)))
    numbers = (Heading(title, "right") for title in ("pairs", "wins", "ties", "losses", "mean difference"))
    return grid_of(
        Heading("group"), *numbers, Heading("95 % interval"), Heading("p"), rows=rows, flexible=(0, 5, 6)
    )  # fmt: skip


def _legend(found: Sequence[Comparison], family: int) -> str:
    first, second = shown(found[0].first), shown(found[0].second)
    adjusted = f", adjusted by Holm's method for the {family} comparisons shown" if family > 1 else ""
    return (
        f"Differences are {first} − {second}: negative favours {first}, which wins where it has less. "
        "Ties are to nine decimals. The interval is a paired bootstrap of the mean difference; "
        f"p is the exact two-sided signed-rank test{adjusted}."
        + (
            ""
            if _has_whole(found)
            else " These groups are not taken together: they differ in more than what was drawn."
        )
    )


def _drivers_title(whole: Comparison) -> str:
    known = [driver.share for driver in whole.drivers if driver.share is not None]
    share = f", {percent(min(1.0, math.fsum(known)))} of all difference" if known else ""
    return f"Where the difference comes from: {len(whole.drivers):,} of {whole.wins + whole.losses:,} scenarios{share}"


def _drivers(whole: Comparison) -> Table:
    drivers = whole.drivers
    grouped, rows = [Heading("group")] if whole.group is None else [], []
    titles = ("scenario", "seed", shown(whole.first), shown(whole.second), "difference", "share")
    ours, theirs = column([driver.first for driver in drivers]), column([driver.second for driver in drivers])
    apart = _signed_column([driver.difference for driver in drivers])
    for driver, *numbers in zip(drivers, ours, theirs, apart, strict=True):
        group = [group_name(driver.group)] if grouped else []
        share = "–" if driver.share is None else percent(driver.share)
        rows.append((*group, str(driver.scenario), str(driver.seed), *numbers, share))
    numeric = (Heading(title, "right") for title in titles)
    return grid_of(*grouped, *numeric, rows=rows, flexible=(len(grouped) + 2, len(grouped) + 3))


def _steps(whole: Comparison) -> Table:
    rows = [
        (str(driver.scenario), str(driver.seed), name, " → ".join(steps))
        for driver in whole.drivers
        for name, steps in _done(driver, whole)
    ]
    numbers = (Heading("scenario", "right"), Heading("seed", "right"))
    return grid_of(*numbers, Heading(""), Heading("what was done"), rows=rows, flexible=(2, 3))


def _done(driver: Driver, whole: Comparison) -> list[tuple[str, tuple[str, ...]]]:
    if driver.first_steps == driver.second_steps:
        return [("both", driver.first_steps)]
    return [(whole.first, driver.first_steps), (whole.second, driver.second_steps)]


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
