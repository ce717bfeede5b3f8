"""What sessions are asked and hear over HTTP, what is seen of them, and the stream of what happens in one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aquamend.codec import Amount, Name, Whole, json_number
from aquamend.errors import InvalidData, StaleReply
from aquamend.recovery import NoReceipt, Receipt, Recovery, Rules, Session, Status, Store
from aquamend.recovery.events import Entry
from aquamend.recovery.log import SessionLine
from aquamend.recovery.plain import request_to_data, to_json
from aquamend.recovery.requests import AlarmRaised, Answer, Observe, Settle
from aquamend.serve.questions import Situation
from aquamend.serve.service import Conducted, Conductor
from aquamend.story.of_session import Telling, moment_line, with_moments

POLL_S = 0.25
"""How often a stream looks for what has happened."""
BREATH = 5.0
"""How much longer than a look takes it is waited for the next one."""
QUIET_S = 10.0
"""After so long with nothing to tell, a stream says that it is still there."""
STILL_THERE = b": still there\n\n"

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class ToBegin(Situation):
    """A situation in which a recovery begins."""

    session: Name | None = None
    """Its name; one is made up unless given."""
    policy: Name = "best"
    """A registered policy."""
    rules: Rules = field(default_factory=Rules)
    """Budgets, patience, and when a person is asked."""
    attended: bool = True
    """Whether there is somebody who can be asked."""


@dataclass(frozen=True, slots=True)
class ToReply:
    """What came of the act that a request was about."""

    to: Whole
    """The number of the request."""
    done: bool | None = None
    """Whether it was done; of a stopped act, whether it was done all the same. Null: nobody can tell."""
    finding: str | float | None = None
    """The answer of a probe, or why it failed."""
    cost: Amount | None = None
    """What it cost; null: what the problem says."""
    start_s: float | None = None
    """When it began and ended, on the robot's clock; null: the service's clock counts."""
    end_s: float | None = None
    alarm: bool = False
    """Whether the monitor rang meanwhile."""
    receipt: Receipt | None = None
    """All of this as a receipt, in place of the other keys."""


@dataclass(frozen=True, slots=True)
class ToAnswer(Answer):
    """The answer of a person to what a session asks."""

    by: Name
    """Who answers."""


@dataclass(frozen=True, slots=True)
class ToSettle(Settle):
    """What a person says of an act of which nobody knew what became."""

    by: Name


@dataclass(frozen=True, slots=True)
class ToAlarm(AlarmRaised):
    """A monitor rings."""

    name: Name | None = None
    """Which; null: the only one."""


@dataclass(frozen=True, slots=True)
class ToObserve(Observe):
    """Something was observed that nobody had asked for."""

    probe: Name


@dataclass(frozen=True, slots=True)
class AnotherPolicy:
    """Who is to decide with the same answers."""

    policy: Name = "best"


@dataclass(frozen=True, slots=True)
class NothingToSay:
    """Nothing needs to be said."""


def receipt_for(session: Session, said: ToReply) -> Receipt | NoReceipt:
    """Return the receipt of the act under way that a reply means."""
    if said.receipt is not None:
        return said.receipt
    act, wanted = session.recovery.act, session.request
    if act is None:
        raise StaleReply(said.to, wanted.number, wanted.kind)
    if said.done is None:
        return NoReceipt(str(said.finding or "the robot cannot say"))
    rest: Any = {"cost": said.cost, "start_s": said.start_s, "end_s": said.end_s, "alarm": said.alarm}
    if said.done:
        return act.done(said.finding, **rest)
    return act.failed("it did not say why" if said.finding is None else str(said.finding), **rest)


def session_view(entries: list[Entry], name: str, here: Conducted | None) -> dict[str, Any]:
    """Return how a session of these events stands."""
    now = Recovery.of([entry.event for entry in entries], name)
    return _view(now, name, here, entries[0].time, entries[-1])


def _view(now: Recovery, name: str, here: Conducted | None, began: float, last: Entry) -> dict[str, Any]:
    beliefs = zip(now.state.problem.graph.beliefs, now.state.failure_probabilities.tolist(), strict=True)
    asked = now.asked
    return {
        "session": name,
        "status": _status(now).value,
        "problem": now.start.problem.name,
        "unit": now.start.problem.unit,
        "policy": now.policy,
        "cost": json_number(now.cost),
        "conducted": here is not None and now.ending is None,
        "request": None if here is None else request_to_data(here.session.request),
        "asked": None if asked is None else {"act": str(asked.act), "reason": asked.reason, "token": asked.token},
        "in_doubt": None if now.in_doubt is None else str(now.in_doubt),
        "beliefs": {belief.name: json_number(q) for belief, q in beliefs},
        "ending": None if now.ending is None else now.ending.value,
        "reason": now.reason,
        "started": began,
        "updated": last.time,
        "events": last.number,
    }


def _status(now: Recovery) -> Status:
    if now.ending is not None:
        return Status(now.ending.value)
    if now.asked is not None:
        return Status.WAITING
    return Status.RUNNING if now.act is None else Status.IN_DOUBT


def events_data(entries: list[Entry], name: str, *, after: int) -> list[dict[str, Any]]:
    """Return the events behind number ``after``, each with its moment in the story."""
    return [moment_line(name, entry, moment) for entry, moment in with_moments(entries) if entry.number > after]


async def live(journal: Store, conductor: Conductor, name: str, *, after: int) -> AsyncIterator[bytes]:
    """Yield what happens in a session as server-sent events, until it has ended: each event, then how it stands."""
    telling = Telling(name)
    async for new in _polled(lambda: list(journal.read(name, 0 if telling.now is None else telling.now.count))):
        for entry in new:
            now, moment = telling.take(entry)
            if entry.number > after:
                yield message("event", moment_line(name, entry, moment), number=entry.number)
            if entry is new[-1]:
                yield message("session", _view(now, name, conductor.find(name), telling.began, entry))
            if now.ending is not None:
                return
        if not new:
            yield STILL_THERE


async def all_live(journal: Store, conductor: Conductor, *, most: int | None = None) -> AsyncIterator[bytes]:
    """Yield every session as it stands and again whenever it changes, as server-sent events.

    Of those that are there at first, ``most`` are sent, the latest begun.
    """
    known: dict[str, SessionLine] = {}
    if most is not None:
        lines = await asyncio.to_thread(journal.sessions)
        known = {line.name: line for line in lines[: max(0, len(lines) - most)]}

    def changed() -> list[SessionLine | str]:
        nonlocal known
        found = {line.name: line for line in journal.sessions()}
        before, known = known, found
        gone = [name for name in before if name not in found]
        return [*(line for line in found.values() if before.get(line.name) != line), *gone]

    async for new in _polled(changed):
        for one in new:
            if isinstance(one, str):
                yield message("deleted", {"session": one})
            else:
                yield message("session", one.to_data() | {"conducted": conductor.find(one.name) is not None})
        if not new:
            yield STILL_THERE


async def _polled(look: Callable[[], list[Found]]) -> AsyncIterator[list[Found]]:
    """Yield what was found, whenever there is something; and nothing where it has been quiet for a while."""
    quiet = 0.0
    while True:
        began = time.monotonic()
        new = await asyncio.to_thread(look)
        if new or quiet >= QUIET_S:
            yield new
            quiet = 0.0
        pause = max(POLL_S, BREATH * (time.monotonic() - began))
        await asyncio.sleep(pause)
        quiet += pause


def message(kind: str, data: dict[str, Any], *, number: int | None = None) -> bytes:
    """Return one server-sent event."""
    place = "" if number is None else f"id: {number}\n"
    return f"{place}event: {kind}\ndata: {to_json(data)}\n\n".encode()


def checked_after(after: int | None, last_event_id: str | None) -> int:
    """Return behind which event a stream begins: where it broke off, or where it is asked to."""
    if last_event_id is None:
        return after or 0
    if not last_event_id.isascii() or not last_event_id.isdigit():
        raise InvalidData("Last-Event-ID", f"{last_event_id!r} is no number of an event")
    return int(last_event_id)
