"""What follows in a recovery by itself: from time, from its budgets, and from how it stands. Pure, given the time."""

from __future__ import annotations

import hashlib
import json
import math

from aquamend.codec import write
from aquamend.decision.steps import Escalate
from aquamend.recovery.acts import Act
from aquamend.recovery.clock import Instant
from aquamend.recovery.events import Approved, Decided, Ended
from aquamend.recovery.history import Phase, Recovery
from aquamend.recovery.requests import Ending
from aquamend.recovery.safety_rules import Rules

SLACK_S = 1.0
"""How far the clocks of a person and of a session may differ, where an approval is dated."""


def time_limit(now: Recovery) -> float:
    """Return how long what is asked of the act under way may take, in seconds."""
    if now.act is None:
        return math.inf
    match now.phase:
        case Phase.UNDER_WAY | Phase.AWAITED:
            return now.rules.timeout(now.act)
        case Phase.STOPPING | Phase.LOST:
            return now.rules.stop_s
        case Phase.UNKNOWN:
            return math.inf


def closing(now: Recovery, clock: Instant) -> Ended | Decided | None:
    """Return what comes without the policy, where nothing is left to do; None where the policy has to decide."""
    if now.carried_out:
        return Ended(Ending.HANDED_OVER if now.handed_over else Ending.FINISHED, now.reason)
    if now.trouble and now.steps and isinstance(now.steps[-1], Escalate):
        return Ended(Ending.STOPPED, now.trouble)
    why = now.trouble or used_up(now, clock)
    return Decided(Escalate(), why) if why else None


def used_up(now: Recovery, clock: Instant) -> str:
    """Return which budget is used up; empty if none is."""
    rules, taken = now.rules, len(now.steps)
    if taken >= rules.decisions:
        return f"{taken:,} decisions have not ended it"
    if clock.seconds_since(now.began) >= rules.seconds:
        return f"its {rules.seconds:g} seconds are over"
    return ""


def lapsed(allowed: Approved, rules: Rules, clock: Instant) -> str:
    """Return why the word of a person no longer holds; empty if it does."""
    passed = clock.seconds_since(allowed.at)
    if passed > rules.approval_s:
        return f"{allowed.by} allowed it {passed:.0f} s ago, and an approval holds {rules.approval_s:g} s"
    if clock.wall < allowed.at.wall - SLACK_S:
        return f"{allowed.by} allowed it at a time that is still to come"
    return ""


def token_of(act: Act, now: Recovery, number: int) -> str:
    """Return a digest of an act and of what it rests on: what was done, heard and declared before event ``number``.

    A session of the same name, begun at another time, asks other questions.
    """
    rests_on = [
        now.session, write(now.began, complete=True), number, write(act, Act, complete=True), now.state.alarms,
        [str(o) for o in now.state.evidence], [str(new) for new in now.declared.values()], len(now.receipts),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(rests_on, default=str).encode()).hexdigest()[:12]
