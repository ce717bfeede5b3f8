"""A session read as a story: what was believed, why each step was taken, what it cost, and what is in doubt.

And what another policy would have done with the same answers: the session followed again, as far as its record goes.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import reduce
from typing import Any

from aquamend.belief import InformationState, Observation
from aquamend.codec import json_number
from aquamend.decision.steps import Continue, Decision, Reprobe, Step, Wording, step_from_data, step_to_data
from aquamend.decision.terminal import expected_loss, price
from aquamend.policies.policy import Policy
from aquamend.recovery import events
from aquamend.recovery.acts import Act, Charge, HandOver, Measure
from aquamend.recovery.events import Ending, Entry, Event
from aquamend.recovery.history import Recovery
from aquamend.recovery.plain import line_to_data
from aquamend.story.of_decision import (
    alarm_updates,
    edges_of,
    likeliest,
    nodes_of,
    recorded_choice,
    statements_of,
    update_of,
)
from aquamend.story.story import Kind, Moment, Story, Update
from aquamend.text import capital, listed, percent, quantity, shown, value_text

MOST_BELIEFS, MOST_ALTERNATIVES = 4, 3
DOUBTFUL = 0.005
"""Beliefs in less doubt than this are not worth telling."""


def with_moments(entries: Iterable[Entry]) -> Iterator[tuple[Entry, Moment | None]]:
    """Yield every event of a session with its moment in the story; None where it has none."""
    telling = Telling()
    return ((entry, telling.take(entry)[1]) for entry in entries)


def act_begins(entry: Entry, began: float) -> Moment | None:
    """Return a moment for an act that begins, which matters only to somebody who waits for its end."""
    if not isinstance(entry.event, events.Intended):
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
    telling, moments, updates = Telling(name), list[Moment](), list[Update]()
    for entry in entries:
        earlier = telling.now
        now, moment = telling.take(entry)
        before = now if earlier is None else earlier
        event, time = entry.event, entry.time - telling.began
        if moment is not None:
            if isinstance(event, events.Decided):
                choice = recorded_choice(before.state, now.policy, event.step)
                because = f"Because: {event.reason}." if event.reason else ""
                moment = replace(moment, title=capital(choice.step), text=because, choice=choice)
            moments.append(moment)
        if isinstance(event, events.Alarmed):
            updates += alarm_updates(event.state, time)
        elif now.state.evidence != before.state.evidence or now.state.rung != before.state.rung:
            heard = now.state.evidence[-1:] if now.state.evidence != before.state.evidence else ()
            when = f"after {shown(heard[0])}" if heard else "after another alarm"
            updates.append(update_of(now.state, when, time))
    return Story(
        title=now.start.problem.name,
        lead=_lead(now),
        facts=_facts(now, telling.began),
        unit=now.start.problem.unit,
        policy=now.policy,
        began=telling.began,
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


class Telling:
    """A session whose story is written event by event, as they come."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.now: Recovery | None = None
        """What the events so far have come to."""
        self.began = self._since = 0.0
        """When the session began, and the last act or question."""

    def take(self, entry: Entry) -> tuple[Recovery, Moment | None]:
        """Return what the next event has made of the recovery, and its moment in the story; None where it has none."""
        before = self.now
        self.now = now = Recovery.of([entry.event], self.name) if before is None else before.after(entry.event)
        self.began = entry.time if before is None else self.began
        took = _seconds(entry, self._since)
        words = _words(entry.event, before or now, now, took)
        if isinstance(entry.event, events.Intended | events.Asked):
            self._since = entry.time
        if words is None:
            return now, None
        title, text, bad = words
        kind = _kind(entry.event, bad)
        return now, Moment(entry.time - self.began, kind, title, text, bad, took, number=entry.number)


def _kind(event: Event, bad: bool) -> Kind:
    if isinstance(event, events.Done) and not bad:
        return Kind.MEASURED if event.receipt.charge is Charge.SENSING else Kind.ACTED
    return _KINDS.get(type(event), Kind.TROUBLE if bad else Kind.ACTED)


_KINDS: Mapping[type[Event], Kind] = {
    **dict.fromkeys((events.Alarmed, events.AlarmedAgain), Kind.ALARM),
    **dict.fromkeys((events.Asked, events.Approved, events.Settled), Kind.ASKED),
    events.Decided: Kind.DECIDED,
    events.Observed: Kind.MEASURED,
    events.Ended: Kind.ENDED,
}


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
        case events.Done(receipt):
            return entry.time - since if receipt.seconds is None else receipt.seconds
        case events.Approved():
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
        case events.Alarmed(state, policy, rules):
            begun = f"{state.problem.name}; {policy} decides.{_monitors(state)} In doubt: {_doubts(state)}."
            return "alarm", f"{begun} Rules: {rules.in_words}.", True
        case events.AlarmedAgain(refused, name):
            which = "" if name is None else f"{name} rang. "
            if refused is not None:
                return "alarm again", f"{which}Not counted: {refused}.", True
            if now.act is not None:
                return "alarm again", f"{which}Counts once this has ended: {now.act}.", True
            return "alarm again", f"{which}In doubt: {_doubts(now.state)}.", True
        case events.Observed(observation):
            return "observed", f"{observation}, unasked. In doubt: {_doubts(now.state)}.", False
        case events.Decided():
            return "decision", " ".join(_decision(before, event)), bool(event.reason)
        case events.Asked(act, reason, token):
            return "asked", f"A person has to allow this: {act} ({reason}). Question {token}.", True
        case events.Approved(granted, by, note):
            after = "" if took is None else f", after {lasting(took)}"
            said = f"{by} {'allows' if granted else 'does not allow'} it{after}: {before.asked}. {capital(note)}"
            return "allowed" if granted else "refused", said.strip(), not granted
        case events.Expired(why):
            return "expired", f"{capital(why)}.", True
        case events.Intended():
            return None  # its receipt tells; where there is none, the program that resumes does
        case events.Stopping(why):
            return "stopping", f"{now.act}: {why}.", True
        case events.NotStopped(why):
            return "not stopped", f"{now.act} ({why}); its receipt is waited for.", True
        case events.Lost(why, running):
            still = " It may still be under way." if running else ""
            return "no receipt", f"{now.act}: {why}.{still}", True
        case events.Unknown():
            return "in doubt", f"Nobody knows whether this was done: {now.act}.", True
        case events.Settled(done, by, note):
            said = f"{by} says that this was {'done' if done else 'not done'}: {before.act}. {capital(note)}"
            return "settled", said.strip(), not done
        case events.Done():
            return _receipt(event, before.act, now, took)
        case events.Cancelled(why):
            return "called off", f"{capital(why)}.", True
        case events.Resumed(by):
            doubt = "" if now.act is None else f" In doubt is: {now.act}."
            return "resumed", f"By {by}.{doubt}", bool(doubt)
        case events.Ended(ending, reason):
            return str(ending), f"{capital(reason)}. " * bool(reason) + f"It cost {_cost(now, now.cost)}.", False


def _decision(before: Recovery, decided: events.Decided) -> Iterator[str]:
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


def _receipt(done: events.Done, act: Act | None, now: Recovery, took: float | None) -> tuple[str, str, bool]:
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


@dataclass(frozen=True, eq=False)
class Instead:
    """How a policy would have decided, one step after another."""

    steps: tuple[Step, ...]
    evidence: tuple[Observation, ...]
    """What it would have heard."""
    state: InformationState
    """What it would have known then."""
    unanswered: str | None
    """The probe at which the record ends: nobody ran it so often. None where the policy came to its decision."""
    sensing: float
    """What it would have spent on probes so far."""
    expected: float | None
    """What carrying its decision out costs in expectation, going by all that the session measured; None without one."""

    @property
    def decision(self) -> Decision | None:
        """What it would have decided in the end; None where the record ends before."""
        last = self.steps[-1]
        return None if isinstance(last, Reprobe) else last

    @property
    def loss(self) -> float | None:
        """The expected loss of all it would have done; None where the record ends before."""
        return None if self.expected is None else self.sensing + self.expected


def done_instead(session: Recovery, policy: Policy) -> Instead:
    """Follow a policy from a session's alarm, and give it the recorded answers, each probe's in their order.

    Neither what failed on the way nor who was asked is part of it: only what was measured.
    """
    waiting: dict[str, list[Observation]] = {}
    for observation in session.evidence:
        waiting.setdefault(observation.probe, []).append(observation)
    state, steps = session.start, list[Step]()
    while isinstance(step := policy.next_step(state), Reprobe) and waiting.get(step.probe):
        steps.append(step)
        state = state.after_hearing(waiting[step.probe].pop(0))
    return Instead(
        steps=(*steps, step),
        evidence=state.evidence[len(session.start.evidence) :],
        state=state,
        unanswered=step.probe if isinstance(step, Reprobe) else None,
        sensing=state.spent - session.start.spent,
        expected=None if isinstance(step, Reprobe) else price(_known(session), step).loss,
    )


def expected_loss_of(session: Recovery) -> float:
    """Return what a session has cost, and what it is expected to have left wrong; a person leaves nothing."""
    if session.ending is Ending.HANDED_OVER:
        return session.cost
    if session.followed is not None:
        plan = session.start.problem.followed(session.followed)
        if plan is None or math.isinf(plan.price):  # what nobody has priced, nobody can say more about
            return session.cost
        return session.cost + expected_loss(session.state, plan.loss) - plan.price
    return session.cost + price(session.state, Continue()).loss


def _known(session: Recovery) -> InformationState:
    """Return the state at the alarm with all that was measured since, and nothing done."""
    return reduce(InformationState.after_earlier, session.evidence, session.start)


def instead_data(happened: Recovery, other: Instead, policy: str) -> dict[str, Any]:
    """Return how a policy would have decided, beside what happened, as plain data."""
    return {
        "session": happened.session,
        "policy": policy,
        "steps": [step_to_data(step) for step in other.steps],
        "evidence": [{"probe": o.probe, "outcome": o.outcome} for o in other.evidence],
        "unanswered": other.unanswered,
        "sensing": json_number(other.sensing),
        "expected_loss": json_number(other.loss),
        "happened": {
            "policy": happened.policy,
            "ended": happened.ending is not None,
            "cost": json_number(happened.cost),
            "expected_loss": None if happened.ending is None else json_number(expected_loss_of(happened)),
        },
    }


def instead_text(happened: Recovery, other: Instead, policy: str) -> str:
    """Return how a policy would have decided, step by step, and what that would have cost beside what happened."""
    unit, words = happened.start.problem.unit, Wording(other.state)
    answers = [*(f": {observation.short}" for observation in other.evidence), ""]  # the last step is not answered
    lines = [f"{shown(policy)}, given the answers of this session:"]
    lines += [f"  {i + 1}. {words.full(step)}{answers[i]}" for i, step in enumerate(other.steps)]
    probes = f"Its probes would have cost {quantity(other.sensing, unit)}"
    if other.unanswered is not None:
        end = f"The record ends there: nobody ran {shown(other.unanswered)} that often. {probes} up to then."
    else:
        end = (
            f"{probes}, its decision {quantity(other.expected or 0.0, unit)}, in expectation and going by all that "
            f"was measured: {quantity(other.loss or 0.0, unit)}."
        )
    if happened.ending is None:
        spent = f"{quantity(happened.cost, unit)} so far"
    else:
        spent = f"{quantity(expected_loss_of(happened), unit)}, with what it is expected to have left wrong"
    return "\n".join([*lines, "", end, f"{shown(happened.policy)} has cost {spent}."])
