"""What follows in a recovery by itself: from how it stands, from time, and from its budgets. Pure, given the time.

``wanted`` is what a session asks for; where it asks for nothing yet, ``following`` is what happens next.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import assert_never

from aquamend.codec import write
from aquamend.decision.steps import Escalate
from aquamend.recovery import events
from aquamend.recovery.acts import Act, HandOver, Measure
from aquamend.recovery.clock import Instant
from aquamend.recovery.events import Ending, Event
from aquamend.recovery.history import Phase, Recovery
from aquamend.recovery.requests import End, Perform, Request, RunProbe, Stop, Verify, Wait
from aquamend.recovery.safety_rules import Rules

GONE = "the program that had begun it ended before its receipt came"
SLACK_S = 1.0
"""How far the clocks of a person and of a session may differ, where an approval is dated."""


def wanted(now: Recovery) -> Request | None:
    """Return what is asked for; None where something else comes first."""
    if now.ending is not None:
        return End(now.count, now.ending, now.reason)
    if now.asked is not None:
        return Wait(now.number, now.asked.act, now.asked.reason, now.asked.token, now.in_doubt)
    return None if now.act is None else _about(now, now.act)


def _about(now: Recovery, act: Act) -> Request | None:
    """Return what is wanted of the act that has begun; None where a person is to be asked."""
    match now.phase:
        case Phase.UNDER_WAY if isinstance(act, Measure):
            return RunProbe(now.act_number, act, now.rules.timeout(act))
        case Phase.UNDER_WAY:
            return Perform(now.act_number, act, now.rules.timeout(act))
        case Phase.STOPPING:
            return Stop(now.number, act, now.why, now.rules.stop_s)
        case Phase.AWAITED:
            return Wait(now.number, act, f"it cannot be stopped ({now.why}); its receipt is waited for")
        case Phase.LOST:
            return Verify(now.number, act, now.why or GONE, now.rules.stop_s)
        case Phase.UNKNOWN:
            return None
        case _:
            assert_never(now.phase)


def following(now: Recovery, clock: Instant) -> Event | None:
    """Return what comes next where nothing is asked for; None where the policy has to decide."""
    if now.in_doubt is not None:
        doubt = f"nobody knows whether this was done: {now.in_doubt}"
        take_over = HandOver(doubt, cost=now.state.problem.escalate_loss)
        return events.Asked(take_over, f"{doubt} ({now.why or GONE})", _token_of(take_over, now))
    if now.cancelled is not None:
        return events.Ended(Ending.CANCELLED, now.cancelled)
    return _beginning(now, now.acts[0], clock) if now.acts else _closing(now, clock)


def _beginning(now: Recovery, act: Act, clock: Instant) -> Event:
    """Return what comes of an act that is to begin: it does, or a person is asked first."""
    why = now.rules.why_ask(act, attended=now.attended, surprise=now.surprise if act.irreversible else None)
    if not why:
        return events.Intended(act)
    if now.allowed is not None:
        stale = _lapsed(now.allowed, now.rules, clock)
        return events.Expired(stale) if stale else events.Intended(act)
    if now.attended:
        return events.Asked(act, why, _token_of(act, now))
    return events.Ended(Ending.STOPPED, f"{act}: {why}, and there is nobody to ask")


def _closing(now: Recovery, clock: Instant) -> events.Ended | events.Decided | None:
    """Return what comes without the policy, where nothing is left to do; None where the policy has to decide."""
    if now.carried_out:
        return events.Ended(Ending.HANDED_OVER if now.handed_over else Ending.FINISHED, now.reason)
    if now.trouble and now.steps and isinstance(now.steps[-1], Escalate):
        return events.Ended(Ending.STOPPED, now.trouble)
    why = now.trouble or _used_up(now, clock)
    return events.Decided(Escalate(), why) if why else None


def _used_up(now: Recovery, clock: Instant) -> str:
    """Return which budget is used up; empty if none is."""
    rules, taken = now.rules, len(now.steps)
    if taken >= rules.decisions:
        return f"{taken:,} decisions have not ended it"
    if clock.seconds_since(now.began) >= rules.seconds:
        return f"its {rules.seconds:g} seconds are over"
    return ""


def _lapsed(allowed: events.Approved, rules: Rules, clock: Instant) -> str:
    """Return why the word of a person no longer holds; empty if it does."""
    passed = clock.seconds_since(allowed.at)
    if passed > rules.approval_s:
        return f"{allowed.by} allowed it {passed:.0f} s ago, and an approval holds {rules.approval_s:g} s"
    if clock.wall < allowed.at.wall - SLACK_S:
        return f"{allowed.by} allowed it at a time that is still to come"
    return ""


def time_limit(now: Recovery) -> float:
    """Return how long what is asked of the act under way may take, in seconds."""
    if now.act is None or now.phase is Phase.UNKNOWN:
        return math.inf
    return now.rules.timeout(now.act) if now.phase in (Phase.UNDER_WAY, Phase.AWAITED) else now.rules.stop_s


def overdue(now: Recovery, act: Act) -> tuple[Event, ...]:
    """Return what comes of an act under way where what was asked of it has taken too long."""
    rules = now.rules
    match now.phase:
        case Phase.UNDER_WAY:
            return (events.Stopping(f"no receipt within {rules.timeout(act):g} s", overdue=True),)
        case Phase.AWAITED:
            return (events.Lost(f"no receipt within {rules.timeout(act):g} s", running=True),)
        case Phase.STOPPING:
            return (not_stopped(now, act, f"the robot has not stopped it within {rules.stop_s:g} s"),)
        case Phase.LOST:
            return given_up(now, act)
        case Phase.UNKNOWN:
            return ()


def not_stopped(now: Recovery, act: Act, why: str) -> Event:
    """Return what comes of an act that the robot was to stop, and has not."""
    if not now.running and _harmless(now, act):
        return events.Done(act.failed(now.why))
    return events.NotStopped(why) if now.running and now.preempted else events.Lost(now.why, now.running)


def given_up(now: Recovery, act: Act) -> tuple[Event, ...]:
    """Return what comes where nobody can tell what became of an act: a person is asked, or called, or it stops."""
    in_doubt = events.Done(act.failed(f"in doubt: {now.why}"), known=False)
    if _harmless(now, act) and not now.running:
        return (in_doubt,)
    if now.attended and (now.running or now.rules.ask_before_handing_over) and not isinstance(act, HandOver):
        return (events.Unknown(now.why),)
    if not now.running:
        return (in_doubt,)
    # It may still be moving, so not even a hand-over is begun.
    return (in_doubt, events.Ended(Ending.STOPPED, f"nobody knows whether this was done: {act} ({now.why})"))


def _harmless(now: Recovery, act: Act) -> bool:
    """Whether an act of which nobody knows what became may be left at that: nothing can move because of it."""
    return isinstance(act, Measure) and not now.rules.probes_move


def _token_of(act: Act, now: Recovery) -> str:
    """Return a digest of an act and of what it rests on: all that was done, heard and declared before it.

    A session of the same name, begun at another time, asks other questions.
    """
    rests_on = [
        now.session, write(now.began, complete=True), now.count, write(act, Act, complete=True), now.state.alarms,
        [str(o) for o in now.state.evidence], [str(new) for new in now.declared.values()], len(now.receipts),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(rests_on, default=str).encode()).hexdigest()[:12]
