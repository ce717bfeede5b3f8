"""A recovery as far as it has come: what its events make of it, one after another.

A running session and a resumed one follow the same events by the same rules, so they cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import cached_property, reduce
from typing import Any, assert_never

from aquamend.belief import InformationState, Observation, ProbableAnswer, surprises
from aquamend.decision.steps import Decision, Escalate, Reprobe, Step
from aquamend.errors import AquaMendError
from aquamend.recovery import events
from aquamend.recovery.acts import (
    Act,
    Declare,
    Finish,
    Follow,
    HandOver,
    Measure,
    Receipt,
    Redo,
    Undo,
    acts_of,
    charged,
)
from aquamend.recovery.clock import Instant
from aquamend.recovery.events import Ending, Event
from aquamend.recovery.safety_rules import Rules
from aquamend.recovery.situation import Came, Change, problem_after
from aquamend.text import quantity, table_html


class Phase(Enum):
    """How it stands with the act that has begun and has no receipt."""

    UNDER_WAY = auto()
    STOPPING = auto()
    """The robot is asked to stop it."""
    AWAITED = auto()
    """It cannot be stopped, and something else waits for its end."""
    LOST = auto()
    """No receipt came; the robot is asked what became of it."""
    UNKNOWN = auto()
    """The robot cannot tell either: a person has to."""


@dataclass(frozen=True, eq=False)
class Recovery:
    """One recovery, from the alarm to where it stands now; immutable."""

    start: InformationState
    """Public evidence at the alarm."""
    policy: str
    rules: Rules
    decided_at: InformationState
    """What was known when the last step was chosen, and what has been measured since."""
    began: Instant
    attended: bool = True
    """Whether there is somebody whom it can ask."""
    changes: tuple[Change, ...] = ()
    """What has been done since."""
    steps: tuple[Step, ...] = ()
    """Every step chosen so far."""
    acts: tuple[Act, ...] = ()
    """What is left to do of the last one."""
    act: Act | None = None
    """The act that has begun and has no receipt."""
    phase: Phase = Phase.UNDER_WAY
    """How it stands with that act."""
    running: bool = False
    """Whether the robot has not returned from that act yet, as far as anybody knows."""
    preempted: bool = False
    """Whether that act is to be stopped through no fault of its own."""
    why: str = ""
    """What has come between that act and its receipt."""
    surprise_before: ProbableAnswer | None = None
    """The last surprising answer before the last alarm."""
    alarms: tuple[str | None, ...] = ()
    """Alarms that rang during that act, and count once it has ended."""
    outdated: bool = False
    """Whether something was observed during that act, so that the rest of the decision is to be made again."""
    asked: events.Asked | None = None
    """What a person is asked."""
    allowed: events.Approved | None = None
    """The word of a person on the next act."""
    receipts: tuple[Receipt, ...] = ()
    undone: tuple[str, ...] = ()
    """Executed actions that were undone, whether or not they have been done again since."""
    to_redo: tuple[str, ...] = ()
    """Actions that are undone now."""
    declared: Mapping[str, Declare] = field(default_factory=dict)
    """What was declared by the recovery, by belief."""
    corrected: tuple[str, ...] = ()
    """Beliefs that were declared again or corrected by a plan."""
    followed: str | None = None
    """The plan that was carried out."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """How often each act has failed."""
    trouble: str = ""
    """Why no policy may decide any more, and a person has to."""
    cancelled: str | None = None
    """Why it was called off; None if it was not."""
    carried_out: bool = False
    """Whether the last decision was carried out to its end."""
    ending: Ending | None = None
    reason: str = ""
    """Why it ended so, or why it is handed over."""
    session: str = ""
    """Its name in a journal."""
    count: int = 1
    """How many events have made it so, the alarm included."""
    number: int = 0
    """That of the event since which the same thing is asked for."""
    act_number: int = 0
    """That of the event with which the act began."""

    @classmethod
    def begun(cls, alarmed: events.Alarmed, session: str = "") -> Recovery:
        """Return the recovery at its alarm; what was measured for the alarm itself is paid for."""
        state = alarmed.state.deciding_from_here()
        paid = tuple(Measure(o.probe, cost=state.probe(o.probe).cost).done(o.outcome) for o in state.evidence)
        return cls(
            state, alarmed.policy, alarmed.rules, state, alarmed.began, alarmed.attended, receipts=paid, session=session
        )

    @classmethod
    def of(cls, history: Iterable[Event], session: str = "") -> Recovery:
        """Return what these events have come to."""
        others = iter(history)
        first = next(others, None)
        if not isinstance(first, events.Alarmed):
            raise AquaMendError(f"a session begins with its alarm, not with {type(first).__name__!r}")
        return reduce(Recovery.after, others, cls.begun(first, session))

    def __repr__(self) -> str:
        last = str(self.ending or self.asked or self.act or "under way")
        spent = quantity(self.cost, self.start.problem.unit)
        return f"<Recovery {self.session!r} by {self.policy}: {len(self.steps)} steps, {spent}, {last}>"

    def _repr_html_(self) -> str:
        rows = [(r.what, "" if r.finding is None else str(r.finding), f"{r.cost:g}") for r in self.receipts]
        return table_html(repr(self)[1:-1], ("act", "found", "cost"), rows)

    @cached_property
    def state(self) -> InformationState:
        """All that is known now, for the next decision: acts have changed the problem."""
        if not self.changes:
            return self.decided_at
        problem = problem_after(self.decided_at, self.changes, self.start.problem)
        origin = self.decided_at.origin
        return replace(self.decided_at, problem=problem, origin=origin and replace(origin, problem=problem))

    @property
    def decision(self) -> Decision | None:
        """The last step that was to end the recovery."""
        return next((step for step in reversed(self.steps) if not isinstance(step, Reprobe)), None)

    @property
    def handed_over(self) -> bool:
        """Whether a person has it now."""
        return self.carried_out and isinstance(self.steps[-1], Escalate)

    @property
    def in_doubt(self) -> Act | None:
        """The act of which nobody knows what became: nothing that moves begins before that is known."""
        return self.act if self.phase is Phase.UNKNOWN else None

    @property
    def surprise(self) -> ProbableAnswer | None:
        """The last answer that was surprising by the whole model: it may lack a hypothesis."""
        odd = surprises(self.state, below=self.rules.surprising)
        return odd[-1] if odd else self.surprise_before

    @property
    def evidence(self) -> tuple[Observation, ...]:
        """What was measured or observed since the alarm."""
        return self.decided_at.evidence[len(self.start.evidence) :]

    @property
    def cost(self) -> float:
        """What everything has cost so far; what was left wrong is not in it."""
        return charged(self.receipts)

    def after(self, event: Event) -> Recovery:
        """Return the recovery after one more event; an ``AquaMendError`` where it cannot have come next."""
        then, count = self._after(event), self.count + 1
        match event:
            case events.Intended():
                return then._but(count=count, number=count, act_number=count)
            case events.Asked() | events.Stopping() | events.NotStopped() | events.Resumed():
                return then._but(count=count, number=count)
            case events.Lost() if then.phase is Phase.LOST:
                return then._but(count=count, number=count)
            case _:
                return then._but(count=count)

    def _after(self, event: Event) -> Recovery:
        if self.ending is not None:
            raise AquaMendError(f"the session has ended ({self.ending}), and then comes {type(event).__name__!r}")
        match event:
            case events.Intended(act):
                return self._but(act=self._next(act), phase=Phase.UNDER_WAY, running=True, allowed=None)
            case events.Done(receipt, known):
                return self._done(receipt, known)
            case events.Decided(step, reason):
                return self._decided(step, reason)
            case events.Stopping() | events.NotStopped() | events.Lost() | events.Unknown():
                return self._without_receipt(event)
            case events.Settled(done, by, note):
                return self._settled(done, by, note)
            case events.AlarmedAgain(refused, name):
                return self if refused is not None else self._alarmed(name)
            case events.Observed(observation):
                return self._observed(observation)
            case events.Asked(act):
                return self._but(asked=self._questioned(event))
            case events.Approved():
                return self._answered(event)
            case events.Expired():
                return self._but(allowed=None)
            case events.Cancelled(why):
                withdrawn = self if self.in_doubt else self._but(asked=None, acts=())
                return withdrawn._but(cancelled=why)
            case events.Resumed():
                # Whoever had begun it is gone, and nobody else hears its receipt.
                return self if self.act is None or self.in_doubt else self._but(phase=Phase.LOST, running=False)
            case events.Ended(ending, reason):
                if (left := self.act or self.asked) is not None:
                    raise AquaMendError(f"it ends while there is still {str(left)!r} to settle")
                return self._but(ending=ending, reason=reason, acts=())
            case events.Alarmed():
                raise AquaMendError("a session begins with its alarm; a second one needs a session of its own")
            case _:
                assert_never(event)

    def _but(self, **fields: Any) -> Recovery:
        """Return the same with other values in these fields: as ``replace`` does, but many times a recovery."""
        other = object.__new__(Recovery)
        other.__dict__.update(self.__dict__, **fields)
        if "decided_at" in fields or "changes" in fields:
            other.__dict__.pop("state", None)  # it is derived from these
        return other

    # What is decided and asked.

    def _next(self, act: Act) -> Act:
        come = self.acts and (self.acts[0] is act or self.acts[0] == act)
        if self.act is not None or self.asked is not None or self.cancelled is not None or not come:
            raise AquaMendError(f"{str(act)!r} is not what comes next")
        return act

    def _nothing_left(self, event: Event) -> None:
        """Refuse what can only come once the last decision is carried out or given up."""
        left = self.act or self.asked or (self.acts[0] if self.acts else None)
        if left is not None:
            raise AquaMendError(f"{type(event).__name__!r} comes while there is still {str(left)!r} to do")

    def _decided(self, step: Step, reason: str) -> Recovery:
        self._nothing_left(events.Decided(step))
        acts = acts_of(self.state, step, undone=self.to_redo, reason=reason)
        steps = (*self.steps, step)
        return self._but(decided_at=self.state, changes=(), steps=steps, acts=acts, reason=reason, carried_out=False)

    def _questioned(self, asked: events.Asked) -> events.Asked:
        """Check a question: on the next act, or on taking over while nobody knows what became of one."""
        if self.in_doubt and self.asked is None and isinstance(asked.act, HandOver):
            return asked
        self._next(asked.act)
        return asked

    def _answered(self, answer: events.Approved) -> Recovery:
        if self.asked is None:
            raise AquaMendError("nobody was asked")
        if answer.token != self.asked.token:
            raise AquaMendError(
                f"the answer is to question {answer.token!r}, but what is asked now is {str(self.asked)!r}, "
                f"question {self.asked.token!r}; read it, and answer that one"
            )
        if self.in_doubt:
            return self._given_up(answer)
        if answer.granted:
            return self._but(asked=None, allowed=answer)
        # Whoever will not take over leaves nobody to turn to.
        return self._but(asked=None, acts=(), trouble=_refusal(answer, self.asked.act))

    def _given_up(self, answer: events.Approved) -> Recovery:
        """Return what becomes of it when a person takes over, or will not, with an act in doubt.

        Either way nothing more is asked of the robot, which may not even stand still.
        """
        asked, act = self.asked, self.act
        if asked is None or act is None:
            raise AquaMendError("nobody was asked")
        stands = self._done(act.failed(f"in doubt: {self.why}"), known=False)
        given_up = stands._but(acts=(), steps=(*stands.steps, Escalate()), allowed=None)
        if not answer.granted:
            return given_up._but(trouble=_refusal(answer, asked.act), carried_out=False)
        paid = asked.act.done(f"{answer.by} takes over")
        return given_up._but(receipts=(*stands.receipts, paid), carried_out=True, reason=_nobody_knows(act))

    # What becomes of the act that has begun.

    def _without_receipt(self, event: events.Stopping | events.NotStopped | events.Lost | events.Unknown) -> Recovery:
        if self.act is None:
            raise AquaMendError(f"{type(event).__name__!r} comes while nothing is under way")
        match event:
            case events.Stopping(why, overdue):
                return self._but(phase=Phase.STOPPING, preempted=not overdue, why=why)
            case events.NotStopped(why):
                return self._but(phase=Phase.AWAITED, why=why)
            case events.Lost(why, running):
                # While it is being stopped, that its call has ended is worth knowing, and no more.
                only_ended = self.phase is Phase.STOPPING and self.running and not running
                phase = Phase.STOPPING if only_ended else Phase.LOST
                # The robot is asked again; who was asked to take over answers for an act that may still be running.
                reason = self.why if only_ended else why
                return self._but(phase=phase, running=running, why=reason, asked=None)
            case events.Unknown():
                return self._but(phase=Phase.UNKNOWN)

    def _settled(self, done: bool, by: str, note: str) -> Recovery:
        act = self.in_doubt
        if act is None:
            raise AquaMendError("there is no act of which nobody knows what became")
        said = f"{by} says so" + (f": {note}" if note else "")
        return self._done(act.done() if done else act.failed(said), known=True)

    def _done(self, receipt: Receipt, known: bool) -> Recovery:
        act = self.act
        if act is None:
            raise AquaMendError("a receipt has come for an act that nobody intended")
        preempted = self.preempted
        after = self._but(
            act=None, phase=Phase.UNDER_WAY, running=False, preempted=False, why="", asked=None,
            receipts=(*self.receipts, receipt),
        )  # fmt: skip
        after = after._succeeded(act, receipt) if receipt.succeeded else after._failed(act, known, preempted)
        if self.outdated:
            after = after._but(outdated=False, acts=())
        after = after._but(alarms=())
        for name in () if after.handed_over else self.alarms:
            after = after._alarmed(name, strict=False)
        return after

    def _succeeded(self, act: Act, receipt: Receipt) -> Recovery:
        carried_out = len(self.acts) == 1 and not isinstance(act, Measure)
        after: dict[str, Any] = {"acts": self.acts[1:], "carried_out": carried_out}
        if isinstance(act, Undo | Declare | Redo | Follow):
            after["changes"] = (*self.changes, Change(act, Came.DONE))
        match act:
            case Measure(probe):
                if receipt.finding is None:
                    raise AquaMendError(f"probe {probe!r} has a receipt without an answer")
                after["decided_at"] = self.decided_at.after_hearing(Observation(probe, receipt.finding))
            case Undo(_, actions):
                # An action is undone once nothing is left to do of it.
                waiting = {name for later in self.acts[1:] if isinstance(later, Undo) for name in later.actions}
                gone = tuple(name for name in actions if name not in waiting)
                after |= {"undone": _joined(self.undone, gone), "to_redo": _joined(self.to_redo, gone)}
            case Declare(belief):
                after["declared"] = {**self.declared, belief: act}
                after["corrected"] = _joined(self.corrected, (belief,))
            case Redo(action):
                after["to_redo"] = tuple(name for name in self.to_redo if name != action)
            case Follow(plan, correct, undo):
                after["followed"] = plan
                after |= {"corrected": _joined(self.corrected, correct), "undone": _joined(self.undone, undo)}
            case Finish() | HandOver():
                pass
        return self._but(**after)

    def _failed(self, act: Act, known: bool, preempted: bool) -> Recovery:
        """Let somebody decide again: the policy while there is another way, a person otherwise."""
        key = str(act)
        failures = self.failures if preempted else {**self.failures, key: self.failures.get(key, 0) + 1}
        now = self._but(acts=(), failures=failures)
        spent = failures.get(key, 0) >= self.rules.attempts
        match act:
            case Measure() if known or not self.rules.probes_move:
                came = Came.NEVER if spent else Came.NOT
                return now._but(changes=(*now.changes, Change(act, came)))
            case _ if not known:
                return now._but(trouble=_nobody_knows(act))
            case _ if preempted:
                return now
            case Undo() | Follow() if failures[key] == self.rules.attempts:  # insisting on it is in vain
                return now._but(changes=(*now.changes, Change(act, Came.NEVER)))
            case _ if spent:
                return now._but(trouble=f"{act}: failed {failures[key]} times")
            case _:
                return now

    # What comes from outside.

    def _alarmed(self, name: str | None, *, strict: bool = True) -> Recovery:
        if self.act is not None:
            return self._but(alarms=(*self.alarms, name))
        try:
            alarmed = self.state.after_alarm(name)
        except AquaMendError:
            if strict:
                raise
            return self  # what changed during the act has made it impossible
        heard = self._but(decided_at=alarmed, changes=(), surprise_before=self.surprise)
        if self.steps and isinstance(self.steps[-1], Escalate) and self.reason and self.acts:
            return heard  # a person is called whatever the policy would make of it
        return heard._but(acts=(), asked=None, allowed=None, carried_out=False)

    def _observed(self, observation: Observation) -> Recovery:
        heard = self._but(decided_at=self.decided_at.after_hearing(replace(observation, unasked=True)))
        if self.act is not None:
            return heard._but(outdated=True)
        return heard._but(acts=(), asked=None, allowed=None)


def _nobody_knows(act: Act) -> str:
    return f"nobody knows whether this was done: {act}"


def _refusal(answer: events.Approved, act: Act) -> str:
    return f"{answer.by} does not allow it: {act}" + (f" ({answer.note})" if answer.note else "")


def _joined(names: tuple[str, ...], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*names, *more)))
