"""Logs of recoveries: an append-only list of events for each session, in memory or on disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, runtime_checkable

from aquamend.errors import ForeignSession, UnknownName, UsedName
from aquamend.recovery.events import Ended, Entry, Event


class Log(Protocol):
    """Where sessions are kept. Any store that keeps these two promises will do.

    What ``append`` has returned from survives; and of two writers who have both read so far, one is refused.
    """

    def append(self, session: str, after: int, events: Sequence[Event], *, at: float | None = None) -> None:
        """Add events behind number ``after``, all or none; ``ForeignSession`` if that is not the last one there.

        They have come at this time, in seconds since 1970, now unless given. Where ``after`` is 0 and there is such a
        session, it is the ``ForeignSession`` named ``UsedName``.
        """

    def read(self, session: str, after: int = 0) -> Iterator[Entry]:
        """Yield the events of a session behind number ``after``, in order; an error if there is no such session."""


@runtime_checkable
class SharedLog(Log, Protocol):
    """A log that programs on several machines share: a program that conducts a session in it has a lease for a time."""

    def left_s(self, session: str) -> float:
        """Return for how many seconds more nobody else can conduct a session; answered at once."""

    def release(self, session: str) -> None:
        """Let somebody else conduct a session that was conducted here."""

    def listening(self, session: str | None, call: Callable[[], object]) -> AbstractContextManager[None]:
        """Have a function called, from a thread, when a person was asked or has spoken in a session, or in any."""


class MemoryLog:
    """Sessions for as long as this process lives."""

    def __init__(self) -> None:
        self._sessions: dict[str, list[Entry]] = {}

    def append(self, session: str, after: int, events: Sequence[Event], *, at: float | None = None) -> None:
        """Add events to a session."""
        if not events:
            return
        entries = self._sessions.get(session, [])
        if after == 0 < len(entries):
            raise UsedName(session, f"{len(entries)} events")
        if after != len(entries):
            raise ForeignSession(session) if entries else UnknownName("session", session, self._sessions)
        self._sessions[session] = entries
        when = time.time() if at is None else float(at)
        entries += [Entry(after + i, when, event) for i, event in enumerate(events, start=1)]

    def read(self, session: str, after: int = 0) -> Iterator[Entry]:
        """Yield the events of a session."""
        if session not in self._sessions:
            raise UnknownName("session", session, self._sessions)
        return iter(self._sessions[session][after:])


def followed(log: Log, session: str, *, poll_s: float = 0.2) -> Iterator[Entry]:
    """Yield the events of a session, those to come as they come, until it has ended."""
    after, spoken = 0, threading.Event()
    with log.listening(session, spoken.set) if isinstance(log, SharedLog) else nullcontext():
        while True:
            for entry in log.read(session, after):
                after = entry.number
                yield entry
                if isinstance(entry.event, Ended):
                    return
            spoken.wait(poll_s)
            spoken.clear()
