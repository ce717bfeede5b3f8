"""The folder of one run: a manifest, and one JSON line a (scenario, policy, seed)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aquamend.errors import InvalidRun
from aquamend_lab.records.lines import parsed, read_lines

Record = dict[str, Any]
Key = tuple[int, int, str]
"""Seed, scenario, policy: what one record is about."""

FORMAT = "aquamend-run/2"
UNSEALED = "aquamend-run/1"
"""The format before it, still read: its lines have no seals, and its manifest does not say how large the suite is."""

Fields = dict[str, type]
_KINDS: dict[type, str] = {str: "text", int: "whole number", dict: "object", list: "list"}


def key_of(record: Record) -> Key:
    """Return what a record is about."""
    return record["seed"], record["scenario"], record["policy"]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where a run keeps its files."""

    path: Path

    @property
    def manifest(self) -> Path:
        """What was run, by which versions, where and when."""
        return self.path / "manifest.json"

    @property
    def records(self) -> Path:
        """One line a (scenario, policy, seed); the same bytes for the same run."""
        return self.path / "records.jsonl"

    @property
    def annotations(self) -> Path:
        """One line a scenario and seed: what was true."""
        return self.path / "annotations.jsonl"

    @property
    def timings(self) -> Path:
        """One line a (scenario, policy, seed) that was timed; not reproducible, so apart from the records."""
        return self.path / "timings.jsonl"

    @property
    def parts(self) -> Path:
        """Finished pieces of an unfinished run."""
        return self.path / "parts"

    def require_inside(self, *files: Path) -> None:
        """Raise ``InvalidRun`` where a link leads out of the folder: a run from elsewhere reaches nothing else."""
        home = os.path.realpath(self.path)
        for file in files:
            if file.is_symlink() and not Path(os.path.realpath(file)).is_relative_to(home):
                problem = "it is a link that leads out of the run"
                raise InvalidRun(file, problem, "copy the file itself into the folder")


@dataclass(frozen=True, eq=False)
class Run:
    """A run as it lies on disk."""

    folder: Path
    manifest: Record
    records: list[Record]
    annotations: list[Record]
    timings: list[Record]
    parts: tuple[Run, ...] = ()
    """The runs that it was put together from, where there are several."""

    @property
    def suite(self) -> str:
        """Name of the suite that was run."""
        return str(self.manifest["suite"])


def load_run(path: str | Path) -> Run:
    """Return the run in a folder, finished or not; every fault of its files is an ``InvalidRun``."""
    folder = RunFolder(Path(path))
    manifest = load_manifest(folder)
    parts = sorted(folder.parts.glob("*.jsonl")) if folder.parts.is_dir() else []
    for file in (folder.records, folder.annotations, folder.timings, folder.parts, *parts):
        folder.require_inside(file, file.with_name(f"{file.name}.gz"))
    sealed = manifest["format"] != UNSEALED
    pieces = [read_lines(part, sealed=sealed) for part in parts]
    kinds: dict[str, list[Record]] = {"record": [], "annotation": [], "timing": []}
    for line in (line for piece in pieces for line in piece):
        for kind, lines in kinds.items():
            if kind in line:
                lines.append(line[kind])
    records = [*read_lines(folder.records, sealed=sealed), *kinds["record"]]
    annotations = [*read_lines(folder.annotations, sealed=sealed), *kinds["annotation"]]
    timings = [*read_lines(folder.timings, sealed=sealed), *kinds["timing"]]
    whose: Fields = {"suite": str, "scenario": int, "seed": int, "group": dict}
    _check(folder.records, records, whose | {"policy": str})
    _check(folder.annotations, annotations, whose)
    _check(folder.timings, timings, whose | {"policy": str})
    return Run(folder.path, manifest, _each_once(records), _each_once(annotations), _each_once(timings))


def _check(path: Path, lines: list[Record], fields: Fields) -> None:
    """Raise at the first line that does not say what it is about."""
    for number, line in enumerate(lines, start=1):
        for name, kind in fields.items():
            if not isinstance(line.get(name), kind):
                problem = f"line {number} has {line.get(name)!r} for {name!r}, which is no {_KINDS[kind]}"
                raise InvalidRun(path, problem, "mend the line, or run the benchmark again")
        if any(isinstance(value, dict | list) for value in line["group"].values()):
            problem = f"line {number} has {line['group']!r} for 'group', whose values are not plain"
            raise InvalidRun(path, problem, "mend the line, or run the benchmark again")


def _each_once(lines: list[Record]) -> list[Record]:
    """Return one line for each thing told: a run killed while it was put together holds some of them twice."""
    return list({(line["seed"], line["scenario"], line.get("policy")): line for line in lines}.values())


def load_manifest(folder: RunFolder) -> Record:
    """Return the manifest of a folder."""
    folder.require_inside(folder.manifest)
    try:
        manifest = parsed(folder.manifest.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidRun(
            folder.path, "there is no manifest.json in it", "give a folder that `aquamend bench` wrote"
        ) from None
    except (OSError, ValueError) as error:
        raise InvalidRun(folder.manifest, f"cannot be read ({error})", "run the benchmark again") from None
    if not isinstance(manifest, dict) or manifest.get("format") not in (FORMAT, UNSEALED):
        found = manifest.get("format") if isinstance(manifest, dict) else manifest
        raise InvalidRun(folder.manifest, f"its format is {found!r}", f"give a run of format {FORMAT!r}")
    fields: Fields = {"suite": str, "policies": list, "scenarios": int, "seeds": int}
    for name, kind in fields.items():
        if not isinstance(manifest.get(name), kind):
            problem = f"it has {manifest.get(name)!r} for {name!r}, which is no {_KINDS[kind]}"
            raise InvalidRun(folder.manifest, problem, "mend it, or run the benchmark again")
    if not all(isinstance(name, str) for name in manifest["policies"]):
        problem = f"it has {manifest['policies']!r} for 'policies', which are not all text"
        raise InvalidRun(folder.manifest, problem, "mend it, or run the benchmark again")
    return manifest
