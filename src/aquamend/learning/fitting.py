"""From records to a problem file: a template's numbers replaced by what the records say, with their uncertainty.

The template says what there is (beliefs, actions, edges, causes or hypotheses, which rules the tables have) and what is
thought so far. Records that a rule of a table covers are pooled for that rule. What the template says counts as
``strength`` records, everywhere.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aquamend.arrays import Indices
from aquamend.codec import FirstThatHolds
from aquamend.errors import BadArgument, meant
from aquamend.files import hypotheses_in, parse_problem, vocabulary_in
from aquamend.learning.answers import learn_answers
from aquamend.learning.causes import learn_what_happens
from aquamend.learning.estimates import STRENGTH, Estimate, cost
from aquamend.learning.learned_spreads import learn_truths, nearest_parts, read_truths
from aquamend.learning.learning_run import InOrder, Work
from aquamend.learning.past_alarms import MISSING, Faults, InvalidRecords, Record, causes_in
from aquamend.learning.readings import Law
from aquamend.problem import Problem
from aquamend.problem.building.rules import Vocabulary
from aquamend.text import shown

WEAKEST, STRONGEST = 1e-6, 1e6
"""How many records the template's own numbers may be worth."""


@dataclass(frozen=True, slots=True)
class Learned:
    """A problem's data with learned numbers."""

    data: dict[str, Any]
    problem: Problem
    estimates: dict[str, Estimate]
    """By place in the file."""
    warnings: tuple[str, ...]
    used: int
    """Records with a finding that the problem knows."""
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    """By probe whose kind of kernel was chosen: the mean log density of readings held back, by kind."""
    before: dict[str, float] = field(default_factory=dict)
    """By place, what the template said."""
    kept: dict[str, str] = field(default_factory=dict)
    """By place, why something stays as it was."""
    after: dict[str, tuple[float, Estimate]] = field(default_factory=dict)
    """Of all that may be found after an alarm: its share in the records, and what was learned."""
    said: tuple[str, ...] = ()
    """What was used of the records, what was not, and what was assumed."""


def learned(
    template: Mapping[str, Any],
    records: Sequence[Record],
    *,
    strength: float = STRENGTH,
    law: Law = Law.AS_WRITTEN,
    skip_faulty: bool = False,
    intervals: bool = True,
    source: str = "records",
    faults: Sequence[str] = (),
) -> Learned:
    """Return the template with what the records say: what happens, alarms, kernels, spreads and costs.

    ``law`` says as what the readings of probes that read numbers are learned; ``skip_faulty`` leaves out what is
    faulty; without ``intervals`` those that take long are not computed; ``source`` is named where something is wrong,
    and ``faults`` are what was wrong on reading, to be reported with the rest.
    ``InvalidProblem`` where the template is faulty, ``InvalidRecords``, with every fault, where records do not fit it.
    """
    problem = parse_problem(template)
    found = Faults(source, skip_faulty, list(faults))
    work = work_on(template, records, strength, found, law=law, intervals=intervals)
    beliefs = problem.graph.beliefs
    read_truths(work, beliefs)
    nearest_parts(work, beliefs)
    _name_strangers(work, problem, records)
    learn_answers(work, problem)
    found.check()
    learn_truths(work, beliefs)
    learn_what_happens(work)
    _costs(work, records)
    work.said += [f"left out: {fault}" for fault in found.found]
    data = in_file_form(work.data)
    return Learned(
        data, parse_problem(data), work.found, tuple(dict.fromkeys(work.warnings)), len(work.records), work.scores,
        work.before, work.kept, work.after, tuple(work.said),
    )  # fmt: skip


def work_on(
    template: Mapping[str, Any],
    records: Sequence[Record],
    strength: float,
    faults: Faults,
    *,
    law: Law = Law.AS_WRITTEN,
    intervals: bool = True,
) -> Work:
    """Return what there is to learn from: the records of which it is known what was found, and a copy of the data."""
    if not WEAKEST <= strength <= STRONGEST:
        raise BadArgument(f"strength is {strength!r}; give a number from {WEAKEST:g} to {STRONGEST:g}")
    words, hypotheses = vocabulary_in(template), hypotheses_in(template)
    data = _with_tables(_plain(template), _read_in_order)
    labelled, truth, strangers = _found(words, data, records, faults)
    work = Work(data, words, hypotheses, labelled, truth, strength, law, intervals, faults=faults)
    unlabelled = sum(record.found is None for record in records)
    if unlabelled:
        work.said.append(f"{unlabelled} of {len(records)} records have no finding; they tell of costs alone")
    if strangers:
        work.warnings.append(f"{strangers} records found more causes at once than `together` allows; they are left out")
    if not labelled:
        if faults.found:
            raise InvalidRecords(faults.source, faults.found)
        raise InvalidRecords(faults.source, ["none of them tells what was found"])
    return work


def _found(
    words: Vocabulary, data: Mapping[str, Any], records: Sequence[Record], faults: Faults
) -> tuple[list[Record], Indices, int]:
    """Return the records with a finding, the hypothesis of each, and how many found what was left out."""
    whole = words.whole or words.names
    position: dict[frozenset[str], int] = {}
    for s, names in enumerate(zip(whole, words.names, strict=True)):  # of what a spread stands for, the first part
        for name in names:
            position.setdefault(causes_in(name), s)
    labels = _labels(data)
    kept, truth, strangers = [], [], 0
    for i, record in enumerate(records, start=1):
        parts = causes_in(record.found) if record.found is not None else frozenset()
        at = position.get(parts)
        if at is None and labels and parts and all(part in labels for part in parts):
            at = _where_all(words, parts, labels)
            strangers += at is None
        elif at is None and record.found is not None and record.found.strip().lower() not in MISSING:
            near = meant(record.found, [*whole, *labels])
            hint = f"; did you mean {near!r}?" if near else ""
            said = f"found is {shown(record.found)[:80]!r}, which the problem does not know{hint}"
            faults.add(record.place or f"record {i}", "found", said)
        if at is not None:
            kept.append(record)
            truth.append(at)
    return kept, np.array(truth, dtype=np.intp), strangers


def _labels(data: Mapping[str, Any]) -> dict[str, str]:
    """Return what causes are called in findings, each with the name of its cause."""
    return {
        f"{cause['name']}={state}" if state else str(cause["name"]): str(cause["name"])
        for cause in data.get("causes", ())
        for state in cause.get("states") or {"": None}
    }


def _where_all(words: Vocabulary, parts: frozenset[str], labels: Mapping[str, str]) -> int | None:
    """Return the first hypothesis under which exactly these causes are present; None where it was left out."""
    holds = np.ones(len(words.names), dtype=bool)
    for label, cause in labels.items():
        own = words.where(label)
        holds &= own if label in parts else ~own if cause not in {labels[p] for p in parts} else holds
    found = np.flatnonzero(holds)
    return int(found[0]) if len(found) else None


def _name_strangers(work: Work, problem: Problem, records: Sequence[Record]) -> None:
    """Say which columns belong to nothing in the problem."""
    probes = list(problem.graph.probe_index)
    beliefs = [belief.name for belief in problem.graph.beliefs]
    declared = [belief.name for belief in problem.graph.beliefs if belief.declared is not None]
    kinds: list[tuple[str, str, Sequence[str], Callable[[Record], Mapping[str, Any]]]] = [
        ("", "probe", probes, lambda record: record.readings),
        ("truth:", "belief that declares a value", declared, lambda record: record.truth),
        ("age:", "belief", ["", *beliefs], lambda record: record.ages),
        ("alarm:", "alarm", list(work.data.get("alarms") or {}), lambda record: record.rung),
    ]
    for prefix, kind, known, of in kinds:
        for name in dict.fromkeys(name for record in records for name in of(record)):
            if name in known:
                continue
            near = meant(name, [one for one in known if one])
            hint = f"; did you mean {prefix}{near}?" if near else ""
            said = f"the column '{prefix}{shown(name)}' is not used: the problem has no {kind} of that name{hint}"
            work.said.append(said)
            if near:
                work.warnings.append(said)
    unread = [probe for probe in probes if not any(probe in record.readings for record in records)]
    if unread:
        work.said.append(
            f"no record tells what {', '.join(map(repr, unread[:8]))} read; their kernels stay as they were"
        )


def _plain(data: Any) -> Any:
    """Return data as JSON has them, free of what reading them left behind."""
    if isinstance(data, Mapping):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in data]
    if isinstance(data, float):
        return float(data)
    return copy.copy(data)


def in_file_form(data: dict[str, Any]) -> dict[str, Any]:
    """Return data with tables of which the first rule that holds decides as a file has them."""
    return _with_tables(copy.deepcopy(data), _written_in_order)


def _read_in_order(table: Any) -> Any:
    in_order = isinstance(table, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in table)
    return InOrder(FirstThatHolds((str(rule), row) for rule, row in table)) if in_order else table


def _written_in_order(table: Any) -> Any:
    return [[rule, row] for rule, row in table.items()] if isinstance(table, InOrder) else table


def _with_tables(data: dict[str, Any], changed: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the data with every table that is learned changed in its form."""
    alarm, kernels = data.get("alarm"), data.get("kernels", {})
    alarms = [one for one in (alarm, *(data.get("alarms") or {}).values()) if one]
    places: list[tuple[Any, tuple[str, ...]]] = [(one, ("likelihood",)) for one in alarms]
    places += [(kernel, _TABLES) for kernel in kernels.values()]
    places += [
        (state, ("prior", "rate"))
        for cause in data.get("causes", ())
        for state in (cause.get("states") or {"": cause}).values()
    ]
    for entry, keys in places:
        for key in keys:
            if key in entry:
                entry[key] = changed(entry[key])
    return data


_TABLES = ("likelihood", "gaussian", "mixture", "samples")


def _costs(work: Work, records: Sequence[Record]) -> None:
    """Learn what things cost, from all records, also those of which nobody found out what was the case."""
    amounts: dict[str, list[tuple[float, bool]]] = {}
    for record in records:
        for name, amount in record.costs.items():
            amounts.setdefault(name, []).append((amount, record.with_delay))
    for where, entry, key, name in _priced(work.data):
        said = amounts.pop(name, None)
        if not said or not isinstance(entry.get(key, 0.0), int | float):
            continue
        late = _delay(work.data, entry, key)
        own = [max(0.0, amount - late) if with_delay else amount for amount, with_delay in said]
        before = float(entry.get(key, np.mean(own)))
        if math.isfinite(before):
            place = f"{where}.{key}" if where else key
            entry[key] = work.note(place, cost(own, before, strength=work.strength), entry.get(key))
    if amounts:
        unknown = sorted(amounts)
        known = [name for _, _, _, name in _priced(work.data)]
        hints = [
            f"{name!r}, did you mean {near!r}?" if (near := meant(name, known)) else repr(name) for name in unknown
        ]
        listed = ", ".join(hints[:5])
        work.warnings.append(f"costs of {listed} belong to nothing in the problem, or to a loss given by rules")


def _delay(data: Mapping[str, Any], entry: Mapping[str, Any], key: str) -> float:
    """Return what the delay of something costs, which a receipt charges with its price."""
    if entry is data:
        return 0.0
    takes = entry.get("redo_takes" if key == "redo" else "takes", 0.0)
    return float(data.get("delay", 0.0)) * float(takes)


def _priced(data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str, str]]:
    """Yield whatever has a cost: its place, its entry, the key, and the name that records use."""
    for i, action in enumerate(data.get("actions", ())):
        if "undo" in action:
            yield f"actions[{i}]", action, "undo", action["name"]
        yield f"actions[{i}]", action, "redo", f"redo {action['name']}"
    for section in ("probes", "operations", "compensations"):
        for i, entry in enumerate(data.get(section, ())):
            yield f"{section}[{i}]", entry, "cost", entry["name"]
    for i, plan in enumerate(data.get("plans", ())):
        yield f"plans[{i}]", plan, "loss", plan["name"]
    for key in ("restart", "escalate"):
        if key in data:
            yield "", data, key, key
