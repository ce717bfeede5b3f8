"""Drivers of a session: they call a robot for everything that is asked, in this thread or in an event loop.

All that is decided is decided in the session. A robot that can stop, and an act that may not take for ever, are called
in a thread of their own, so that the session can go on meanwhile; otherwise the robot is called right here.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from functools import partial
from typing import Any, TypeVar

from aquamend.errors import AquaMendError, StaleReply
from aquamend.policies.policy import Policy
from aquamend.recovery.acts import Act, Measure
from aquamend.recovery.history import Recovery
from aquamend.recovery.log import Log, SharedLog
from aquamend.recovery.requests import Decide, End, NoReceipt, Perform, Request, RunProbe, Stop, Verify, Wait
from aquamend.recovery.robot import AsyncRobot, Judged, Robot, Simulated, Stoppable, Verifying
from aquamend.recovery.safety_rules import UNATTENDED, Rules
from aquamend.recovery.session import Session
from aquamend.recovery.tracker import Tracker

POLL_S, POLL_SHARED_S = 0.2, 5.0
"""How often somebody who waits for a person looks whether there is an answer; less often where the log says so."""

CANNOT_STOP = "the robot has no stop()"
CANNOT_VERIFY = "the robot has no verify()"
NO_REQUEST = -1
"""The number of a request that no session has made."""

T = TypeVar("T")
_Call = Callable[[Any], Any]
_ToCall = RunProbe | Perform | Stop | Verify


def recover(
    policy: Policy | str,
    robot: Robot,
    *,
    journal: Log | None = None,
    session: str | None = None,
    rules: Rules | None = None,
    strict: bool = False,
    wait_s: float = math.inf,
) -> Recovery:
    """Let a policy recover with a robot, and return what happened.

    With a journal, the session survives whatever happens to this process, and ``resume`` takes it up again. For people
    it waits as long as ``wait_s``; one that still waits then is returned as it stands, and can be resumed. What goes
    wrong in the policy ends in a hand-over, or is raised if ``strict``.
    """
    begun = Session.begin(robot.alarm(), policy, log=journal, name=session, rules=rules, strict=strict)
    return drive(begun, robot, wait_s=wait_s)


def resume(
    journal: Log,
    session: str,
    robot: Robot,
    *,
    policy: Policy | None = None,
    tracker: Tracker | None = None,
    wait_s: float = math.inf,
) -> Recovery:
    """Take a session up where it stands in a journal, and return what happened.

    An act that was begun and left no receipt is verified through the robot, or handed over: never simply repeated. A
    ``tracker`` is informed of every act from now on.
    """
    return drive(Session.resume(journal, session, policy=policy, tracker=tracker), robot, wait_s=wait_s)


async def recover_async(
    policy: Policy | str,
    robot: AsyncRobot | Robot,
    *,
    journal: Log | None = None,
    session: str | None = None,
    rules: Rules | None = None,
    strict: bool = False,
    wait_s: float = math.inf,
) -> Recovery:
    """Do what ``recover`` does, in an event loop. Cancelled, it stops the act and leaves a session to be resumed."""
    state = await _awaited(robot.alarm())
    begun = Session.begin(state, policy, log=journal, name=session, rules=rules, strict=strict)
    return await drive_async(begun, robot, wait_s=wait_s)


async def resume_async(
    journal: Log,
    session: str,
    robot: AsyncRobot | Robot,
    *,
    policy: Policy | None = None,
    tracker: Tracker | None = None,
    wait_s: float = math.inf,
) -> Recovery:
    """Do what ``resume`` does, in an event loop."""
    taken_up = await asyncio.to_thread(Session.resume, journal, session, policy=policy, tracker=tracker)
    return await drive_async(taken_up, robot, wait_s=wait_s)


def recovered(policy: Policy, world: Simulated, *, log: Log | None = None, session: str | None = None) -> Judged:
    """Let a policy recover in a simulated world, where nobody is asked, and have it judged.

    Whatever goes wrong in the policy is raised. With a ``log`` the session is kept there, under its name.
    """
    begun = Session.begin(world.alarm(), policy, log=log, name=session, rules=UNATTENDED, attended=False, strict=True)
    recovery = drive(begun, world)
    return Judged(recovery, world.judge(recovery))


def drive(session: Session, robot: Robot, *, wait_s: float = math.inf) -> Recovery:
    """Call a robot for everything that a session asks, until it has ended or has waited for a person long enough."""
    patience, changed = time.monotonic() + wait_s, threading.Event()
    calls, started = dict[int, Future[Any]](), set[int]()
    acting = -1  # the number of the last act that was begun here
    try:
        with _listening(session, changed.set):
            while not isinstance(request := session.tick(), End):
                changed.clear()
                if isinstance(request, Decide):
                    session.decide()
                elif isinstance(request, Stop) and acting in calls and calls[acting].cancel():
                    del calls[acting]
                    with contextlib.suppress(StaleReply):
                        session.reply(request.act.failed("it was not begun", cost=0.0), to=acting)
                elif isinstance(request, _ToCall) and request.number not in started:
                    started.add(request.number)
                    acting = request.number if isinstance(request, RunProbe | Perform) else acting
                    calls[request.number] = _called(robot, request)
                elif (answered := next((n for n, one in calls.items() if one.done()), None)) is not None:
                    _reply(session, answered, calls.pop(answered))
                elif _waits_for_a_person(request) and time.monotonic() >= patience:
                    return session.recovery
                else:
                    _wait(session, request, calls, changed, patience)
            return session.recovery
    except BaseException as error:
        _stop_before_leaving(session, robot, calls, error)
        raise
    finally:
        let_go(session)


def _waits_for_a_person(request: Request) -> bool:
    return isinstance(request, Wait) and bool(request.token)


def _pause(session: Session, request: Request, patience: float) -> float:
    """Return after how many seconds to look again where nobody calls: for what time brings, or for a person's word."""
    if _waits_for_a_person(request):
        poll_s = POLL_SHARED_S if isinstance(session.log, SharedLog) else POLL_S
        return min(session.due, max(0.0, patience - time.monotonic()), poll_s)
    return session.due


def method_for(robot: Any, request: _ToCall) -> Any:
    """Return the method of a robot that a request is for."""
    match request:
        case RunProbe():
            return robot.measure
        case Perform():
            return robot.perform
        case Stop():
            return robot.stop if isinstance(robot, Stoppable) else lambda act: NoReceipt(CANNOT_STOP)
        case Verify():
            return robot.verify if isinstance(robot, Verifying) else lambda act: NoReceipt(CANNOT_VERIFY)


def _called(robot: Robot, request: _ToCall) -> Future[Any]:
    """Call a method of a robot: here, unless the session may have something else to ask before it returns."""
    call = partial(method_for(robot, request), request.act)
    if math.isfinite(request.timeout_s) or isinstance(robot, Stoppable):
        return in_a_thread(call, name=str(request.act))
    answer: Future[Any] = Future()
    settled(call, answer)
    return answer


def _reply(session: Session, number: int, answer: Future[Any] | asyncio.Future[Any]) -> None:
    """Hand over what a robot returned or raised; what ends the program ends it here."""
    error = NoReceipt("it was cancelled") if answer.cancelled() else answer.exception()
    if isinstance(error, BaseException) and not isinstance(error, Exception):
        raise error
    with contextlib.suppress(StaleReply):  # stopped, verified or settled meanwhile
        session.reply(answer.result() if error is None else error, to=number)


def _wait(
    session: Session, request: Request, calls: dict[int, Future[Any]], changed: threading.Event, patience: float
) -> None:
    """Wait until a call returns, somebody has something else to say, or time has something to say."""
    for one in calls.values():
        one.add_done_callback(lambda _: changed.set())
    pause = _pause(session, request, patience)
    changed.wait(None if math.isinf(pause) else min(pause, threading.TIMEOUT_MAX))


def _stop_before_leaving(session: Session, robot: Robot, calls: dict[int, Future[Any]], error: BaseException) -> None:
    """Have the act under way stopped, since nobody will wait for it any more, even if that cannot be written down."""
    left = {number: one for number, one in calls.items() if not (one.cancel() or one.done())}
    request = _last_request(session, error) if left and isinstance(robot, Stoppable) else None
    if request is None:
        return
    # At once: nothing is to go on moving while the log is waited for.
    stopped = left.get(request.number) or _called(robot, request)
    number = _written(session, request)
    wait_for([stopped], request.timeout_s if math.isfinite(request.timeout_s) else None)
    if stopped.done():
        with contextlib.suppress(Exception):  # what led here matters more
            _reply(session, number, stopped)


def _last_request(session: Session, error: BaseException) -> Stop | None:
    """Return what the robot is asked before its driver goes; None where nothing is under way."""
    session.decide_apart = True  # nothing else is begun, before somebody drives it again
    if isinstance(session.request, Stop):
        return session.request
    act = session.recovery.act
    return None if act is None else Stop(NO_REQUEST, act, _why_leaving(error), session.recovery.rules.stop_s)


def _written(session: Session, request: Stop) -> int:
    """Write down that an act is being stopped, where that can be; return the number of the request for it."""
    with contextlib.suppress(BaseException):  # a log that is full, or somebody else's by now
        return session.interrupt(request.reason).number
    return request.number


def _why_leaving(error: BaseException) -> str:
    match error:
        case KeyboardInterrupt() | SystemExit():
            return "the program was interrupted"
        case asyncio.CancelledError():
            return "its task was cancelled"
        case _:
            return f"its driver has failed: {type(error).__name__}: {error}"


async def drive_async(session: Session, robot: AsyncRobot | Robot, *, wait_s: float = math.inf) -> Recovery:
    """Do what ``drive`` does, in an event loop."""
    loop, patience, changed = asyncio.get_running_loop(), time.monotonic() + wait_s, asyncio.Event()
    tasks, started = dict[int, asyncio.Future[Any]](), set[int]()
    try:
        with _listening(session, lambda: loop.call_soon_threadsafe(changed.set)):
            while not isinstance(request := session.tick(), End):
                changed.clear()
                if isinstance(request, Decide):
                    session.decide()
                elif (answered := next((n for n, one in tasks.items() if one.done()), None)) is not None:
                    _reply(session, answered, tasks.pop(answered))
                elif isinstance(request, Stop) and not isinstance(robot, Stoppable):
                    await _cancelled(session, request, tasks, robot)
                elif isinstance(request, _ToCall) and request.number not in started:
                    started.add(request.number)
                    tasks[request.number] = _begun(method_for(robot, request), request.act)
                elif _waits_for_a_person(request) and time.monotonic() >= patience:
                    return session.recovery
                else:
                    await _wait_async(session, request, tasks, changed, patience)
            return session.recovery
    except BaseException as error:
        await _stop_before_leaving_async(session, robot, tasks, error)
        raise
    finally:
        for task in tasks.values():
            task.cancel()
        let_go(session)


def _begun(call: _Call, act: Act) -> asyncio.Future[Any]:
    """Call a method of a robot; one that is no coroutine function in a thread of its own, so that the loop goes on."""
    if inspect.iscoroutinefunction(call):
        return asyncio.ensure_future(call(act))
    answer = in_a_thread(partial(call, act), name=str(act))
    return asyncio.ensure_future(_awaited(asyncio.wrap_future(answer)))


async def _cancelled(session: Session, request: Stop, tasks: dict[int, asyncio.Future[Any]], robot: Any) -> None:
    """Cancel the coroutine of an act that a robot without ``stop`` is to stop: it may still return its receipt.

    A call in a thread cannot be cancelled: it goes on, and is waited for.
    """
    method = robot.measure if isinstance(request.act, Measure) else robot.perform
    for number, task in list(tasks.items()) if inspect.iscoroutinefunction(method) else ():
        task.cancel()
        await asyncio.wait([task], timeout=request.timeout_s if math.isfinite(request.timeout_s) else None)
        if task.done():
            del tasks[number]
            own = not task.cancelled() and task.exception() is None
            with contextlib.suppress(StaleReply):
                session.reply(task.result() if own else NoReceipt(request.reason), to=number)
    with contextlib.suppress(StaleReply):
        session.reply(NoReceipt(CANNOT_STOP), to=request.number)


async def _wait_async(
    session: Session, request: Request, tasks: dict[int, asyncio.Future[Any]], changed: asyncio.Event, patience: float
) -> None:
    pause = _pause(session, request, patience)
    woken = asyncio.ensure_future(changed.wait())
    try:
        timeout = None if math.isinf(pause) else pause
        await asyncio.wait([woken, *tasks.values()], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        woken.cancel()


async def _stop_before_leaving_async(
    session: Session, robot: AsyncRobot | Robot, tasks: dict[int, asyncio.Future[Any]], error: BaseException
) -> None:
    """Do what ``_stop_before_leaving`` does; a second cancellation does not wait."""
    left = {number: task for number, task in tasks.items() if not task.done()}
    request = _last_request(session, error) if left else None
    if request is None or not isinstance(robot, Stoppable):
        return
    stopping = left.get(request.number) or _begun(robot.stop, request.act)
    await asyncio.sleep(0)  # it begins before the log is waited for
    number = await asyncio.to_thread(_written, session, request)
    await asyncio.wait([stopping], timeout=request.timeout_s if math.isfinite(request.timeout_s) else None)
    if stopping.done():
        with contextlib.suppress(Exception):  # what led here matters more
            _reply(session, number, stopping)
    else:
        stopping.cancel()


async def _awaited(value: Any) -> Any:
    """Return a value that has to be awaited, perhaps more than once, or need not be."""
    while inspect.isawaitable(value):
        value = await value
    return value


@contextlib.contextmanager
def _listening(session: Session, listener: Callable[[], Any]) -> Iterator[None]:
    """Have a session say when something else is asked for, for as long as it is driven here."""
    if session.on_change is not None:
        raise AquaMendError(f"session {session.name!r} is being driven already")
    session.on_change, log = listener, session.log
    try:
        if not isinstance(log, SharedLog):
            yield
            return
        with log.listening(session.name, listener):
            yield
    finally:
        session.on_change = None


def let_go(session: Session) -> None:
    """Let another program conduct a session, since it is driven here no more, unless something may still move."""
    if isinstance(session.log, SharedLog) and session.recovery.act is None:
        session.log.release(session.name)


class Thinking:
    """Decides for a session in a thread of its own, so that a caller with a short tick is never kept waiting.

    Begin the session with ``decide_apart=True``, and call ``tick`` instead of the session's.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._number = -1
        self._thought: Future[Any] = Future()

    def tick(self) -> Request:
        """Return what is wanted now: ``Decide`` for as long as a decision is being computed."""
        request = self.session.tick()
        if not isinstance(request, Decide):
            return request
        if self._number != request.number:
            thought = self.session.deliberation
            self._number, self._thought = thought.number, in_a_thread(thought.compute)
        if not self._thought.done():
            return request
        error = self._thought.exception()
        if error is not None and (self.session.strict or not isinstance(error, Exception)):
            raise error
        return self.session.reply(error or self._thought.result(), to=self._number)


def settled(call: Callable[[], T], answer: Future[T]) -> None:
    """Call, unless that was cancelled before, and have what comes of it in a future."""
    if not answer.set_running_or_notify_cancel():
        return
    try:
        answer.set_result(call())
    except BaseException as error:  # noqa: BLE001 - it belongs to the thread that waits
        answer.set_exception(error)


def in_a_thread(call: Callable[[], T], *, name: str | None = None) -> Future[T]:
    """Call in a thread of its own."""
    answer: Future[T] = Future()
    threading.Thread(target=partial(settled, call, answer), name=name, daemon=True).start()
    return answer
