"""``aquamend learn`` and ``alarm``: a problem's numbers, or an alarm of a score, from records of past alarms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from aquamend.cli import Command
from aquamend.cli.options import AsJson, an_argument, an_option, template_in
from aquamend.cli.output import print_json, print_text, refusing, write_text
from aquamend.errors import AquaMendError, meant

if TYPE_CHECKING:
    from rich.console import Console

    from aquamend.learning import Calibration, Learned, Records, ScoreAlarm
    from aquamend.learning.thresholds import Threshold

Chosen = TypeVar("Chosen", bound=StrEnum)

COMMANDS = {
    "learn": Command("aquamend.cli.learn:learn", "Learn a problem's numbers from past alarms."),
    "alarm": Command("aquamend.cli.learn:alarm", "Make an alarm of a monitor's score, at the best threshold."),
}

MOST_WARNINGS = 12
MOST_ROWS = 12

SkipFaulty = Annotated[
    bool, typer.Option("--skip-faulty", help="Leave out faulty rows and answers, and say which; else all is refused.")
]


def learn(
    records: Annotated[Path | None, an_argument("RECORDS", "Past alarms: .csv, .jsonl or .parquet.")] = None,
    *,
    problem: Annotated[
        str, typer.Option("--problem", metavar="FILE", help="What there is, and what is thought so far.")
    ],
    out: Annotated[Path | None, an_option("FILE", "Where to write the learned problem.")] = None,
    journal: Annotated[Path | None, an_option("FILE", "Learn from a robot's journal instead.")] = None,
    labels: Annotated[
        Path | None, an_option("FILE", "With --journal: a CSV with the columns session and found.")
    ] = None,
    strength: Annotated[
        float, typer.Option(metavar="N", help="How many records the problem's own numbers are worth.")
    ] = 2.0,
    readings: Annotated[
        str,
        typer.Option(metavar="KIND", help="Learn numeric readings as-written, as gaussian, mixture, samples, or best."),
    ] = "as-written",
    skip_faulty: SkipFaulty = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="List every number before and after, what stayed, and what was assumed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Learn priors, rates, alarms, kernels, spreads and costs from labelled records of past alarms.

    Each number comes from a Bayesian posterior, in which the problem's own number counts as so many records. That
    records are of alarms alone is part of it. A quarter of the records is held back to check calibration, and what
    deciding so would have lost; the file is then learned from all of them. Warned of are numbers that rest on few
    records, readings that seem to be in several units, and records that change over time.
    """
    with refusing(problem):
        template = template_in(problem)
    with refusing("aquamend learn"):
        from aquamend.learning import Law, checked, drifts, learned

        law = _one_of(Law, readings, f"--readings {readings!r} is no kind of kernel")
        labelled = _records(records, journal, labels)
        found = learned(
            template, labelled.records, strength=strength, law=law, skip_faulty=skip_faulty, source=labelled.source,
            faults=labelled.faults,
        )  # fmt: skip
        held = checked(template, labelled.records, strength=strength, law=law, skip_faulty=skip_faulty)
        warnings = [*drifts(labelled.records, dated=labelled.dated), *found.warnings]
        if out is not None:
            _write(out, found, labelled, held, strength)
        if as_json:
            print_json(_as_data(found, held, warnings))
        else:
            print_text(lambda console: _print(console, found, labelled, held, warnings, out, explain))


def _one_of(kinds: type[Chosen], said: str, refusal: str) -> Chosen:
    """Return the kind that is named; where it is none, refuse it in these words, with those that there are."""
    if said in tuple(kinds):
        return kinds(said)
    near = meant(said, tuple(kinds))
    hint = f"did you mean {near}? " if near else ""
    raise AquaMendError(f"{refusal}; {hint}use one of {', '.join(kinds)}")


def _records(records: Path | None, journal: Path | None, labels: Path | None) -> Records:
    from aquamend.learning import journal_records, read_records
    from aquamend.learning.record_files import read_labels

    if (records is None) == (journal is None):
        raise AquaMendError("give a file of records, or --journal, one of the two")
    if records is not None:
        if labels is not None:
            raise AquaMendError("--labels belongs to --journal; records have a column 'found' of their own")
        return read_records(records, skip_faulty=True)  # faults are reported with what else does not fit the problem
    return journal_records(Path(str(journal)), read_labels(labels) if labels is not None else None)


def _write(out: Path, found: Learned, labelled: Records, held: Calibration | None, strength: float) -> None:
    from aquamend import __version__

    lines = [
        f"Learned by aquamend {__version__} from {found.used} labelled records of {len(labelled.records)} in"
        f" {labelled.source}{'' if labelled.digest is None else f' (sha256 {labelled.digest})'}.",
        f"Every number is a posterior mean; what the template said counts as {strength:g} records.",
    ]
    if held is not None and held.brier is not None:
        lines.append(
            f"On {held.records} records held back: Brier {held.brier:.4f}, ECE {held.ece:.4f},"
            f" log score {held.log_score:.4f}."
        )
    lines += [_sentence(said) for said in found.said if said.startswith("assumed")]
    lines += [_sentence(said, capital=False) for said in _choices(found)]
    lines += [f"Warning: {_sentence(warning, capital=False)}" for warning in found.warnings[:MOST_WARNINGS]]
    _write_problem(out, [" ".join(line.split()) for line in lines], found.data)


def _write_problem(out: Path, head: Sequence[str], data: Mapping[str, Any]) -> None:
    """Write a problem below comments, once it is known to be sound."""
    import yaml

    from aquamend.files import read_problem

    text = "".join(f"# {line}\n" for line in head)
    text += yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)
    read_problem(text, suffix=".yaml")
    write_text(out, text)


def _choices(found: Learned) -> list[str]:
    """Return, for every probe whose kernel was chosen, which kind it has and why."""
    return [
        f"{probe!r} is learned as {next(iter(found.data['kernels'][probe]))}; log density held back: "
        + ", ".join(f"{kind} {score:.3f}" for kind, score in scores.items())
        for probe, scores in found.scores.items()
    ]


def _as_data(found: Learned, held: Calibration | None, warnings: list[str]) -> dict[str, Any]:
    from aquamend.codec import json_number

    return {
        "records": found.used,
        "estimates": {
            where: {
                "value": e.value, "low": json_number(e.low), "high": json_number(e.high), "records": e.records,
                **({"before": json_number(found.before[where])} if where in found.before else {}),
            }
            for where, e in found.estimates.items()
        },
        "kept": found.kept,
        "after_alarm": {
            name: {"records": share, "learned": e.value, "low": e.low, "high": e.high}
            for name, (share, e) in found.after.items()
        },
        "kernels": found.scores,
        "said": list(found.said),
        "warnings": warnings,
        "held_back": None if held is None else _held_data(held),
    }  # fmt: skip


def _held_data(held: Calibration) -> dict[str, Any]:
    from aquamend.codec import json_number

    lost = None if held.lost is None else {key: json_number(loss) for key, loss in asdict(held.lost).items()}
    return {
        "records": held.records, "brier": held.brier, "ece": held.ece, "truth": held.truth, "log_score": held.log_score,
        "coverage": dict(held.coverage), "readings": held.readings, "lost": lost,
        "contradicted": held.contradicted, "beliefs": {name: asdict(own) for name, own in held.beliefs.items()},
    }  # fmt: skip


def _print(
    console: Console,
    found: Learned,
    labelled: Records,
    held: Calibration | None,
    warnings: list[str],
    out: Path | None,
    explain: bool,
) -> None:
    console.print(f"{len(found.estimates)} numbers learned from {found.used} of {len(labelled.records)} records.")
    if held is None:
        console.print("Too few records to hold any back: calibration is unknown.")
    else:
        _print_held(console, held, found.problem.unit)
    if explain:
        _print_numbers(console, found)
    else:
        _print_least_certain(console, found)
    _print_shares(console, found)
    notes = [said for said in (*_choices(found), *found.said) if said not in warnings]
    for lines, title in ((notes, ""), (warnings, "Warning: ")):
        most = len(lines) if explain else MOST_WARNINGS
        for said in lines[:most]:
            console.print(f"{title}{_sentence(said, capital=not title)}")
        if len(lines) > most:
            console.print(f"… and {len(lines) - most} more {'warnings' if title else 'notes'}; --explain lists all.")
    if out is not None:
        console.print(f"Written: {out}")


def _sentence(said: str, *, capital: bool = True) -> str:
    return f"{said[0].upper() if capital else said[0]}{said[1:]}{'' if said.endswith(('?', '.')) else '.'}"


def _print_held(console: Console, held: Calibration, unit: str) -> None:
    from aquamend.text import quantity

    scores = [
        ("Brier", held.brier, "0 is perfect"), ("ECE", held.ece, "0 is perfect"),
        ("probability of what was found", held.truth, "1 is perfect"),
        ("its logarithm", held.log_score, "0 is perfect"),
        *((f"readings within {name}", share, f"of {held.readings}") for name, share in held.coverage.items()),
    ]  # fmt: skip
    console.print(f"On {held.records} records held back:", style="bold")
    for name, score, about in scores:
        console.print(f"  {name}: {'unavailable' if score is None else f'{score:.3f}'} ({about})")
    if held.contradicted:
        console.print(f"  records that nothing in the problem explains: {held.contradicted}")
    if held.lost is not None:
        said = [quantity(loss, unit) for loss in (held.lost.learned, held.lost.before, held.lost.least)]
        console.print(f"  lost by deciding so: {said[0]} (as the file was: {said[1]}; knowing all: {said[2]})")


def _print_least_certain(console: Console, found: Learned) -> None:
    wide = sorted(
        found.estimates.items(), key=lambda item: -(item[1].high - item[1].low) / max(abs(item[1].value), 1e-12)
    )
    if wide:
        console.print("Least certain:", style="bold")
    for where, e in wide[:5]:
        console.print(f"  {where}: {e.value:.4g} (95 %: {e.low:.3g} to {e.high:.3g}, {e.records} records)")


def _print_numbers(console: Console, found: Learned) -> None:
    from aquamend.text import Heading, grid_of, shown

    rows = []
    for where, e in found.estimates.items():
        before = f"{found.before[where]:.4g}" if where in found.before else "–"
        rows.append((where, before, f"{e.value:.4g}", f"{e.low:.3g} to {e.high:.3g}", str(e.records)))
    grid = grid_of(
        Heading("number"), Heading("before", "right"), Heading("learned", "right"), Heading("95 %"),
        Heading("records", "right"), rows=rows, flexible=(0,),
    )  # fmt: skip
    console.print(grid)
    if found.kept:
        console.print("Stayed as it was:", style="bold")
    for where, why in found.kept.items():
        console.print(f"  {shown(where)}: {why}")


def _print_shares(console: Console, found: Learned) -> None:
    """Print what was found after alarms beside what the learned file says of it."""
    from aquamend.text import percent, shown

    if found.after:
        console.print("Found after an alarm (in the records; by the learned file, 95 %):", style="bold")
    for name, (share, e) in found.after.items():
        console.print(f"  {shown(name)}: {percent(share)}; {percent(e.value)}, {percent(e.low)} to {percent(e.high)}")


def alarm(
    records: Annotated[
        Path,
        typer.Argument(metavar="RECORDS", help="What the score was, and what was found: .csv, .jsonl or .parquet."),
    ],
    *,
    problem: Annotated[str, typer.Option("--problem", metavar="FILE", help="The problem that is to get the alarm.")],
    score: Annotated[str, typer.Option(metavar="COLUMN", help="The column of the score.")],
    name: Annotated[str, an_option("ALARM", "Which of several alarms, or a new one.")] = "",
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
    out: Annotated[Path | None, an_option("FILE", "Where to write the problem with the alarm.")] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="PAGE", help="Where to write a page that shows what each threshold is worth.")
    ] = None,
    skip_faulty: SkipFaulty = False,
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
    with refusing("aquamend alarm"):
        from aquamend.learning import ScoreMethod, alarm_from_scores, read_records

        labelled = read_records(records, skip_faulty=True)
        found = alarm_from_scores(
            template, labelled.records, score, name=name,
            method=_one_of(ScoreMethod, method, f"--method {method!r} is none"), below=below, threshold=threshold,
            false_alarms=false_alarms, skip_faulty=skip_faulty, source=labelled.source, faults=labelled.faults,
        )  # fmt: skip
        unit = str(found.data.get("unit", ""))
        if out is not None:
            _write_alarm(out, found, records)
        if html is not None:
            _write_page(html, found, unit, str(found.data.get("name", "")))
        if as_json:
            print_json(_alarm_data(found))
        else:
            print_text(lambda console: _print_alarm(console, found, unit, [path for path in (out, html) if path]))


def _write_alarm(out: Path, found: ScoreAlarm, records: Path) -> None:
    from aquamend import __version__

    which = f"The alarm {found.name!r}" if found.name else "The alarm"
    head = [f"{which} was made by aquamend {__version__} from {found.used} scores in {records.name} ({found.method})."]
    head += [f"It rings where {found.condition}." if math.isfinite(found.chosen.at) else f"It rings {found.condition}."]
    head += [f"  {said}" for said in _likelihoods(found)]
    _write_problem(out, head, found.data)


def _likelihoods(found: ScoreAlarm) -> list[str]:
    return [
        f"{rule}: {e.value:.4g} (95 %: {e.low:.3g} to {e.high:.3g}, {e.records} scores)"
        for rule, e in found.chosen.rings.items()
    ]


def _write_page(path: Path, found: ScoreAlarm, unit: str, problem: str) -> None:
    from aquamend.story.page import page

    text = page(
        "alarm.html",
        data=_alarm_data(found) | {"unit": unit},
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


def _alarm_data(found: ScoreAlarm) -> dict[str, Any]:
    from aquamend.codec import json_number

    def plain(one: Threshold) -> dict[str, Any]:
        numbers = {key: json_number(getattr(one, key)) for key in ("at", "false_alarms", "missed", "chance", "loss")}
        return {**numbers, "rings": {rule: asdict(e) for rule, e in one.rings.items()}}

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


def _print_alarm(console: Console, found: ScoreAlarm, unit: str, written: list[Path]) -> None:
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
