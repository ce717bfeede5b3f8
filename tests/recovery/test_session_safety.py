"""What must never happen in a session, whatever is said to it and in whatever order: each was found by attacking it."""

import pytest

from aquamend.decision.steps import NewDeclaration, RollBack
from aquamend.errors import AquaMendError
from aquamend.recovery import MemoryLog, NoReceipt, Rules, Session
from aquamend.recovery.events import Intended, Resumed

CORRECT_LEVEL = RollBack(("level",), declare=(NewDeclaration("level", 40.0),))


@pytest.fixture
def begun(scripted, table):
    """Begin a session of these steps at time 0; its log is ``session.log``."""

    def begin(*steps, log=None, again=None, reversible=True, attended=None, **rules):
        state = table(again=again, reversible=reversible)
        return Session.begin(
            state, scripted.Steps(steps), log=MemoryLog() if log is None else log, name="s",
            rules=Rules(**rules), attended=attended, at=0.0,
        )  # fmt: skip

    return begin


def events(session):
    return [entry.event for entry in session.log.read("s")]


def in_doubt(session, *, at):
    """Let the act under way take too long, and the robot neither stop it nor know of it."""
    session.tick(at)
    session.reply(NoReceipt("it cannot stop"), at=at)
    return session.reply(NoReceipt("it cannot tell"), at=at)


def test_the_word_of_a_person_who_takes_over_allows_no_other_act(begun):
    session = begun(CORRECT_LEVEL, reversible=False, timeout_s=5)
    while str(session.request.act) != "redo: move":
        session.reply(session.request.act.done(), at=1.0)
    move = session.request
    question = in_doubt(session, at=10.0)
    assert question.in_doubt == move.act
    assert session.reply(RuntimeError("bump"), to=move.number, at=11.0).kind == "verify"  # its call has ended meanwhile
    with pytest.raises(AquaMendError, match="nobody was asked"):
        session.answer(granted=True, by="Ada", token=question.token, at=12.0)
    asks = session.reply(move.act.done(), at=13.0)
    assert asks.kind == "wait"
    assert str(asks.act) == "finish the task"
    assert asks.token != question.token


def test_whoever_resumes_asks_the_robot_however_long_ago_the_act_began(begun, scripted):
    session = begun(CORRECT_LEVEL, ask_before_handing_over=False)
    for at in (100.0, 1_000.0):
        session = Session.resume(session.log, "s", policy=scripted.Steps([]), at=at)
        assert session.request.kind == "verify"
        assert session.request.act == next(e.act for e in events(session) if isinstance(e, Intended))
        assert session.due == session.request.timeout_s


def test_a_session_that_asks_what_became_of_an_act_can_be_resumed_with_nobody_to_ask(begun, scripted):
    session = begun(CORRECT_LEVEL, timeout_s=5, attended=False)
    session.tick(6.0)
    assert session.reply(NoReceipt("it cannot stop"), at=7.0).kind == "verify"
    session = Session.resume(session.log, "s", policy=scripted.Steps([]), at=101.0)
    assert session.request.kind == "verify"
    assert isinstance(events(session)[-1], Resumed)
