"""What a demonstration paid for, primitive by primitive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from aquamend.recovery import Charge, Judged, Receipt
from aquamend_lab.pouring.demonstration.wording import BELIEFS, primitive


def receipts(
    judged: Judged, *, alarm: Sequence[Receipt], declared_g: Mapping[str, float], end_s: float
) -> Iterator[Receipt]:
    """Yield what was paid for, primitive by primitive, and what failed although it cost nothing; each with its time.

    What was measured for the alarm itself was measured then, and what was left wrong shows in the end.
    """
    own = iter(alarm)
    for receipt in judged.receipts:
        for leaf in (leaf for leaf in receipt.leaves if leaf.cost > 0 or not leaf.succeeded):
            if leaf.charge is Charge.RESIDUAL:
                left = f"left wrong: {BELIEFS.get(leaf.what, leaf.what)}"
                yield replace(leaf, what=left, start_s=end_s, end_s=end_s)
            elif leaf.start_s is None:
                then = next(own)
                yield replace(primitive(leaf, declared_g), start_s=then.start_s, end_s=then.end_s)
            else:
                yield primitive(leaf, declared_g)
