"""What a session is answered: by robots and policies, and by people, who may be in another process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aquamend.errors import ForeignSession
from aquamend.recovery.clock import Instant, as_instant
from aquamend.recovery.events import Approved, Decided, Settled
from aquamend.recovery.history import Recovery
from aquamend.recovery.log.log import Log
from aquamend.recovery.receipts import Receipt, in_plain_types, receipt_fault
from aquamend.recovery.requests import NoReceipt, Stop, Verify

Time = float | Instant | None
"""When something happened: seconds since 1970, a reading of both clocks, or None for now."""

Reply = Receipt | NoReceipt | Decided
"""What came of an act, that nothing is known of it, or a decision."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A person answers a question."""

    kind: ClassVar[str] = "answer"

    granted: bool
    by: str
    """Who answers."""
    token: str
    """Of the question, as the session's view has it: the answer holds for that act alone."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Settle:
    """A person says what became of an act of which nobody knew."""

    kind: ClassVar[str] = "settle"

    done: bool
    """Whether it was done, all of it."""
    by: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class AlarmRaised:
    """A monitor rings."""

    kind: ClassVar[str] = "alarm"

    name: str | None = None
    """Which one; null: the only one."""


@dataclass(frozen=True, slots=True)
class Observe:
    """Something was observed that nobody had asked for."""

    kind: ClassVar[str] = "observe"

    probe: str
    value: str | float


@dataclass(frozen=True, slots=True)
class Cancel:
    """The recovery is called off."""

    kind: ClassVar[str] = "cancel"

    why: str = "it was called off"


Message = Answer | Settle | AlarmRaised | Observe | Cancel
"""What may be said to a session at any time, whatever it asks for."""


def understood_as(reply: object, asked: str) -> Reply:
    """Return a receipt in plain types, or why it is none; None is an honest answer to who asks to stop or verify."""
    if reply is None and asked in (Stop.kind, Verify.kind):
        return NoReceipt(f"the robot cannot say ({asked} returned None)")
    if isinstance(reply, Decided | NoReceipt):
        return reply
    if isinstance(reply, BaseException):
        return NoReceipt(f"{type(reply).__name__}: {reply}")
    if not isinstance(reply, Receipt) or receipt_fault(reply):
        return NoReceipt(receipt_fault(reply))
    return in_plain_types(reply)


def approve(
    log: Log, session: str, *, token: str, granted: bool = True, by: str, note: str = "", at: Time = None
) -> Recovery:
    """Answer a question of a session, from any process; ``token`` names the question."""
    return _said(log, session, Approved(granted, by, note, token, as_instant(at)))


def settle(log: Log, session: str, *, done: bool, by: str, note: str = "", at: Time = None) -> Recovery:
    """Say what became of an act of which the robot could not tell, from any process."""
    return _said(log, session, Settled(done, by, note), at=at)


def _said(log: Log, session: str, event: Approved | Settled, *, at: Time = None) -> Recovery:
    for last in (False, False, False, True):
        entries = list(log.read(session))
        after = Recovery.of([entry.event for entry in entries], session).after(event)
        try:
            log.append(session, len(entries), [event], at=as_instant(at).wall)
        except ForeignSession:  # the session has gone on meanwhile: see whether it still asks
            if last:
                raise
        else:
            return after
    raise AssertionError("not reached")
