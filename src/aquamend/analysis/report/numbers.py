"""How numbers read in a report: three decimals as in the paper, a dash for what is unavailable."""

from __future__ import annotations

import math

DASH = "–"
DECIMALS = 3
SMALLEST_P = 1e-4


def decimal(value: float | None, *, decimals: int = DECIMALS) -> str:
    """Return a number with fixed decimals, thousands set apart; unavailable is a dash and infinity is named."""
    if value is None or math.isnan(value):
        return DASH
    if math.isinf(value):
        return "infinite" if value > 0 else "−infinite"
    text = f"{value:,.{decimals}f}"
    if float(text.replace(",", "")) == 0.0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def signed(value: float | None, *, decimals: int = DECIMALS) -> str:
    """Return a difference with its sign; a difference that rounds to nothing has none."""
    text = decimal(value, decimals=decimals)
    positive = value is not None and value > 0 and text.strip("0.") != ""
    return f"+{text}" if positive else text


def interval(low: float | None, high: float | None, *, decimals: int = DECIMALS) -> str:
    """Return an interval in brackets; nothing if there is none."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return ""
    return f"[{decimal(low, decimals=decimals)}, {decimal(high, decimals=decimals)}]"


def p_value(p: float | None) -> str:
    """Return a p-value; below one in ten thousand only that it is."""
    if p is None or math.isnan(p):
        return DASH
    return "<0.0001" if p < SMALLEST_P else f"{p:.4f}"


def share(value: float | None, *, decimals: int = 1) -> str:
    """Return a fraction as a percentage that rounds to 0 or 100 only where it is."""
    if value is None or math.isnan(value):
        return DASH
    text = f"{100 * value:.{decimals}f}"
    if float(text) == 100.0 and value < 1.0:
        return f">{100 - 10**-decimals:.{decimals}f} %"
    if float(text) == 0.0 and value > 0.0:
        return f"<{10**-decimals:.{decimals}f} %"
    return f"{text} %"


def count(value: int) -> str:
    """Return a count, thousands set apart."""
    return f"{value:,}"
