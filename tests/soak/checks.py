"""What holds of a session at any time, by its log; and a log that keeps only what can be written."""

from dataclasses import fields

import numpy as np
from tests.reference.session import Wanted

from aquamend import InformationState
from aquamend.recovery import (
    MemoryLog,
    Recovery,
)
from aquamend.recovery.events import (
    AlarmedAgain,
    Approved,
    Asked,
    Cancelled,
    Decided,
    Done,
    Ended,
    Expired,
    Intended,
    Observed,
    Settled,
)
from aquamend.recovery.plain import event_from_data, event_to_data, from_json, to_json


class WrittenLog(MemoryLog):
    """A log that keeps what can be written, and gives what is read from that."""

    def append(self, session, after, events, *, at):
        written = [to_json(event_to_data(event)) for event in events]
        problem = events[0].state.problem if after == 0 else None
        super().append(session, after, [event_from_data(from_json(one), problem=problem) for one in written], at=at)


def kind_of(request):
    """Return what the model says of a request."""
    act = str(request.act) if hasattr(request, "act") else ""
    return Wanted(request.kind, act, bool(getattr(request, "token", "")), getattr(request, "ending", None))


def assert_same(one, other):
    """Two recoveries are the same, field by field; states by what is believed in them."""
    for field in fields(Recovery):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, InformationState):
            assert np.array_equal(mine.posterior, theirs.posterior), field.name
            assert (mine.evidence, mine.alarms, mine.contradiction) == (
                theirs.evidence, theirs.alarms, theirs.contradiction,
            ), field.name  # fmt: skip
        else:
            assert mine == theirs, field.name


def check_log(entries, rules, attended):
    """Check by the log alone that no act was begun too early, twice, or without a word that was asked for it."""
    begun, fresh, asked, word, over = None, set(), None, None, False
    for entry in entries:
        assert not over, "nothing comes after the end"
        match entry.event:
            case Intended(act):
                assert begun is None, "two acts at once"
                assert str(act) not in fresh, "an act is begun twice for one decision"
                fresh.add(str(act))
                begun = act
                if act.irreversible and rules.ask_before_irreversible:
                    assert asked == act
                    assert word is not None
                    assert word.granted
                    assert entry.time - word.at.wall <= rules.approval_s
                asked = word = None
            case Decided():
                assert begun is None
                fresh = set()
            case Done() | Settled():
                assert begun is not None
                begun = asked = word = None
            case Asked(act, _, token):
                asked, word, question = act, None, token
            case Approved(token=given):
                assert given == question
                word, begun = entry.event, None
            case AlarmedAgain(refused=None) | Observed() | Cancelled() | Expired():
                word = None
            case Ended():
                assert begun is None
                over = True
    assert over
    assert attended or asked is None
