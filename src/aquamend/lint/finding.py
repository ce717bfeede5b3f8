"""What a finding is: something odd, how serious it is, and its price."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from aquamend.belief import InformationState
from aquamend.text import quantity


class Severity(StrEnum):
    """How likely it is that the author did not mean it."""

    WARNING = "warning"
    """Hardly ever meant: decisions are probably not what they should be."""
    NOTE = "note"
    """Often meant, and worth knowing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something odd."""

    code: str
    """What kind of oddity, in one or two words joined by a hyphen."""
    where: str
    """Place in the file, or the name of what it is about."""
    message: str
    cost: float | None
    """Expected loss at stake; infinite where something may not be kept; None where it cannot be said."""
    severity: Severity = Severity.NOTE


def amount(state: InformationState, loss: float) -> str:
    """Return a loss in the unit of a state's problem."""
    return quantity(loss, state.problem.unit)
