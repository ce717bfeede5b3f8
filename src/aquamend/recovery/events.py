"""What can happen in a recovery, one fact each; all that is known of a session follows from its events in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from aquamend.belief import InformationState, Observation
from aquamend.decision.steps import Step
from aquamend.recovery.acts import Act, Receipt
from aquamend.recovery.clock import Instant
from aquamend.recovery.safety_rules import Rules


class Ending(StrEnum):
    """How a recovery ended."""

    FINISHED = "finished"
    """The robot carried its decision out to the end."""
    HANDED_OVER = "handed over"
    STOPPED = "stopped"
    """Nobody took over: the robot stands where it stands."""
    CANCELLED = "cancelled"
    """Whoever began it has called it off."""


@dataclass(frozen=True, slots=True)
class Alarmed:
    """A recovery begins: the problem, the public evidence, who decides and by which rules."""

    kind: ClassVar[str] = "alarmed"

    state: InformationState
    policy: str
    rules: Rules
    began: Instant
    attended: bool = True
    """Whether there is somebody whom it can ask."""


@dataclass(frozen=True, slots=True)
class AlarmedAgain:
    """A monitor rang: conditioned on once no act is under way, or refused for a reason."""

    kind: ClassVar[str] = "alarmed again"

    refused: str | None = None
    name: str | None = None
    """Which alarm of the problem; None: its only one."""


@dataclass(frozen=True, slots=True)
class Observed:
    """Something was observed that nobody had asked for: evidence like any other, at no cost."""

    kind: ClassVar[str] = "observed"

    observation: Observation


@dataclass(frozen=True, slots=True)
class Decided:
    """A step was chosen."""

    kind: ClassVar[str] = "decided"

    step: Step
    reason: str = ""
    """Why it was not left to the policy, where it was not."""
    explanation: Mapping[str, Any] | None = None
    """What was believed and what else was weighed, as plain data."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A person has to allow this act."""

    kind: ClassVar[str] = "asked"

    act: Act
    reason: str
    token: str
    """A digest of the act and of all that it rests on; the answer has to name it."""

    def __str__(self) -> str:
        return str(self.act)


@dataclass(frozen=True, slots=True)
class Approved:
    """A person has answered."""

    kind: ClassVar[str] = "approved"

    granted: bool
    by: str
    note: str
    token: str
    """Of the question that is answered."""
    at: Instant
    """When, since it does not hold for ever."""


@dataclass(frozen=True, slots=True)
class Expired:
    """The word of a person came too long ago to begin on it now."""

    kind: ClassVar[str] = "expired"

    why: str


@dataclass(frozen=True, slots=True)
class Intended:
    """An act is about to begin. Until its receipt is there, it is under way."""

    kind: ClassVar[str] = "intended"

    act: Act


@dataclass(frozen=True, slots=True)
class Stopping:
    """The robot is asked to stop the act under way."""

    kind: ClassVar[str] = "stopping"

    why: str
    overdue: bool = False
    """Whether it has taken longer than it may; otherwise something else came between."""


@dataclass(frozen=True, slots=True)
class NotStopped:
    """The robot cannot stop the act under way, which is not overdue yet: its own receipt is waited for."""

    kind: ClassVar[str] = "not stopped"

    why: str


@dataclass(frozen=True, slots=True)
class Lost:
    """No receipt has come of the act under way."""

    kind: ClassVar[str] = "lost"

    why: str
    running: bool
    """Whether the robot has not even returned from it, so that it may still be moving."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody can tell what became of the act under way."""

    kind: ClassVar[str] = "unknown"

    why: str


@dataclass(frozen=True, slots=True)
class Settled:
    """A person says what became of an act of which nobody knew."""

    kind: ClassVar[str] = "settled"

    done: bool
    by: str
    note: str


@dataclass(frozen=True, slots=True)
class Done:
    """The receipt of the act that was intended."""

    kind: ClassVar[str] = "done"

    receipt: Receipt
    known: bool = True
    """False: nobody can tell whether it was done."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Whoever began the recovery calls it off."""

    kind: ClassVar[str] = "cancelled"

    why: str


@dataclass(frozen=True, slots=True)
class Resumed:
    """Somebody has taken the session up again."""

    kind: ClassVar[str] = "resumed"

    by: str
    """Which process."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The recovery is over."""

    kind: ClassVar[str] = "ended"

    ending: Ending
    reason: str = ""


Event = (
    Alarmed
    | AlarmedAgain
    | Observed
    | Decided
    | Asked
    | Approved
    | Expired
    | Intended
    | Stopping
    | NotStopped
    | Lost
    | Unknown
    | Settled
    | Done
    | Cancelled
    | Resumed
    | Ended
)


@dataclass(frozen=True, slots=True)
class Entry:
    """An event as it stands in a log."""

    number: int
    """1, 2, 3 … within its session."""
    time: float
    """Seconds since 1970, by the writer's clock."""
    event: Event
