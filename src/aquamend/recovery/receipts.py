"""What acting cost: one receipt for each thing done, and totals derived from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum


class Charge(StrEnum):
    """What a cost was for. Every cost is under one of the four, and together they are the complete loss."""

    SENSING = "sensing"
    """What was measured."""
    ROLLBACK = "rollback"
    """What was undone."""
    CONTINUATION = "continuation"
    """What was done again or done on, by the robot or by the person it handed over to."""
    RESIDUAL = "residual"
    """What was left wrong; known only to whoever knows the truth."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """One thing done and paid for."""

    charge: Charge
    what: str
    cost: float
    start_s: float | None = None
    end_s: float | None = None
    """When it began and ended, on the clock of whoever did it; None: nobody said."""
    succeeded: bool = True
    finding: str | float | None = None
    """What was found: the answer of a probe, or why something failed."""
    alarm: bool = False
    """Whether the monitor raised another alarm meanwhile."""
    parts: tuple[Receipt, ...] = ()
    """What it consisted of, where it took several primitives: their costs make up its own."""

    @property
    def leaves(self) -> Iterator[Receipt]:
        """Yield the receipts of the primitives: the parts, down to those that have none."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves

    @property
    def seconds(self) -> float | None:
        """How long it took; None where nobody said."""
        return None if self.start_s is None or self.end_s is None else self.end_s - self.start_s


def charged(receipts: Iterable[Receipt], *charges: Charge) -> float:
    """Return the total of the receipts under these charges, or of all of them if none is named."""
    leaves = (leaf for receipt in receipts for leaf in receipt.leaves)
    return math.fsum(leaf.cost for leaf in leaves if not charges or leaf.charge in charges)


def receipt_fault(receipt: object) -> str:
    """Return what is wrong with what somebody handed over as a receipt; empty if nothing is."""
    if not isinstance(receipt, Receipt):
        return f"returned {receipt!r}, which is no receipt; return act.done(...) or act.failed(...)"
    for leaf in receipt.leaves:
        cost: object = leaf.cost  # a stranger's robot may put anything there
        if not isinstance(cost, (int, float)) or not cost >= 0:
            return f"returned a cost of {leaf.cost!r} for {leaf.what!r}; give a number of at least 0"
    total = charged([receipt])
    if receipt.parts and not math.isclose(receipt.cost, total, rel_tol=1e-9, abs_tol=1e-9):
        return f"returned a cost of {receipt.cost!r} whose parts make {total!r}; leave the cost out"
    return ""
