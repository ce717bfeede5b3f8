"""``aquamend learn``: a problem file's numbers from records of past alarms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aquamend.cli.complaints import Complaints
from aquamend.cli.options import AsJson
from aquamend.cli.output import print_json, print_text
from aquamend.errors import AquaMendError, meant

if TYPE_CHECKING:
    from rich.console import Console

    from aquamend.learning import Calibration, Law, Learned, Records

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
        float, typer.Option(metavar="N", min=1e-6, help="How many records the problem's own numbers are worth.")
    ] = 2.0,
    readings: Annotated[
        str,
        typer.Option(metavar="KIND", help="Learn numeric readings as-written, as gaussian, mixture, samples, or best."),
    ] = "as-written",
    as_json: AsJson = False,
) -> None:
    """Learn priors, alarm, kernels and costs from labelled records of past alarms.

    Each number is the mean of a Bayesian posterior, in which the problem's own number counts as so many records. A
    quarter of the records is held back to check calibration; the file is then learned from all of them. Warned of are
    numbers that rest on few records, and records that change over time.
    """
    complaints = Complaints()
    with complaints.at(HERE):
        _learn(records, problem, out, journal, labels, strength, readings, as_json)
    complaints.exit()


def _learn(
    records: Path | None,
    problem: str,
    out: Path | None,
    journal: Path | None,
    labels: Path | None,
    strength: float,
    readings: str,
    as_json: bool,
) -> None:
    from aquamend.files.text import data_at
    from aquamend.learning import checked, drifts, learned

    law = _law(readings)
    given = _records(records, journal, labels)
    template = data_at(problem)
    found = learned(template, given.records, strength=strength, law=law)
    held = checked(template, given.records, strength=strength, law=law)
    warnings = [*drifts(given.records), *found.warnings]
    if out is not None:
        _write(out, found, given, held, strength)
    if as_json:
        print_json(_as_data(found, held, warnings))
    else:
        print_text(lambda console: _print(console, found, given, held, warnings, out))


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
        return read_records(records)
    return journal_records(Path(str(journal)), _labels(labels) if labels is not None else None)


def _labels(path: Path) -> dict[str, str]:
    import csv

    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise AquaMendError(f"{path} cannot be read ({error}); give a CSV with the columns session and found") from None
    if any(not row.get("session") or not row.get("found") for row in rows):
        raise AquaMendError(f"{path}: a row lacks session or found; give both columns")
    return {str(row["session"]): str(row["found"]) for row in rows}


def _write(out: Path, found: Learned, given: Records, held: Calibration | None, strength: float) -> None:
    import yaml

    from aquamend import __version__
    from aquamend.files import read_problem
    from aquamend.files.atomic import write_atomically

    lines = [
        f"Learned by aquamend {__version__} from {found.used} labelled records of {len(given.records)} in"
        f" {given.source}{'' if given.digest is None else f' (sha256 {given.digest})'}.",
        f"Every number is a posterior mean; what the template said counts as {strength:g} records.",
    ]
    if held is not None and held.brier is not None:
        lines.append(
            f"On {held.records} records held back: Brier {held.brier:.4f}, ECE {held.ece:.4f},"
            f" log score {held.log_score:.4f}."
        )
    lines += [f"{said}." for said in _choices(found)]
    lines += [f"Warning: {warning}." for warning in found.warnings[:MOST_WARNINGS]]
    head = "".join(f"# {' '.join(line.split())}\n" for line in lines)
    text = head + yaml.safe_dump(found.data, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)
    read_problem(text, suffix=".yaml")
    try:
        write_atomically(out, text.encode())
    except OSError as error:
        raise AquaMendError(f"{out} cannot be written ({error.strerror}); name another file") from None


def _choices(found: Learned) -> list[str]:
    """Return, for every probe whose kernel was chosen, which kind it has and why."""
    return [
        f"{probe!r} is learned as {next(iter(found.data['kernels'][probe]))}; log density held back: "
        + ", ".join(f"{kind} {score:.3f}" for kind, score in scores.items())
        for probe, scores in found.scores.items()
    ]


def _as_data(found: Learned, held: Calibration | None, warnings: list[str]) -> dict[str, Any]:
    from aquamend.codec import json_number

    data: dict[str, Any] = {
        "records": found.used,
        "estimates": {
            where: {"value": e.value, "low": json_number(e.low), "high": json_number(e.high), "records": e.records}
            for where, e in found.estimates.items()
        },
        "kernels": found.scores,
        "warnings": warnings,
        "held_back": None,
    }
    if held is not None:
        data["held_back"] = {
            "records": held.records, "brier": held.brier, "ece": held.ece, "truth": held.truth,
            "log_score": held.log_score, "coverage": dict(held.coverage), "readings": held.readings,
        }  # fmt: skip
    return data


def _print(
    console: Console,
    found: Learned,
    given: Records,
    held: Calibration | None,
    warnings: list[str],
    out: Path | None,
) -> None:
    console.print(f"{len(found.estimates)} numbers learned from {found.used} of {len(given.records)} records.")
    if held is None:
        console.print("Too few records to hold any back: calibration is unknown.")
    else:
        scores = [
            ("Brier", held.brier, "0 is perfect"), ("ECE", held.ece, "0 is perfect"),
            ("probability of what was found", held.truth, "1 is perfect"),
            ("its logarithm", held.log_score, "0 is perfect"),
            *((f"readings within {name}", share, f"of {held.readings}") for name, share in held.coverage.items()),
        ]  # fmt: skip
        console.print(f"On {held.records} records held back:", style="bold")
        for name, score, about in scores:
            console.print(f"  {name}: {'unavailable' if score is None else f'{score:.3f}'} ({about})")
    wide = sorted(
        found.estimates.items(), key=lambda item: -(item[1].high - item[1].low) / max(abs(item[1].value), 1e-12)
    )
    if wide:
        console.print("Least certain:", style="bold")
        for where, e in wide[:5]:
            console.print(f"  {where}: {e.value:.4g} (95 %: {e.low:.3g} to {e.high:.3g}, {e.records} records)")
    for said in _choices(found):
        console.print(said[0].upper() + said[1:])
    for warning in warnings[:MOST_WARNINGS]:
        console.print(f"Warning: {warning}")
    if len(warnings) > MOST_WARNINGS:
        console.print(f"and {len(warnings) - MOST_WARNINGS} more warnings")
    if out is not None:
        console.print(f"Written: {out}")
