"""The files that a benchmark run leaves behind: what the runner writes and the analysis reads.

A folder holds a manifest, and one JSON line for each (scenario, policy, seed); all of it is a data frame. Lines are
plain or gzipped, and written all at once or not at all.

A run may come from anywhere, so it is read within bounds, and what its files look like is said here, for who reads one
to go by. Numbers are checked where they are read, by name: see ``RunTable.column``. What the names in a scenario's
group stand for is declared in the manifest by the suite.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

import numpy as np

from aquamend.codec import json_number
from aquamend.errors import InvalidRun
from aquamend.files.atomic import write_atomically

if TYPE_CHECKING:
    from pandas import DataFrame


SIGNIFICANT_DIGITS = 12
"""Floats are written this precisely: far beyond what any table shows, and short of what differs between machines."""
MOST_BYTES = 1 << 29
"""The files of a run hold no more than this together, unpacked; runs of a hundred thousand records are smaller."""
LONGEST_LINE = 1 << 24
"""In bytes."""
MOST_VALUES = 1 << 25
"""Numbers, texts, lists and objects in the files of a run, together: what bounds the memory that they take."""
DEEPEST = 50
"""Lists and objects in each other, at most: what we write has fewer than ten."""
SEAL = "seal"
"""What a sealed line ends with: a checksum of the text before it. Against slips, not against forgers."""


def as_line(record: Mapping[str, Any]) -> str:
    """Return a record as one line of JSON: floats shortened, infinity as the string ``"inf"``, keys as given."""
    return json.dumps(_plain(record), allow_nan=False, separators=(",", ":"), ensure_ascii=False) + "\n"


def sealed_line(record: Mapping[str, Any]) -> str:
    """Return a record as one line that ends in a seal of its text, so that a line changed since is known as such."""
    text = as_line(record)[:-2]
    return f'{text},"{SEAL}":"{_seal(text.encode())}"}}\n'


def _seal(text: bytes) -> str:
    return f"{zlib.crc32(text):08x}"


def _unsealed(line: bytes) -> bytes | None:
    """Return a sealed line without its seal; None where it has none, or is not what was sealed."""
    text, found, seal = line.rpartition(f',"{SEAL}":"'.encode())
    return text + b"}" if found and seal == f'{_seal(text)}"}}'.encode() else None


def _plain(value: Any) -> Any:
    match value:
        case float():
            number = json_number(value)
            return float(f"{number:.{SIGNIFICANT_DIGITS}g}") if isinstance(number, float) else number
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value


@dataclass(slots=True)
class Allowance:
    """How much may still be read: several files of one run share it."""

    bytes: int = field(default_factory=lambda: MOST_BYTES)
    values: int = field(default_factory=lambda: MOST_VALUES)

    def take(self, path: Path, *, bytes: int = 0, values: int = 0) -> None:
        """Count what was read; ``InvalidRun`` where it is more than any run of ours has."""
        self.bytes -= bytes
        self.values -= values
        if min(self.bytes, self.values) < 0:
            much = f"{MOST_BYTES / (1 << 20):,.0f} MB" if self.bytes < 0 else f"{MOST_VALUES:,} values"
            problem = f"it brings the run to more than {much}, which no run of ours has"
            raise InvalidRun(path, problem, "give a part of it, or run the benchmark again")


def read_lines(path: Path, *, sealed: bool = False, allowance: Allowance | None = None) -> list[dict[str, Any]]:
    """Return the records of a file (``.gz`` if only that is there); an empty list if neither exists.

    Where lines are ``sealed``, one that was changed since it was written is an ``InvalidRun`` that names it.
    """
    if not path.exists():
        path = path.with_name(f"{path.name}.gz")
    if not path.exists():
        return []
    allowance, records = allowance or Allowance(), []
    for number, raw in enumerate(_raw_lines(path, allowance), start=1):
        if not raw:
            continue
        line = _unsealed(raw) if sealed else raw
        if line is None:
            problem = f"line {number} is not as it was written: its seal is broken or missing"
            raise InvalidRun(path, problem, "restore the line, or remove it and run the benchmark with --resume")
        try:
            record, values = _parsed(line)
        except ValueError as error:
            raise InvalidRun(path, f"line {number} is not JSON ({error})", "remove the line or run it again") from None
        if not isinstance(record, dict):
            raise InvalidRun(path, f"line {number} is not a JSON object", "remove the line or run it again")
        allowance.take(path, values=values)
        records.append(record)
    return records


def _raw_lines(path: Path, allowance: Allowance) -> Iterator[bytes]:
    """Yield the lines of a file without their ends, unpacked as far as it is allowed."""
    if not path.is_file():
        raise InvalidRun(path, "cannot be read (it is no ordinary file)", "restore the file or run the benchmark again")
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            while line := file.readline(min(LONGEST_LINE, allowance.bytes) + 1):
                allowance.take(path, bytes=len(line))
                if len(line) > LONGEST_LINE:
                    problem = f"it has a line of more than {LONGEST_LINE >> 20} MB, as no run of ours has"
                    raise InvalidRun(path, problem, "remove the line or run it again")
                yield line.rstrip(b"\r\n")
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidRun(path, f"cannot be read ({error})", "restore the file or run the benchmark again") from None


def parsed(path: Path) -> Any:
    """Return what a JSON file of a run holds; ``ValueError`` where it is none, or more or deeper than we write."""
    if path.exists() and not path.is_file():
        raise ValueError("it is no ordinary file")
    with path.open("rb") as file:
        text = file.read(LONGEST_LINE + 1)
    if len(text) > LONGEST_LINE:
        raise ValueError(f"it has more than {LONGEST_LINE >> 20} MB")
    return _parsed(text)[0]


def _parsed(text: bytes) -> tuple[Any, int]:
    """Return JSON as data, and how many values are in it."""
    try:
        data = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError(f"it is nested more than {DEEPEST} deep") from None
    level, values = [data] if isinstance(data, dict | list) else [], 1
    for _ in range(DEEPEST):
        values += sum(map(len, level))
        inner = [item for outer in level for item in (outer.values() if isinstance(outer, dict) else outer)]
        level = [item for item in inner if isinstance(item, dict | list)]
        if not level:
            return data, values
    raise ValueError(f"it is nested more than {DEEPEST} deep")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def write_lines(path: Path, records: Iterable[Mapping[str, Any]], *, sealed: bool = False) -> None:
    """Write records to a file, all or none; gzipped, with the same bytes every time, if it is named ``.gz``."""
    data = "".join(map(sealed_line if sealed else as_line, records)).encode()
    write_atomically(path, gzip.compress(data, compresslevel=9, mtime=0) if path.suffix == ".gz" else data)


KIND = "kind"
"""What kind of scenario was drawn: a mean over all kinds is one over scenarios."""
STRATUM = "stratum"
"""The same, drawn in numbers that were fixed beforehand: intervals of that mean are resampled within each."""
SETTING = "setting"
"""How the same scenarios were varied: pairs of different settings are not independent of each other."""
SIZE = "size"
"""What was varied on purpose, such as how large a scenario is: a mean over its values is one over how it was varied."""
PROBLEM = "problem"
"""Which problem it is, of which only the truth is drawn: what is expected of a policy there is one exact number."""

KINDS = (KIND, STRATUM, SETTING, SIZE, PROBLEM)

USUAL_KINDS: Mapping[str, str] = {"factor": KIND, "stage": STRATUM, "family": STRATUM, "setting": SETTING}
"""For suites that declare nothing; every other name is a size."""


Shape = Any
"""A type; a text that a value must be; ``(…)`` where one of several must fit; ``[…]`` for a list of one shape; or a
mapping from names to shapes, where a name that ends in ``?`` may be missing and ``*`` stands for every name."""

NUMBER: Shape = (float, int, "inf", "-inf")
PROBABILITY: Shape = (float, int)
PLAIN: Shape = (str, *NUMBER, bool, NoneType)
TEXTS: Shape = ([str], NoneType)

ABOUT: Shape = {"suite": str, "scenario": int, "seed": int, "group": {"*": PLAIN}}
TIMING: Shape = ABOUT | {"policy": str}
RECORD: Shape = TIMING | {
    "ending?": (str, NoneType),
    "left?": TEXTS,
    "faults?": TEXTS,
    "declarations?": ([{"event": str, "when": str, "so": (bool, NoneType), "q": (NUMBER, NoneType)}], NoneType),
    "posterior?": ({"beliefs": [str], "at": [([PROBABILITY], NoneType)]}, NoneType),
}
ANNOTATION: Shape = ABOUT | {
    "truths?": ([{"failed?": TEXTS, "rollback?": ({"*": TEXTS}, NoneType), "minimal_reprobe?": TEXTS}], NoneType),
    "features?": (
        {
            "first_commands?": (
                {"*": {"command": str, "total_variation": NUMBER, "predicted_loss": NUMBER}}, NoneType
            ),
        }, NoneType
    ),
}  # fmt: skip
MANIFEST: Shape = {
    "suite": str, "policies": [str], "scenarios": int, "seeds": int, "reference?": (str, NoneType),
    "normalised?": ({"*": (float, int)}, NoneType),
    "full?": ({"policies": [str], "scenarios": int, "seeds": int}, NoneType),
}  # fmt: skip

LARGEST = 1 << 63
"""Whole numbers are smaller, as in any table."""

_NAMES = {str: "text", int: "whole number", float: "number", bool: "answer", dict: "object", list: "list"}


def misfit(value: Any, shape: Shape, name: str = "it") -> str:
    """Return the first place where a value is not of a shape, with what is there; nothing where it fits."""
    match shape:
        case dict():
            return _misfit_in(value, shape, name) if isinstance(value, dict) else _no(value, dict, name)
        case [inner] if isinstance(shape, list):
            if not isinstance(value, list):
                return _no(value, list, name)
            return next((fault for each in value if (fault := misfit(each, inner, name))), "")
        case tuple():
            faults = [misfit(value, one, name) for one in shape]
            if "" in faults:
                return ""
            return faults[0] if isinstance(shape[0], dict | list) else f"{value!r:.80} for {name!r}, which is not plain"
        case str():
            return "" if value == shape else _no(value, str, name)
        case _:
            fits = isinstance(value, shape) and (shape is bool or not isinstance(value, bool))
            small = not isinstance(value, int) or abs(value) < LARGEST
            return "" if fits and small else _no(value, shape, name)


def record_fault(record: Any) -> str:
    """Return what is wrong with a record; nothing where its readers can go by it."""
    if fault := misfit(record, RECORD):
        return fault
    kept = record.get("posterior") or {"at": ()}
    uneven = any(at is not None and len(at) != len(kept["beliefs"]) for at in kept["at"])
    return "a posterior with more or fewer probabilities than beliefs" if uneven else ""


def _misfit_in(value: dict[str, Any], shapes: dict[str, Shape], name: str) -> str:
    for key, shape in shapes.items():
        plain = key.removesuffix("?")
        names = value if key == "*" else [plain] if plain in value or plain == key else []
        for each in names:
            if fault := misfit(value.get(each), shape, each if name == "it" else f"{name}.{each}"):
                return fault
    return ""


def _no(value: Any, kind: type, name: str) -> str:
    return f"{value!r:.80} for {name!r}, which is no {_NAMES.get(kind, kind.__name__)}"


FIRST = ("suite", "seed", "scenario", "policy", "error")
"""The columns that every frame has, whatever was recorded."""


def frame_of(records: Sequence[Record], timings: Sequence[Record]) -> DataFrame:
    """Return a line for each record, with its group as ``group.NAME`` and, where it was timed, its times.

    Columns of numbers are floats, NaN where nothing is known; of answers, booleans that may be unknown; all else
    (steps, endings, probabilities) is as it was written.
    """
    import pandas

    timed = {(line["seed"], line["scenario"], line["policy"]): line for line in timings}
    lines = [
        {f"group.{name}": value for name, value in record.get("group", {}).items()}
        | timed.get((record["seed"], record["scenario"], record["policy"]), {})
        | record
        for record in records
    ]
    names = dict.fromkeys([*FIRST, *(name for line in lines for name in line if name != "group")])
    return pandas.DataFrame({name: _column([line.get(name) for line in lines]) for name in names})


def _column(values: list[Any]) -> Any:
    import pandas

    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pandas.array(values, dtype="boolean")
    if kinds <= {bool, int, float, str} and all(value in ("inf", "-inf") for value in values if type(value) is str):
        try:
            return np.array([math.nan if value is None else float(value) for value in values])
        except OverflowError:  # a whole number beyond any float: left as it was written
            pass
    return pandas.Series(values, dtype=object)


Record = dict[str, Any]
Key = tuple[int, int, str]
"""Seed, scenario, policy: what one record is about."""

FORMAT = "aquamend-run/2"
UNSEALED = "aquamend-run/1"
"""The format before it, still read: its lines have no seals, and its manifest does not say how large the suite is."""


def record_key(record: Record) -> Key:
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
        """One line for each (scenario, policy, seed); the same bytes for the same run."""
        return self.path / "records.jsonl"

    @property
    def annotations(self) -> Path:
        """One line for each scenario and seed: what was true."""
        return self.path / "annotations.jsonl"

    @property
    def timings(self) -> Path:
        """One line for each (scenario, policy, seed) that was timed; not reproducible, so apart from the records."""
        return self.path / "timings.jsonl"

    @property
    def stories(self) -> Path:
        """Scenarios that were played once more to be watched, each in a folder ``SEED-NUMBER`` with a page."""
        return self.path / "stories"

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
    stories: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """Links to stories of scenarios, by seed and number, as seen from a report."""

    @property
    def suite(self) -> str:
        """Name of the suite that was run."""
        return str(self.manifest["suite"])

    def frame(self) -> DataFrame:
        """Return the run as a pandas data frame, a line for each recovery: see ``frame_of``."""
        return frame_of(self.records, self.timings)


def load_run(path: str | Path) -> Run:
    """Return the run in a folder, finished or not; every fault of its files is an ``InvalidRun``."""
    folder = RunFolder(Path(path))
    manifest = load_manifest(folder)
    parts = sorted(folder.parts.glob("*.jsonl")) if folder.parts.is_dir() else []
    for file in (folder.records, folder.annotations, folder.timings, folder.parts, *parts):
        folder.require_inside(file, file.with_name(f"{file.name}.gz"))
    sealed, allowance = manifest["format"] != UNSEALED, Allowance()
    kinds = {"record": folder.records, "annotation": folder.annotations, "timing": folder.timings}
    lines = {kind: read_lines(file, sealed=sealed, allowance=allowance) for kind, file in kinds.items()}
    for part in parts:
        for line in read_lines(part, sealed=sealed, allowance=allowance):
            for kind in lines.keys() & line.keys():
                lines[kind].append(line[kind])
    for kind, file in kinds.items():
        for number, line in enumerate(lines[kind], start=1):
            shape = ANNOTATION if kind == "annotation" else TIMING
            if fault := record_fault(line) if kind == "record" else misfit(line, shape):
                raise InvalidRun(file, f"line {number} has {fault}", "mend the line, or run the benchmark again")
    # Each thing said once: a run killed while it was put together holds some lines twice.
    once = ({(one["seed"], one["scenario"], one.get("policy")): one for one in lines[kind]} for kind in kinds)
    records, annotations, timings = (list(found.values()) for found in once)
    return Run(folder.path, manifest, records, annotations, timings)


def with_stories(run: Run, folder: Path) -> Run:
    """Return a run with links to the stories that its folder holds, as seen from a page in ``folder``."""
    found: dict[tuple[int, int], str] = {}
    for part in run.parts or (run,):
        here = RunFolder(part.folder)
        here.require_inside(here.stories)
        for seed, number in dict.fromkeys(record_key(record)[:2] for record in part.records if here.stories.is_dir()):
            page = here.stories / f"{seed}-{number}" / "index.html"
            if page.is_file():
                found.setdefault((seed, number), quote(Path(os.path.relpath(page, folder)).as_posix()))
    return replace(run, stories=found)


def load_manifest(folder: RunFolder) -> Record:
    """Return the manifest of a folder."""
    folder.require_inside(folder.manifest)
    try:
        manifest = parsed(folder.manifest)
    except FileNotFoundError:
        raise InvalidRun(
            folder.path, "there is no manifest.json in it", "give a folder that `aquamend bench` wrote"
        ) from None
    except (OSError, ValueError) as error:
        raise InvalidRun(folder.manifest, f"cannot be read ({error})", "run the benchmark again") from None
    if not isinstance(manifest, dict) or manifest.get("format") not in (FORMAT, UNSEALED):
        found = manifest.get("format") if isinstance(manifest, dict) else manifest
        raise InvalidRun(folder.manifest, f"its format is {found!r:.80}", f"give a run of format {FORMAT!r}")
    if fault := misfit(manifest, MANIFEST):
        raise InvalidRun(folder.manifest, f"it has {fault}", "mend it, or run the benchmark again")
    return manifest
