"""Spreads learned from what was really found: how much there was, which floor it was on.

A record says it in a column ``truth:BELIEF``. Of a normal spread mean and standard deviation are learned, of a range
its ends, of listed values their weights; what was found but never listed is reported, as a missing hypothesis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from aquamend.arrays import Floats
from aquamend.codec.forms import number_in
from aquamend.learning.estimates import Estimate, normal, shares
from aquamend.learning.learning_run import Work
from aquamend.learning.past_alarms import LARGEST, MISSING
from aquamend.problem.graph import Belief, Value
from aquamend.problem.model.spreads import differs
from aquamend.text import listed, named

FEWEST_FOR_A_SPREAD = 5
"""Different amounts under one fixed value from which on it is said that a spread would suit them better."""
MOST_LISTED = 5


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
            if name not in known or (isinstance(value, str) and value.lower() in MISSING and name in known
                                     and not isinstance(known[name].declared, str)):  # fmt: skip
                continue
            read = as_declared(value, known[name])
            if read is None:
                place = record.place or f"record {i + 1}"
                work.faults.add(place, f"truth:{name}", f"{value!r} is no number, which {name!r} declares")
            else:
                own[name] = read
        if own != record.truth:
            from dataclasses import replace

            work.records[i] = replace(record, truth=own)


def nearest_parts(work: Work, beliefs: Sequence[Belief]) -> None:
    """Place each record under the value of a spread that is nearest to what was really true."""
    known = {belief.name: belief for belief in beliefs}
    whole = np.array(work.words.whole or work.words.names)
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
            _learn(work, f"{place}.truth.{name}", truth, known[name], written, own)


def _written(work: Work) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield the place of everything that says what is true, under which hypotheses it holds, and what it says."""
    for i, hypothesis in enumerate(work.data.get("hypotheses", ())):
        if hypothesis.get("truth"):
            whole = work.words.whole or work.words.names
            yield f"hypotheses[{i}]", np.array([name == str(hypothesis["name"]) for name in whole]), hypothesis["truth"]
    for c, cause in enumerate(work.data.get("causes", ())):
        for state, spec in (cause.get("states") or {"": cause}).items():
            if spec.get("truth"):
                place = f"causes[{c}].states.{state}" if state else f"causes[{c}]"
                label = f"{cause['name']}={state}" if state else cause["name"]
                yield place, work.words.where(label), spec["truth"]


def _learn(
    work: Work, place: str, truth: dict[str, Any], belief: Belief, written: Any, own: Sequence[Value]
) -> None:  # fmt: skip
    numbers = np.array([value for value in own if not isinstance(value, str)], dtype=float)
    if not isinstance(written, dict):
        _fixed(work, place, belief, written, numbers)
    elif not own:
        work.kept[place] = f"no record says what was true of {belief.name!r}; add a column truth:{belief.name}"
        work.said.append(f"{place} stays as it was: {work.kept[place]}")
    elif "normal" in written:
        mean, sd = (float(number) for number in written["normal"])
        found = normal(numbers, mean, sd, strength=work.strength)
        written["normal"] = [
            work.note(f"{place}.normal[0]", found.mean, mean), work.note(f"{place}.normal[1]", found.sd, sd)
        ]  # fmt: skip
        _right_after_all(work, place, belief, numbers)
    elif "uniform" in written:
        before = [float(number) for number in written["uniform"]]
        low, high = _ends(numbers, before, work.strength)
        written["uniform"] = [
            work.note(f"{place}.uniform[0]", low, before[0]), work.note(f"{place}.uniform[1]", high, before[1])
        ]  # fmt: skip
        _right_after_all(work, place, belief, numbers)
    elif "values" in written:
        _weights(work, place, belief, written, own)
    work.warn_few(len(own), f"{place}")


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
