"""Which part of its suite a run holds; several runs as one: a policy is added without running the others again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from aquamend.errors import InvalidRun
from aquamend_lab.records import Run


def narrowed(run: Run) -> str:
    """Return in a sentence what a run was asked to leave out of its suite; nothing where it holds all of it.

    Nothing either of runs from before manifests said how large a suite is.
    """
    full, asked = run.manifest.get("full"), run.manifest
    if not isinstance(full, dict):
        return ""
    parts = [_fewer_scenarios(asked, full), _fewer_policies(asked["policies"], full.get("policies", []))]
    text = " and ".join(part for part in parts if part)
    return f"Narrowed: {text}. The suite's description is of all of it." if text else ""


def _fewer_scenarios(asked: dict[str, Any], full: dict[str, Any]) -> str:
    each, seeds = min(asked["scenarios"], full["scenarios"]), min(asked["seeds"], full["seeds"])
    whole = full["scenarios"] * full["seeds"]
    if each * seeds >= whole:
        return ""
    less = [f"{seeds:,} of {full['seeds']:,} seeds"] if seeds < full["seeds"] else []
    less += [f"{each:,} of {full['scenarios']:,} scenarios for each seed"] if each < full["scenarios"] else []
    return f"{each * seeds:,} of the suite's {whole:,} scenarios ({', '.join(less)})"


def _fewer_policies(asked: list[str], full: list[str]) -> str:
    took_part = sum(name in asked for name in full)
    return f"{took_part} of its {len(full)} policies" if took_part < len(full) else ""


Line = dict[str, Any]
Place = tuple[int, int]
"""Seed and number of a scenario."""


def require_same_scenarios(first: Run, second: Run) -> None:
    """Raise ``InvalidRun`` unless two runs faced the same suite, and where both met a scenario, the same one."""
    if first is second:
        return
    if first.suite != second.suite:
        problem = f"its suite is {second.suite!r}, that of {first.folder} is {first.suite!r}"
        raise InvalidRun(second.folder, problem, "compare runs of the same suite")
    for name, what in (("own_suite", "what the suite is made of"), ("unit", "the unit"), ("frozen", "what was frozen")):
        ours, theirs = (run.manifest.get(name) for run in (first, second))
        if None not in (ours, theirs) and ours != theirs:
            problem = f"{what} is not what it was for {first.folder}, so its scenarios are others"
            raise InvalidRun(second.folder, problem, "run both again on the same suite")
    ours, theirs = _truths(first), _truths(second)
    for place in ours.keys() & theirs.keys():
        if ours[place] != theirs[place]:
            problem = f"scenario {place[1]}, seed {place[0]}, is another one than in {first.folder}"
            raise InvalidRun(second.folder, problem, "run both again with the same program")


def merged(runs: Sequence[Run]) -> list[Run]:
    """Return one run for each suite, with all policies of its runs; each keeps the first run's place.

    A policy that several runs have is one where they agree wherever both met a scenario. Else it is shown once for
    each, with the run's folder. Runs of one suite that faced different scenarios are an ``InvalidRun``.
    """
    by_suite: dict[str, list[Run]] = {}
    for run in runs:
        by_suite.setdefault(run.suite, []).append(run)
    return [several[0] if len(several) == 1 else _together(several) for several in by_suite.values()]


def _together(runs: Sequence[Run]) -> Run:
    first = runs[0]
    for other in runs[1:]:
        require_same_scenarios(first, other)
    named = list(zip(runs, _names(runs), strict=True))
    records = [line | {"policy": names[line["policy"]]} for run, names in named for line in run.records]
    timings = [line | {"policy": names[line["policy"]]} for run, names in named for line in run.timings]
    listed = [names[policy] for run, names in named for policy in run.manifest["policies"]]
    kept = [styles for run in runs if isinstance(styles := run.manifest.get("looks"), dict)]
    styles = {name: style for several in kept for name, style in several.items()}
    size = {name: max(run.manifest[name] for run in runs) for name in ("scenarios", "seeds")}
    return replace(
        first,
        manifest=first.manifest | size | {"policies": list(dict.fromkeys(listed)), "looks": styles},
        records=_once(records),
        annotations=_once([line for run in runs for line in run.annotations]),
        timings=_once(timings),
        parts=tuple(runs),
    )


def _names(runs: Sequence[Run]) -> list[dict[str, str]]:
    """Return what each policy of each run is called among all of them."""
    seen: dict[str, dict[Place, Line]] = {}
    apart: set[str] = set()
    for run in runs:
        for line in run.records:
            before = seen.setdefault(line["policy"], {}).setdefault(_place(line), line)
            if before != line:
                apart.add(line["policy"])
    found = []
    for run in runs:
        met = [line["policy"] for line in (*run.records, *run.timings)]
        policies = dict.fromkeys([*run.manifest["policies"], *met])
        found.append({name: f"{name} in {run.folder}" if name in apart else name for name in policies})
    return found


def _place(line: Line) -> Place:
    return line["seed"], line["scenario"]


def _once(lines: Sequence[Line]) -> list[Line]:
    """Return one line for each scenario and policy, in the order of scenarios."""
    found: dict[tuple[int, int, str | None], Line] = {}
    for line in lines:
        found.setdefault((*_place(line), line.get("policy")), line)
    return sorted(found.values(), key=_place)


def _truths(run: Run) -> dict[Place, Any]:
    """Return what tells a scenario from others: how it was made, and what was true in it."""
    found = {}
    for line in run.annotations:
        truths = line.get("truths")
        every = truths if isinstance(truths, list) else []
        failed = [truth.get("failed") if isinstance(truth, dict) else truth for truth in every]
        found[_place(line)] = line.get("group"), line.get("features"), failed
    return found
