"""A small model of a session, written apart from it: what it has to ask for next, from what was said to it.

It follows the contract in the docstrings of `recovery/requests.py`, `rules.py`, `session.py` and `robot.py`. It keeps
no events, no beliefs and no log; which acts a decision consists of is given to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from aquamend.decision.steps import Escalate, Step
from aquamend.recovery import Act, Declare, Ending, Follow, HandOver, Measure, Redo, Rules, Undo


class Stage(Enum):
    """How far it has come with the act that has begun."""

    UNDER_WAY = auto()
    STOPPING = auto()
    AWAITED = auto()
    VERIFYING = auto()
    IN_DOUBT = auto()


@dataclass(frozen=True)
class Wanted:
    """What is to be asked for: the kind of request, what it is about, and whether a person is asked."""

    kind: str
    act: str = ""
    of_person: bool = False
    ending: Ending | None = None


class Refused(Exception):
    """What was said makes no sense now, so the session has to refuse it and to stay as it was."""


@dataclass
class SessionModel:
    """A session as it has to behave, at times given in seconds."""

    rules: Rules
    attended: bool
    counts_again: bool
    """Whether the problem says how likely another alarm is."""
    began: float
    choose: Callable[[], bool]
    """Call `decided` or `policy_failed` if the policy has chosen by now; return whether it has."""
    escalate_cost: float

    now: float = 0.0
    steps: int = 0
    last: Step | None = None
    forced: bool = False
    """Whether the last decision was to call a person, and not left to the policy."""
    left: list[Act] = field(default_factory=list)
    carried_out: bool = False
    act: Act | None = None
    stage: Stage = Stage.UNDER_WAY
    moving: bool = False
    """Whether the call has not returned, so that something may move."""
    preempted: bool = False
    act_began: float = 0.0
    since: float = 0.0
    """When what is asked for was first asked for."""
    asks: int = 0
    """How often something else was asked about an act: a reply to what was asked before comes too late."""
    asked: Act | None = None
    allowed_at: float | None = None
    """When a person allowed the next act."""
    alarms_waiting: int = 0
    observed: bool = False
    corrected: bool = False
    """Whether something was declared, or made right by a plan, since an alarm last counted: another one is then new
    evidence."""
    odd: bool = False
    """Whether an answer came that the model thinks impossible."""
    failures: dict[str, int] = field(default_factory=dict)
    undone: tuple[str, ...] = ()
    trouble: bool = False
    cancelled: bool = False
    ending: Ending | None = None
    cost: float = 0.0
    begun: list[str] = field(default_factory=list)
    """Every act that was to begin, in order."""

    # What is wanted.

    def wanted(self) -> Wanted:
        """Return what is asked for now, having gone on as far as nobody else has to say anything."""
        while self.ending is None:
            if self.act is not None:
                return self._about(self.act)
            if self.asked is not None:
                return Wanted("wait", str(self.asked), of_person=True)
            if self.cancelled:
                self.ending = Ending.CANCELLED
            elif self.left:
                self._begin(self.left[0])
            elif self.carried_out:
                self.ending = Ending.HANDED_OVER if isinstance(self.last, Escalate) else Ending.FINISHED
            elif self.trouble and isinstance(self.last, Escalate):
                self.ending = Ending.STOPPED
            elif self.trouble or self._used_up():
                self.decided(Escalate(), [HandOver(cost=self.escalate_cost)], forced=True)
            elif not self.choose():
                return Wanted("decide")
        return Wanted("end", ending=self.ending)

    def due(self) -> float:
        """Return in how many seconds something follows from time alone."""
        return math.inf if self.act is None else max(0.0, self._limit() - (self.now - self._counted_from()))

    def _about(self, act: Act) -> Wanted:
        match self.stage:
            case Stage.UNDER_WAY:
                return Wanted("measure" if isinstance(act, Measure) else "perform", str(act))
            case Stage.STOPPING:
                return Wanted("stop", str(act))
            case Stage.AWAITED:
                return Wanted("wait", str(act))
            case Stage.VERIFYING:
                return Wanted("verify", str(act))
            case Stage.IN_DOUBT:
                return Wanted("wait", "hand over to a person", of_person=True)

    def _used_up(self) -> bool:
        return self.steps >= self.rules.decisions or self.now - self.began >= self.rules.seconds

    def decided(self, step: Step, acts: Sequence[Act], *, forced: bool = False) -> None:
        """Take in a step, and the acts that carry it out."""
        self.forced = forced
        self.steps, self.last, self.left, self.carried_out = self.steps + 1, step, list(acts), False

    def _begin(self, act: Act) -> None:
        if self._has_to_be_allowed(act):
            if not self.attended:
                self.ending = Ending.STOPPED
                return
            if self.allowed_at is None or not -1.0 <= self.now - self.allowed_at <= self.rules.approval_s:
                self.asked, self.allowed_at = act, None
                return
        self.begun.append(str(act))
        self.act, self.moving, self.preempted = act, True, False
        self.allowed_at, self.act_began = None, self.now
        self._ask(Stage.UNDER_WAY)

    def _has_to_be_allowed(self, act: Act) -> bool:
        if isinstance(act, HandOver):
            return self.attended and self.rules.ask_before_handing_over
        odd = self.odd and self.rules.surprising > 0
        return not getattr(act, "reversible", True) and (self.rules.ask_before_irreversible or odd)

    # Time.

    def passes(self, now: float) -> None:
        """Let it be this late; at most one thing follows, since each has to be asked for first."""
        self.now = now
        if self.ending is not None or self.act is None or self.due() > 0:
            return
        match self.stage:
            case Stage.UNDER_WAY:
                self._ask(Stage.STOPPING)
            case Stage.AWAITED:
                self._ask(Stage.VERIFYING)
            case Stage.STOPPING:
                self.stop_failed()
            case Stage.VERIFYING:
                self.cannot_tell()
            case Stage.IN_DOUBT:
                pass

    def _limit(self) -> float:
        match self.stage:
            case Stage.UNDER_WAY | Stage.AWAITED:
                act = self.act
                return self.rules.timeouts.get("" if act is None else act.name, self.rules.timeout_s)
            case Stage.STOPPING | Stage.VERIFYING:
                return self.rules.stop_s
            case Stage.IN_DOUBT:
                return math.inf

    def _counted_from(self) -> float:
        return self.act_began if self.stage in (Stage.UNDER_WAY, Stage.AWAITED) else self.since

    # What the robot says.

    def receipt(self, *, succeeded: bool, cost: float, alarm: bool = False, known: bool = True) -> None:
        """Take in what became of the act."""
        act = self.act
        if act is None:
            raise Refused
        preempted, self.preempted = self.preempted, False
        self.act, self.asked, self.moving, self.stage = None, None, False, Stage.UNDER_WAY
        self.cost += cost
        if succeeded:
            self._done(act)
        else:
            self.left = []
            self._failed(act, preempted=preempted, known=known)
        if self.observed:
            self.observed, self.left = False, []
        if self.alarms_waiting and not self._handed_over:
            self._decide_again()
        self.alarms_waiting = 0
        if alarm:
            self.alarm(interrupts=False)

    def _done(self, act: Act) -> None:
        self.carried_out = len(self.left) == 1 and not isinstance(act, Measure)
        self.left = self.left[1:]
        match act:
            case Undo(_, actions):
                waiting = {name for later in self.left if isinstance(later, Undo) for name in later.actions}
                gone = [name for name in actions if name not in waiting and name not in self.undone]
                self.undone = (*self.undone, *gone)
            case Declare():
                self.corrected = True
            case Follow(correct=right):
                self.corrected |= bool(right)
            case Redo(action):
                self.undone = tuple(name for name in self.undone if name != action)

    def _failed(self, act: Act, *, preempted: bool, known: bool) -> None:
        times = self.failures.get(str(act), 0) + (not preempted)
        self.failures[str(act)] = times
        harmless = isinstance(act, Measure) and (known or not self.rules.probes_move)
        if harmless or (known and preempted):
            return
        if not known:
            self.trouble = True
        elif isinstance(act, Undo | Follow):  # the next decision knows that it is impossible, and may not insist
            self.trouble |= times > self.rules.attempts
        else:
            self.trouble |= times >= self.rules.attempts

    def call_ended(self) -> None:
        """Take in that the call of the act has ended without a receipt."""
        act = self.act
        if act is None:
            raise Refused
        if isinstance(act, Measure) and self.stage in (Stage.UNDER_WAY, Stage.AWAITED):
            self.receipt(succeeded=False, cost=act.cost)
        elif self.stage is Stage.STOPPING:
            self.moving = False
        elif self.stage in (Stage.UNDER_WAY, Stage.AWAITED) or self.moving:
            self.moving = False
            self._ask(Stage.VERIFYING)

    def stop_failed(self) -> None:
        """Take in that the robot could not stop the act."""
        act = self.act
        if act is not None and isinstance(act, Measure) and not self.moving and not self.rules.probes_move:
            self.receipt(succeeded=False, cost=act.cost)
        elif self.moving and self.preempted:
            self._ask(Stage.AWAITED)
        else:
            self._ask(Stage.VERIFYING)

    def cannot_tell(self) -> None:
        """Take in that the robot does not know what became of the act."""
        act, moving = self.act, self.moving
        if act is None:
            raise Refused
        harmless = isinstance(act, Measure) and not self.rules.probes_move and not moving
        asks = self.attended and (moving or self.rules.ask_before_handing_over) and not isinstance(act, HandOver)
        if asks and not harmless:
            self._ask(Stage.IN_DOUBT)
            self.asked = HandOver(cost=self.escalate_cost)
            return
        self.receipt(succeeded=False, cost=act.cost, known=False)
        if moving:  # not even a hand-over is begun
            self.ending = Ending.STOPPED

    def _ask(self, stage: Stage) -> None:
        self.stage, self.since, self.asked, self.asks = stage, self.now, None, self.asks + 1

    def policy_failed(self) -> None:
        """Take in that the policy gave no step."""
        self.decided(Escalate(), [HandOver(cost=self.escalate_cost)], forced=True)

    # What comes from outside.

    def alarm(self, *, interrupts: bool = True) -> None:
        """Take in that the monitor rang."""
        if self.ending is not None:
            raise Refused
        if not (self.counts_again or self.corrected) or self._handed_over:
            return
        if self.act is None:
            self._decide_again()
            return
        self.alarms_waiting += 1
        if interrupts:
            self.interrupt()

    @property
    def _handed_over(self) -> bool:
        return self.carried_out and isinstance(self.last, Escalate)

    def _decide_again(self) -> None:
        self.corrected = False
        if self.forced and self.left:
            return  # a person is called whatever the policy would say
        self.left, self.asked, self.allowed_at, self.carried_out = [], None, None, False

    def interrupt(self) -> None:
        """Take in that the act under way has to be stopped."""
        if self.act is not None and self.stage is Stage.UNDER_WAY:
            self.preempted = True
            self._ask(Stage.STOPPING)

    def observation(self, *, possible: bool) -> None:
        """Take in an answer that nobody asked for."""
        if self.ending is not None:
            raise Refused
        self.odd |= not possible
        if self.act is None:
            self.left, self.asked, self.allowed_at = [], None, None
        else:
            self.observed = True

    def cancel(self) -> None:
        """Take in that it is called off."""
        if self.ending is not None:
            raise Refused
        if self.cancelled:
            return
        self.cancelled = True
        if self.stage is not Stage.IN_DOUBT:
            self.asked, self.left = None, []
        self.interrupt()

    def answered(self, *, granted: bool, at: float) -> None:
        """Take in the answer of a person to what is asked now."""
        if self.asked is None or self.ending is not None:
            raise Refused
        if self.act is not None:
            self._taken_over(self.act, granted=granted)
        elif granted:
            self.asked, self.allowed_at = None, at
        else:
            self.asked, self.left, self.trouble = None, [], True

    def _taken_over(self, act: Act, *, granted: bool) -> None:
        self.receipt(succeeded=False, cost=act.cost, known=False)
        self.steps, self.last, self.left, self.allowed_at = self.steps + 1, Escalate(), [], None
        self.carried_out, self.trouble = granted, True
        self.cost += self.escalate_cost if granted else 0.0

    def settled(self, *, done: bool) -> None:
        """Take in what a person says of an act in doubt."""
        act = self.act
        if act is None or self.stage is not Stage.IN_DOUBT or (done and isinstance(act, Measure)):
            raise Refused
        self.receipt(succeeded=done, cost=act.cost)

    def crashes(self) -> None:
        """Take in that the program ended, and another one has taken the session up: its calls are gone."""
        if self.act is not None and self.stage is not Stage.IN_DOUBT:
            self.moving = False
            self._ask(Stage.VERIFYING)
