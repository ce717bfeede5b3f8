"""The ledger: every receipt in order, then what each charge adds up to."""

from __future__ import annotations

from aquamend.recovery.receipts import Receipt, charged
from aquamend.story.losses_chart import subtotals
from aquamend.story.markup import safe, seconds, swatch
from aquamend.story.story import Story
from aquamend.text import column


def ledger_table(story: Story) -> str:
    """Return the table of receipts with subtotals and the total below."""
    if not story.ledger:
        return "<p>No receipts: nothing was charged.</p>"
    parts, total = subtotals(story.ledger), charged(story.ledger)
    # One call for all of them, so that every number of the column has the same decimals.
    costs = column([*(receipt.cost for receipt in story.ledger), *(amount for _, amount in parts), total])
    count = len(story.ledger)
    rows = "".join(_row(i, receipt, costs[i]) for i, receipt in enumerate(story.ledger))
    sums = "".join(
        _sum(f"{swatch(charge)} {charge}", amount, costs[count + i]) for i, (charge, amount) in enumerate(parts)
    )
    titles = ("#", "What ran", "Charge", "When", "Outcome", f"Cost ({story.unit})" if story.unit else "Cost")
    styles = ("", "", "", "", "", ' class="number"')
    head = "".join(f'<th scope="col"{s}>{safe(title)}</th>' for title, s in zip(titles, styles, strict=True))
    return (
        f'<table class="stacking ledger" aria-label="The ledger"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}</tbody>\n"
        f"<tfoot>\n{sums}{_sum('Total', total, costs[-1], style='total')}</tfoot></table>"
    )


def outcome(receipt: Receipt) -> str:
    """Return what a receipt tells of its outcome; nothing where nothing was found."""
    finding = receipt.finding
    told = finding if isinstance(finding, str) else "" if finding is None else f"{finding:.6g}"
    return told if receipt.succeeded else f"failed: {told}"


def _row(index: int, receipt: Receipt, cost: str) -> str:
    told = safe(outcome(receipt)) or "–"
    shown = told if receipt.succeeded else f'<span class="wrong">✗ {told}</span>'
    return (
        f'<tr class="receipt"><td class="index">{index + 1}</td><th scope="row">{safe(receipt.what)}</th>'
        f'<td class="charge">{swatch(receipt.charge)} {receipt.charge}</td>'
        f'<td class="when">{_when(receipt)}</td><td class="outcome">{shown}</td>'
        f'<td class="number"><data value="{receipt.cost!r}">{safe(cost)}</data></td></tr>\n'
    )


def _when(receipt: Receipt) -> str:
    if receipt.start_s is None or receipt.end_s is None:
        return "–" if receipt.start_s is None else f"from {seconds(receipt.start_s)}"
    return f"{receipt.start_s:.1f}–{seconds(receipt.end_s)}"


def _sum(name: str, amount: float, cost: str, *, style: str = "subtotal") -> str:
    return (
        f'<tr class="{style}"><th scope="row" colspan="5">{name}</th>'
        f'<td class="number"><data value="{amount!r}">{safe(cost)}</data></td></tr>\n'
    )
