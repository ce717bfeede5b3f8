"""What acting cost: one receipt for each thing done, and totals derived from them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Charge(StrEnum):
    """What a cost was for; together they make up the complete loss, each cost under one of them."""

    SENSING = "sensing"
    RECOVERY = "recovery"
    """Undoing, or starting over."""
    CONTINUATION = "continuation"
    """Finishing the task after that, in worlds that really carry it out."""
    ESCALATION = "escalation"
    RESIDUAL = "residual"
    """A true failure left uncorrected; known only once the truth is."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """One thing done and paid for."""

    charge: Charge
    what: str
    cost: float


def charged(receipts: Iterable[Receipt], *charges: Charge) -> float:
    """Return the total of the receipts for these charges, or of all of them if none is named."""
    return math.fsum(receipt.cost for receipt in receipts if not charges or receipt.charge in charges)
