"""The five things an agent can do next: look again, or end the recovery in one of four ways."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reprobe:
    """Run this probe, then decide again."""

    probe: str


@dataclass(frozen=True, slots=True)
class RollBack:
    """Correct these beliefs: undo what rests on them, then go on."""

    correct: tuple[str, ...]
    undo: tuple[str, ...] = ()
    """Executed actions to undo: the minimal upper closure; planned ones are cancelled for nothing."""
    plan: str | None = None
    """Name of the world's own plan, where it is one."""


@dataclass(frozen=True, slots=True)
class Continue:
    """Go on, leaving every belief as it is."""


@dataclass(frozen=True, slots=True)
class Restart:
    """Start over; corrects everything."""


@dataclass(frozen=True, slots=True)
class Escalate:
    """Hand over to a person."""


Decision = RollBack | Continue | Restart | Escalate
"""A step that ends the recovery."""

Step = Reprobe | Decision


def correction(correct: tuple[str, ...], undo: tuple[str, ...]) -> RollBack | Continue:
    """Return the decision that corrects these beliefs; correcting none is to continue."""
    return RollBack(correct, undo) if correct else Continue()


def step_kind(step: Step) -> str:
    """Return the step's name in the decision format."""
    match step:
        case Reprobe():
            return "reprobe"
        case RollBack():
            return "roll_back"
        case Continue():
            return "continue"
        case Restart():
            return "restart"
        case Escalate():
            return "escalate"
