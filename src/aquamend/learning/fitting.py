"""From records to a problem file: a template's numbers replaced by what the records say, with their uncertainty.

The template says what there is (beliefs, actions, edges, causes or hypotheses, which rules the tables have) and what is
thought so far. Records that a rule of a table covers are pooled for that rule. What the template says counts as
``strength`` records, everywhere.

What was really found, how much there was or which floor it was on, a record says in a column ``truth:BELIEF``. Of a
normal spread mean and standard deviation are learned, of a range its ends, of listed values their weights; what was
found but never listed is reported, as a missing hypothesis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from aquamend.arrays import Floats
from aquamend.codec.forms import number_in
from aquamend.errors import meant
from aquamend.files import parse_problem
from aquamend.learning.answers import learn_answers
from aquamend.learning.causes import learn_what_happens
from aquamend.learning.estimates import STRENGTH, Estimate, cost, normal, shares
from aquamend.learning.learning_run import Work, in_file_form, label_of, place_of, states_of, work_on
from aquamend.learning.past_alarms import LARGEST, MISSING, Faults, Record
from aquamend.learning.readings import Law
from aquamend.problem import Problem
from aquamend.problem.graph import Belief, Value
from aquamend.problem.model.spreads import differs
from aquamend.text import listed, named, shown

FEWEST_FOR_A_SPREAD = 5
"""Different amounts under one fixed value from which on it is said that a spread would suit them better."""
MOST_LISTED = 5


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


def as_declared(value: Value, belief: Belief) -> Value | None:
    """Return a value as its belief declares it, a number or text; None where it is neither, or missing."""
    if isinstance(belief.declared, str):
        return named(value)
    number = value if isinstance(value, int | float) else number_in(value)
    return None if number is None or not -LARGEST < number < LARGEST else float(number)


def read_truths(work: Work, beliefs: Sequence[Belief]) -> None:
    """Check what the records say was true, and bring it to the form that beliefs declare."""
    known = {belief.name: belief for belief in beliefs if belief.declared is not None}
    for i, record in enumerate(work.records):
        own: dict[str, Value] = {}
        for name, value in record.truth.items():
            if name not in known:
                continue
            missing = isinstance(value, str) and value.lower() in MISSING
            if missing and not isinstance(known[name].declared, str):
                continue
            read = as_declared(value, known[name])
            if read is None:
                place = record.place or f"record {i + 1}"
                work.faults.add(place, f"truth:{name}", f"{value!r} is no number, which {name!r} declares")
            else:
                own[name] = read
        if own != record.truth:
            work.records[i] = replace(record, truth=own)


def nearest_parts(work: Work, beliefs: Sequence[Belief]) -> None:
    """Place each record under the value of a spread that is nearest to what was really true."""
    known = {belief.name: belief for belief in beliefs}
    whole = np.array(work.whole)
    for i, record in enumerate(work.records):
        spread = [name for name in record.truth if name in known and work.is_spread(name, int(work.truth[i]))]
        parts = np.flatnonzero(whole == whole[work.truth[i]])
        for name in spread:
            own, value = work.words.truth[name][parts], record.truth[name]
            if isinstance(value, str):
                parts = parts[own == value] if (own == value).any() else parts
            else:
                far = np.array([abs(float(one) - value) if isinstance(one, int | float) else np.inf for one in own])
                parts = parts[far == far.min()]
        work.truth[i] = parts[0]


def learn_truths(work: Work, beliefs: Sequence[Belief]) -> None:
    """Learn every spread of the template from the true values of the records under it."""
    known = {belief.name: belief for belief in beliefs}
    for place, holds, truth in _written(work):
        for name, written in truth.items():
            if name not in known:
                continue
            own = [
                record.truth[name]
                for record, s in zip(work.records, work.truth.tolist(), strict=True)
                if holds[s] and name in record.truth
            ]
            _learn_truth(work, f"{place}.truth.{name}", known[name], written, own)


def _written(work: Work) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield the place of everything that says what is true, under which hypotheses it holds, and what it says."""
    for i, hypothesis in enumerate(work.data.get("hypotheses", ())):
        if hypothesis.get("truth"):
            holds = np.array([name == str(hypothesis["name"]) for name in work.whole])
            yield f"hypotheses[{i}]", holds, hypothesis["truth"]
    for c, cause in enumerate(work.data.get("causes", ())):
        for state, spec in states_of(cause).items():
            if spec.get("truth"):
                yield place_of(c, state), work.words.where(label_of(cause, state)), spec["truth"]


def _learn_truth(work: Work, place: str, belief: Belief, written: Any, own: Sequence[Value]) -> None:
    numbers = np.array([value for value in own if not isinstance(value, str)], dtype=float)
    if not isinstance(written, dict):
        _fixed(work, place, belief, written, numbers)
    elif not own:
        work.kept[place] = f"no record says what was true of {belief.name!r}; add a column truth:{belief.name}"
        work.said.append(f"{place} stays as it was: {work.kept[place]}")
    elif "values" in written:
        _weights(work, place, belief, written, own)
    else:
        kind = "normal" if "normal" in written else "uniform"
        before = [float(number) for number in written[kind]]
        if kind == "normal":
            law = normal(numbers, *before, strength=work.strength)
            found = (law.mean, law.sd)
        else:
            found = _ends(numbers, before, work.strength)
        written[kind] = [work.note(f"{place}.{kind}[{k}]", e, before[k]) for k, e in enumerate(found)]
        _right_after_all(work, place, belief, numbers)
    work.warn_few(len(own), place)


def _fixed(work: Work, place: str, belief: Belief, written: Any, numbers: Floats) -> None:
    """Say where a value that the file takes for certain is none."""
    apart = len(np.unique(numbers)) >= FEWEST_FOR_A_SPREAD and float(numbers.std()) > belief.tolerance
    if apart:
        mean, sd = float(numbers.mean()), float(numbers.std(ddof=1))
        work.warnings.append(
            f"{place} is {written} in the file, and the records found {len(numbers)} different amounts, {mean:.4g} "
            f"give or take {sd:.3g}; write {{normal: [{mean:.4g}, {sd:.3g}]}} there"
        )


def _right_after_all(work: Work, place: str, belief: Belief, numbers: Floats) -> None:
    near = sum(not differs(float(value), belief.declared, belief.tolerance) for value in numbers)
    if near:
        work.warnings.append(
            f"{place}: in {near} of {len(numbers)} records what was true is within {belief.tolerance:g} of what is "
            "declared, so that nothing had failed"
        )


def _ends(numbers: Floats, before: Sequence[float], strength: float) -> tuple[Estimate, Estimate]:
    """Return the ends of a range: what was seen, and beyond it what n even draws miss, (max − min)/(n − 1) on average.

    The file's own ends count as so many records; nothing that was seen is left outside.
    """
    n = len(numbers)
    least, most = float(numbers.min()), float(numbers.max())
    miss = (most - least) / (n - 1) if n > 1 else 0.0
    weight = n / (n + strength)
    low = min(least, weight * (least - miss) + (1.0 - weight) * before[0])
    high = max(most, weight * (most + miss) + (1.0 - weight) * before[1])
    reach = (most - least) * (20.0 ** (1.0 / (n - 1)) - 1.0) if n > 1 else float("inf")
    return (
        Estimate(low, min(low, least - reach), max(low, least), n),
        Estimate(high, min(high, most), max(high, most + reach), n),
    )


def _weights(work: Work, place: str, belief: Belief, written: dict[str, Any], own: Sequence[Value]) -> None:
    """Learn the weights of listed values."""
    weighted = isinstance(written["values"], dict)
    keys = list(written["values"])
    values = [as_declared(number if isinstance(number, str | int | float) else str(number), belief) for number in keys]
    prior = [float(written["values"][key]) for key in keys] if weighted else [1.0] * len(keys)
    counts, strangers = np.zeros(len(keys)), list[str]()
    for value in own:
        at = next((k for k, one in enumerate(values) if not differs(one, value, belief.tolerance)), None)
        if at is None:
            strangers.append(named(value))
        else:
            counts[at] += 1.0
    found = shares(counts, prior, strength=work.strength)
    total = sum(prior)
    written["values"] = {
        named(value) if value is not None else str(key): work.note(f"{place}.values.{key}", e, p / total)
        for key, value, e, p in zip(keys, values, found, prior, strict=True)
    }
    if strangers:
        apart = list(dict.fromkeys(strangers))
        work.warnings.append(
            f"{place}: {len(strangers)} records found {listed(apart, most=MOST_LISTED)}, which the file does not list; "
            "add what may be true"
        )
