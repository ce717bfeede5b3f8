"""``aquamend learn``: a problem file's numbers from records of past alarms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
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

    from aquamend.learning import Calibration, Law, Learned, Records

COMMANDS = {"learn": Command("aquamend.cli.learn:learn", "Learn a problem's numbers from past alarms.")}

HERE = "aquamend learn"
MOST_WARNINGS = 12


def learn(
    records: Annotated[
        Path | None,
        typer.Argument(metavar="RECORDS", help="Past alarms: .csv, .jsonl or .parquet.", show_default=False),
    ] = None,
    *,
    problem: Annotated[
        str, typer.Option("--problem", metavar="FILE", help="What there is, and what is thought so far.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write the learned problem.", show_default=False)
    ] = None,
    journal: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Learn from a robot's journal instead.", show_default=False)
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With --journal: a CSV with the columns session and found.", show_default=False
        ),
    ] = None,
    strength: Annotated[
        float, typer.Option(metavar="N", help="How many records the problem's own numbers are worth.")
    ] = 2.0,
    readings: Annotated[
        str,
        typer.Option(metavar="KIND", help="Learn numeric readings as-written, as gaussian, mixture, samples, or best."),
    ] = "as-written",
    skip_faulty: Annotated[
        bool,
        typer.Option("--skip-faulty", help="Leave out faulty rows and answers, and say which; else all is refused."),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="List every number before and after, what stayed, and what was assumed."),
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
    with refusing(HERE):
        law = _law(readings)
        labelled = _records(records, journal, labels)
        _learn(labelled, template, out, law, strength, skip_faulty, as_json, explain)


def _learn(
    labelled: Records,
    template: Mapping[str, Any],
    out: Path | None,
    law: Law,
    strength: float,
    skip_faulty: bool,
    as_json: bool,
    explain: bool,
) -> None:
    from aquamend.learning import checked, drifts, learned

    found = learned(
        template, labelled.records, strength=strength, law=law, skip_faulty=skip_faulty, source=labelled.source,
        faults=labelled.faults,
    )  # fmt: skip
    held = checked(template, labelled.records, strength=strength, law=law, skip_faulty=skip_faulty)
    warnings = [*drifts(labelled.records, dated=labelled.dated), *found.warnings]
    if out is not None:
        _write(out, found, labelled, held, strength)
    if as_json:
        print_json(_as_data(found, labelled, held, warnings))
    else:
        print_text(lambda console: _print(console, found, labelled, held, warnings, out, explain))


def _law(said: str) -> Law:
    from aquamend.learning import Law

    if said in tuple(Law):
        return Law(said)
    near = meant(said, tuple(Law))
    hint = f"did you mean {near}? " if near else ""
    raise AquaMendError(f"--readings {said!r} is no kind of kernel; {hint}use one of {', '.join(Law)}")


def _records(records: Path | None, journal: Path | None, labels: Path | None) -> Records:
    from aquamend.learning import journal_records, read_records

    if (records is None) == (journal is None):
        raise AquaMendError("give a file of records, or --journal, one of the two")
    if records is not None:
        if labels is not None:
            raise AquaMendError("--labels belongs to --journal; records have a column 'found' of their own")
        return read_records(records, skip_faulty=True)  # faults are reported with what else does not fit the problem
    return journal_records(Path(str(journal)), _labels(labels) if labels is not None else None)


def _labels(path: Path) -> dict[str, str]:
    from aquamend.learning.record_files import read_labels

    return read_labels(path)


def _write(out: Path, found: Learned, labelled: Records, held: Calibration | None, strength: float) -> None:
    import yaml

    from aquamend import __version__
    from aquamend.files import read_problem

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
    head = "".join(f"# {' '.join(line.split())}\n" for line in lines)
    text = head + yaml.safe_dump(found.data, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)
    read_problem(text, suffix=".yaml")
    write_text(out, text)


def _choices(found: Learned) -> list[str]:
    """Return, for every probe whose kernel was chosen, which kind it has and why."""
    return [
        f"{probe!r} is learned as {next(iter(found.data['kernels'][probe]))}; log density held back: "
        + ", ".join(f"{kind} {score:.3f}" for kind, score in scores.items())
        for probe, scores in found.scores.items()
    ]


def _as_data(found: Learned, labelled: Records, held: Calibration | None, warnings: list[str]) -> dict[str, Any]:
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
