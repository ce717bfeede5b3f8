"""Causes and alarms of a template, as `happened` learns them, and back: priors, rates, likelihoods, noisy-or.

Each record is one draw of what happened. Where all were kept, silent times among them, everything is a count. Where
only alarms were, or where ``together`` leaves combinations out, the records are a selection, which is part of the
likelihood.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from aquamend.arrays import Floats, Indices
from aquamend.learning.estimates import Estimate, rate, shares
from aquamend.learning.happened import Block, Found, Happened, Monitor, Rate, identified, with_room
from aquamend.learning.learning_run import InOrder, Work, label_of, place_of, states_of
from aquamend.learning.past_alarms import causes_in
from aquamend.problem.building.rules import LEAK, NOTHING

AGES_APART = 40
"""Groups of ages that records are put into, where there are more different ones."""
SURPRISING = 4.0
"""Standard errors by which shares must differ from what the model can give before it is said."""
MOST_SURPRISES = 3
LARGEST = 4_000_000
"""Groups of ages times hypotheses that are worked on at most."""
PROMISED_HALVINGS = 8


@dataclass(slots=True)
class _Places:
    """Where in the file the numbers stand that `Happened` has in arrays."""

    blocks: list[tuple[int, str]] = field(default_factory=list)
    """For every block: which cause, which of its rules."""
    rates: list[tuple[int, list[str]]] = field(default_factory=list)
    monitors: list[tuple[str, dict[str, Any], list[str]]] = field(default_factory=list)
    """For every monitor: its place, its entry, its rules or the causes of its noisy-or."""


def learn_what_happens(work: Work) -> None:
    """Learn priors and rates, and how likely the monitors ring."""
    _blank_monitors(work)
    places = _Places()
    happened = _posed(work, places)
    searched = happened.selected or _left_out(work) or happened.rates or any(m.noisy_or for m in happened.monitors)
    fit = happened.fitted(intervals=work.intervals and bool(searched))
    if happened.selected and len(happened.monitors) == 1:
        happened, fit = _scaled(work, happened, fit)
        if _needs_nothing(work, happened, fit):
            return learn_what_happens(work)
    _say_what_was_assumed(work, happened, places)
    _write_causes(work, happened, fit, places)
    for m in range(len(happened.monitors)):
        _write_monitor(work, happened, fit, places, m)
    _compare(work, happened, fit)
    return None


def _scaled(work: Work, happened: Happened, fit: Found) -> tuple[Happened, Found]:
    """Return both with the alarm's numbers made smaller together until none runs into 1."""
    for halvings in range(1, PROMISED_HALVINGS + 1):
        room = with_room(happened, fit, 0)
        if room is None:
            break
        happened, fit = room, room.fitted(intervals=work.intervals)
        if halvings == 1:
            work.said.append("only ratios of the alarm's numbers can be learned: they were made smaller together")
    return happened, fit


def _blank_monitors(work: Work) -> None:
    """Note which monitors of several nobody says anything of."""
    names = work.data.get("alarms") or {}
    heard = {name for record in work.records for name in record.rung}
    for name in names:
        if name not in heard:
            why = f"no record tells whether it rang; add a column alarm:{name}, true or false"
            work.stays(f"alarms.{name}", f"the alarm {name!r}", why)


def _posed(work: Work, places: _Places) -> Happened:
    """Return what there is to learn, and note where in the file each number stands."""
    data = work.data
    groups, rates = _ages(work, places)
    counts = np.zeros((int(groups.max()) + 1 if len(groups) else 1, len(work.words.names)))
    np.add.at(counts, (groups, work.truth), 1.0)
    blocks = _cause_blocks(work, places) if "causes" in data else _hypothesis_block(work, places)
    selected = _only_alarms(work)
    monitors = _monitors(work, places, groups, counts.shape, selected)
    if selected and len(monitors) == 1 and not monitors[0].noisy_or:
        free = identified(blocks, monitors[0], counts.sum(axis=0))
        monitors = [replace(monitors[0], held=~free)]
    share = _shares_of_values(work, blocks, rates)
    return Happened(counts, share, blocks, rates, monitors, selected, work.strength)


def _shares_of_values(work: Work, blocks: Sequence[Block], rates: Sequence[Rate]) -> Floats:
    """Return what share of all hypotheses with the same causes each has: one for every value of a spread.

    What is not learned, a cause whose rate stays as it was, keeps its probability here.
    """
    prior = np.array([h.prior for h in work.hypotheses])
    columns = [*(block.option for block in blocks), *(rate.option for rate in rates)]
    share = np.ones(len(prior))
    known = {column.tobytes() for column in columns}
    for cause in work.data.get("causes", ()):
        option = _options(work, cause)
        if "rate" in next(iter(states_of(cause).values())) and option.tobytes() not in known:
            columns.append(option)
            share *= np.bincount(option, prior)[option]
    group = np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].ravel()
    total, even = np.bincount(group, weights=prior)[group], 1.0 / np.bincount(group)[group]
    return np.asarray(share * np.divide(prior, total, out=even, where=total > 0.0))


def _only_alarms(work: Work) -> bool:
    """Whether every record is there because a monitor of the file rang."""
    has = work.data.get("alarm") is not None or bool(work.data.get("alarms"))
    return has and all(record.alarm for record in work.records)


def _cause_blocks(work: Work, places: _Places) -> list[Block]:
    blocks = []
    for c, cause in enumerate(work.data["causes"]):
        states = states_of(cause)
        if any("rate" in spec for spec in states.values()):
            continue
        own = {key: None for s in states.values() if isinstance(s["prior"], dict) for key in s["prior"]}
        rules: dict[str, None] = {"default": None, **own}
        if any(isinstance(s["prior"], InOrder) for s in states.values()):
            rules = InOrder({**own, "default": None})
        deciding = np.array([str(rule) for rule in work.deciding(rules)])
        option = _options(work, cause)
        for rule in rules:
            prior = [_prior_under(spec["prior"], rule) for spec in states.values()]
            everything = np.array([max(0.0, 1.0 - sum(prior)), *prior])
            blocks.append(Block(everything / everything.sum(), np.where(deciding == rule, option, -1)))
            places.blocks.append((c, rule))
    return blocks


def _hypothesis_block(work: Work, places: _Places) -> list[Block]:
    position = {causes_in(str(h["name"])): i for i, h in enumerate(work.data["hypotheses"])}
    option = np.array([position[causes_in(name)] for name in work.whole], dtype=np.intp)
    prior = np.array([float(h["prior"]) for h in work.data["hypotheses"]])
    places.blocks.append((-1, ""))
    return [Block(prior / prior.sum(), option)]


def _options(work: Work, cause: Mapping[str, Any]) -> Indices:
    """Return, for every hypothesis, in which state a cause is, counted from 1; 0 where it is absent."""
    option = np.zeros(len(work.words.names), dtype=np.intp)
    for k, state in enumerate(states_of(cause), start=1):
        option[work.words.where(label_of(cause, state))] = k
    return option


def _prior_under(prior: float | Mapping[str, float], rule: str) -> float:
    """Return what a state's prior is under one of the rules."""
    return float(prior.get(rule, prior.get("default", 0.0)) if isinstance(prior, Mapping) else prior)


def _ages(work: Work, places: _Places) -> tuple[Indices, list[Rate]]:
    """Return the group of ages that each record is in, and the causes that come at a rate."""
    columns, rated = list[Floats](), list[tuple[Indices, Floats]]()
    for c, cause in enumerate(work.data.get("causes", ())):
        states = states_of(cause)
        if not any("rate" in spec for spec in states.values()):
            continue
        own = [_age_of(work, record, states) for record in range(len(work.records))]
        numbers = [spec.get("rate") for spec in states.values()]
        known = [age for age in own if age is not None]
        why = ""
        if any(isinstance(one, dict | list) for one in numbers):
            why = "it is given by rules"
        elif not all(isinstance(one, int | float) and one > 0 for one in numbers):
            why = "of a rate of 0 nothing can be learned"
        elif not known:
            why = "no record tells how old beliefs were; add a column age, or age:BELIEF"
        elif len(work.words.names) * AGES_APART > LARGEST:
            why = "there are too many hypotheses"
        if why:
            work.stays(f"causes[{c}].rate", f"the rate of cause {cause['name']!r}", why)
            continue
        ages = np.array([float(np.mean(known)) if age is None and known else age or 0.0 for age in own])
        if len(known) < len(own):
            missing = len(own) - len(known)
            work.warnings.append(f"{missing} records do not say how old what {cause['name']!r} overtakes was; "
                                 "they count with the mean age of the others")  # fmt: skip
        columns.append(_grouped(ages))
        rated.append((_options(work, cause), np.array([float(one) for one in numbers])))
        places.rates.append((c, list(states)))
    if not columns:
        return np.zeros(len(work.records), dtype=np.intp), []
    several, group = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    rates = [Rate(prior, option, several[:, k]) for k, (option, prior) in enumerate(rated)]
    return group.ravel().astype(np.intp), rates


def _age_of(work: Work, record: int, states: Mapping[str, Any]) -> float | None:
    """Return how old the oldest belief was that a cause makes wrong; None where the record does not say."""
    ages = work.records[record].ages
    own = dict.fromkeys(b for spec in states.values() for b in (*spec.get("failed", ()), *spec.get("truth", ())))
    said = [ages.get(belief, ages.get("")) for belief in own] or [ages.get("")]
    known = [age for age in said if age is not None]
    return max(known) if known else None


def _grouped(ages: Floats) -> Floats:
    """Return the ages, near ones made the same where there are many."""
    if len(np.unique(ages)) <= AGES_APART:
        return ages
    place = np.searchsorted(np.quantile(ages, np.arange(1, AGES_APART) / AGES_APART), ages, side="right")
    return np.asarray((np.bincount(place, weights=ages) / np.maximum(np.bincount(place), 1))[place])


def _monitors(work: Work, places: _Places, groups: Indices, shape: tuple[int, ...], selected: bool) -> list[Monitor]:
    entries = {"alarm": work.data["alarm"]} if work.data.get("alarm") is not None else {}
    entries |= {f"alarms.{name}": entry for name, entry in (work.data.get("alarms") or {}).items()}
    found = []
    for place, entry in entries.items():
        name = place.removeprefix("alarms.")
        if "noisy_or" in entry:
            numbers, of = dict(entry["noisy_or"]), np.zeros((shape[1], len(entry["noisy_or"])))
            for k, cause in enumerate(numbers):
                of[:, k] = 1.0 if cause == LEAK else work.words.where(cause)
        else:
            numbers, deciding = dict(entry["likelihood"]), work.deciding(entry["likelihood"])
            of = np.array([[float(rule == own) for own in numbers] for rule in deciding])
        rung, silent, heard = np.zeros(shape), np.zeros(shape), place == "alarm"
        for record, group, s in zip(work.records, groups.tolist(), work.truth.tolist(), strict=True):
            rang = record.alarm if place == "alarm" else record.rung.get(name)
            heard = heard or rang is not None
            if rang is not None:
                (rung if rang else silent)[group, s] += 1.0
        held = None if heard else np.ones(len(numbers), dtype=bool)
        prior = np.array([float(p) for p in numbers.values()])
        found.append(Monitor(prior, of, "noisy_or" in entry, held, rung, silent))
        places.monitors.append((place, entry, list(numbers)))
    return found


def _needs_nothing(work: Work, happened: Happened, fit: Found) -> bool:
    """Add a rule for ``nothing`` to an alarm that has none, where the share of false alarms cannot be had without."""
    alarm, observed = work.data.get("alarm"), happened.counts.sum(axis=0)
    if alarm is None or "noisy_or" in alarm or "causes" not in work.data or NOTHING in alarm["likelihood"]:
        return False
    nothing = work.words.where(NOTHING)
    rules = work.deciding(alarm["likelihood"])
    own = {rules[s] for s in np.flatnonzero(nothing)}
    share, n = float(fit.of.shares(fit.numbers)[nothing].sum()), float(observed.sum())
    far = abs(observed[nothing].sum() - n * share) / max(np.sqrt(n * share * (1.0 - share)), 1e-9)
    if far < SURPRISING or not any(rule in own for s, rule in enumerate(rules) if not nothing[s]):
        return False
    before = alarm["likelihood"][next(iter(own))]
    table = {NOTHING: before, **alarm["likelihood"]}
    alarm["likelihood"] = InOrder(table) if isinstance(alarm["likelihood"], InOrder) else table
    work.said.append(
        f"the alarm has a rule for {NOTHING!r} of its own now: {observed[nothing].sum() / n:.1%} of the alarms found "
        f"nothing, and without that rule the file could only say {share:.1%}"
    )
    work.kept = {where: why for where, why in work.kept.items() if not where.startswith("alarm")}
    return True


def _say_what_was_assumed(work: Work, happened: Happened, places: _Places) -> None:
    if not happened.selected:
        if _only_alarms(work) or all(record.alarm for record in work.records):
            work.warnings.append("every record is of an alarm, and the file has none: its priors are those after it")
        return
    several = sum(1 for record in work.records if len(causes_in(str(record.found))) > 1)
    work.warnings.append(
        "every record is of an alarm: what comes after one is learned, and how often one comes is not; "
        "add records of times without an alarm (alarm: false) to learn that"
    )
    work.said.append(
        "every record is there because an alarm rang, and that is part of the likelihood: what is learned of priors "
        "and alarm together gives back the shares in the records"
    )
    for (place, _, rules), monitor in zip(places.monitors, happened.monitors, strict=True):
        held = [] if monitor.held is None else [rules[k] for k in np.flatnonzero(monitor.held)]
        for rule in held:
            work.kept[f"{place}.likelihood.{rule}"] = "records of alarms alone do not tell it; taken from the file"
        free = [rule for rule in rules if rule not in held]
        if held and free:
            work.said.append(
                f"assumed: {place} under {held[0]!r} is as the file says. How it compares under "
                f"{', '.join(map(repr, free))} follows only from causes that were found together ({several} records), "
                "if they are independent as the file has them"
            )
        elif held:
            work.said.append(f"assumed: {place} is as the file says; only priors were learned, given it")


def _write_causes(work: Work, happened: Happened, fit: Found, places: _Places) -> None:
    observed = happened.counts.sum(axis=0)
    counted = not happened.selected and not _left_out(work)
    estimates: dict[tuple[int, str], list[Estimate]] = {}
    for b, (c, rule) in enumerate(places.blocks):
        block = happened.blocks[b]
        decided = block.option >= 0
        n = np.bincount(block.option[decided], observed[decided], minlength=len(block.prior))
        exact = shares(n, block.prior, strength=work.strength)
        own = exact if counted else [fit.block(b, k, round(float(n.sum()))) for k in range(len(n))]
        own = [replace(e, value=0.0) if not block.prior[k] and not n[k] else e for k, e in enumerate(own)]
        estimates[c, rule] = own
        if c < 0:
            for i, hypothesis in enumerate(work.data["hypotheses"]):
                hypothesis["prior"] = work.note(f"hypotheses[{i}].prior", own[i], hypothesis["prior"])
                work.warn_few(int(n[i]), f"hypothesis {hypothesis['name']!r}")
    for c, cause in enumerate(work.data.get("causes", ())):
        own_rules = [rule for at, rule in places.blocks if at == c]
        if own_rules:
            _write_cause(work, c, cause, {rule: estimates[c, rule] for rule in own_rules}, happened)
    for r, (c, states) in enumerate(places.rates):
        cause = work.data["causes"][c]
        for k, state in enumerate(states):
            spec = cause["states"][state] if state else cause
            came = round(float(observed[happened.rates[r].option == k + 1].sum()))
            spec["rate"] = work.note(f"{place_of(c, state)}.rate", fit.rate(r, k, came), spec["rate"])
            work.warn_few(came, f"the rate of cause {cause['name']!r}")


def _left_out(work: Work) -> bool:
    together = work.data.get("together")
    return together is not None and "causes" in work.data and together < len(work.data["causes"])


def _write_cause(
    work: Work, c: int, cause: dict[str, Any], found: Mapping[str, Sequence[Estimate]], happened: Happened
) -> None:
    """Write the states of a cause, each under its rules; a state that no rule splits is over all records."""
    states = states_of(cause)
    option = _options(work, cause)
    n = np.bincount(option, happened.counts.sum(axis=0), minlength=1 + len(states))
    for k, (state, spec) in enumerate(states.items(), start=1):
        place = f"{place_of(c, state)}.prior"
        if isinstance(spec["prior"], dict):
            for rule in spec["prior"]:
                spec["prior"][rule] = work.note(f"{place}.{rule}", found[rule][k], spec["prior"][rule])
            continue
        if len(found) == 1:
            own = next(iter(found.values()))[k]
        else:
            own = rate(float(n[k]), float(n.sum()), spec["prior"], strength=work.strength)
        spec["prior"] = work.note(place, own, spec["prior"])
    work.warn_few(round(float(n[1:].sum())), f"cause {cause['name']!r}")


def _write_monitor(work: Work, happened: Happened, fit: Found, places: _Places, m: int) -> None:
    (place, entry, names), monitor = places.monitors[m], happened.monitors[m]
    rung, silent = monitor.rung.sum(axis=0), monitor.silent.sum(axis=0)
    key, title = ("noisy_or" if monitor.noisy_or else "likelihood"), place.replace("alarms.", "the alarm ")
    title = "the alarm" if place == "alarm" else title
    for k, name in enumerate(names):
        n = round(float((rung + silent) @ monitor.of[:, k]))
        if monitor.held is not None and monitor.held[k]:
            if entry[key][name] != monitor.prior[k]:  # made smaller with the others
                entry[key][name] = float(monitor.prior[k])
            continue
        if happened.selected or monitor.noisy_or:
            own = fit.monitor(m, k, n)
        else:
            own = rate(float(rung @ monitor.of[:, k]), float(n), float(entry[key][name]), strength=work.strength)
        before = entry[key][name]
        entry[key][name] = work.note(f"{place}.{key}.{name}", own, before)
        work.warn_few(n, f"{title} under {name!r}")
        if happened.selected or monitor.noisy_or:
            work.warn_wide(f"{place}.{key}.{name}", own)


def _compare(work: Work, happened: Happened, fit: Found) -> None:
    """Keep what is found after an alarm, beside what was learned, and warn where the model cannot say it."""
    alarmed = np.array([record.alarm for record in work.records], dtype=bool)
    if not alarmed.any():
        return
    observed = np.bincount(work.truth[alarmed], minlength=len(work.words.names)).astype(float)
    n = float(observed.sum())
    words = _words_to_compare(work)
    if happened.selected or _left_out(work):
        for word, where in words.items():
            share = fit.share(where) if work.intervals else Estimate(0.0, 0.0, 0.0, 0)
            work.after[word] = (float(observed[where].sum()) / n, share)
        expected = n * fit.of.shares(fit.numbers)
        for name in dict.fromkeys(work.whole):
            where = np.array([one == name for one in work.whole])
            mine, due = float(observed[where].sum()), float(expected[where].sum())
            far = abs(mine - due) / np.sqrt(max(due * (1.0 - due / n), 1.0))
            heard = sum("the file can only say" in one for one in work.warnings)
            if far > SURPRISING and heard < MOST_SURPRISES:
                work.warnings.append(
                    f"{name!r} was found after {mine / n:.1%} of the alarms, and the file can only say {due / n:.1%}: "
                    "its causes are not as independent as it has them, or its alarm lacks a rule; give one for it"
                )


def _words_to_compare(work: Work) -> dict[str, Any]:
    if "causes" not in work.data:
        return {name: np.array([one == name for one in work.whole]) for name in dict.fromkeys(work.whole)}
    words = {NOTHING: work.words.where(NOTHING)}
    for cause in work.data["causes"]:
        words |= {label: work.words.where(label) for label in (label_of(cause, state) for state in states_of(cause))}
    return words
