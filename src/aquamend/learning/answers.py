"""How a template's probes answer, learned: outcomes, numbers, noisy-or, and what follows the truth of a belief.

Of a row that follows a belief (``level_A + 9``) the error of the instrument is learned, reading less truth: its mean
and its spread. Which value was true the record says (``truth:level_A``), or what was found
implies it. Of a probe that answers a belief's value, how often it is right, and how often it answers nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from aquamend.arrays import Floats
from aquamend.errors import meant
from aquamend.learning.estimates import shares
from aquamend.learning.happened import Happened, Monitor
from aquamend.learning.learning_run import FEW, InOrder, Work
from aquamend.learning.past_alarms import LARGEST, MISSING, Reading
from aquamend.learning.readings import DIGITS, Law, Part, learned_readings, mixed_units, parts_of
from aquamend.problem import Problem
from aquamend.problem.building.rule_tables import FollowedTruth, belief_followed
from aquamend.problem.building.rules import LEAK
from aquamend.problem.graph import Value
from aquamend.problem.model.kernels import Outcomes
from aquamend.text import counted, named, shown

FEWEST_FOR_A_FACTOR = 5
"""Different truths that are needed to tell by how much a reading grows with the truth."""
HARDLY_ALLOWED = 1e-4
"""Chance of a reading so far out, by the file, below which it is asked whether a rule is missing."""


class Said(NamedTuple):
    """One answer of a probe, and in which record."""

    record: int
    answer: Reading


def learn_answers(work: Work, problem: Problem) -> None:
    """Learn every kernel of the template from the records' readings."""
    for probe, kernel in work.data.get("kernels", {}).items():
        said = [Said(i, a) for i, record in enumerate(work.records) for a in record.readings.get(probe, ())]
        if "noisy_or" in kernel:
            _noisy_or(work, probe, kernel, said)
        elif "of" in kernel:
            _value_of(work, probe, kernel, said, problem)
        elif "outcomes" in kernel:
            _outcomes(work, probe, kernel, said)
        else:
            _numbers(work, probe, kernel, said)


def _among(work: Work, probe: str, said: Sequence[Said], outcomes: Sequence[str]) -> list[tuple[int, int]]:
    """Return the record and the outcome of every answer; those that are none are faults, or blanks."""
    position = {outcome: k for k, outcome in enumerate(outcomes)}
    found, blank = [], 0
    for record, answer in said:
        text = named(answer)
        if text in position:
            found.append((record, position[text]))
        elif text.lower() in MISSING:
            blank += 1
        else:
            near = meant(text, outcomes)
            hint = f"; did you mean {near!r}?" if near else f"; they are {', '.join(map(repr, outcomes[:8]))}"
            work.faults.add(_place(work, record), probe, f"{shown(text)[:60]!r} is none of its outcomes{hint}")
    _say_used(work, probe, len(found), blank)
    return found


def _say_used(work: Work, probe: str, used: int, blank: int, infinite: Sequence[str] = (), without: int = 0) -> None:
    parts = [f"{counted(blank, 'cell')} without one"] if blank else []
    if infinite:
        parts.append(f"{len(infinite)} infinite ({', '.join(infinite[:5])}), left out")
    if without:
        parts.append(f"{without} left out, since nothing says what was true then")
    if used or parts:
        work.said.append(f"{probe!r}: " + "; ".join([counted(used, "answer") + " used", *parts]))


def _place(work: Work, record: int) -> str:
    return work.records[record].place or f"record {record + 1}"


def _outcomes(work: Work, probe: str, kernel: dict[str, Any], said: Sequence[Said]) -> None:
    outcomes, rows = [str(outcome) for outcome in kernel["outcomes"]], kernel["likelihood"]
    _rows(work, probe, rows, outcomes, _among(work, probe, said, outcomes))


def _rows(
    work: Work, probe: str, rows: dict[str, Any], outcomes: Sequence[str], among: Sequence[tuple[int, int]]
) -> None:
    """Learn rows by rule, each one a distribution over the outcomes."""
    rules = work.rule_of(rows)
    counts = {rule: np.zeros(len(outcomes)) for rule in rows}
    for record, k in among:
        if (rule := rules[record]) is not None:
            counts[rule][k] += 1.0
    for rule, n in counts.items():
        before, where = rows[rule], f"kernels.{probe}.likelihood.{rule}"
        found = shares(n, before, strength=work.strength)
        rows[rule] = [work.note(f"{where}[{k}]", e, before[k]) for k, e in enumerate(found)]
        work.warn_few(round(float(n.sum())), f"probe {probe!r} under {rule!r}")


def _noisy_or(work: Work, probe: str, kernel: dict[str, Any], said: Sequence[Said]) -> None:
    """Learn a noisy-or: each cause's own number follows where it was found alone, else from what they add."""
    names, n = list(kernel["noisy_or"]), len(work.words.names)
    among = _among(work, probe, said, [str(outcome) for outcome in kernel["outcomes"]])
    counts = np.zeros((2, n))
    for record, k in among:
        counts[k, work.truth[record]] += 1.0
    of = np.column_stack([np.ones(n) if name == LEAK else work.words.where(name) for name in names]).astype(float)
    prior = np.array([float(p) for p in kernel["noisy_or"].values()])
    monitor = Monitor(prior, of, True, None, counts[1:], counts[:1])
    fit = Happened(np.zeros((1, n)), np.ones(n), (), (), [monitor], False, work.strength).fitted(
        intervals=work.intervals
    )
    for k, name in enumerate(names):
        own = round(float(counts.sum(axis=0) @ of[:, k]))
        found = fit.monitor(0, k, own)
        kernel["noisy_or"][name] = work.note(f"kernels.{probe}.noisy_or.{name}", found, kernel["noisy_or"][name])
        work.warn_few(own, f"probe {probe!r} under {name!r}")
        if own:
            work.warn_wide(f"kernels.{probe}.noisy_or.{name}", found)


def _value_of(work: Work, probe: str, kernel: dict[str, Any], said: Sequence[Said], problem: Problem) -> None:
    """Learn how often a probe answers the true value of a belief, or none at all."""
    channel = problem.model.channels[probe]
    outcomes = list(channel.outcomes) if isinstance(channel, Outcomes) else []
    rows = kernel.get("likelihood", {})
    own_rows = work.rule_of(rows) if rows else [None] * len(work.records)
    listed, answers, without = list[tuple[int, int]](), np.zeros(3), 0
    truth = work.true_of(kernel["of"])
    has_none = "none" in kernel
    for record, k in _among(work, probe, said, outcomes):
        if own_rows[record] is not None:
            listed.append((record, k))
            continue
        true = truth[record]
        if true is None:
            without += 1
        else:
            silent = has_none and k == len(outcomes) - 1
            answers[1 if silent else 0 if outcomes[k] == _as_named(true, outcomes) else 2] += 1.0
    if rows:
        _rows(work, probe, rows, outcomes, listed)
    if without:
        work.said.append(f"{probe!r}: {without} answers were left out, since nothing says what was true then")
    right, none = float(kernel["right"]), float(kernel.get("none", 0.0))
    before = np.maximum(np.array([right, none, 1.0 - right - none]), 0.0)
    found = shares(answers, before, strength=work.strength)
    kernel["right"] = work.note(f"kernels.{probe}.right", found[0], right)
    if has_none:
        kernel["none"] = work.note(f"kernels.{probe}.none", found[1], none)
    work.warn_few(round(float(answers.sum())), f"probe {probe!r}")


def _as_named(value: Value, outcomes: Sequence[str]) -> str:
    """Return a true value as the outcomes name it: of numbers, the nearest."""
    if isinstance(value, str):
        return value
    numbers = {outcome: number for outcome in outcomes if (number := _number(outcome)) is not None}
    return min(numbers, key=lambda one: abs(numbers[one] - value)) if numbers else named(value)


def _number(answer: Reading) -> float | None:
    try:
        return float(answer)
    except ValueError:
        return None


class ReadWith(NamedTuple):
    """What was read under one rule."""

    records: list[int]
    readings: Floats
    truths: Floats
    """What was true of the belief that the rule's row follows; 0 where it follows none."""


def _numbers(work: Work, probe: str, kernel: dict[str, Any], said: Sequence[Said]) -> None:
    """Learn a kernel of readings, each row's less what it follows."""
    table = _table(kernel)
    rows, rules = kernel[table], work.rule_of(kernel[table])
    readings = _readings(work, probe, said)
    several = next((rule for rule, row in rows.items() if len(_all_followed(work, row)) > 1), None)
    if several is not None and said:
        why = f"under {several!r} its parts follow different things, and no record says which of them was read"
        work.stays(f"kernels.{probe}", f"probe {probe!r}", why)
        return
    followers = {rule: one for rule, row in rows.items() if (one := _follower(work, row)) is not None}
    truth = {own.belief: work.true_of(own.belief) for own in followers.values()}
    found: dict[str, list[tuple[int, float, float]]] = {rule: [] for rule in rows}
    without = 0
    for record, reading in readings:
        rule = rules[record]
        if rule is None:
            continue
        true = truth[followers[rule].belief][record] if rule in followers else 0.0
        if true is None or isinstance(true, str):
            without += 1
        else:
            found[rule].append((record, reading, float(true)))
    if followers and not any(found.values()):
        belief = next(iter(followers.values())).belief
        why = f"nothing says what was true of {belief!r}; add a column truth:{belief}"
        work.stays(f"kernels.{probe}", f"probe {probe!r}", why)
        return
    _say_used(work, probe, sum(map(len, found.values())), 0, (), without)
    read = {
        rule: ReadWith([i for i, _, _ in own], np.array([y for _, y, _ in own]), np.array([x for _, _, x in own]))
        for rule, own in found.items()
    }
    for rule, own in read.items():
        places = [_place(work, i) for i in own.records]
        known, centre = table != "gaussian", _centre(rows[rule])
        if mixed := mixed_units(probe, own.readings, places, centre, heaps_are_known=known):
            work.warnings.append(mixed)
            work.kept[f"kernels.{probe}"] = "its readings seem to be in several units"
            return
    plain = {**kernel, table: {rule: _less_belief(row, work) for rule, row in rows.items()}}
    for rule, parts in parts_of(plain).items():
        if len(read[rule].records) < FEW:  # with more, what the file said counts for little
            _warn_far(work, probe, rule, parts, read[rule], _errors(read[rule], followers.get(rule)))
    _learn_rows(work, probe, kernel, plain, followers, read)


def _errors(read: ReadWith, follower: Follower | None) -> Floats:
    """Return the readings less what they follow."""
    return read.readings - (0.0 if follower is None else follower.factor) * read.truths


def _warn_far(work: Work, probe: str, rule: str, parts: Sequence[Part], read: ReadWith, errors: Floats) -> None:
    """Warn of readings that the file hardly allows."""
    for record, reading, error in zip(read.records, read.readings, errors, strict=True):
        below = sum(part.weight * NormalDist(part.mean, part.sd).cdf(error) for part in parts)
        if 2.0 * min(below, 1.0 - below) < HARDLY_ALLOWED:
            found = shown(str(work.records[record].found))[:80]
            work.warnings.append(
                f"{probe!r} read {reading:g} where {found!r} was found ({_place(work, record)}), which the file hardly "
                f"allows under {rule!r}: is a rule missing?"
            )


def _readings(work: Work, probe: str, said: Sequence[Said]) -> list[tuple[int, float]]:
    """Return the readings that are numbers; what is none is a fault, a blank, or left out as infinite."""
    found, blank, infinite = [], 0, list[str]()
    for record, answer in said:
        if isinstance(answer, str) and answer.strip().lower() in MISSING:
            blank += 1
            continue
        number = _number(answer)
        if number is None:
            problem = f"it reads numbers: {shown(str(answer))[:60]!r} is none"
            work.faults.add(_place(work, record), probe, problem)
        elif np.isnan(number):
            blank += 1
        elif not -LARGEST < number < LARGEST:
            infinite.append(_place(work, record))
        else:
            found.append((record, number))
    if blank or infinite:
        _say_used(work, probe, len(found), blank, infinite)
    if infinite:
        work.warnings.append(f"{probe!r} has {len(infinite)} infinite readings ({', '.join(infinite[:5])}), left out")
    return found


class Follower(NamedTuple):
    """What the means of a row follow: one belief, all by the same factor."""

    belief: str
    factor: float
    scaled: bool
    """Whether the file writes a factor."""


def _follower(work: Work, row: Any) -> Follower | None:
    means = [own for text in _texts(row) if (own := belief_followed(text, work.words.truth)) is not None]
    if not means:
        return None
    return Follower(means[0].belief, means[0].factor, any("*" in text for text in _texts(row)))


def _all_followed(work: Work, row: Any) -> set[tuple[str, float] | None]:
    """Return what the means of a row follow: a belief by a factor, or None where it is a number."""
    if any(isinstance(part, list | tuple) for part in row):
        return set().union(*(_all_followed(work, part) for part in row))
    own = [belief_followed(text, work.words.truth) for text in _texts(row)]
    return {None if one is None else (one.belief, one.factor) for one in own} or {None}


def _texts(row: Any) -> list[str]:
    if isinstance(row, str):
        return [row]
    return [text for one in row for text in _texts(one)] if isinstance(row, list | tuple) else []


def _centre(row: Any) -> float | None:
    """Return the mean of a plain row of one normal distribution; None of any other."""
    plain = isinstance(row, list | tuple) and len(row) == 2 and all(isinstance(x, int | float) for x in row)
    return float(row[0]) if plain else None


def _learn_rows(
    work: Work,
    probe: str,
    kernel: dict[str, Any],
    plain: Mapping[str, Any],
    followers: dict[str, Follower],
    read: Mapping[str, ReadWith],
) -> None:
    """Learn the rows of a kernel whose ``plain`` form has offsets in the place of what follows a belief."""
    for rule, follower in list(followers.items()):
        own = read[rule]
        if follower.scaled and len(np.unique(own.truths)) >= FEWEST_FOR_A_FACTOR:
            factor = _factor(own.readings, own.truths, follower.factor, work.strength)
            followers[rule] = follower._replace(factor=factor)
    in_order = isinstance(kernel[_table(kernel)], InOrder)
    errors = {rule: _errors(own, followers.get(rule)) for rule, own in read.items()}
    law = Law.AS_WRITTEN if followers else work.law
    found = learned_readings(plain, errors, law=law, strength=work.strength)
    before = _before(plain)
    kernel.clear()
    for key, value in found.kernel.items():
        if isinstance(value, dict):
            value = {rule: _with_belief(row, followers.get(rule)) for rule, row in value.items()}
            value = InOrder(value) if in_order else value
        kernel[key] = value
    for place, estimate in found.estimates.items():
        work.note(f"kernels.{probe}.{place}", estimate, before.get(place))
    if found.scores:
        work.scores[probe] = found.scores
    for rule, own in read.items():
        work.warn_few(len(own.records), f"probe {probe!r} under {rule!r}")


def _table(kernel: Mapping[str, Any]) -> str:
    return next(key for key, rows in kernel.items() if isinstance(rows, dict))


def _before(kernel: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a plain kernel by their places, as estimates have them."""
    found: dict[str, float] = {}

    def walk(place: str, value: Any) -> None:
        if isinstance(value, int | float):
            found[place] = float(value)
        elif isinstance(value, list | tuple):
            for i, one in enumerate(value):
                walk(f"{place}[{i}]", one)
        elif isinstance(value, dict):
            for key, one in value.items():
                walk(f"{place}.{key}", one)

    for key, value in kernel.items():
        walk(key, value)
    return found


def _less_belief(row: Any, work: Work) -> Any:
    """Return a row with offsets in the place of what follows a belief: the distribution of the error."""
    if isinstance(row, str):
        own = belief_followed(row, work.words.truth) or FollowedTruth(row)
        return own.offset
    return [_less_belief(one, work) for one in row] if isinstance(row, list | tuple) else row


def _with_belief(row: Any, follower: Follower | None) -> Any:
    """Return a learned row of errors with its means as the file writes them."""
    if follower is None:
        return row
    if row and isinstance(row[0], list | tuple):
        return [_with_belief(part, follower) for part in row]
    mean = row[-2]
    text = follower.belief if not follower.scaled else f"{follower.factor:.{DIGITS}g} * {follower.belief}"
    if mean or follower.scaled:
        text += f" {'-' if mean < 0 else '+'} {abs(mean):.{DIGITS}g}"
    return [*row[:-2], text, row[-1]]


def _factor(readings: Floats, truths: Floats, thought: float, strength: float) -> float:
    """Return by how much readings grow with the truth: least squares, the file's factor counting as so many records."""
    x, y = truths - truths.mean(), readings - readings.mean()
    scale = float(x @ x / len(x))
    return float((x @ y + strength * scale * thought) / (x @ x + strength * scale))
