"""What the service holds while it runs: its limits, the problems it keeps, its workers, the sessions it conducts.

Each session decides in a thread of its own, and lives in the log alone.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from aquamend import deadline
from aquamend.belief import InformationState
from aquamend.errors import AquaMendError, ForeignSession, InvalidData, StaleReply, UnknownName, UsedName
from aquamend.policies.registry import registered
from aquamend.recovery import Recovery, Rules, Session, Store
from aquamend.recovery.drivers import in_a_thread, let_go
from aquamend.recovery.requests import Decide, End, NoReceipt, Request, Wait
from aquamend.serve.problem_details import Refused, refusal
from aquamend.serve.questions import Situation, in_time, problem_of, state_of
from aquamend.serve.worker_pool import Workers

log = logging.getLogger("aquamend.serve")

LOOK_S = 0.2
"""How often it is looked whether time, or a person in another process, has something to say."""
GRACE_S = 1.0
"""How much longer than its time a decision may take before a person is called instead."""
AGAIN_S = 2.0
"""When it is tried again where a log does not take in what was decided."""


class Conducted:
    """One session under way here."""

    def __init__(self, session: Session, *, seconds: float) -> None:
        self.session, self._seconds = session, seconds
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._looked = time.monotonic()
        self._thinking: asyncio.Task[None] | None = None
        self._number = -1
        """Of the last decision that was asked for."""
        self.lost = False
        """Whether somebody else conducts it now."""
        self._troubled = False
        session.on_change = partial(self._loop.call_soon_threadsafe, self._follow)
        self._follow()

    def _follow(self) -> None:
        """Wake what waits, and let the policy decide where that is asked for."""
        self._changed.set()
        self._changed = asyncio.Event()
        request = self.session.request
        if isinstance(request, Decide) and request.number != self._number:
            self._number = request.number
            self._thinking = asyncio.create_task(self._decide(request.number))

    async def _decide(self, number: int) -> None:
        """Reply with what the policy decides; where that takes too long, the session calls a person."""
        try:
            async with asyncio.timeout(self._seconds + GRACE_S):
                answer: Any = await asyncio.wrap_future(in_a_thread(self._deliberated))
        except TimeoutError:
            answer = NoReceipt(f"it has not decided within {self._seconds:g} s")
        except Exception as error:  # noqa: BLE001 - whatever a policy does, the session goes on with a person
            answer = error
        try:
            await self.call(lambda session: session.reply(answer, to=number))
        except StaleReply:
            pass  # an alarm or an observation came in between
        except ForeignSession as error:
            log.info("%s", error)
        except Exception:
            log.exception("session %r: the decision could not be written down", self.session.name)
            self._number = -1
            self._loop.call_later(AGAIN_S, self._follow)

    def _deliberated(self) -> Any:
        with deadline.ends_at(deadline.clock() + self._seconds):
            return self.session.deliberation.compute()

    def look(self) -> None:
        """Let time pass, where something may follow from that."""
        now, request = time.monotonic(), self.session.request
        asked = isinstance(request, Wait) and request.token
        if not asked and now - self._looked < self.session.due:
            return
        self._looked = now
        try:
            self.session.tick()
        except ForeignSession as error:
            self.lost = True
            log.info("%s", error)
        except Exception:  # its log does not answer, or is full: it goes on once that is mended
            if not self._troubled:
                log.exception("session %r: it cannot go on now", self.session.name)
            self._troubled = True
        else:
            self._troubled = False

    async def next_request(self, *, after: int | None, seconds: float) -> Request:
        """Return what is wanted, as soon as it is another than that of number ``after`` and is for the robot."""
        until = time.monotonic() + seconds
        while True:
            changed, request = self._changed, self.session.request
            waits = isinstance(request, Decide) or request.number == after
            left = until - time.monotonic()
            if not waits or isinstance(request, End) or left <= 0:
                return request
            try:
                async with asyncio.timeout(left):
                    await changed.wait()
            except TimeoutError:
                return self.session.request

    async def call(self, said: Callable[[Session], object]) -> None:
        """Say something to the session."""
        self._looked = time.monotonic()
        try:
            await asyncio.to_thread(said, self.session)
        except ForeignSession:
            self.lost = True
            raise

    @property
    def over(self) -> bool:
        """Whether nothing is to be done here any more."""
        return self.lost or isinstance(self.session.request, End)


class Conductor:
    """The sessions of one log that are under way here."""

    def __init__(self, journal: Store, *, most: int, seconds: float) -> None:
        self.journal, self._most, self._seconds = journal, most, seconds
        self._conducted: dict[str, Conducted] = {}
        self._beginning: set[str] = set()
        self._closing = threading.Event()
        self._watch = threading.Thread(target=self._watching, name="sessions", daemon=True)

    def start(self) -> None:
        """Begin to look after the sessions."""
        self._watch.start()

    async def close(self) -> None:
        """Leave all sessions to be resumed; nothing is lost, since all that happened is in the log."""
        self._closing.set()
        await asyncio.to_thread(self._watch.join)
        for one in self._conducted.values():
            with suppress(AquaMendError):  # then somebody else has to wait until the lease is over
                await asyncio.to_thread(let_go, one.session)

    def find(self, name: str) -> Conducted | None:
        """Return a session if it is under way here."""
        found = self._conducted.get(name)
        return None if found is None or found.over else found

    @property
    def count(self) -> int:
        """How many are under way here."""
        return sum(self.find(name) is not None for name in tuple(self._conducted))

    async def begin(
        self, state: InformationState, policy: str, *, name: str | None, rules: Rules, attended: bool
    ) -> Conducted:
        """Begin a session."""
        registered(policy)  # one that is not may not even be looked for
        begin = partial(
            Session.begin, state, policy, log=self.journal, name=name, rules=rules, attended=attended, decide_apart=True
        )
        made = await self._taken_up(name, begin)
        log.info("session %r begun by %s", made.session.name, policy)
        return made

    async def resume(self, name: str) -> Conducted:
        """Take up a session that no program conducts any more; one that did is refused from then on."""
        made = await self._taken_up(name, partial(self._resumed, name))
        log.info("session %r resumed", name)
        return made

    def _resumed(self, name: str) -> Session:
        now = Recovery.of([entry.event for entry in self.journal.read(name)], name)
        if now.ending is not None:
            raise Refused(
                refusal(409, "ended", f"session {name!r} has ended ({now.ending}); there is nothing to resume")
            )
        return Session.resume(self.journal, name, policy=registered(now.policy), decide_apart=True)

    async def _taken_up(self, name: str | None, make: Callable[[], Session]) -> Conducted:
        if name is not None and (self.find(name) is not None or name in self._beginning):
            raise UsedName(name, "it is conducted here")
        if self.count + len(self._beginning) >= self._most:
            what = f"{self._most} sessions are under way here, and no more may be; end some of them"
            raise Refused(refusal(503, "too-many-sessions", what, retry_after_s=5))
        mark = name or f"\n{id(make)}"  # no session has such a name
        self._beginning.add(mark)
        try:
            session = await asyncio.to_thread(make)
            session.policy = in_time(session.recovery.policy, self._seconds)
            made = Conducted(session, seconds=self._seconds)
            if not isinstance(session.request, End):
                self._conducted[session.name] = made
            return made
        finally:
            self._beginning.discard(mark)

    def _watching(self) -> None:
        while not self._closing.wait(LOOK_S):
            for name, one in list(self._conducted.items()):
                one.look()
                if one.over and self._conducted.get(name) is one:
                    del self._conducted[name]


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

    def keep(self, name: str, written: Any) -> None:
        """Keep a sound problem under a name."""
        if name not in self.problems and len(self.problems) >= self.limits.problems:
            raise Refused(
                refusal(409, "too-many-problems", f"{self.limits.problems} problems are kept; delete some of them")
            )
        self.problems[name] = written

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
