"""What every part of the page writes with: escaped text, finite numbers, swatches, and what each charge is called."""

from __future__ import annotations

import math
import unicodedata
from html import escape

from aquamend.recovery.receipts import Charge

UNDIVIDED = "undivided"
"""The parts of a loss that were not told apart."""

_MEANINGS = {
    Charge.SENSING: "sensing: what was measured",
    Charge.ROLLBACK: "rollback: what was undone",
    Charge.CONTINUATION: "continuation: what was done again or done on, or handed over",
    Charge.RESIDUAL: "residual: failures left uncorrected",
    UNDIVIDED: "rollback and residual, not told apart",
}


def safe(text: str) -> str:
    """Return a text that can stand in an element or a quoted attribute, whatever it holds."""
    return escape("".join(c if c in "\n\t" or not _disturbs(c) else "\N{REPLACEMENT CHARACTER}" for c in text))


def number(value: float) -> str:
    """Return a coordinate for a drawing; one that is not finite is refused."""
    if not math.isfinite(value):
        raise ValueError(f"cannot draw at {value}: a coordinate must be finite")
    return f"{value:.2f}".rstrip("0").rstrip(".")


def portion(value: float) -> str:
    """Return a fraction of the drawing's width, so that the drawing fits any screen."""
    return f"{number(100.0 * value)}%"


def seconds(time_s: float) -> str:
    """Return a simulated time as the page writes it."""
    return f"{time_s:.1f} s"


def charge_meaning(charge: str) -> str:
    """Return a charge with what it stands for, as a legend has it."""
    return _MEANINGS[charge]


def swatch(style: str) -> str:
    """Return a small square in the colour of a style, for legends; words beside it say the same."""
    square = f'<rect class="{style}" width="12" height="12"/>'
    return f'<svg class="swatch" width="12" height="12" aria-hidden="true">{square}</svg>'


def folded_table(summary: str, *, head: str, rows: str) -> str:
    """Return a table that opens on a click and, where it is too wide, scrolls within itself."""
    label = safe(summary)
    return (
        f'<details><summary>{label}</summary><div class="scroll" tabindex="0" role="region" aria-label="{label}">'
        f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div></details>"
    )


def _disturbs(character: str) -> bool:
    """Control characters and halves of surrogate pairs cannot be written into a page."""
    return unicodedata.category(character) in ("Cc", "Cs")
