"""The ledger: every bill in order, then what each charge adds up to."""

from __future__ import annotations

from aquamend.replay.losses_chart import subtotals, total_loss
from aquamend.replay.markup import charge_class, charge_name, safe, seconds, swatch
from aquamend.replay.story import Bill, Story
from aquamend.text.words import column


def ledger_table(story: Story) -> str:
    """Return the table of bills with subtotals and the total below."""
    if not story.ledger:
        return "<p>No bills: nothing was charged.</p>"
    parts, total = subtotals(story.ledger), total_loss(story.ledger)
    # One call for all of them, so that every number of the column has the same decimals.
    costs = column([*(bill.cost for bill in story.ledger), *(amount for _, amount in parts), total])
    count = len(story.ledger)
    rows = "".join(_row(i, bill, costs[i]) for i, bill in enumerate(story.ledger))
    sums = "".join(
        _sum(f"{swatch(charge_class(charge))} {safe(charge_name(charge))}", amount, costs[count + i])
        for i, (charge, amount) in enumerate(parts)
    )
    titles = ("#", "What ran", "Charge", "When", "Outcome", f"Cost ({story.unit})" if story.unit else "Cost")
    styles = ("", "", "", "", "", ' class="number"')
    head = "".join(f'<th scope="col"{s}>{safe(title)}</th>' for title, s in zip(titles, styles, strict=True))
    return (
        f'<table class="stacking ledger" aria-label="The ledger"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}</tbody>\n"
        f"<tfoot>\n{sums}{_sum('Total', total, costs[-1], style='total')}</tfoot></table>"
    )


def _row(index: int, bill: Bill, cost: str) -> str:
    failed = bill.outcome.startswith("failed")
    outcome = f'<span class="wrong">✗ {safe(bill.outcome)}</span>' if failed else safe(bill.outcome) or "–"
    return (
        f'<tr class="bill"><td class="index">{index + 1}</td><th scope="row">{safe(bill.what)}</th>'
        f'<td class="charge">{swatch(charge_class(bill.charge))} {safe(charge_name(bill.charge))}</td>'
        f'<td class="when">{_when(bill)}</td><td class="outcome">{outcome}</td>'
        f'<td class="number"><data value="{bill.cost!r}">{safe(cost)}</data></td></tr>\n'
    )


def _when(bill: Bill) -> str:
    if bill.start_s is None or bill.end_s is None:
        return "–" if bill.start_s is None else f"from {seconds(bill.start_s)}"
    return f"{bill.start_s:.1f}–{seconds(bill.end_s)}"


def _sum(name: str, amount: float, cost: str, *, style: str = "subtotal") -> str:
    return (
        f'<tr class="{style}"><th scope="row" colspan="5">{name}</th>'
        f'<td class="number"><data value="{amount!r}">{safe(cost)}</data></td></tr>\n'
    )
