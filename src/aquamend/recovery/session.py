"""A session: the recovery as a machine that asks for one thing at a time and hears what came of it.

It calls no robot, starts no thread and waits for nobody. All it does by itself is to write every fact into its log
before it asks for the next thing. Loops, trees, services and tests drive it:

    session = Session.begin(state)
    while not isinstance(request := session.request, End):
        match request:
            case RunProbe(act=act):
                session.reply(robot.measure(act))
            case Perform(act=act):
                session.reply(robot.perform(act))
            ...

Nothing that moves is asked for while something that moves may still be under way.
"""

from __future__ import annotations

import math
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Self

from aquamend.belief import InformationState, Observation
from aquamend.decision.steps import Escalate
from aquamend.errors import AquaMendError, BadStep, ForeignSession, LostLease, StaleReply, UnknownName
from aquamend.policies.policy import Policy
from aquamend.policies.registry import name_of, policy_named
from aquamend.recovery import events
from aquamend.recovery.acts import Act, Measure, Receipt
from aquamend.recovery.automatic import following, given_up, not_stopped, overdue, time_limit, wanted
from aquamend.recovery.clock import Instant, Time, as_instant
from aquamend.recovery.events import Event
from aquamend.recovery.history import Phase, Recovery
from aquamend.recovery.log import Log, SharedLog
from aquamend.recovery.requests import (
    AlarmRaised,
    Answer,
    Cancel,
    Decide,
    Deliberation,
    Message,
    NoReceipt,
    Observe,
    Reply,
    Request,
    Settle,
    understood_as,
)
from aquamend.recovery.safety_rules import Rules
from aquamend.recovery.tracker import Tracker


class Session:
    """One recovery under way: ask for its ``request``, and ``reply``. Methods may be called from any thread.

    Every method takes the time as ``at``; what follows from time alone follows when any of them is called, or ``tick``.
    """

    def __init__(
        self,
        recovery: Recovery,
        policy: Policy,
        *,
        log: Log | None,
        tracker: Tracker | None = None,
        strict: bool = False,
        decide_apart: bool = False,
    ) -> None:
        """Use ``begin`` or ``resume``."""
        self.policy, self.log, self.tracker = policy, log, tracker
        self.strict, self.decide_apart = strict, decide_apart
        self.on_change: Callable[[], object] | None = None
        """Called after every call that may have changed the request."""
        self._lock = threading.RLock()
        self._now = recovery
        """The recovery as it stands."""
        self._waiting = list[Event]()
        """Events that are not in the log yet."""
        self._taken: list[tuple[Act, Receipt]] = []
        """What the tracker will hear of once it is in the log."""
        self._over: set[str] = set()
        """Acts that have ended here: a receipt of one of them may come twice, or late."""
        self._clock = self._since = self._act_began = recovery.began
        """The time; when what is asked for was first asked for; and when the act under way began."""
        self._request: Request = Decide(0)
        self._kept = self._standing
        """All of this as it stands in the log."""
        self._rival = False
        """Whether somebody else conducts the session now, so that nothing may be begun here."""

    @classmethod
    def begin(
        cls,
        start: InformationState | Tracker,
        policy: Policy | str = "best",
        *,
        log: Log | None = None,
        name: str | None = None,
        rules: Rules | None = None,
        attended: bool | None = None,
        strict: bool = False,
        decide_apart: bool = False,
        rung: str | Iterable[str] = (),
        silent: str | Iterable[str] = (),
        at: Time = None,
    ) -> Self:
        """Begin a recovery from a state, or from the alarm of a tracker, which then hears of all that is done.

        Of several monitors, ``rung`` names those that have rung, and ``silent`` those that were watching and have not;
        both are for a tracker, since a state has heard them already.

        With a ``log`` it survives the end of this program, under its ``name``. ``attended`` says whether there is
        somebody who can be asked; unless given, there is where there is a log. What goes wrong in the policy ends in a
        hand-over, or is raised if ``strict``. With ``decide_apart`` a decision is asked for like everything else.
        """
        tracker = start if isinstance(start, Tracker) else None
        rung, silent = ((names,) if isinstance(names, str) else tuple(names) for names in (rung, silent))
        state = start if tracker is None else tracker.alarm(*rung, silent=silent, at=at)
        if not isinstance(state, InformationState):
            raise AquaMendError(f"a recovery begins with an information state or a tracker, not with {state!r}")
        if tracker is None and (rung or silent):
            raise AquaMendError("a state has heard its alarms already; rung and silent go with a tracker")
        if isinstance(policy, str):
            title, policy = policy, policy_named(policy)
        else:  # a name to resume by is worth looking for only where somebody may resume
            title = type(policy).__name__ if log is None else name_of(policy)
        attended = log is not None if attended is None else attended
        now = as_instant(at)
        first = events.Alarmed(state, title, Rules() if rules is None else rules, now, attended)
        if log is not None:
            name = name or f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now.wall))}-{secrets.token_hex(3)}"
            log.append(name, 0, [first], at=now.wall)
            # What was written is what counts from now on, so that a resumed session computes the very same numbers.
            # Whoever has taken it up meanwhile conducts it, so that what they have written is not followed here.
            recovery = Recovery.of([entry.event for entry in log.read(name)][:1], name)
        else:
            recovery = Recovery.begun(first)
        session = cls(recovery, policy, log=log, tracker=tracker, strict=strict, decide_apart=decide_apart)
        session.tick(now)
        return session

    @classmethod
    def resume(
        cls,
        log: Log,
        name: str,
        *,
        policy: Policy | None = None,
        tracker: Tracker | None = None,
        strict: bool = False,
        decide_apart: bool = False,
        at: Time = None,
    ) -> Self:
        """Take a session up where it stands in a log: an act without a receipt is verified, never simply repeated."""
        entries = list(log.read(name))
        recovery = Recovery.of([entry.event for entry in entries], name)
        if policy is None:  # what has ended needs nobody to decide
            policy = _by_name(recovery.policy if recovery.ending is None else "best")
        session = cls(recovery, policy, log=log, tracker=tracker, strict=strict, decide_apart=decide_apart)
        session._since = now = as_instant(at)  # whatever is asked for now has its time from now on
        if recovery.act is not None:
            session._act_began = Instant(entries[recovery.act_number - 1].time)
        session._kept = session._standing
        session._call(now, session._take_up)
        return session

    @property
    def recovery(self) -> Recovery:
        """The recovery as far as it has come."""
        return self._now

    @property
    def name(self) -> str:
        """Its name in the log."""
        return self._now.session

    @property
    def request(self) -> Request:
        """What is wanted now. The same number means the same request: begin nothing twice."""
        return self._request

    @property
    def due(self) -> float:
        """In how many seconds, from the last call on, something follows from time alone; infinity if nothing does."""
        with self._lock:
            limit = time_limit(self._now)
            due = math.inf if math.isinf(limit) else limit - self._clock.seconds_since(self._since)
            return max(0.0, min(due, self._lease_s))

    @property
    def _lease_s(self) -> float:
        """For how long the act under way may go on with nobody else conducting the session."""
        under_way = self._now.act is not None
        return self.log.left_s(self.name) if under_way and isinstance(self.log, SharedLog) else math.inf

    # What may come at any time.

    def tick(self, at: Time = None) -> Request:
        """Let time pass; what somebody has written into the log is read as well. Return what is wanted now.

        ``LostLease`` where an act is under way and somebody else may soon conduct the session: have it stopped, and go.
        """
        if self._lease_s <= 0.0:
            raise LostLease(self.name)
        return self._call(at, lambda: None)

    def alarm(self, name: str | None = None, *, at: Time = None) -> Request:
        """Take in that a monitor rang, also during an act: the act is stopped first, where the robot can.

        An alarm that cannot count, such as a second one that the model does not know, is noted with the reason.
        """

        def take() -> None:
            self._open()
            self._take_alarm(name, interrupt=True)

        return self._call(at, take)

    def observe(self, probe: str, value: str | float, *, at: Time = None) -> Request:
        """Take in an answer that nobody had asked for; the act under way goes on, and then it is decided again."""

        def take() -> None:
            self._open()
            self._now.state.probe(probe)  # one that nobody knows is refused
            outcome = value if isinstance(value, str) else float(value)
            if isinstance(outcome, float) and not math.isfinite(outcome):
                raise AquaMendError(f"{probe!r} cannot have shown {outcome!r}; give a finite number, or a text")
            self._note(events.Observed(Observation(probe, outcome, unasked=True)))

        return self._call(at, take)

    def cancel(self, why: str = "it was called off", *, at: Time = None) -> Request:
        """Call the recovery off: the act under way is stopped, nothing else is begun, and it ends."""

        def take() -> None:
            self._open()
            if self._now.cancelled is None:
                self._note(events.Cancelled(why))
                self._interrupt(why)

        return self._call(at, take)

    def interrupt(self, why: str, *, at: Time = None) -> Request:
        """Have the act under way stopped, since its driver has to go; the session itself goes on."""
        return self._call(at, lambda: self._interrupt(why))

    def answer(self, *, granted: bool, by: str, token: str, note: str = "", at: Time = None) -> Request:
        """Take in the answer of a person to the question of this token."""
        return self._call(at, lambda: self._note(events.Approved(granted, by, note, token, self._clock)))

    def settle(self, *, done: bool, by: str, note: str = "", at: Time = None) -> Request:
        """Take in what a person says of an act of which nobody knew what became: done, or not."""
        return self._call(at, lambda: self._note(events.Settled(done, by, note)))

    def receive(self, message: Message | Reply, *, to: int | None = None, at: Time = None) -> Request:
        """Take in whatever was sent as data: a message by its method, and a reply to the request of number ``to``."""
        match message:
            case Answer(granted, by, token, note):
                return self.answer(granted=granted, by=by, token=token, note=note, at=at)
            case Settle(done, by, note):
                return self.settle(done=done, by=by, note=note, at=at)
            case AlarmRaised(name):
                return self.alarm(name, at=at)
            case Observe(probe, value):
                return self.observe(probe, value, at=at)
            case Cancel(why):
                return self.cancel(why, at=at)
            case _:
                return self.reply(message, to=to, at=at)

    # What is asked for.

    def reply(
        self,
        answer: Receipt | NoReceipt | events.Decided | BaseException | None,
        *,
        to: int | None = None,
        at: Time = None,
    ) -> Request:
        """Take in what came of a request, and return the next one.

        That is the receipt of the act, also where it was to be stopped or verified; or, where there is none, what the
        robot raised, ``NoReceipt`` or None. ``to`` is the number of the request that is answered, the present one
        unless given. The receipt of an act under way is welcome whatever is asked meanwhile, however late; a reply that
        nobody waits for any more is refused (``StaleReply``), and so is the receipt of an act that was done before,
        where ``to`` does not say that it is meant.
        """
        with self._lock:
            number = self._request.number if to is None else to
            asked = self._request.kind if number == self._request.number else ""
            understood = understood_as(answer, asked)
            awaited = False

            def take() -> None:
                nonlocal awaited
                awaited = (to is not None or not self._of_another(understood)) and self._replied(understood, number)

            request = self._call(at, take)
            if not awaited:
                raise StaleReply(number, request.number, request.kind)
            return request

    @property
    def deliberation(self) -> Deliberation:
        """What is to be decided now, to be computed anywhere; ``reply`` with what comes of it, to its number."""
        with self._lock:
            if not isinstance(self._request, Decide):
                raise AquaMendError(f"nothing is to be decided now: {self._request.kind!r} is asked for")
            return self._deliberation(self._request.number)

    def _deliberation(self, number: int) -> Deliberation:
        now = self._now
        return Deliberation(number, self.policy, now.policy, now.state, self.log is not None)

    def decide(self, *, at: Time = None) -> Request:
        """Decide here and now, where a decision is asked for."""
        thought = self.deliberation
        return self.reply(self._thought(thought), to=thought.number, at=at)

    def _of_another(self, answer: Reply) -> bool:
        """Whether a receipt is of an act that has ended already, and so comes late; nothing else may begin on it."""
        act = self._now.act
        return isinstance(answer, Receipt) and act is not None and answer.what != str(act) and answer.what in self._over

    def _replied(self, answer: Reply, to: int) -> bool:
        """Take in an answer to the request of this number; return whether anybody waited for it."""
        act, request, phase = self._now.act, self._request, self._now.phase
        current = to == request.number
        match answer:
            case Receipt() if act is not None and self._now.act_number <= to <= request.number:
                self._take(act, self._stamped(answer))
            case NoReceipt(why) if act is not None and to == self._now.act_number:
                self._call_ended(act, why)
            case NoReceipt(why) if act is not None and current and (request.kind, phase) == ("stop", Phase.STOPPING):
                self._happen(not_stopped(self._now, act, why))
            case NoReceipt() if act is not None and current and (request.kind, phase) == ("verify", Phase.LOST):
                self._happen(*given_up(self._now, act))
            case events.Decided() | NoReceipt() if current and isinstance(request, Decide):
                self._choose(answer)
            case _:
                return False
        return True

    def _call_ended(self, act: Act, why: str) -> None:
        """Take in that the call of the act under way has ended without a receipt."""
        phase = self._now.phase
        if isinstance(act, Measure) and phase in (Phase.UNDER_WAY, Phase.AWAITED):
            self._take(act, self._stamped(act.failed(why)))  # a probe that does not answer does no harm
        elif phase in (Phase.UNDER_WAY, Phase.AWAITED, Phase.STOPPING) or self._now.running:
            self._note(events.Lost(why, running=False))

    def _happen(self, *one_after_another: Event) -> None:
        """Take in what follows by itself."""
        for event in one_after_another:
            if isinstance(event, events.Done) and self._now.act is not None:
                self._take(self._now.act, event.receipt, known=event.known)
            else:
                self._note(event)

    def _take(self, act: Act, receipt: Receipt, *, known: bool = True) -> None:
        """Note a receipt, and what else it brings: an answer that cannot be understood is none."""
        try:
            self._note(events.Done(receipt, known))
        except AquaMendError as error:
            receipt = replace(receipt, succeeded=False, finding=f"{receipt.finding!r}: {error}")
            self._note(events.Done(receipt, known))
        self._taken.append((act, receipt))
        self._over.add(str(act))
        if receipt.alarm:
            self._take_alarm(None, interrupt=False)

    def _take_alarm(self, name: str | None, *, interrupt: bool) -> None:
        refused = self._why_refused(name)
        self._note(events.AlarmedAgain(refused, name))
        if refused is None and interrupt:
            self._interrupt("an alarm rang")

    def _why_refused(self, name: str | None) -> str | None:
        if self._now.handed_over:
            return "a person has taken over"
        try:
            self._now.state.after_alarm(name)
        except AquaMendError as error:
            return str(error)
        return None

    def _stamped(self, receipt: Receipt) -> Receipt:
        """Return a receipt with times, by our clock where the robot gave none; a simulation needs none."""
        if self.log is None or receipt.start_s is not None or receipt.end_s is not None:
            return receipt
        start = self._act_began
        return replace(receipt, start_s=start.wall, end_s=start.wall + self._clock.seconds_since(start))

    def _interrupt(self, why: str) -> None:
        if self._now.act is not None and self._now.phase is Phase.UNDER_WAY:
            self._note(events.Stopping(why))

    # Time, and what a person has written.

    def _call(self, at: Time, take: Callable[[], None]) -> Request:
        """Take in what somebody says, behind what follows from time; return what is wanted then.

        All that has happened is in the log before anything is shown to be wanted, also where what is said is refused.
        What a person has written in the very same moment comes first.
        """
        with self._lock:
            self._clock, before = as_instant(at), self._request
            for last in (False, False, False, True):
                try:
                    self._pass()
                    try:
                        take()
                    finally:
                        self._go_on()
                except _Overtaken:
                    if last:
                        raise ForeignSession(self.name) from None
                else:
                    break
                finally:
                    if self.on_change is not None and self._request != before:
                        self.on_change()
            return self._request

    def _pass(self) -> None:
        """Take in what a person has written, and what follows from time alone."""
        if self._rival:
            raise ForeignSession(self.name)
        if self._now.ending is None:
            self._hear()
            if self._now.act is not None and self._clock.seconds_since(self._since) >= time_limit(self._now):
                self._happen(*overdue(self._now, self._now.act))

    def _take_up(self) -> None:
        if self._now.ending is None:
            self._note(events.Resumed(f"process {os.getpid()} on {socket.gethostname()}"))

    def _hear(self) -> None:
        """Take in what a person has written into the log meanwhile."""
        if self.log is None or self._now.asked is None:
            return
        for entry in self.log.read(self.name, after=self._written):
            if not isinstance(entry.event, events.Approved | events.Settled):
                self._rival = True
                raise ForeignSession(self.name)
            self._now = self._now.after(entry.event)
            self._kept = self._standing

    def _open(self) -> None:
        if self._now.ending is not None:
            raise AquaMendError(f"the session has ended ({self._now.ending})")

    # What is wanted next.

    def _go_on(self) -> None:
        """Go on to the next request, and have everything written down before it is shown."""
        request: Request | None = None
        while request is None or self._waiting:
            try:
                request = self._wanted()
            finally:
                self._write()
        self._request = request

    def _wanted(self) -> Request:
        while (request := wanted(self._now)) is None:
            if (event := following(self._now, self._clock)) is not None:
                self._check_budget(event)
                self._note(event)
            elif self.decide_apart:
                return Decide(self._now.count)
            else:
                self._choose(self._thought(self._deliberation(self._now.count)))
        return request

    def _check_budget(self, event: Event) -> None:
        """Raise, where all is raised, that the policy has used up what it may decide."""
        now, taken = self._now, len(self._now.steps)
        if self.strict and isinstance(event, events.Decided) and not now.trouble and taken >= now.rules.decisions:
            raise BadStep(f"the policy has taken {taken:,} steps and does not end; let it end")

    @property
    def _written(self) -> int:
        """How many events are in the log."""
        return self._now.count - len(self._waiting)

    def _thought(self, thought: Deliberation) -> events.Decided | NoReceipt:
        """Let the policy decide; whatever it raises, the robot must not be left standing, unless all is raised."""
        try:
            return thought.compute()
        except Exception as error:
            if self.strict:
                raise
            return NoReceipt(f"{type(error).__name__}: {error}")

    def _choose(self, choice: events.Decided | NoReceipt) -> None:
        if isinstance(choice, events.Decided):
            try:
                self._note(choice)
            except Exception as error:
                if self.strict:
                    raise
                choice = NoReceipt(f"{type(error).__name__}: {error}")
        if isinstance(choice, NoReceipt):
            self._note(events.Decided(Escalate(), f"the policy failed: {choice.why}"))

    def _note(self, event: Event) -> None:
        """Take an event in, to be written before anything is asked; one that makes no sense is refused."""
        before, self._now = self._now.number, self._now.after(event)
        self._waiting.append(event)
        if self._now.number != before:  # something else is asked for from now on
            self._since = self._act_began if isinstance(event, events.NotStopped) else self._clock
        if isinstance(event, events.Intended):
            self._act_began = self._clock

    def _write(self) -> None:
        if self.log is not None and self._waiting:
            try:
                self.log.append(self.name, self._written, self._waiting, at=self._clock.wall)
            except ForeignSession:
                self._take_back()
                since = [entry.event for entry in self.log.read(self.name, after=self._written)]
                if since and all(isinstance(event, events.Approved | events.Settled) for event in since):
                    raise _Overtaken from None
                self._rival = True
                raise
            except BaseException:
                self._take_back()
                raise
        self._waiting.clear()
        self._kept = self._standing
        if self.tracker is not None:
            for act, receipt in self._taken:
                self.tracker.apply(act, receipt, at=self._clock)
        self._taken.clear()

    @property
    def _standing(self) -> tuple[Recovery, Instant, Instant]:
        return self._now, self._since, self._act_began

    def _take_back(self) -> None:
        """Go back to what stands in the log: what could not be written has not happened."""
        self._now, self._since, self._act_began = self._kept
        self._waiting.clear()
        self._taken.clear()


class _Overtaken(AquaMendError):
    """A person has written into the log in the very same moment."""


def _by_name(name: str) -> Policy:
    try:
        return policy_named(name)
    except UnknownName as error:
        raise AquaMendError(f"{error}; the session was begun with a policy of your own: give it as `policy`") from None
