"""``aquamend alarm``: a monitor's score, with its history, as an alarm of a problem."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aquamend.cli.command import Command
from aquamend.cli.inputs import template_in
from aquamend.cli.options import AsJson
from aquamend.cli.output import print_json, print_text, refusing, write_text
from aquamend.errors import AquaMendError, meant

if TYPE_CHECKING:
    from rich.console import Console

    from aquamend.learning.thresholds import ScoreAlarm, ScoreMethod, Threshold

COMMANDS = {"alarm": Command("aquamend.cli.alarm:alarm", "Make an alarm of a monitor's score, at the best threshold.")}

HERE = "aquamend alarm"
MOST_ROWS = 12


def alarm(
    records: Annotated[
        Path,
        typer.Argument(metavar="RECORDS", help="What the score was, and what was found: .csv, .jsonl or .parquet."),
    ],
    *,
    problem: Annotated[str, typer.Option("--problem", metavar="FILE", help="The problem that is to get the alarm.")],
    score: Annotated[str, typer.Option(metavar="COLUMN", help="The column of the score.")],
    name: Annotated[
        str, typer.Option(metavar="ALARM", help="Which of several alarms, or a new one.", show_default=False)
    ] = "",
    method: Annotated[
        str, typer.Option(metavar="METHOD", help="How likelihoods follow: isotonic, logistic or conformal.")
    ] = "isotonic",
    below: Annotated[bool, typer.Option("--below", help="It rings where the score is low, not high.")] = False,
    threshold: Annotated[
        float | None, typer.Option(metavar="T", help="Ring here; where the loss is least unless given.")
    ] = None,
    false_alarms: Annotated[
        float | None, typer.Option(metavar="P", help="Ring at most so often where nothing is wrong.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write the problem with the alarm.", show_default=False)
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="PAGE", help="Where to write a page that shows what each threshold is worth."),
    ] = None,
    skip_faulty: Annotated[
        bool,
        typer.Option("--skip-faulty", help="Leave out faulty rows and answers, and say which; else all is refused."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make an alarm of a monitor's score, at the threshold of least expected loss.

    Records say what the score was and what was found, also at times when nothing was wrong (alarm: false). How likely
    the score reaches a threshold is learned for each rule of the alarm, with intervals, and checked on a quarter of the
    records, which is held back. The loss is that of one occasion, by the problem's priors: of the recoveries that the
    alarm calls for, and of what goes wrong where it is silent.
    """
    with refusing(problem):
        template = template_in(problem)
    with refusing(HERE):
        found = _made(records, template, score, name, _method(method), below, threshold, false_alarms, skip_faulty)
        unit = str(found.data.get("unit", ""))
        if out is not None:
            _write(out, found, records, unit)
        if html is not None:
            _write_page(html, found, unit, str(found.data.get("name", "")))
        if as_json:
            print_json(_as_data(found))
        else:
            print_text(lambda console: _print(console, found, unit, [path for path in (out, html) if path]))


def _method(said: str) -> ScoreMethod:
    from aquamend.learning.thresholds import ScoreMethod

    if said in tuple(ScoreMethod):
        return ScoreMethod(said)
    near = meant(said, tuple(ScoreMethod))
    hint = f"did you mean {near}? " if near else ""
    raise AquaMendError(f"--method {said!r} is none; {hint}use one of {', '.join(ScoreMethod)}")


def _made(
    records: Path,
    template: Mapping[str, Any],
    score: str,
    name: str,
    method: ScoreMethod,
    below: bool,
    threshold: float | None,
    false_alarms: float | None,
    skip_faulty: bool,
) -> ScoreAlarm:
    from aquamend.learning import read_records
    from aquamend.learning.thresholds import alarm_from_scores

    labelled = read_records(records, skip_faulty=True)
    return alarm_from_scores(
        template, labelled.records, score, name=name, method=method, below=below, threshold=threshold,
        false_alarms=false_alarms, skip_faulty=skip_faulty, source=labelled.source, faults=labelled.faults,
    )  # fmt: skip


def _write(out: Path, found: ScoreAlarm, records: Path, unit: str) -> None:
    import yaml

    from aquamend import __version__
    from aquamend.files import read_problem

    which = f"The alarm {found.name!r}" if found.name else "The alarm"
    head = [f"{which} was made by aquamend {__version__} from {found.used} scores in {records.name} ({found.method})."]
    head += [f"It rings where {found.condition}." if math.isfinite(found.chosen.at) else f"It rings {found.condition}."]
    head += [f"  {said}" for said in _likelihoods(found)]
    text = "".join(f"# {line}\n" for line in head)
    text += yaml.safe_dump(found.data, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)
    read_problem(text, suffix=".yaml")
    write_text(out, text)


def _likelihoods(found: ScoreAlarm) -> list[str]:
    return [
        f"{rule}: {e.value:.4g} (95 %: {e.low:.3g} to {e.high:.3g}, {e.records} scores)"
        for rule, e in found.chosen.rings.items()
    ]


def _write_page(path: Path, found: ScoreAlarm, unit: str, problem: str) -> None:
    from aquamend.story.page import page

    text = page(
        "alarm.html",
        data=_as_data(found) | {"unit": unit},
        title=f"What a threshold of {found.score} is worth",
        found=found,
        ends={"always": _end(found, 1.0), "never": _end(found, 0.0)},
        likelihoods=_likelihoods(found),
        unit=unit,
        problem=problem,
    )
    write_text(path, text)


def _end(found: ScoreAlarm, chance: float) -> Threshold:
    """Return the alarm that always rings, or never."""
    return next(one for one in found.thresholds if math.isinf(one.at) and (one.chance > 0.0) == (chance > 0.0))


def _as_data(found: ScoreAlarm) -> dict[str, Any]:
    from aquamend.codec import json_number

    def plain(one: Threshold) -> dict[str, Any]:
        numbers = {key: json_number(getattr(one, key)) for key in ("at", "false_alarms", "missed", "chance", "loss")}
        rings = {
            rule: {"value": e.value, "low": e.low, "high": e.high, "records": e.records}
            for rule, e in one.rings.items()
        }
        return {**numbers, "rings": rings}

    return {
        "alarm": found.name,
        "score": found.score,
        "below": found.below,
        "method": found.method.value,
        "condition": found.condition,
        "chosen": plain(found.chosen),
        "thresholds": [plain(one) for one in found.thresholds],
        "held_back": None if found.checked is None else {k: json_number(v) for k, v in asdict(found.checked).items()},
        "used": found.used,
        "said": list(found.said),
    }


def _print(console: Console, found: ScoreAlarm, unit: str, written: list[Path]) -> None:
    from aquamend.text import Heading, grid_of, percent, quantity

    where = f"where {found.condition}" if math.isfinite(found.chosen.at) else found.condition
    console.print(f"▶ Ring {where}: {quantity(found.chosen.loss, unit)} an occasion", style="bold")
    for said in _likelihoods(found):
        console.print(f"  {said}")
    console.print(f"\nWhat each threshold is worth, by {found.used} scores ({found.method})", style="bold")
    rows = [one for one in found.thresholds if one.at != found.chosen.at]
    rows = [*rows[:: max(1, -(-len(rows) // MOST_ROWS))], found.chosen]
    for end in (_end(found, 1.0), _end(found, 0.0)):
        rows += [end] if end not in rows and end.at != found.chosen.at else []
    lines = []
    for one in sorted(rows, key=lambda one: -one.chance):
        at = f"{one.at:.4g}" if math.isfinite(one.at) else "always" if one.chance > 0 else "never"
        lines.append(("▶" if one is found.chosen else "", at, one.false_alarms, one.missed, one.loss))
    rates = (Heading(title, "right", percent) for title in ("false alarms", "missed"))
    loss = Heading("loss", "right", partial(quantity, unit=unit))
    console.print(grid_of(Heading(""), Heading("threshold", "right"), *rates, loss, rows=lines))
    if found.checked is None:
        console.print("Too few scores to hold any back.")
    else:
        console.print(f"On {found.checked.records} scores held back:", style="bold")
        if found.checked.brier is not None and found.checked.ece is not None:
            console.print(
                f"  Brier {found.checked.brier:.3f}, ECE {found.checked.ece:.3f}, of whether anything is wrong"
            )
        console.print(f"  likelihoods within their intervals: {percent(found.checked.covered)}")
        console.print(f"  loss there: {quantity(found.checked.loss, unit)} an occasion")
    for said in found.said:
        console.print(f"{said[0].upper()}{said[1:]}.")
    for path in written:
        console.print(f"Written: {path}")
