"""What the service holds while it runs: its limits, the problems it keeps, its workers and the sessions it conducts."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aquamend.belief import InformationState
from aquamend.errors import InvalidData, UnknownName
from aquamend.recovery import Store
from aquamend.serve.conducting import Conductor
from aquamend.serve.problem_details import Refused
from aquamend.serve.questions import Situation, problem_of, state_of
from aquamend.serve.worker_pool import Workers


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """How much anybody may ask for."""

    body: int = 4 * 1024 * 1024
    """Bytes of a request."""
    seconds: float = 10.0
    """How long one question, or one decision of a session, may take."""
    workers: int = os.cpu_count() or 1
    """How many questions are worked on at once."""
    warm: int = 1
    """How many processes are started for that before anybody asks."""
    waiting: int = 32
    """How many more may wait for that."""
    sessions: int = 1_000
    """How many sessions may be under way here."""
    streams: int = 64
    """How many may follow live what happens."""
    problems: int = 100
    """How many problems are kept."""
    wait_s: float = 60.0
    """How long anybody may wait for the next request of a session."""


class Service:
    """All that requests share."""

    def __init__(self, journal: Store, *, limits: ServiceLimits | None = None) -> None:
        self.journal, self.limits = journal, limits or ServiceLimits()
        self.workers = Workers(number=self.limits.workers, queue=self.limits.waiting, warm=self.limits.warm)
        self.conductor = Conductor(journal, most=self.limits.sessions, seconds=self.limits.seconds)
        self.problems: dict[str, Any] = {}
        """What was given of each problem that is kept: its text or its data."""
        self.streams = 0
        self.stopping = asyncio.Event()
        """Set once the service is to end: those who wait or follow are let go."""
        self._reading = threading.Lock()

    async def start(self) -> None:
        """Begin to work."""
        self.conductor.start()
        await self.workers.warm_up()

    async def close(self) -> None:
        """End all that works; sessions stay in the log as they are."""
        self.stopping.set()
        await self.workers.close()
        await self.conductor.close()

    def keep(self, name: str, written: Any) -> bool:
        """Keep a sound problem under a name; return whether it is a new one."""
        new = name not in self.problems
        if new and len(self.problems) >= self.limits.problems:
            raise Refused(409, "too-many-problems", f"{self.limits.problems} problems are kept; delete some of them")
        self.problems[name] = written
        return new

    def kept(self, name: str) -> Any:
        """Return a problem that is kept, as it was given."""
        if name not in self.problems:
            raise UnknownName("kept problem", name, self.problems)
        return self.problems[name]

    def resolved(self, asked: Situation, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return a situation as it was sent, with its problem in it where that is kept here."""
        if asked.kept is None:
            return dict(data)
        if asked.problem is not None:
            raise InvalidData("request.kept", "both `kept` and `problem` are given; keep one of the two")
        return {**data, "kept": None, "problem": self.kept(asked.kept)}

    def seconds(self, wanted: float | None) -> float:
        """Return how long a request may take."""
        return self.limits.seconds if wanted is None else min(wanted, self.limits.seconds)

    def state(self, asked: Situation) -> InformationState:
        """Return the state of a situation that a worker has found to be sound."""
        with self._reading:
            return state_of(problem_of(asked), asked)
