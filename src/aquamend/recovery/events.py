"""What can happen in a recovery, one fact each; all that is known of a session follows from its events in order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from aquamend.codec import Amount, Whole
from aquamend.decision.steps import Step
from aquamend.inference import SURPRISING, InformationState, surprises
from aquamend.recovery.acts import Act
from aquamend.recovery.receipts import Receipt


@dataclass(frozen=True, slots=True)
class Rules:
    """How far a recovery may go by itself; beyond that it is handed over to a person."""

    attempts: Whole = 3
    """How often the same act may fail before it counts as impossible."""
    decisions: Whole = 10_000
    seconds: Amount = math.inf
    """From the alarm on, waiting for people and crashes included."""
    timeout_s: Amount = math.inf
    """How long one probe or act may take."""
    timeouts: Mapping[str, Amount] = field(default_factory=dict)
    """The same for those of these names: probes, operations, actions, plans, ``finish``."""
    ask_before_handing_over: bool = False
    """Whether a person has to say that they take over."""
    ask_before_irreversible: bool = False
    """Whether a person has to allow every act that cannot be undone."""
    surprising: float = SURPRISING
    """After an answer less probable than this by the whole model, a person has to allow what cannot be undone, wherever
    somebody can be asked."""

    def timeout(self, act: Act) -> float:
        """Return how long an act may take."""
        return self.timeouts.get(act.name, self.timeout_s)

    def why_ask(self, act: Act, state: InformationState) -> str:
        """Return why a person has to allow an act in a state; empty if nobody has to."""
        if self.ask_before_handing_over and act.kind == "hand over":
            return "somebody has to take over"
        if not act.irreversible:
            return ""
        odd = surprises(state, below=self.surprising)
        if odd:
            return f"it cannot be undone, and {odd[-1].observation} was surprising (chance {odd[-1].chance:.2g})"
        return "it cannot be undone" if self.ask_before_irreversible else ""


class Ending(StrEnum):
    """How a recovery ended."""

    FINISHED = "finished"
    """The robot carried its decision out to the end."""
    HANDED_OVER = "handed over"
    STOPPED = "stopped"
    """Nobody took over: the robot stands where it stands."""


@dataclass(frozen=True, slots=True)
class Alarmed:
    """A recovery begins: the problem, the public evidence, who decides and by which rules."""

    kind: ClassVar[str] = "alarmed"

    state: InformationState
    policy: str
    rules: Rules


@dataclass(frozen=True, slots=True)
class AlarmedAgain:
    """Another alarm came: conditioned on, or refused for a reason."""

    kind: ClassVar[str] = "alarmed again"

    refused: str | None = None


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


@dataclass(frozen=True, slots=True)
class Approved:
    """A person has answered."""

    kind: ClassVar[str] = "approved"

    granted: bool
    by: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Intended:
    """An act is about to begin. Until its receipt is there, it is in doubt."""

    kind: ClassVar[str] = "intended"

    act: Act


@dataclass(frozen=True, slots=True)
class Done:
    """The receipt of the act that was intended."""

    kind: ClassVar[str] = "done"

    receipt: Receipt
    known: bool = True
    """False: nobody can tell whether it was done."""


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


Event = Alarmed | AlarmedAgain | Decided | Asked | Approved | Intended | Done | Resumed | Ended


@dataclass(frozen=True, slots=True)
class Entry:
    """An event as it stands in a log."""

    number: int
    """1, 2, 3 … within its session."""
    time: float
    """Seconds since 1970, as the clock of whoever wrote it said."""
    event: Event
