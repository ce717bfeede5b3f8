"""How policies, endings and numbers read in a report."""

from __future__ import annotations

import math
from typing import assert_never

from aquamend_lab.analysis.drawing import style_of
from aquamend_lab.analysis.metrics import Form

ENDINGS = {
    "roll_back": "roll back",
    "continue": "continue",
    "restart": "restart",
    "escalate": "escalate",
    "last_resort": "last resort",
}


def policy_name(policy: str) -> str:
    """Return a policy's title for people; one that nobody describes is called as it is."""
    return style_of(policy).title


DASH = "–"
DECIMALS = 3


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


def share(value: float | None, *, decimals: int = 1) -> str:
    """Return a fraction as a percentage; one that lies between 0 and 1 never reads as 0 or 100."""
    if value is None or not math.isfinite(value):
        return decimal(value)
    text, least = decimal(100 * value, decimals=decimals), 10.0**-decimals
    if 0.0 < value < 1.0 and text == decimal(0.0, decimals=decimals):
        text = f"<{decimal(least, decimals=decimals)}"
    elif 0.0 < value < 1.0 and text == decimal(100.0, decimals=decimals):
        text = f">{decimal(100 - least, decimals=decimals)}"
    return f"{text} %"


def count(value: int) -> str:
    """Return a count, thousands set apart."""
    return f"{value:,}"


def as_form(value: float | None, form: Form) -> str:
    """Return a metric's number as it reads."""
    match form:
        case "decimal":
            return decimal(value)
        case "one decimal":
            return decimal(value, decimals=1)
        case "share":
            return share(value)
        case "percentage":
            return share(value, decimals=3)
        case "count":
            return DASH if value is None else count(int(value))
        case _:
            assert_never(form)
