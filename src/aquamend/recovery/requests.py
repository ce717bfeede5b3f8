"""What a session asks for, one thing at a time, and what it is answered: by robots and policies, and by people.

Requests of the same number are the same request: act on each once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aquamend.belief import InformationState
from aquamend.codec import Amount, Whole
from aquamend.decision.steps import Reprobe
from aquamend.errors import IllegalProbe
from aquamend.files.decision_format import decision_record
from aquamend.policies.decision_report import decision_report
from aquamend.policies.policy import Policy
from aquamend.recovery.acts import Act, Measure, Receipt, in_plain_types, receipt_fault
from aquamend.recovery.events import Decided, Ending


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


@dataclass(frozen=True, eq=False, slots=True)
class Deliberation:
    """A decision to be made: all that it needs, so that it can be computed anywhere, with the same result."""

    number: int
    """Of the request that it answers."""
    policy: Policy
    name: str
    state: InformationState
    explained: bool
    """Whether what was weighed is kept with it."""

    def compute(self) -> Decided:
        """Let the policy decide; whatever goes wrong in it is raised."""
        if self.explained:
            report = decision_report(self.state, self.policy, name=self.name, bounded=False)
            step, explanation = report.step, decision_record(report)
        else:
            step, explanation = self.policy.next_step(self.state), None
        if isinstance(step, Reprobe) and (reason := self.state.why_illegal(step.probe)):
            raise IllegalProbe(step.probe, reason)
        return Decided(step, explanation=explanation)


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


Reply = Receipt | NoReceipt | Decided
"""What came of an act, that nothing is known of it, or a decision."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A person answers a question."""

    kind: ClassVar[str] = "answer"

    granted: bool
    by: str
    """Who answers."""
    token: str
    """Of the question, as the session's view has it: the answer holds for that act alone."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Settle:
    """A person says what became of an act of which nobody knew."""

    kind: ClassVar[str] = "settle"

    done: bool
    """Whether it was done, all of it."""
    by: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class AlarmRaised:
    """A monitor rings."""

    kind: ClassVar[str] = "alarm"

    name: str | None = None
    """Which one; null: the only one."""


@dataclass(frozen=True, slots=True)
class Observe:
    """Something was observed that nobody had asked for."""

    kind: ClassVar[str] = "observe"

    probe: str
    value: str | float


@dataclass(frozen=True, slots=True)
class Cancel:
    """The recovery is called off."""

    kind: ClassVar[str] = "cancel"

    why: str = "it was called off"


Message = Answer | Settle | AlarmRaised | Observe | Cancel
"""What may be said to a session at any time, whatever it asks for."""


def understood_as(reply: object, asked: str) -> Reply:
    """Return a receipt in plain types, or why it is none; None is an honest answer to who asks to stop or verify."""
    if reply is None and asked in (Stop.kind, Verify.kind):
        return NoReceipt(f"the robot cannot say ({asked} returned None)")
    if isinstance(reply, Decided | NoReceipt):
        return reply
    if isinstance(reply, BaseException):
        return NoReceipt(f"{type(reply).__name__}: {reply}")
    if not isinstance(reply, Receipt) or receipt_fault(reply):
        return NoReceipt(receipt_fault(reply))
    return in_plain_types(reply)
