"""How policies, estimators and endings are called in a report."""

from __future__ import annotations

from aquamend.analysis.figures.appearance import look_of

ENDINGS = {
    "roll_back": "roll back",
    "continue": "continue",
    "restart": "restart",
    "escalate": "escalate",
    "last_resort": "last resort",
}


def policy_name(policy: str) -> str:
    """Return a policy's title for people; one that nobody describes is called as it is."""
    return look_of(policy).title
