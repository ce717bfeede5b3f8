"""The five things an agent can do next: look again, or end the recovery in one of four ways."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from aquamend.errors import UnknownName
from aquamend.graph import Value
from aquamend.records import checked


@dataclass(frozen=True, slots=True)
class NewDeclaration:
    """What a corrected belief is declared to be from now on."""

    belief: str
    value: Value


@dataclass(frozen=True, slots=True)
class Reprobe:
    """Run this probe, then decide again."""

    probe: str


@dataclass(frozen=True, slots=True)
class RollBack:
    """Correct these beliefs: undo what rests on them, declare what is believed instead, then go on."""

    correct: tuple[str, ...]
    undo: tuple[str, ...] = ()
    """Executed actions to undo: at least the minimal upper closure; cancelling planned ones costs nothing."""
    declare: tuple[NewDeclaration, ...] = ()
    """New values of the corrected beliefs that declare one."""
    plan: str | None = None
    """Name of the problem's own plan, where it is one."""


@dataclass(frozen=True, slots=True)
class Continue:
    """Go on, leaving every belief as it is."""


@dataclass(frozen=True, slots=True)
class Restart:
    """Start over."""


@dataclass(frozen=True, slots=True)
class Escalate:
    """Hand over to a person."""


Decision = RollBack | Continue | Restart | Escalate
"""A step that ends the recovery."""

Step = Reprobe | Decision

_KINDS: dict[str, type[Step]] = {
    "reprobe": Reprobe, "roll_back": RollBack, "continue": Continue, "restart": Restart, "escalate": Escalate,
}  # fmt: skip


def step_kind(step: Step) -> str:
    """Return the step's name in the decision format."""
    return next(name for name, kind in _KINDS.items() if isinstance(step, kind))


def step_to_data(step: Step) -> dict[str, Any]:
    """Return a step as plain data, in the words of the decision format."""
    data: dict[str, Any] = {"kind": step_kind(step)}
    match step:
        case Reprobe(probe):
            data["probe"] = probe
        case Continue():
            data |= {"correct": [], "undo": []}
        case RollBack(correct, undo, declare, plan):
            data |= {"correct": list(correct), "undo": list(undo)}
            if declare:
                data["declare"] = {new.belief: {"value": new.value} for new in declare}
            if plan is not None:
                data["plan"] = plan
        case Restart() | Escalate():
            pass
    return data


def step_from_data(data: object, *, where: str = "step") -> Step:
    """Return the step that plain data describe; ``InvalidData`` or ``UnknownName`` if they describe none."""
    given = checked.mapping(data, where)
    kind = checked.text(given.get("kind"), f"{where}.kind")
    if kind not in _KINDS:
        raise UnknownName("kind of step", kind, _KINDS)
    match kind:
        case "reprobe":
            return Reprobe(checked.text(given.get("probe"), f"{where}.probe"))
        case "roll_back":
            plan = given.get("plan")
            return RollBack(
                checked.texts(given.get("correct"), f"{where}.correct"),
                checked.texts(given.get("undo"), f"{where}.undo"),
                tuple(_declared(given.get("declare", {}), f"{where}.declare")),
                None if plan is None else checked.text(plan, f"{where}.plan"),
            )
        case "continue":
            return Continue()
        case "restart":
            return Restart()
        case _:
            return Escalate()


def _declared(data: object, where: str) -> Iterator[NewDeclaration]:
    for belief, entry in checked.mapping(data, where).items():
        at = f"{where}.{belief}"
        said = checked.mapping(entry, at, ("value",))
        yield NewDeclaration(belief, checked.value_or_text(said["value"], f"{at}.value"))
