"""From records to a problem file: a template's numbers replaced by what the records say, with their uncertainty.

The template says what there is (beliefs, actions, edges, causes or hypotheses, which rules the tables have) and what is
thought so far. Records that a rule of a table covers are pooled for that rule. What the template says counts as
``strength`` records, everywhere.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aquamend.codec import FirstThatHolds
from aquamend.errors import InvalidData, meant
from aquamend.files import parse_problem, vocabulary_in
from aquamend.learning.estimates import STRENGTH, Estimate, cost, rate, shares
from aquamend.learning.readings import DIGITS, Law, learned_readings
from aquamend.learning.records import Reading, Record, causes_in
from aquamend.problem import Problem
from aquamend.problem.building.following import follows
from aquamend.problem.building.rules import Vocabulary, resolved
from aquamend.text import named

Indices = NDArray[np.intp]
FEW = 5
"""Records below which an estimate is mostly what was thought before."""


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


@dataclass(slots=True)
class _Fit:
    """The work in progress."""

    data: dict[str, Any]
    words: Vocabulary
    records: list[Record]
    """Those that tell what was found."""
    truth: Indices
    """Position of what was found among the hypotheses."""
    strength: float
    law: Law
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    found: dict[str, Estimate] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def note(self, where: str, estimate: Estimate) -> float:
        """Keep an estimate; return its value as a file has it."""
        self.found[where] = estimate
        return float(f"{estimate.value:.{DIGITS}g}")

    def rule_of(self, rules: Mapping[str, Any]) -> list[str | None]:
        """Return, for every record, the key that decides about what was found; None where none does."""
        found = resolved(FirstThatHolds(rules.items()) if isinstance(rules, _InOrder) else rules, self.words)
        return [None if (i := int(found.chosen[s])) < 0 else found.conditions[i] for s in self.truth]


def learned(
    template: Mapping[str, Any], records: Sequence[Record], *, strength: float = STRENGTH, law: Law = Law.AS_WRITTEN
) -> Learned:
    """Return the template with what the records say: priors, alarm, kernels and costs.

    ``law`` says as what the readings of probes that read numbers are learned.
    ``InvalidProblem`` where the template is faulty, ``InvalidData`` where records do not fit it.
    """
    parse_problem(template)
    words = vocabulary_in(template)
    labelled, truth, strangers = _found(words, records, causes="causes" in template)
    fit = _Fit(_with_tables(_plain(template), _read_in_order), words, labelled, truth, strength, law)
    if strangers:
        fit.warnings.append(f"{strangers} records found more causes at once than `together` allows; they are left out")
    _priors(fit)
    _alarm(fit)
    for name, kernel in fit.data.get("kernels", {}).items():
        _kernel(fit, name, kernel)
    _costs(fit, records)
    fit.data = _with_tables(fit.data, _written_in_order)
    return Learned(fit.data, parse_problem(fit.data), fit.found, tuple(fit.warnings), len(labelled), fit.scores)


def _found(words: Vocabulary, records: Sequence[Record], *, causes: bool) -> tuple[list[Record], Indices, int]:
    """Return the records with a finding, the hypothesis of each, and how many found what was left out."""
    position: dict[frozenset[str], int] = {}
    for s, name in enumerate(words.whole or words.names):  # of what a spread stands for, the first part
        position.setdefault(causes_in(name), s)
    known = {part for name in words.whole or words.names for part in name.split(" + ")}
    kept, truth, strangers = [], [], 0
    for i, record in enumerate(records, start=1):
        if record.found is None:
            continue
        at = position.get(causes_in(record.found))
        if at is not None:
            kept.append(record)
            truth.append(at)
        elif causes and all(part in known for part in causes_in(record.found)):
            strangers += 1
        else:
            near = meant(record.found, words.whole or words.names)
            hint = f"; did you mean {near!r}?" if near else ""
            raise InvalidData(f"record {i}", f"found is {record.found[:80]!r}, which the problem does not know{hint}")
    if not kept:
        raise InvalidData("records", "none of them tells what was found")
    return kept, np.array(truth, dtype=np.intp), strangers


def _plain(data: Any) -> Any:
    """Return data as JSON has them, free of what reading them left behind."""
    if isinstance(data, Mapping):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in data]
    if isinstance(data, float):
        return float(data)
    return copy.copy(data)


class _InOrder(dict[str, Any]):
    """Rows by condition, of which the first that holds decides: what a file writes as a list of pairs."""


def _read_in_order(table: Any) -> Any:
    in_order = isinstance(table, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in table)
    return _InOrder(FirstThatHolds((str(rule), row) for rule, row in table)) if in_order else table


def _written_in_order(table: Any) -> Any:
    return [[rule, row] for rule, row in table.items()] if isinstance(table, _InOrder) else table


def _with_tables(data: dict[str, Any], changed: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the data with every table that is learned changed in its form."""
    alarm, kernels = data.get("alarm"), data.get("kernels", {})
    places: list[tuple[Any, tuple[str, ...]]] = [(alarm, ("likelihood",))] if alarm else []
    places += [(kernel, _TABLES) for kernel in kernels.values()]
    places += [
        (state, ("prior",))
        for cause in data.get("causes", ())
        for state in (cause.get("states") or {"": cause}).values()
    ]
    for entry, keys in places:
        for key in keys:
            if key in entry:
                entry[key] = changed(entry[key])
    return data


_TABLES = ("likelihood", "gaussian", "mixture", "samples")


def _priors(fit: _Fit) -> None:
    if "causes" in fit.data:
        for c, cause in enumerate(fit.data["causes"]):
            if any("rate" in state for state in (cause.get("states") or {"": cause}).values()):
                said = "stays as it was: no record tells how old beliefs were"
                fit.warnings.append(f"the rate of cause {cause['name']!r} {said}")
            else:
                _cause_prior(fit, f"causes[{c}]", cause)
        return
    hypotheses = fit.data["hypotheses"]
    wrote = [causes_in(str(h["name"])) for h in hypotheses]
    counts = np.array([sum(causes_in(str(r.found)) == name for r in fit.records) for name in wrote])
    found = shares(counts, [h["prior"] for h in hypotheses], strength=fit.strength)
    for i, (hypothesis, estimate, n) in enumerate(zip(hypotheses, found, counts, strict=True)):
        hypothesis["prior"] = fit.note(f"hypotheses[{i}].prior", estimate)
        _warn_few(fit, int(n), f"hypothesis {hypothesis['name']!r}")


def _cause_prior(fit: _Fit, where: str, cause: dict[str, Any]) -> None:
    """Learn the states of a cause together, under each of its rules: how often each was found, and none."""
    name = cause["name"]
    states = cause.get("states") or {"": cause}
    own = {key: None for s in states.values() if isinstance(s["prior"], dict) for key in s["prior"]}
    rules: dict[str, None] = {"default": None, **own}
    if any(isinstance(s["prior"], _InOrder) for s in states.values()):
        rules = _InOrder({**own, "default": None})
    owner = fit.rule_of(rules)
    counts = {rule: np.zeros(1 + len(states)) for rule in rules}
    labels = [f"{name}={state}" if state else name for state in states]
    present = [fit.words.where(label) for label in labels]
    for record, rule in enumerate(owner):
        at = next((i for i, holds in enumerate(present, start=1) if holds[fit.truth[record]]), 0)
        counts[str(rule)][at] += 1
    for rule, n in counts.items():
        prior = [_prior_under(spec["prior"], rule) for spec in states.values()]
        found = shares(n, [max(0.0, 1.0 - sum(prior)), *prior], strength=fit.strength)[1:]
        for (state, spec), estimate in zip(states.items(), found, strict=True):
            place = f"{where}.states.{state}.prior" if state else f"{where}.prior"
            if not isinstance(spec["prior"], dict):
                if rule == "default":
                    spec["prior"] = fit.note(place, _alone(fit, counts, list(states).index(state) + 1, estimate, prior))
            elif rule in spec["prior"]:
                spec["prior"][rule] = fit.note(f"{place}.{rule}", estimate)
    _warn_few(fit, round(sum(float(n[1:].sum()) for n in counts.values())), f"cause {name!r}")


def _prior_under(prior: float | Mapping[str, float], rule: str) -> float:
    """Return what a state's prior is under one of the rules."""
    return float(prior.get(rule, prior.get("default", 0.0)) if isinstance(prior, Mapping) else prior)


def _alone(fit: _Fit, counts: Mapping[str, Any], k: int, estimate: Estimate, prior: Sequence[float]) -> Estimate:
    """Return the estimate of a state whose prior no rule splits: over all records, whatever rule they are under."""
    if len(counts) == 1:
        return estimate
    total = sum(counts.values())
    return rate(float(total[k]), float(total.sum()), prior[k - 1], strength=fit.strength)


def _alarm(fit: _Fit) -> None:
    alarm = fit.data.get("alarm")
    if fit.data.get("alarms"):
        fit.warnings.append("alarms by name stay as they were: no record tells which of them rang")
    if alarm is None:
        return
    if all(record.alarm for record in fit.records):
        # Then what was found already is what is found given an alarm: nothing is left for the alarm to tell.
        alarm.pop("noisy_or", None)
        alarm["likelihood"] = {"default": 1.0}
        fit.warnings.append(
            "every record is of an alarm: the priors learned are those after it, and the alarm tells nothing more; "
            "add records of times without an alarm (alarm: false) to learn how likely it is"
        )
        return
    if "noisy_or" in alarm:
        fit.warnings.append("the alarm is given by noisy_or, of which nothing is learned; it stays as it was")
        return
    owner = fit.rule_of(alarm["likelihood"])
    for rule, before in alarm["likelihood"].items():
        own = [record.alarm for record, mine in zip(fit.records, owner, strict=True) if mine == rule]
        estimate = rate(sum(own), len(own), float(before), strength=fit.strength)
        alarm["likelihood"][rule] = fit.note(f"alarm.likelihood.{rule}", estimate)
        _warn_few(fit, len(own), f"the alarm under {rule!r}")


def _kernel(fit: _Fit, probe: str, kernel: dict[str, Any]) -> None:
    if "noisy_or" in kernel:
        fit.warnings.append(f"probe {probe!r} is given by noisy_or, of which nothing is learned; it stays as it was")
        return
    rows = next((rows for rows in kernel.values() if isinstance(rows, dict)), {})
    if "of" in kernel or follows(list(rows.values())):
        fit.warnings.append(f"probe {probe!r} follows the truth of a belief, which no record tells; it stays as it was")
        return
    readings: dict[str, list[Reading]] = {rule: [] for rule in rows}
    for record, rule in zip(fit.records, fit.rule_of(rows), strict=True):
        if rule is not None:
            readings[rule] += record.readings.get(probe, ())
    (_outcomes if "outcomes" in kernel else _numbers)(fit, probe, kernel, readings)
    for rule, own in readings.items():
        _warn_few(fit, len(own), f"probe {probe!r} under {rule!r}")


def _outcomes(fit: _Fit, probe: str, kernel: dict[str, Any], readings: Mapping[str, Sequence[Reading]]) -> None:
    outcomes = [str(outcome) for outcome in kernel["outcomes"]]
    for rule, own in readings.items():
        said = [named(answer) for answer in own]
        unknown = [answer for answer in said if answer not in outcomes]
        if unknown:
            near = meant(unknown[0], outcomes)
            hint = f"; did you mean {near!r}?" if near else ""
            raise InvalidData(f"probe {probe}", f"{unknown[0][:60]!r} is none of its outcomes{hint}")
        found = shares([said.count(outcome) for outcome in outcomes], kernel["likelihood"][rule], strength=fit.strength)
        where = f"kernels.{probe}.likelihood.{rule}"
        kernel["likelihood"][rule] = [fit.note(f"{where}[{j}]", estimate) for j, estimate in enumerate(found)]


def _numbers(fit: _Fit, probe: str, kernel: dict[str, Any], readings: Mapping[str, Sequence[Reading]]) -> None:
    try:
        own = {rule: np.array([float(answer) for answer in said]) for rule, said in readings.items()}
    except ValueError as error:
        raise InvalidData(f"probe {probe}", f"it reads numbers: {error}") from None
    in_order = any(isinstance(rows, _InOrder) for rows in kernel.values())
    found = learned_readings(kernel, own, law=fit.law, strength=fit.strength)
    kernel.clear()
    for key, value in found.kernel.items():
        kernel[key] = _InOrder(value) if in_order and isinstance(value, dict) else value
    for place, estimate in found.estimates.items():
        fit.note(f"kernels.{probe}.{place}", estimate)
    if found.scores:
        fit.scores[probe] = found.scores


def _costs(fit: _Fit, records: Sequence[Record]) -> None:
    """Learn what things cost, from all records, also those of which nobody found out what was the case."""
    amounts: dict[str, list[float]] = {}
    for record in records:
        for name, amount in record.costs.items():
            amounts.setdefault(name, []).append(amount)
    for where, entry, key, name in _priced(fit.data):
        own = amounts.pop(name, None)
        if own and isinstance(entry.get(key, 0.0), int | float):
            before = float(entry.get(key, np.mean(own)))
            entry[key] = fit.note(f"{where}.{key}" if where else key, cost(own, before, strength=fit.strength))
    if amounts:
        listed = ", ".join(sorted(amounts)[:5])
        fit.warnings.append(f"costs of {listed} belong to nothing in the problem, or to a loss given by rules")


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


def _warn_few(fit: _Fit, n: int, what: str) -> None:
    if n < FEW:
        fit.warnings.append(f"{what} rests on {n} record{'' if n == 1 else 's'}; mostly what the template said")
