"""What a session asks for, one thing at a time. Requests of the same number are the same request: act on each once."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from aquamend.codec import Amount, Whole
from aquamend.recovery.acts import Act, Measure


class Ending(StrEnum):
    """How a recovery ended."""

    FINISHED = "finished"
    """The robot carried its decision out to the end."""
    HANDED_OVER = "handed over"
    STOPPED = "stopped"
    """Nobody took over: the robot stands where it stands."""
    CANCELLED = "cancelled"
    """Whoever began it has called it off."""


@dataclass(frozen=True, slots=True)
class RunProbe:
    """Run a probe, and reply with its receipt."""

    kind: ClassVar[str] = "measure"

    number: Whole
    """The same number means the same request: begin nothing twice."""
    act: Measure
    """What to measure."""
    timeout_s: Amount
    """After so long, the session asks for it to be stopped."""


@dataclass(frozen=True, slots=True)
class Perform:
    """Begin an act, and reply with its receipt."""

    kind: ClassVar[str] = "perform"

    number: Whole
    """The same number means the same request: begin nothing twice."""
    act: Act
    """What to do."""
    timeout_s: Amount
    """After so long, the session asks for it to be stopped."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop the act under way, and reply with the receipt of that act: how far it came."""

    kind: ClassVar[str] = "stop"

    number: Whole
    """The same number means the same request: begin nothing twice."""
    act: Act
    """The act that was begun."""
    reason: str
    """What has come between."""
    timeout_s: Amount
    """After so long, the session takes it for granted that it was not stopped."""


@dataclass(frozen=True, slots=True)
class Verify:
    """Find out what became of an act whose receipt got lost, and reply with the receipt."""

    kind: ClassVar[str] = "verify"

    number: Whole
    """The same number means the same request: begin nothing twice."""
    act: Act
    """The act that was begun."""
    reason: str
    """What has come between."""
    timeout_s: Amount
    """After so long, the session takes it for granted that there is no telling."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Begin nothing: a person has to answer, or the receipt of the act under way has to come."""

    kind: ClassVar[str] = "wait"

    number: Whole
    """The same number means the same question."""
    act: Act
    """What a person has to allow, or what is still under way."""
    reason: str
    token: str = ""
    """What an answer of a person has to name, so that it holds for this question alone; empty: no person is asked."""
    in_doubt: Act | None = None
    """The act of which nobody knows what became; a person may say so instead."""


@dataclass(frozen=True, slots=True)
class Decide:
    """Let the policy decide: ``session.decide()``, or ``session.deliberation`` computed elsewhere."""

    kind: ClassVar[str] = "decide"

    number: Whole


@dataclass(frozen=True, slots=True)
class End:
    """Nothing more is asked."""

    kind: ClassVar[str] = "end"

    number: Whole
    """Of the last event."""
    ending: Ending
    reason: str


Request = RunProbe | Perform | Stop | Verify | Wait | Decide | End


@dataclass(frozen=True, slots=True)
class NoReceipt:
    """In place of a receipt: the call has ended without one, or nobody can tell."""

    kind: ClassVar[str] = "no receipt"

    why: str
