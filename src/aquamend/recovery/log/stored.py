"""What every store of sessions keeps, wherever it is: events as JSON, each problem once, and a session in short."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Any, Protocol, Self

from aquamend.codec import json_number
from aquamend.errors import AquaMendError
from aquamend.files import parse_problem
from aquamend.problem import Problem
from aquamend.recovery.events import Alarmed, Approved, Asked, Decided, Done, Ended, Event, Intended, Settled
from aquamend.recovery.history import Recovery
from aquamend.recovery.log.log import Log
from aquamend.recovery.plain import event_from_data, event_to_data, from_json, to_json
from aquamend.recovery.receipts import charged

KEPT_PROBLEMS = 8
"""Problems that are kept as they were last read, with all that was computed from them."""
READ_AT_ONCE = 500
LONGEST_NAME = 200


class Status(StrEnum):
    """How a session stands."""

    RUNNING = "running"
    """Something is to be decided or begun, by the program that conducts or resumes it."""
    WAITING = "waiting"
    """A person has to answer."""
    IN_DOUBT = "in doubt"
    """An act has begun, and its receipt is not there yet: it is under way, or somebody has to find out."""
    FINISHED = "finished"
    HANDED_OVER = "handed over"
    STOPPED = "stopped"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether nothing will come any more."""
        return self not in (Status.RUNNING, Status.WAITING, Status.IN_DOUBT)


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One session in short."""

    name: str
    problem: str
    """The name of its problem."""
    policy: str
    status: Status
    started: float
    """This and the next in seconds since 1970."""
    updated: float
    events: int
    cost: float
    """What it has cost so far."""

    def to_data(self) -> dict[str, Any]:
        """Return the line as plain data."""
        return {
            "session": self.name,
            "status": self.status.value,
            "problem": self.problem,
            "policy": self.policy,
            "started": self.started,
            "updated": self.updated,
            "events": self.events,
            "cost": json_number(self.cost),
        }


class Store(Log, Protocol):
    """A log that keeps sessions for good, in a file or a database: a journal, or the log of a fleet."""

    @property
    def place(self) -> str:
        """Where it is, in words that may be shown."""

    def sessions(self) -> list[SessionLine]:
        """Return every session in short, the first begun first."""

    def delete(self, sessions: Iterable[str], *, force: bool = False) -> None:
        """Delete sessions with all their events, all or none; those that have not ended only by ``force``."""

    def close(self) -> None:
        """Close it; nothing is lost without that."""

    def __enter__(self) -> Self:
        """Return it, to be closed at the end of the block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""


def status_after(event: Event, before: Status) -> Status:
    """Return how a session stands after one more event."""
    match event:
        case Asked():
            return Status.WAITING
        case Intended():
            return Status.IN_DOUBT
        case Ended(ending):
            return Status(ending.value)
        case Alarmed() | Decided() | Approved() | Settled() | Done():
            return Status.RUNNING
        case _:
            return before


def cost_after(cost: float, events: Sequence[Event], earlier: Callable[[], Iterable[Event]]) -> float:
    """Return what a session has cost after more events, where it had cost so much after the earlier ones."""
    if any(isinstance(event, Approved | Settled) for event in events):
        # Who says what became of an act, or takes over from it, says what it cost.
        return float(Recovery.of((*earlier(), *events)).cost)
    for event in events:
        cost += charged([event.receipt]) if isinstance(event, Done) else 0.0
    return cost


class Problems:
    """The problems of sessions, by the digest of their text; the last few as they were read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: OrderedDict[str, Problem] = OrderedDict()

    def known(self, digest: str) -> Problem | None:
        """Return a problem that is among the last few."""
        with self._lock:
            if digest in self._read:
                self._read.move_to_end(digest)
            return self._read.get(digest)

    def of(self, digest: str, text: str) -> Problem:
        """Return the problem of a text, read once for as long as it is among the last few."""
        problem = self.known(digest)
        if problem is not None:
            return problem
        problem = parse_problem(from_json(text))
        with self._lock:
            problem = self._read.setdefault(digest, problem)
            while len(self._read) > KEPT_PROBLEMS:
                self._read.popitem(last=False)
        return problem

    def texts(self, session: str, after: int, events: Sequence[Event]) -> tuple[list[str], str]:
        """Return events as JSON, and the problem that the first of a session brings, which is kept apart."""
        texts, problem = [], ""
        for number, event in enumerate(events, start=after + 1):
            if (number == 1) != isinstance(event, Alarmed):
                raise AquaMendError(
                    f"a session begins with its alarm, not with {type(event).__name__!r}"
                    if number == 1
                    else "a session begins with its alarm; a second one needs a session of its own"
                )
            data = event_to_data(event)
            if isinstance(event, Alarmed):
                _check_name(session)
                problem = to_json(data["problem"])
                data["problem"] = digest_of(problem)
                # What could not be read again must not be begun.
                event_from_data(data, problem=self.of(data["problem"], problem))
            texts.append(to_json(data))
        return texts, problem


def digest_of(text: str) -> str:
    """Return by what a problem is found."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def storable(text: str) -> str:
    """Return a text without what no file can hold: halves of characters."""
    return text.encode("utf-8", "replace").decode()


def _check_name(session: str) -> None:
    if not 0 < len(session) <= LONGEST_NAME or not session.isprintable():
        raise AquaMendError(f"a session is named in one line of at most {LONGEST_NAME} letters, not {session!r}")
