"""A run's data frame, spread out: a row for every scenario, a column for every policy, an array for every field.

Everything that is shown about a run comes from here: summaries, comparisons, checks and drawings. First which part of
its suite a run holds, and several runs as one: a policy is added without running the others again. Then groups of
scenarios, such as ``{"n": 6}``: which are the same, what kind they are, and how they are called.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Bools, Floats, Indices
from aquamend.codec import LARGEST
from aquamend.errors import InvalidRun
from aquamend.learning.estimates import difference
from aquamend.text import shown
from aquamend_lab.records import KIND, PROBLEM, STRATUM, USUAL_KINDS, Run

if TYPE_CHECKING:
    from pandas import DataFrame


def narrowed(run: Run) -> str:
    """Return in a sentence what a run was asked to leave out of its suite; nothing where it holds all of it.

    Nothing either of runs from before manifests said how large a suite is.
    """
    full, asked = run.manifest.get("full"), run.manifest
    if full is None:
        return ""
    each, seeds = min(asked["scenarios"], full["scenarios"]), min(asked["seeds"], full["seeds"])
    less = [f"{seeds:,} of {full['seeds']:,} seeds"] if seeds < full["seeds"] else []
    less += [f"{each:,} of {full['scenarios']:,} scenarios for each seed"] if each < full["scenarios"] else []
    whole = f"the suite's {full['scenarios'] * full['seeds']:,} scenarios"
    parts = [f"{each * seeds:,} of {whole} ({', '.join(less)})"] if less else []
    took_part = sum(name in asked["policies"] for name in full["policies"])
    parts += [f"{took_part} of its {len(full['policies'])} policies"] if took_part < len(full["policies"]) else []
    return f"Narrowed: {' and '.join(parts)}. The suite's description is of all of it." if parts else ""


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
    failed = {_place(line): [truth.get("failed") for truth in line.get("truths") or ()] for line in run.annotations}
    return {_place(line): (line.get("group"), line.get("features"), failed[_place(line)]) for line in run.annotations}


GroupKey = tuple[tuple[str, Any], ...]
"""A group that can be looked up."""


def group_key(group: Mapping[str, Any]) -> GroupKey:
    """Return a group with its names sorted: in which order they were written does not matter."""
    return tuple(sorted(group.items()))


def distinct_groups(groups: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return every group once, in order of first appearance."""
    return list({group_key(group): group for group in groups}.values())


def pooled(groups: Sequence[Mapping[str, Any]], kinds: Mapping[str, str]) -> bool:
    """Return whether groups only divide what was drawn, so that all of them together are worth a mean."""
    found = distinct_groups(groups)
    return len(found) > 1 and all(
        group and all(kinds.get(name) in (KIND, STRATUM) for name in group) for group in found
    )


def stratified(groups: Sequence[Mapping[str, Any]], kinds: Mapping[str, str]) -> bool:
    """Return whether groups were drawn in fixed numbers, so that a mean over all of them is resampled within each."""
    return pooled(groups, kinds) and all(kinds[name] == STRATUM for group in groups for name in group)


def group_name(group: Mapping[str, Any] | None) -> str:
    """Return a group in words: ``n = 6``; ``all`` for all scenarios together, ``no group`` for those without one."""
    if group is None:
        return "all"
    return ", ".join(f"{shown(name)} = {shown(value)}" for name, value in group.items()) or "no group"


Record = dict[str, Any]

OURS = "aquamend"
"""The policy every other one is compared with, where a run declares no other and this one took part."""
ORACLE = "oracle"
"""The policy that gaps are measured from."""
RESTART = "restart"
"""The policy that savings are measured against, and the ending that undoes everything."""

CHARGES = ("sensing", "rollback", "continuation", "residual")
"""What a complete loss is made of."""
TIMED = ("decision_ms", "peak_kib")
"""What is kept apart from the records, because no two runs measure the same."""


def knows_the_truth(policy: str) -> bool:
    """Return whether a policy is the reference that knows what failed, so that no honest one competes with it."""
    return policy == ORACLE


@dataclass(frozen=True, eq=False)
class RunTable:
    """What every policy did on every scenario."""

    run: Run
    policies: tuple[str, ...]
    """As the manifest lists them; others as they appear."""
    scenarios: tuple[tuple[int, int], ...]
    """Seed and number, in that order."""
    groups: tuple[Mapping[str, Any], ...]
    """The group of each scenario."""
    records: Mapping[tuple[int, int], Record]
    """What is said in more than numbers, by row and column; a policy that did not meet a scenario has none."""
    _columns: dict[str, Floats] = field(default_factory=dict, init=False)

    def column(self, name: str) -> Floats:
        """Return one number of every record, shape ``(scenarios, policies)``; NaN where it is unavailable.

        A field of the records by its name, or what is derived from several; nothing of records that tell of a failure.
        """
        if name not in self._columns:
            made = _DERIVED[name](self) if name in _DERIVED else self._read(name)
            made.flags.writeable = False
            self._columns[name] = made
        return self._columns[name]

    def has(self, name: str) -> bool:
        """Return whether any record has this number."""
        return not np.isnan(self.column(name)).all()

    def raw(self, name: str, rows: Sequence[int], column: int) -> list[Any]:
        """Return what some records of one policy say under a name, as it stands; None where they do not say."""
        return [self.records.get((row, column), {}).get(name) for row in rows]

    @cached_property
    def frame(self) -> DataFrame:
        """The run's data frame: every number that is shown comes from it."""
        return self.run.frame()

    @cached_property
    def met(self) -> Bools:
        """Which policy met which scenario, shape ``(scenarios, policies)``."""
        return self._spread(np.ones(len(self.frame), dtype=bool), empty=False)

    @cached_property
    def sound(self) -> Bools:
        """Where a policy neither refused nor broke down, shape ``(scenarios, policies)``."""
        return self._spread(self.frame["error"].isna().to_numpy(), empty=False)

    @cached_property
    def restarted(self) -> Bools:
        """Where a policy ended by restarting, shape ``(scenarios, policies)``."""
        endings = [record.get("ending") == RESTART for record in self.run.records]
        return self._spread(np.array(endings, dtype=bool), empty=False)

    @property
    def reference(self) -> str | None:
        """The policy that the others are compared with: the declared one, AquaMend, or the first that is honest."""
        honest = [policy for policy in self.policies if not knows_the_truth(policy)]
        wanted = (str(self.run.manifest.get("reference")), OURS)
        return next((policy for policy in wanted if policy in honest), next(iter(honest), None))

    @property
    def kinds(self) -> Mapping[str, str]:
        """What each name in a group stands for, as the suite declares it."""
        declared = self.run.manifest.get("groups")
        return declared if isinstance(declared, dict) else USUAL_KINDS

    @cached_property
    def distinct_groups(self) -> tuple[Mapping[str, Any], ...]:
        """Every group once, in order of first appearance; one empty group where a suite has none."""
        return tuple(distinct_groups(self.groups))

    @property
    def pooled(self) -> bool:
        """Whether groups only divide what was drawn, in one unit, so that all of them together are worth a mean."""
        return len(self.units) < 2 and pooled(self.distinct_groups, self.kinds)

    def unit_of(self, group: Mapping[str, Any]) -> str:
        """Return the unit of losses in a group; empty where the suite does not say.

        The manifest has one for all, or one for each value of a name in groups.
        """
        raw = self.run.manifest.get("unit")
        if not isinstance(raw, dict):
            return raw if isinstance(raw, str) else ""
        units = {name: own for name, own in raw.items() if isinstance(own, dict)}
        for name, value in group.items():
            if name in units:
                return str(units[name].get(str(value), ""))
        every = {str(unit) for own in units.values() for unit in own.values()}
        return every.pop() if len(every) == 1 and not group else ""

    @cached_property
    def units(self) -> tuple[str, ...]:
        """The units of losses, each once; where there are several, nothing is taken together."""
        return tuple(dict.fromkeys(self.unit_of(group) for group in self.distinct_groups))

    def one_problem(self, group: Mapping[str, Any]) -> bool:
        """Return whether the scenarios of a group are one problem, of which only the truth is drawn."""
        return any(self.kinds.get(name) == PROBLEM for name in group)

    def members(self, group: Mapping[str, Any]) -> Indices:
        """Return the rows of the scenarios in a group."""
        key = group_key(group)
        return np.array([row for row, own in enumerate(self.group_keys) if own == key], dtype=np.intp)

    @cached_property
    def group_keys(self) -> tuple[GroupKey, ...]:
        """The group of each scenario, to be looked up."""
        return tuple(map(group_key, self.groups))

    @cached_property
    def _places(self) -> tuple[list[int], list[int]]:
        """Row and column of every line of the frame."""
        rows = {place: row for row, place in enumerate(self.scenarios)}
        columns = {policy: column for column, policy in enumerate(self.policies)}
        lines = self.run.records
        return [rows[line["seed"], line["scenario"]] for line in lines], [columns[line["policy"]] for line in lines]

    def _spread(self, values: NDArray[Any], *, empty: Any) -> NDArray[Any]:
        """Return what there is for every line of the frame by scenario and policy."""
        found = np.full((len(self.scenarios), len(self.policies)), empty, dtype=values.dtype)
        found[self._places] = values
        return found

    def _read(self, name: str) -> Floats:
        if name not in self.frame:
            return np.full((len(self.scenarios), len(self.policies)), math.nan)
        if (column := self.frame[name]).dtype != object:
            numbers = column.to_numpy(np.float64, na_value=math.nan)
            low, high = (0.0, 1.0) if name == "success" else (-LARGEST, LARGEST)
            beyond = (numbers < low) | (numbers > high) & ((numbers < math.inf) | (name == "success"))
            if not beyond.any():
                kept = self.frame["error"].isna() | (name in TIMED)
                return self._spread(np.where(kept, numbers, math.nan), empty=math.nan)
        found = zip(self.run.records, column, strict=True)
        record, value, fault = next((*each, fault) for each in found if (fault := _fault(name, each[1])))
        problem = f"{where_of(record)}: {name!r} is {value!r}, {fault}"
        raise InvalidRun(self.run.folder, problem, "run the benchmark again")


def _fault(name: str, value: Any) -> str:
    """Return why no run can have measured a value; nothing where it can, or where nothing was measured."""
    if value is None:
        return ""
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return "which is no number"
    if not isinstance(value, float) and math.isnan(number):
        return "which is no number"
    if number == -math.inf:
        return "which is less than anything can be"
    if LARGEST < abs(number) < math.inf:
        return f"which is beyond {LARGEST:g}"
    return "which is not between 0 and 1" if name == "success" and (number < 0.0 or number > 1.0) else ""


def where_of(record: Record) -> str:
    """Return what a record is about, in words."""
    return f"scenario {record['scenario']}, seed {record['seed']}, {record['policy']}"


def steps_of(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what was done, a text for each step."""
    steps = record.get("steps") or []
    return tuple(map(str, steps)) if isinstance(steps, list) else (str(steps),)


def table_of(run: Run) -> RunTable:
    """Return a run's records as a table; ``InvalidRun`` where policies disagree about the group of a scenario."""
    groups: dict[tuple[int, int], Mapping[str, Any]] = {}
    for record in run.records:
        group = groups.setdefault((record["seed"], record["scenario"]), record.get("group") or {})
        if group_key(group) != group_key(record.get("group") or {}):
            problem = f"{where_of(record)}: its group is {record.get('group')!r}, for another policy it is {group!r}"
            raise InvalidRun(run.folder, problem, "run the benchmark again")
    scenarios = tuple(sorted(groups))
    met = dict.fromkeys(record["policy"] for record in run.records)
    listed = [name for name in run.manifest.get("policies") or () if name in met]
    policies = tuple(dict.fromkeys([*listed, *met]))
    rows = {place: row for row, place in enumerate(scenarios)}
    columns = {policy: column for column, policy in enumerate(policies)}
    records = {(rows[r["seed"], r["scenario"]], columns[r["policy"]]): r for r in run.records}
    return RunTable(run, policies, scenarios, tuple(groups[place] for place in scenarios), records)


def _sum(*names: str) -> Callable[[RunTable], Floats]:
    return lambda table: np.sum([table.column(name) for name in names], axis=0)


def _normalised_loss(table: RunTable) -> Floats:
    """Return the loss counted in probes, at the prices that the suite declares.

    Whoever restarted is charged what that usually takes, and nothing else: the median over those who succeeded.
    """
    prices = table.run.manifest.get("normalised")
    if not isinstance(prices, dict) or not {"probe", "rollback", "unit_s"} <= set(prices):
        return np.full((len(table.scenarios), len(table.policies)), math.nan)
    counted = prices["probe"] * table.column("probes") + prices["rollback"] * table.column("rollbacks")
    usual = math.nan
    if RESTART in table.policies:
        at = table.policies.index(RESTART)
        took = table.column("spent")[table.column("success")[:, at] == 1.0, at]
        usual = float(np.median(took)) / prices["unit_s"] if took.size else math.nan
    return np.asarray(np.where(table.restarted, usual, counted) + table.column("residual"))


_DERIVED: dict[str, Callable[[RunTable], Floats]] = {
    "error": lambda table: np.abs(difference(table.column("estimate"), table.column("exact"))),
    "spent": _sum("sensing", "rollback", "continuation"),
    "normalised_loss": _normalised_loss,
    **{f"loss_without_{name}": _sum(*(other for other in CHARGES if other != name)) for name in CHARGES},
}
"""What a record has only in parts: how far an estimate is off, the operational cost C, losses charged otherwise."""
