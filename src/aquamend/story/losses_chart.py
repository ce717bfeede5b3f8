"""Losses as stacked bars: what the recovery cost, and what every option was expected to cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from aquamend.recovery.receipts import Charge, Receipt, charged
from aquamend.story.markup import UNDIVIDED, charge_meaning, number, portion, safe, swatch
from aquamend.story.story import Option
from aquamend.text import quantity

MOST_OPTIONS = 7
"""Options shown before the dearer ones are folded away."""

Part = tuple[str, float]
"""A charge and its amount."""


def subtotals(ledger: Sequence[Receipt]) -> tuple[Part, ...]:
    """Return what each charge that occurs adds up to."""
    occurring = {leaf.charge for receipt in ledger for leaf in receipt.leaves}
    return tuple((charge, charged(ledger, charge)) for charge in Charge if charge in occurring)


def option_parts(option: Option) -> tuple[Part, ...]:
    """Return the parts of an expected loss; what was not told apart is one part."""
    known = ((Charge.SENSING, option.sensing), (Charge.CONTINUATION, option.continuation))
    if option.rollback is not None and option.residual is not None:
        return known[0], (Charge.ROLLBACK, option.rollback), known[1], (Charge.RESIDUAL, option.residual)
    rest = option.loss - option.sensing - option.continuation
    return (*known, (UNDIVIDED, rest)) if rest >= 0.0 else ((UNDIVIDED, option.loss),)


def stacked_bar(parts: Iterable[Part], *, full: float, label: str, height: int = 16) -> str:
    """Return a bar as wide as its box, in which ``full`` would fill the whole width; an infinite one is hatched."""
    start, pieces = 0.0, []
    for charge, amount in parts:
        endless = math.isinf(amount)
        share = 1.0 - start if endless else min(max(amount, 0.0) / full, 1.0 - start) if full > 0.0 else 0.0
        style = "endless" if endless else charge
        pieces.append(
            f'<rect class="{style}" x="{portion(start)}" width="{portion(share)}" height="{number(height)}"/>'
        )
        start += share
    return (
        f'<svg class="bar" width="100%" height="{height}" role="img" aria-label="{safe(label)}">{"".join(pieces)}</svg>'
    )


def total_figure(ledger: Sequence[Receipt], unit: str, *, full: float | None = None) -> str:
    """Return the complete loss as one bar with its parts named below it; ``full`` would fill the width, or it does."""
    parts, total = subtotals(ledger), charged(ledger)
    label = f"Total loss {quantity(total, unit)}: {_spoken(parts, unit)}"
    finite = math.fsum(amount for _, amount in parts if math.isfinite(amount))
    entries = "".join(
        f"<li>{swatch(charge)} {safe(charge_meaning(charge))} <strong>{safe(quantity(amount, unit))}</strong></li>"
        for charge, amount in parts
    )
    return (
        f'<figure class="total"><figcaption>Total loss <strong><data class="total-loss" value="{total!r}">'
        f"{safe(quantity(total, unit))}</data></strong> "
        '<span class="caption">The bar adds up every line of the ledger; shorter is better.</span></figcaption>'
        + (
            stacked_bar(
                parts, full=full if full is not None and math.isfinite(full) else finite, label=label, height=26
            )
            if parts
            else ""
        )
        + (f'<ul class="legend">{entries}</ul>' if parts else "<p>Nothing was charged.</p>")
        + "</figure>"
    )


def option_bars(options: Sequence[Option], unit: str, *, reading: str = "") -> str:
    """Return the options with the least expected loss first; many are folded, the chosen one never.

    ``reading`` says how the losses and the choice belong together.
    """
    if not options:
        return ""
    full = max((option.loss for option in options if math.isfinite(option.loss)), default=0.0)
    ordered = sorted(options, key=lambda option: option.loss)
    near = [o for rank, o in enumerate(ordered) if rank < MOST_OPTIONS or o.chosen]
    far = [o for rank, o in enumerate(ordered) if rank >= MOST_OPTIONS and not o.chosen]
    folded = f"<details><summary>{len(far)} more, all dearer</summary>{_rows(far, full, unit)}</details>" if far else ""
    above = f"<p>{safe(reading)}</p>" if reading else ""
    return (
        f'<div class="options">{above}<p class="caption">Expected loss of every option ({_legend(options)})</p>'
        f"{_rows(near, full, unit)}{folded}</div>"
    )


def _rows(options: Sequence[Option], full: float, unit: str) -> str:
    rows = []
    for option in options:
        parts = option_parts(option) if math.isfinite(option.loss) else ((Charge.RESIDUAL, math.inf),)
        loss = quantity(option.loss, unit)
        bar = stacked_bar(parts, full=full, label=f"{option.name}: {loss}; {_spoken(parts, unit)}")
        mark = ' <span class="chosen-mark">✓ chosen</span>' if option.chosen else ""
        style = ' class="chosen"' if option.chosen else ""
        rows.append(
            f'<li{style}><span class="option-name">{safe(option.name)}{mark}</span>'
            f'<span class="option-bar">{bar}</span><span class="option-loss">{safe(loss)}</span></li>'
        )
    return f"<ul>{''.join(rows)}</ul>"


def _legend(options: Sequence[Option]) -> str:
    shown = {charge for option in options for charge, amount in option_parts(option) if amount > 0.0}
    names = {str(charge): str(charge) for charge in Charge} | {UNDIVIDED: charge_meaning(UNDIVIDED)}
    entries = [f'<span class="entry">{swatch(each)} {name}</span>' for each, name in names.items() if each in shown]
    return ", ".join(entries) or "nothing"


def _spoken(parts: Iterable[Part], unit: str) -> str:
    return ", ".join(f"{charge} {quantity(amount, unit)}" for charge, amount in parts) or "no parts"
