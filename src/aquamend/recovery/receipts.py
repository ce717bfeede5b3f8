"""What acting cost: one receipt for each thing done, and totals derived from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from numbers import Real
from typing import Any, ClassVar

from aquamend.codec import Amount

MOST_NESTED = 20
"""How many levels of parts a receipt may have."""


class Charge(StrEnum):
    """What a cost was for. Every cost is under one of the four, and together they are the complete loss."""

    SENSING = "sensing"
    """What was measured."""
    ROLLBACK = "rollback"
    """What was undone."""
    CONTINUATION = "continuation"
    """What was done again or done on, by the robot or by the person it handed over to."""
    RESIDUAL = "residual"
    """What was left wrong; known to judges alone."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """One thing done and paid for."""

    kind: ClassVar[str] = "receipt"

    charge: Charge
    what: str
    cost: Amount
    start_s: float | None = None
    end_s: float | None = None
    """When it began and ended, on the clock of the robot that did it; None where it did not say."""
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
    leaves = (leaf for receipt in receipts for leaf in (receipt.leaves if receipt.parts else (receipt,)))
    return math.fsum(leaf.cost for leaf in leaves if not charges or leaf.charge in charges)


def receipt_fault(receipt: object) -> str:
    """Return what is wrong with what somebody handed over as a receipt; empty if nothing is."""
    if not isinstance(receipt, Receipt):
        return f"returned {receipt!r}, which is no receipt; return act.done(...) or act.failed(...)"
    if fault := _fault(receipt, 0):
        return fault
    if receipt.parts and not math.isclose(receipt.cost, total := charged([receipt]), rel_tol=1e-9, abs_tol=1e-9):
        return f"returned a cost of {receipt.cost!r} whose parts make {total!r}; leave the cost out"
    return ""


def _fault(receipt: Any, depth: int) -> str:
    """Return what is wrong with one receipt or its parts: a stranger's robot may put anything there."""
    if not isinstance(receipt, Receipt) or depth > MOST_NESTED:
        return f"returned a part that is no receipt, or more than {MOST_NESTED} levels of parts"
    claimed: Any = receipt
    if not isinstance(claimed.cost, Real) or not float(claimed.cost) >= 0:
        return f"returned a cost of {claimed.cost!r} for {claimed.what!r}; give a number of at least 0"
    if claimed.finding is not None and not isinstance(claimed.finding, (str, Real)):
        return f"returned {claimed.finding!r} as what {claimed.what!r} found; give a text or a number"
    for moment in (claimed.start_s, claimed.end_s):
        if moment is not None and not (isinstance(moment, Real) and math.isfinite(moment)):
            return f"returned {moment!r} as a time of {claimed.what!r}; give seconds, or leave it out"
    return next((fault for part in receipt.parts if (fault := _fault(part, depth + 1))), "")


def in_plain_types(receipt: Receipt) -> Receipt:
    """Return a receipt without fault in Python's own types, so that it is the same after it was written and read.

    A finding that is neither a text nor a finite number is written in words.
    """
    if _is_plain(receipt):
        return receipt
    finding = receipt.finding
    if finding is not None and not isinstance(finding, str):
        finding = float(finding) if math.isfinite(finding) and not isinstance(finding, bool) else str(finding)
    return replace(
        receipt,
        charge=Charge(receipt.charge),
        what=str(receipt.what),
        cost=float(receipt.cost),
        start_s=None if receipt.start_s is None else float(receipt.start_s),
        end_s=None if receipt.end_s is None else float(receipt.end_s),
        succeeded=bool(receipt.succeeded),
        finding=finding,
        alarm=bool(receipt.alarm),
        parts=tuple(in_plain_types(part) for part in receipt.parts),
    )


def _is_plain(receipt: Any) -> bool:
    """Whether a receipt is in plain types as it stands, as those of our own robots are."""
    finding = receipt.finding
    return (
        type(receipt.charge) is Charge
        and type(receipt.what) is str
        and type(receipt.cost) is float
        and all(moment is None or type(moment) is float for moment in (receipt.start_s, receipt.end_s))
        and type(receipt.succeeded) is type(receipt.alarm) is bool
        and (finding is None or type(finding) is str or (type(finding) is float and math.isfinite(finding)))
        and type(receipt.parts) is tuple
        and all(map(_is_plain, receipt.parts))
    )
