"""The five things an agent can do next: look again, or end the recovery in one of four ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar, assert_never

from aquamend.codec import KeyedBy, load, write
from aquamend.problem.graph import Value


class Advice(StrEnum):
    """What a check before an action says."""

    GO_ON = "go on"
    MEASURE_FIRST = "measure first"
    GO_BACK = "go back"
    """Correct something first, by undoing or by declaring another value; or start over."""
    ASK = "ask"
    """Hand over to a person."""


@dataclass(frozen=True, slots=True)
class NewDeclaration:
    """What a corrected belief is declared to be from now on."""

    belief: str
    value: Value


@dataclass(frozen=True, slots=True)
class Reprobe:
    """Run this probe, then decide again."""

    kind: ClassVar[str] = "reprobe"

    probe: str


@dataclass(frozen=True, slots=True)
class RollBack:
    """Correct these beliefs: undo what rests on them, declare what is believed instead, then go on."""

    kind: ClassVar[str] = "roll_back"

    correct: tuple[str, ...]
    undo: tuple[str, ...] = ()
    """Executed actions to undo: at least the minimal upper closure; cancelling planned ones costs nothing."""
    declare: Annotated[tuple[NewDeclaration, ...], KeyedBy("belief")] = ()
    """New values of the corrected beliefs that declare one."""
    plan: str | None = None
    """Name of the problem's own plan, where it is one."""


@dataclass(frozen=True, slots=True)
class Continue:
    """Go on, leaving every belief as it is."""

    kind: ClassVar[str] = "continue"


@dataclass(frozen=True, slots=True)
class Restart:
    """Start over."""

    kind: ClassVar[str] = "restart"


@dataclass(frozen=True, slots=True)
class Escalate:
    """Hand over to a person."""

    kind: ClassVar[str] = "escalate"


Decision = RollBack | Continue | Restart | Escalate
"""A step that ends the recovery."""

Step = Reprobe | Decision


def step_kind(step: Step) -> str:
    """Return the step's name in the decision format."""
    return step.kind


def advice(step: Step) -> Advice:
    """Return what a step says to somebody who asks before an action."""
    match step:
        case Continue():
            return Advice.GO_ON
        case Reprobe():
            return Advice.MEASURE_FIRST
        case RollBack() | Restart():
            return Advice.GO_BACK
        case Escalate():
            return Advice.ASK
        case _:
            assert_never(step)


def but_for_numbers(step: Step) -> object:
    """Return what tells a step apart from those that do not only declare other numbers."""
    if not isinstance(step, RollBack):
        return step
    said = tuple((new.belief, new.value if isinstance(new.value, str) else None) for new in step.declare)
    return step.correct, step.undo, step.plan, said


def step_to_data(step: Step) -> dict[str, Any]:
    """Return a step as plain data, in the words of the decision format."""
    always: dict[str, Any] = {"correct": [], "undo": []} if isinstance(step, RollBack | Continue) else {}
    return {"kind": step.kind, **always, **write(step)}


def step_from_data(data: object, *, where: str = "step") -> Step:
    """Return the step that plain data describe; ``InvalidData`` if they describe none."""
    entries = dict(data) if isinstance(data, Mapping) else data
    if isinstance(entries, dict) and entries.get("kind") == Continue.kind:
        entries = {key: value for key, value in entries.items() if key not in ("correct", "undo")}
    step: Step = load(Step, entries, where, complete=False)
    return step
