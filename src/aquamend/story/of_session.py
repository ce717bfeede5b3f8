"""A session read as a story: what was believed, why each step was taken, what it cost, and what is in doubt."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from aquamend.belief import InformationState
from aquamend.decision.step_words import Wording
from aquamend.decision.steps import step_from_data
from aquamend.recovery.acts import Act, Charge, HandOver, Measure
from aquamend.recovery.events import (
    Alarmed,
    AlarmedAgain,
    Approved,
    Asked,
    Cancelled,
    Decided,
    Done,
    Ended,
    Entry,
    Event,
    Expired,
    Intended,
    Lost,
    NotStopped,
    Observed,
    Resumed,
    Settled,
    Stopping,
    Unknown,
)
from aquamend.recovery.history import Recovery
from aquamend.recovery.plain import line_to_data
from aquamend.story.believed import alarm_updates, edges_of, likeliest, nodes_of, statements_of, update_of
from aquamend.story.of_decision import recorded_choice
from aquamend.story.story import Kind, Moment, Story, Update
from aquamend.text import capital, listed, percent, quantity, shown, value_text

MOST_BELIEFS, MOST_ALTERNATIVES = 4, 3
DOUBTFUL = 0.005
"""Beliefs in less doubt than this are not worth telling."""


def with_moments(entries: Iterable[Entry]) -> Iterator[tuple[Entry, Moment | None]]:
    """Yield every event of a session with its moment in the story; None where it has none."""
    return ((entry, moment) for entry, _, _, moment in _followed(entries))


def act_begins(entry: Entry, began: float) -> Moment | None:
    """Return a moment for an act that begins, which matters only to somebody who waits for its end."""
    if not isinstance(entry.event, Intended):
        return None
    return Moment(entry.time - began, Kind.ACTED, "begins", f"{entry.event.act}.", number=entry.number)


def moment_line(name: str, entry: Entry, moment: Moment | None) -> dict[str, Any]:
    """Return an event in the form of docs/journal.md, with its moment in the story."""
    words = None
    if moment is not None:
        words = {"title": moment.title, "text": moment.text, "bad": moment.bad, "seconds": moment.seconds}
    return {**line_to_data(name, entry), "moment": words}


def session_story(entries: Iterable[Entry], name: str = "") -> Story:
    """Return the whole story of a session, as far as its log goes."""
    every, moments, updates = [], list[Moment](), list[Update]()
    for entry, before, now, moment in _followed(entries, name):
        every.append((entry, now))
        event, time = entry.event, entry.time - every[0][0].time
        if moment is not None:
            if isinstance(event, Decided):
                choice = recorded_choice(before.state, now.policy, event.step)
                because = f"Because: {event.reason}." if event.reason else ""
                moment = replace(moment, title=capital(choice.step), text=because, choice=choice)
            moments.append(moment)
        if isinstance(event, Alarmed):
            updates += alarm_updates(event.state, time)
        elif now.state.evidence != before.state.evidence or now.state.rung != before.state.rung:
            heard = now.state.evidence[-1:] if now.state.evidence != before.state.evidence else ()
            when = f"after {shown(heard[0])}" if heard else "after another alarm"
            updates.append(update_of(now.state, when, time))
    now, began = every[-1][1], every[0][0].time
    return Story(
        title=now.start.problem.name,
        lead=_lead(now),
        facts=_facts(now, began),
        unit=now.start.problem.unit,
        policy=now.policy,
        began=began,
        moments=tuple(moments),
        updates=likeliest(updates),
        statements=statements_of(now.start),
        nodes=tuple(nodes_of(now.start.problem, now)),
        edges=edges_of(now.start.problem),
        receipts=now.receipts,
        success=None,
        verdict=_verdict(now),
        notes=tuple(how_it_stands(now)),
    )


def _followed(entries: Iterable[Entry], name: str = "") -> Iterator[tuple[Entry, Recovery, Recovery, Moment | None]]:
    """Yield every event with the recovery before and after it, and its moment."""
    telling = Telling(name)
    for entry in entries:
        before = telling.now
        now, moment = telling.take(entry)
        yield entry, before or now, now, moment


class Telling:
    """A session whose story is written event by event, as they come."""

    def __init__(self, name: str = "") -> None:
        self._name = name
        self.now: Recovery | None = None
        """What the events so far have come to."""
        self._since = self._began = 0.0
        """When the last act or question began, and the session."""

    def take(self, entry: Entry) -> tuple[Recovery, Moment | None]:
        """Return what the next event has made of the recovery, and its moment in the story; None where it has none."""
        before = self.now
        self.now = now = Recovery.of([entry.event], self._name) if before is None else before.after(entry.event)
        self._began = entry.time if before is None else self._began
        took = _seconds(entry, self._since)
        words = _words(entry.event, before or now, now, took)
        if isinstance(entry.event, Intended | Asked):
            self._since = entry.time
        if words is None:
            return now, None
        title, text, bad = words
        kind = _kind(entry.event, bad)
        return now, Moment(entry.time - self._began, kind, title, text, bad, took, number=entry.number)


def _kind(event: Event, bad: bool) -> Kind:
    match event:
        case Alarmed() | AlarmedAgain():
            return Kind.ALARM
        case Decided():
            return Kind.DECIDED
        case Asked() | Approved() | Settled():
            return Kind.ASKED
        case Ended():
            return Kind.ENDED
        case Observed():
            return Kind.MEASURED
        case Done(receipt) if not bad:
            return Kind.MEASURED if receipt.charge is Charge.SENSING else Kind.ACTED
        case _:
            return Kind.TROUBLE if bad else Kind.ACTED


def _lead(now: Recovery) -> str:
    doubtful = "An alarm has come; " if now.start.rung or now.start.problem.model.only_monitor else ""
    return f"{doubtful}{now.policy} decides how to recover. In doubt at the alarm: {_doubts(now.start)}."


def _facts(now: Recovery, began: float) -> dict[str, str]:
    begun = datetime.fromtimestamp(began, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    named = {"session": now.session} if now.session else {}
    return {**named, "policy": now.policy, "begun": begun, "rules": now.rules.in_words}


def _verdict(now: Recovery) -> str:
    if now.ending is None:
        return f"Not over yet. It has cost {_cost(now, now.cost)} so far."
    reason = f": {now.reason}" if now.reason else ""
    return (
        f"{capital(str(now.ending))}{reason}. It cost {_cost(now, now.cost)}; what was left wrong, nobody knows here."
    )


def how_it_stands(now: Recovery, where: str = "") -> Iterator[str]:
    """Yield what is in doubt, and what a person is asked, with the command that answers in a second line.

    ``where`` is the option by which the command finds the journal.
    """
    if now.in_doubt is not None:
        say = f"aquamend session settle {shlex.quote(now.session)}{where} --done"
        how = "Once nothing moves any more, say so, with --not-done if it was not done:"
        yield f"In doubt: {now.in_doubt} ({now.why}). {how}\n{say}"
    elif now.act is not None:
        yield f"In doubt: {now.act} has begun, and its receipt is not there. It is under way, or was lost."
    if now.asked is not None:
        answer = f"aquamend session approve {shlex.quote(now.session)}{where} --token {now.asked.token}"
        yield f"Waiting for a person: {now.asked} ({now.asked.reason}). Allow it, or --refuse it:\n{answer}"


def _seconds(entry: Entry, since: float) -> float | None:
    match entry.event:
        case Done(receipt):
            return entry.time - since if receipt.seconds is None else receipt.seconds
        case Approved():
            return entry.time - since
        case _:
            return None


def lasting(seconds: float) -> str:
    """Return a duration as people say it, to the millisecond where that matters."""
    if abs(seconds) < 1:
        return f"{seconds * 1e3:.0f} ms"
    if abs(seconds) < 60:
        return f"{seconds:.3f} s"
    minutes, rest = divmod(round(seconds), 60)
    if abs(minutes) < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min"


def _words(event: Event, before: Recovery, now: Recovery, took: float | None) -> tuple[str, str, bool] | None:
    """Return title and text of an event, and whether something went wrong."""
    match event:
        case Alarmed(state, policy, rules):
            begun = f"{state.problem.name}; {policy} decides.{_monitors(state)} In doubt: {_doubts(state)}."
            return "alarm", f"{begun} Rules: {rules.in_words}.", True
        case AlarmedAgain(refused, name):
            which = "" if name is None else f"{name} rang. "
            if refused is not None:
                return "alarm again", f"{which}Not counted: {refused}.", True
            if now.act is not None:
                return "alarm again", f"{which}Counts once this has ended: {now.act}.", True
            return "alarm again", f"{which}In doubt: {_doubts(now.state)}.", True
        case Observed(observation):
            return "observed", f"{observation}, unasked. In doubt: {_doubts(now.state)}.", False
        case Decided():
            return "decision", " ".join(_decision(before, event)), bool(event.reason)
        case Asked(act, reason, token):
            return "asked", f"A person has to allow this: {act} ({reason}). Question {token}.", True
        case Approved(granted, by, note):
            after = "" if took is None else f", after {lasting(took)}"
            said = f"{by} {'allows' if granted else 'does not allow'} it{after}: {before.asked}. {capital(note)}"
            return "allowed" if granted else "refused", said.strip(), not granted
        case Expired(why):
            return "expired", f"{capital(why)}.", True
        case Intended():
            return None  # its receipt tells; where there is none, the program that resumes does
        case Stopping(why):
            return "stopping", f"{now.act}: {why}.", True
        case NotStopped(why):
            return "not stopped", f"{now.act} ({why}); its receipt is waited for.", True
        case Lost(why, running):
            still = " It may still be under way." if running else ""
            return "no receipt", f"{now.act}: {why}.{still}", True
        case Unknown():
            return "in doubt", f"Nobody knows whether this was done: {now.act}.", True
        case Settled(done, by, note):
            said = f"{by} says that this was {'done' if done else 'not done'}: {before.act}. {capital(note)}"
            return "settled", said.strip(), not done
        case Done():
            return _receipt(event, before.act, now, took)
        case Cancelled(why):
            return "called off", f"{capital(why)}.", True
        case Resumed(by):
            doubt = "" if now.act is None else f" In doubt is: {now.act}."
            return "resumed", f"By {by}.{doubt}", bool(doubt)
        case Ended(ending, reason):
            return str(ending), f"{capital(reason)}. " * bool(reason) + f"It cost {_cost(now, now.cost)}.", False


def _decision(before: Recovery, decided: Decided) -> Iterator[str]:
    words = Wording(before.state)
    yield f"{capital(words.full(decided.step))}."
    if decided.reason:
        yield f"Because: {decided.reason}."
    explanation = decided.explanation or {}
    weighed = [
        f"{words.brief(step_from_data(row['step']))} {_cost(before, row['loss'])}"
        for row in explanation.get("weighed", ())[:MOST_ALTERNATIVES]
    ]
    if weighed:
        yield f"Expected loss: {', '.join(weighed)}."


def _receipt(done: Done, act: Act | None, now: Recovery, took: float | None) -> tuple[str, str, bool]:
    receipt = done.receipt
    cost = _cost(now, receipt.cost) + ("" if took is None else f", took {lasting(took)}")
    if not receipt.succeeded:
        why = str(receipt.finding).removeprefix("in doubt: ")
        return "failed" if done.known else "in doubt", f"{receipt.what} ({why}), charged {cost}.", True
    if isinstance(act, Measure):
        answer = f"{receipt.what} = {value_text(receipt.finding)}, cost {cost}."
        return "measured", f"{answer} In doubt: {_doubts(now.state)}.", False
    found = "" if receipt.finding is None else f" ({value_text(receipt.finding)})"
    return "handed over" if isinstance(act, HandOver) else "done", f"{receipt.what}{found}, cost {cost}.", False


def _monitors(state: InformationState) -> str:
    """Return which of several monitors have rung, and which were watching and have not."""
    if len(state.problem.model.monitors) < 2:
        return ""
    silent = f"; silent: {', '.join(state.silent)}" if state.silent else ""
    return f" Rang: {', '.join(state.rung) or 'none'}{silent}."


def _doubts(state: InformationState) -> str:
    """Return the beliefs most likely wrong, likeliest first."""
    if state.contradiction is not None:
        return f"everything, since no hypothesis allows {state.contradiction}"
    pairs = zip(state.problem.graph.beliefs, state.failure_probabilities, strict=True)
    ranked = sorted(((float(q), belief.name) for belief, q in pairs if q >= DOUBTFUL), key=lambda pair: -pair[0])
    return listed([f"{name} {percent(q)}" for q, name in ranked], most=MOST_BELIEFS) if ranked else "nothing"


def _cost(now: Recovery, cost: float | str | None) -> str:
    return quantity(float("nan" if cost is None else cost), now.start.problem.unit)
