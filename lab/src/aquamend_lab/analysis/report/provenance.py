"""Where the numbers come from: what was run, by which versions, where and when, and whether all of it is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from aquamend_lab.analysis.merging import narrowed
from aquamend_lab.analysis.report.document import Cell, Column, Notice, Table
from aquamend_lab.analysis.report.wording import DASH, count, policy_name
from aquamend_lab.records import Run

_FIRST = (
    "format", "suite", "policies", "scenarios", "seeds", "records", "errors", "aquamend", "commit", "code", "python",
    "numpy", "libraries", "machine", "started", "finished",
)  # fmt: skip
_ELSEWHERE = ("description", "looks")


def expected_records(run: Run) -> int | None:
    """Return how many records the manifest promises; None where it does not say."""
    scenarios, seeds = (_size(run.manifest.get(name)) for name in ("scenarios", "seeds"))
    policies = run.manifest.get("policies")
    if scenarios is None or seeds is None or not isinstance(policies, list):
        return None
    return scenarios * seeds * len(policies)


def incomplete(run: Run, *, title: str = "This run") -> Notice | None:
    """Return a loud word about a run that lacks records."""
    expected, here = expected_records(run), len(run.records)
    if expected is None or here >= expected:
        return None
    return Notice(
        f"{title} is incomplete: {count(here)} of {count(expected)} records are here. "
        "Its numbers are over what is here; continue the run before citing them."
    )


def notices(run: Run) -> list[Notice]:
    """Return what the reader must know before trusting a run's numbers: what is left out or missing, and refusals."""
    missing, less = incomplete(run), narrowed(run)
    found = [*([missing] if missing else []), *([Notice(less)] if less else [])]
    errors = [record for record in run.records if _refused(record)]
    if errors:
        counts = Counter(policy_name(record["policy"]) for record in errors)
        listed = ", ".join(f"{name} {count(number)}" for name, number in counts.items())
        found.append(
            Notice(
                f"{count(len(errors))} of {count(len(run.records))} records are refusals or failures ({listed}). They "
                "count as failures in success; losses are over the rest. "
                f"The first says: {str(errors[0]['error'])[:300]}"
            )
        )
    return found


def provenance_table(runs: Sequence[Run], titles: Sequence[str]) -> Table:
    """Return the manifests side by side, with how many records and failures each run holds; a row for each field."""
    manifests = [_entries(run) for run in runs]
    found = dict.fromkeys(name for entries in manifests for name in entries)
    names = [*(name for name in _FIRST if name in found), *(name for name in found if name not in _FIRST)]
    rows = tuple((Cell(name), *(Cell(entries.get(name, DASH)) for entries in manifests)) for name in names)
    columns = (Column("", numeric=False), *(Column(title, numeric=False, long=True) for title in titles))
    return Table("What was run, by which versions, where and when, as each run’s manifest has it.", columns, rows)


def _entries(run: Run) -> dict[str, str]:
    expected = expected_records(run)
    promised = f" of {count(expected)}" if expected is not None else ""
    return {name: _text(value) for name, value in run.manifest.items() if name not in _ELSEWHERE} | {
        "folder": run.folder.name,
        "records": f"{count(len(run.records))}{promised}",
        "errors": count(sum(_refused(record) for record in run.records)),
        "annotations": count(len(run.annotations)),
        "timings": count(len(run.timings)),
    }


def _refused(record: dict[str, Any]) -> bool:
    return record.get("error") is not None


def _size(value: Any) -> int | None:
    match value:
        case bool():
            return None
        case int():
            return value
        case list():
            return len(value)
        case _:
            return None


def _text(value: Any) -> str:
    match value:
        case dict():
            return ", ".join(f"{key} {_text(item)}" for key, item in value.items())
        case list():
            return ", ".join(_text(item) for item in value)
        case None:
            return "unknown"
        case _:
            return str(value)


def runs_table(runs: Sequence[Run], titles: Sequence[str]) -> Table:
    """Return one row for each run, for the beginning of a report."""
    estimators = any("estimate" in record for run in runs for record in run.records[:1])
    counts = ("policies or estimators" if estimators else "policies", "scenarios", "records", "errors")
    columns = (Column("run", numeric=False), Column("complete", numeric=False), *map(Column, counts))
    rows = []
    for run, title in zip(runs, titles, strict=True):
        expected = expected_records(run)
        complete = "unknown" if expected is None else "yes" if len(run.records) >= expected else "NO"
        complete = "narrowed" if complete == "yes" and narrowed(run) else complete
        numbers = (
            len({record["policy"] for record in run.records}),
            len({(record["seed"], record["scenario"]) for record in run.records}),
            len(run.records),
            sum(_refused(record) for record in run.records),
        )
        rows.append(
            (Cell(title), Cell(complete, strong=complete in ("NO", "narrowed")), *(Cell(count(n)) for n in numbers))
        )
    return Table("The runs this report is made from.", columns, tuple(rows))
