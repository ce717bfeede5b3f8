"""The recovery loop: decide, act, take the receipt, and decide again until the recovery has ended.

One loop serves both forms, ``recover`` and ``recover_async``, and both ``resume``: it asks for one thing at a time, and
its driver calls the robot. With a journal, every fact is on disk before the next act begins.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from aquamend.decision.steps import Escalate, Reprobe
from aquamend.errors import AquaMendError, BadStep, ForeignSession, IllegalProbe, UnknownName
from aquamend.explanation.as_json import explanation_json
from aquamend.explanation.report import decision_report
from aquamend.inference import InformationState
from aquamend.policies.policy import Policy
from aquamend.policies.registry import name_of, policy_named
from aquamend.recovery.acts import Act, Measure
from aquamend.recovery.events import (
    Alarmed,
    AlarmedAgain,
    Approved,
    Asked,
    Decided,
    Done,
    Ended,
    Ending,
    Event,
    Intended,
    Resumed,
    Rules,
)
from aquamend.recovery.log import Log
from aquamend.recovery.receipts import Receipt, in_plain_types, receipt_fault
from aquamend.recovery.robot import AsyncRobot, Robot, Verifying
from aquamend.recovery.session import Recovery

POLL_S = 0.2
"""How often somebody who waits for a person looks whether there is an answer."""


@dataclass(frozen=True, slots=True)
class _Verify:
    act: Act


@dataclass(frozen=True, slots=True)
class _Wait:
    """For a person; whoever has the patience asks again."""


_Request = Act | _Verify | _Wait
_Reply = object


@dataclass(eq=False, slots=True)
class _Conductor:
    """Conducts one session: knows what comes next, and has it written down first."""

    now: Recovery
    policy: Policy
    log: Log | None
    strict: bool = False
    """Whether what goes wrong in the policy is raised; otherwise the recovery is handed over."""
    written: int = 0
    """Number of the last event in the log."""
    waiting: list[Event] = field(default_factory=list)
    """Events that are not in the log yet."""
    began: float = 0.0
    doubt: str = "the robot's program ended before its receipt came"

    def note(self, event: Event) -> None:
        """Take an event in, to be written with the next ``settle``; one that makes no sense is refused."""
        self.now = self.now.after(event)
        self.waiting.append(event)

    def settle(self) -> None:
        """Have everything written down."""
        if self.log is not None and self.waiting:
            self.log.append(self.now.session, self.written, self.waiting)
            self.written += len(self.waiting)
        self.waiting.clear()

    def moves(self) -> Generator[_Request, _Reply, None]:
        """Yield what is asked of the robot or of a person, until the recovery has ended."""
        while self.now.ending is None:
            if self.now.act is not None:
                yield from self._verify(self.now.act)
            elif self.now.asked is not None:
                self.settle()
                yield _Wait()
                self._hear()
            elif self.now.acts:
                yield from self._carry_out(self.now.acts[0])
            else:
                self._decide()
        self.settle()

    def _carry_out(self, act: Act) -> Generator[_Request, _Reply, None]:
        why = self.now.rules.why_ask(act, self.now.state)
        if why and not self.now.allowed and self.log is not None:
            self.note(Asked(act, why))
            return
        self.note(Intended(act))
        self.settle()
        start = time.time()
        reply = yield act
        receipt = _understood(reply)
        if isinstance(receipt, Receipt):
            self._take(self._stamped(receipt, start))
        elif isinstance(act, Measure):  # a probe that does not answer does no harm
            self._take(self._stamped(act.failed(receipt), start))
        else:
            self.doubt = receipt

    def _verify(self, act: Act) -> Generator[_Request, _Reply, None]:
        """Find out whether an act was done that left no receipt."""
        self.settle()
        reply = yield _Verify(act)
        receipt = _understood(reply)
        if isinstance(receipt, Receipt):
            self._take(receipt)
        else:
            self._take(act.failed(f"in doubt: {self.doubt}"), known=False)

    def _take(self, receipt: Receipt, *, known: bool = True) -> None:
        """Note a receipt, and what else it brings: an answer that cannot be understood is none."""
        try:
            self.note(Done(receipt, known))
        except AquaMendError as error:
            self.note(Done(replace(receipt, succeeded=False, finding=f"{receipt.finding!r}: {error}"), known))
        if receipt.alarm and self.now.handed_over:
            self.note(AlarmedAgain("a person has taken over"))
        elif receipt.alarm:
            try:
                self.note(AlarmedAgain())
            except AquaMendError as error:
                self.note(AlarmedAgain(str(error)))
        self.settle()

    def _stamped(self, receipt: Receipt, start: float) -> Receipt:
        """Return a receipt with times, by our clock where the robot gave none; a simulation needs none."""
        if self.log is None or receipt.start_s is not None or receipt.end_s is not None:
            return receipt
        return replace(receipt, start_s=start, end_s=time.time())

    def _decide(self) -> None:
        now = self.now
        if now.carried_out:
            self.note(Ended(Ending.HANDED_OVER if now.handed_over else Ending.FINISHED, now.reason))
        elif now.trouble and now.steps and isinstance(now.steps[-1], Escalate):
            self.note(Ended(Ending.STOPPED, now.trouble))
        elif why := now.trouble or self._used_up():
            self.note(Decided(Escalate(), why))
        elif self.strict:
            self.note(self._choice())
        else:
            try:
                choice = self._choice()
                self.note(choice)
            except Exception as error:  # noqa: BLE001 - whatever a policy does, the robot must not be left standing
                self.note(Decided(Escalate(), f"the policy failed: {type(error).__name__}: {error}"))

    def _choice(self) -> Decided:
        """Return the policy's step; explained where it is kept."""
        state = self.now.state
        if self.log is None:
            step, explanation = self.policy.next_step(state), None
        else:
            report = decision_report(state, self.policy, name=self.now.policy, bounded=False)
            step, explanation = report.step, explanation_json(report)
        if isinstance(step, Reprobe) and (reason := state.why_illegal(step.probe)):
            raise IllegalProbe(step.probe, reason)
        return Decided(step, explanation=explanation)

    def _used_up(self) -> str:
        """Return which budget is used up; empty if none is."""
        rules, taken = self.now.rules, len(self.now.steps)
        if taken >= rules.decisions:
            if self.strict:
                raise BadStep(f"the policy has taken {taken:,} steps and does not end; let it end")
            return f"{taken:,} decisions have not ended it"
        if rules.seconds < math.inf and time.time() - self.began >= rules.seconds:
            return f"its {rules.seconds:g} seconds are over"
        return ""

    def _hear(self) -> None:
        """Take in what a person has written into the log meanwhile."""
        if self.log is None:
            return
        for entry in self.log.read(self.now.session, after=self.written):
            if not isinstance(entry.event, Approved):
                raise ForeignSession(self.now.session)
            self.now = self.now.after(entry.event)
            self.written = entry.number


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
    conductor = _begun(policy, robot.alarm(), journal, session, rules, strict)
    return _driven(conductor, robot, wait_s)


def resume(
    journal: Log, session: str, robot: Robot, *, policy: Policy | None = None, wait_s: float = math.inf
) -> Recovery:
    """Take a session up where it stands in a journal, and return what happened.

    An act that was begun and left no receipt is verified through the robot, or handed over: never simply repeated.
    """
    return _driven(_taken_up(journal, session, policy), robot, wait_s)


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
    """Do what ``recover`` does, in an event loop. Cancelled, it leaves a session that can be resumed."""
    state = await _awaited(robot.alarm())
    return await _driven_async(_begun(policy, state, journal, session, rules, strict), robot, wait_s)


async def resume_async(
    journal: Log,
    session: str,
    robot: AsyncRobot | Robot,
    *,
    policy: Policy | None = None,
    wait_s: float = math.inf,
) -> Recovery:
    """Do what ``resume`` does, in an event loop."""
    return await _driven_async(_taken_up(journal, session, policy), robot, wait_s)


def _begun(
    policy: Policy | str, state: Any, journal: Log | None, session: str | None, rules: Rules | None, strict: bool
) -> _Conductor:
    if not isinstance(state, InformationState):
        raise AquaMendError(f"the robot's alarm() returned {state!r}, which is no information state")
    if isinstance(policy, str):
        name, policy = policy, policy_named(policy)
    else:  # a name to resume by is worth looking for only where somebody may resume
        name = type(policy).__name__ if journal is None else name_of(policy)
    rules = Rules(ask_before_handing_over=journal is not None) if rules is None else rules
    if journal is None and (rules.ask_before_handing_over or rules.ask_before_irreversible):
        raise AquaMendError("the rules ask a person, who answers through a journal; give one, or rules that ask nobody")
    alarmed = Alarmed(state, name, rules)
    if journal is None:
        return _Conductor(Recovery.begun(alarmed, session or ""), policy, None, strict, began=time.time())
    session = session or f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"
    journal.append(session, 0, [alarmed])
    # What was written is what counts from now on, so that whoever resumes computes the very same numbers.
    return _taken_up(journal, session, policy, strict=strict, resumed=False)


def _taken_up(
    journal: Log, session: str, policy: Policy | None, *, strict: bool = False, resumed: bool = True
) -> _Conductor:
    entries = list(journal.read(session))
    now = Recovery.of([entry.event for entry in entries], session)
    if policy is None:
        policy = _by_name(now.policy if now.ending is None else "aquamend")  # what has ended needs nobody to decide
    conductor = _Conductor(now, policy, journal, strict, written=len(entries), began=entries[0].time)
    if resumed and now.ending is None:
        conductor.note(Resumed(f"process {os.getpid()} on {socket.gethostname()}"))
        conductor.settle()
    return conductor


def _by_name(name: str) -> Policy:
    try:
        return policy_named(name)
    except UnknownName as error:
        raise AquaMendError(f"{error}; the session was begun with a policy of your own: give it as `policy`") from None


def _understood(reply: object) -> Receipt | str:
    """Return a robot's receipt, or why it is none."""
    if isinstance(reply, BaseException):
        return f"{type(reply).__name__}: {reply}"
    return receipt_fault(reply) or in_plain_types(reply)  # type: ignore[arg-type]


def approve(journal: Log, session: str, *, granted: bool = True, by: str, note: str = "") -> Recovery:
    """Answer a session that waits for a person; from any process."""
    entries = list(journal.read(session))
    now = Recovery.of([entry.event for entry in entries], session)
    answered = Approved(granted, by, note)
    after = now.after(answered)
    journal.append(session, len(entries), [answered])
    return after


def _driven(conductor: _Conductor, robot: Robot, wait_s: float) -> Recovery:
    """Call the robot for everything that is asked."""
    moves, patience = conductor.moves(), time.monotonic() + wait_s
    reply: _Reply = None
    while True:
        try:
            request = moves.send(reply)
        except StopIteration:
            return conductor.now
        match request:
            case _Verify(act):
                reply = _tried(robot.verify, act, math.inf) if isinstance(robot, Verifying) else None
            case _Wait():
                if time.monotonic() >= patience:
                    return conductor.now
                time.sleep(min(POLL_S, max(0.0, patience - time.monotonic())))
                reply = None
            case act:
                call = robot.measure if isinstance(act, Measure) else robot.perform
                reply = _tried(call, act, conductor.now.rules.timeout(act))


async def _driven_async(conductor: _Conductor, robot: AsyncRobot | Robot, wait_s: float) -> Recovery:
    """Await the robot for everything that is asked."""
    moves, patience = conductor.moves(), time.monotonic() + wait_s
    reply: _Reply = None
    while True:
        try:
            request = moves.send(reply)
        except StopIteration:
            return conductor.now
        match request:
            case _Verify(act):
                reply = await _tried_async(robot.verify, act, math.inf) if isinstance(robot, Verifying) else None
            case _Wait():
                if time.monotonic() >= patience:
                    return conductor.now
                await asyncio.sleep(min(POLL_S, max(0.0, patience - time.monotonic())))
                reply = None
            case act:
                call = robot.measure if isinstance(act, Measure) else robot.perform
                reply = await _tried_async(call, act, conductor.now.rules.timeout(act))


def _tried(call: Callable[[Any], object], act: Act, timeout_s: float) -> object:
    """Return what a robot's method returns, or what it raised."""
    try:
        return call(act) if math.isinf(timeout_s) else _within(timeout_s, call, act)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in a robot leads to another decision
        return error


def _within(timeout_s: float, call: Callable[[Any], object], act: Act) -> object:
    """Call in a thread, and wait no longer than allowed; what runs on is nobody's any more."""
    answer: Future[object] = Future()

    def run() -> None:
        try:
            answer.set_result(call(act))
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
            answer.set_exception(error)

    threading.Thread(target=run, name=str(act), daemon=True).start()
    try:
        return answer.result(timeout_s)
    except TimeoutError:
        if answer.done():  # it is the robot's own
            raise
        raise TimeoutError(f"no receipt within {timeout_s:g} s") from None


async def _tried_async(call: Callable[[Any], object], act: Act, timeout_s: float) -> object:
    patience = asyncio.timeout(None if math.isinf(timeout_s) else timeout_s)
    try:
        async with patience:
            return await _awaited(call(act))
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in a robot leads to another decision
        return TimeoutError(f"no receipt within {timeout_s:g} s") if patience.expired() else error


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
