"""A session read as a story: what was believed, why each step was taken, what it cost, and what is in doubt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from aquamend.belief import InformationState
from aquamend.decision.steps import step_from_data
from aquamend.explanation.wording import Wording
from aquamend.explanation.wording import told as as_told
from aquamend.recovery.acts import Act, HandOver, Measure
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
from aquamend.text import capital, listed, percent, quantity

MOST_BELIEFS, MOST_ALTERNATIVES = 4, 3
DOUBTFUL = 0.005
"""Beliefs in less doubt than this are not worth telling."""


@dataclass(frozen=True, slots=True)
class Line:
    """One moment of a story."""

    number: int
    time: float
    title: str
    text: str
    bad: bool = False
    """Whether something went wrong."""
    seconds: float | None = None
    """How long it took: an act from its beginning to its receipt, an answer from the question on."""


def told(entries: Iterable[Entry]) -> Iterator[Line]:
    """Yield the story of a session, one line for every event worth one."""
    return (line for _, line in told_each(entries) if line is not None)


def told_each(entries: Iterable[Entry]) -> Iterator[tuple[Entry, Line | None]]:
    """Yield every event of a session with its line in the story; None where it has none."""
    now: Recovery | None = None
    since = 0.0  # when the last act or question began
    for entry in entries:
        before, now = now, Recovery.of([entry.event]) if now is None else now.after(entry.event)
        took = _seconds(entry, since)
        words = _words(entry.event, before or now, now, took)
        if isinstance(entry.event, Intended | Asked):
            since = entry.time
        if words is None:
            yield entry, None
            continue
        title, text, bad = words
        yield entry, Line(entry.number, entry.time, title, text, bad, took)


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
            return None  # its receipt tells; where there is none, whoever resumes does
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
        answer = f"{receipt.what} = {as_told(receipt.finding)}, cost {cost}."
        return "measured", f"{answer} In doubt: {_doubts(now.state)}.", False
    found = "" if receipt.finding is None else f" ({as_told(receipt.finding)})"
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
