"""What must never happen in a session, whatever is said to it and in whatever order: each was found by attacking it."""

import threading
from dataclasses import replace
from functools import partial

import pytest
from tests.waiting import PATIENCE_S

from aquamend.belief import Observation
from aquamend.decision.steps import Continue, Escalate, NewDeclaration, Reprobe, RollBack
from aquamend.errors import AquaMendError, ForeignSession, InvalidData, StaleReply
from aquamend.recovery import (
    Ending,
    Journal,
    MemoryLog,
    NoReceipt,
    Recovery,
    Rules,
    Session,
    approve,
    drive,
    drivers,
    settle,
)
from aquamend.recovery.events import Intended, Resumed
from aquamend.recovery.plain import message_from_data, reply_to_data

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


def test_a_call_that_is_refused_leaves_nothing_to_begin_that_is_not_in_the_log(begun):
    session = begun(Reprobe("look"), CORRECT_LEVEL, timeout_s=5, probes_move=False)
    look = session.request
    session.tick(6.0)
    session.reply(NoReceipt("its call has ended"), to=look.number, at=7.0)
    refused = (
        lambda at: session.reply(NoReceipt("late"), to=1, at=at),
        lambda at: session.observe("nobody", "there", at=at),
        lambda at: session.answer(granted=True, by="Ada", token="", at=at),
        lambda at: session.settle(done=True, by="Ada", at=at),
    )
    for at, call in zip((20.0, 30.0, 45.0, 46.0), refused, strict=True):
        with pytest.raises(AquaMendError):
            call(at)
        last = events(session)[-1]
        assert not isinstance(last, Intended) or last.act == session.request.act
        assert Recovery.of(events(session)).phase == session.recovery.phase
        assert len(session.recovery.receipts) == len(Recovery.of(events(session)).receipts)
        assert session.request == session.tick(at)


def test_nothing_begins_in_a_call_that_calls_it_off(begun):
    session = begun(CORRECT_LEVEL, attended=False)
    assert session.reply(RuntimeError("bump"), at=1.0).kind == "verify"
    ended = session.cancel(at=20.0)  # the robot has not told in time, and a hand-over would come next
    assert ended.ending is Ending.CANCELLED
    assert [str(e.act) for e in events(session) if isinstance(e, Intended)] == ["undo: clear"]


def test_the_receipt_of_an_act_is_welcome_from_a_robot_that_took_too_long_to_stop_it(begun):
    session = begun(CORRECT_LEVEL, Continue(), timeout_s=5)
    stop = session.tick(6.0)
    assert session.tick(17.0).kind == "verify"
    assert str(session.reply(stop.act.failed("stopped half-way"), to=stop.number, at=18.0).act) == "finish the task"
    with pytest.raises(StaleReply):
        session.reply(stop.act.failed("stopped half-way"), to=stop.number, at=18.0)


@pytest.mark.parametrize("odd", ["nan", "inf"])
def test_what_no_log_can_hold_is_refused_and_the_session_goes_on(begun, tmp_path, odd):
    session = begun(CORRECT_LEVEL, log=Journal(tmp_path / "j.db"))
    before = session.request
    with pytest.raises(AquaMendError, match="give a finite number"):
        session.observe("weigh", float(odd), at=1.0)
    with pytest.raises(InvalidData):
        session.cancel(7, at=2.0)
    assert session.tick(3.0) == before
    assert str(session.reply(before.act.done(), at=4.0).act) == "undo: back"


class Overtaken(MemoryLog):
    """A log into which somebody else writes just before the session does."""

    meanwhile = None

    def append(self, session, after, events, *, at=None):
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        super().append(session, after, events, at=at)


@pytest.mark.parametrize("done", [True, False])
def test_what_a_person_says_in_the_very_moment_of_a_receipt_counts_and_the_session_goes_on(begun, done):
    session = begun(CORRECT_LEVEL, Continue(), log=Overtaken())
    clear = session.request
    session.reply(NoReceipt("no idea"), at=1.0)
    assert session.reply(NoReceipt("no idea"), at=2.0).in_doubt == clear.act
    session.log.meanwhile = lambda: settle(session.log, "s", done=done, by="Ada", at=3.0)
    with pytest.raises(StaleReply):
        session.reply(clear.act.done(), to=clear.number, at=3.0)
    assert len(session.recovery.receipts) == 1
    assert str(session.request.act) == ("undo: back" if done else "finish the task")
    assert str(session.recovery.act) == str(Recovery.of(events(session)).act) == str(session.request.act)


def test_an_alarm_in_the_very_moment_of_a_persons_word_is_heard_as_well(begun):
    session = begun(Continue(), CORRECT_LEVEL, CORRECT_LEVEL, log=Overtaken(), reversible=False, again=dict.fromkeys(
        ("nothing", "moved", "added"), 0.5
    ))  # fmt: skip
    question = session.request
    session.log.meanwhile = lambda: approve(session.log, "s", token=question.token, by="Ada", at=3.0)
    assert session.alarm(at=3.0).kind == "perform"
    assert session.recovery.state.alarms == 2
    assert str(session.request.act) == "undo: clear"  # it is decided again; what was allowed is not begun any more


def test_whoever_lost_the_session_to_another_program_is_shown_nothing_to_begin(begun, scripted):
    session = begun(CORRECT_LEVEL)
    clear = session.request
    Session.resume(session.log, "s", policy=scripted.Steps([]), at=1.0)
    for _ in range(2):
        with pytest.raises(ForeignSession):
            session.reply(clear.act.done(), to=clear.number, at=2.0)
        with pytest.raises(ForeignSession):
            session.tick(3.0)
        assert session.request == clear


def test_after_an_answer_that_is_none_of_its_probes_a_policy_still_decides_with_a_log(begun):
    session = begun(*[CORRECT_LEVEL] * 3)
    session.observe("weigh", "maybe", at=1.0)
    session.observe("look", "there", at=2.0)
    stopped = session.request
    asked = session.reply(stopped.act.done(), at=3.0)
    assert str(asked.act) == "undo: back"
    assert session.recovery.state.contradiction == Observation("weigh", "maybe", unasked=True)


def test_after_a_crash_a_probe_may_still_move_something_until_somebody_knows(begun, scripted):
    log = begun(Reprobe("look"), CORRECT_LEVEL).log
    session = Session.resume(log, "s", policy=scripted.Steps([CORRECT_LEVEL]), at=10.0)
    asks = session.reply(NoReceipt("it cannot tell"), at=11.0)
    assert (asks.kind, str(asks.in_doubt)) == ("wait", "look")
    settle(log, "s", done=False, by="Ada", note="nothing moves", at=12.0)
    assert str(session.tick(13.0).act) == "undo: clear"


def test_where_probes_move_nothing_one_in_doubt_has_simply_failed(begun, scripted):
    log = begun(Reprobe("look"), CORRECT_LEVEL, probes_move=False).log
    session = Session.resume(log, "s", policy=scripted.Steps([CORRECT_LEVEL]), at=10.0)
    assert str(session.reply(NoReceipt("it cannot tell"), at=11.0).act) == "undo: clear"


def test_a_reply_that_nobody_waits_for_is_refused_whether_or_not_it_names_its_request(begun):
    session = begun(Continue(), reversible=False)
    asks = session.request
    assert asks.kind == "wait"
    with pytest.raises(StaleReply):
        session.reply(asks.act.done(), at=1.0)
    with pytest.raises(StaleReply):
        session.reply(asks.act.done(), to=asks.number, at=1.0)
    assert session.request == asks
    assert session.recovery.receipts == ()


def test_the_same_number_means_the_same_request_while_an_act_is_stopped(begun):
    session = begun(CORRECT_LEVEL, again={"nothing": 0.5, "moved": 0.5, "added": 0.5})
    act = session.request
    stop = session.alarm(at=1.0)
    assert (stop.kind, stop.reason) == ("stop", "an alarm rang")
    assert session.reply(RuntimeError("bump"), to=act.number, at=2.0) == stop


def test_an_alarm_makes_no_surprise_unsurprising(begun):
    again = {"nothing": 0.5, "moved": 0.5, "added": 0.5}
    steps = (Reprobe("look"), Continue(), Continue())
    session = begun(*steps, again=again, reversible=False, ask_before_irreversible=False)
    session.reply(session.request.act.done("maybe"), at=1.0)  # no outcome of it
    assert "surprising" in session.request.reason
    session.alarm(at=2.0)
    assert session.request.kind == "wait"
    assert "surprising" in session.request.reason


@pytest.mark.parametrize("at", [float("nan"), float("inf"), 1.7e12])
def test_what_is_no_time_in_seconds_is_refused_and_damages_no_journal(begun, tmp_path, at):
    session = begun(CORRECT_LEVEL, log=Journal(tmp_path / "j.db"))
    before = session.request
    with pytest.raises(AquaMendError, match="seconds since 1970"):
        session.reply(before.act.done(), at=at)
    assert session.tick(1.0) == before
    assert len(events(session)) == 3


def test_a_monitor_that_keeps_ringing_keeps_nobody_from_taking_over(begun):
    session = begun(Continue(), again={"nothing": 0.5, "moved": 0.5, "added": 0.5}, decisions=0)
    asks = session.request
    assert asks.reason == "somebody has to take over"
    for second in range(5):
        assert session.alarm(at=float(second)) == asks
    assert str(session.answer(granted=True, by="Ada", token=asks.token, at=6.0).act) == "hand over to a person"
    assert session.recovery.state.alarms == 6


@pytest.mark.parametrize("word", ["settled", "taken over"])
def test_the_list_of_sessions_knows_what_a_person_has_said_of_an_act_in_doubt(begun, tmp_path, word):
    with Journal(tmp_path / "j.db") as journal:
        session = begun(CORRECT_LEVEL, Continue(), log=journal, timeout_s=5)
        question = in_doubt(session, at=10.0)
        if word == "settled":
            settle(journal, "s", done=False, by="Ada", at=11.0)
        else:
            approve(journal, "s", token=question.token, by="Ada", at=11.0)
        session.tick(12.0)
        (line,) = journal.sessions()
        assert line.cost == session.recovery.cost > 0.0


def test_an_act_whose_call_has_not_begun_is_not_begun_when_it_is_stopped(begun, monkeypatch):
    late = []  # threads that the machine has not got round to yet

    class Thread:
        def __init__(self, *, target, name="", daemon=True):
            self.target = target

        def start(self):
            late.append(self.target)
            if len(late) == 1:
                session.cancel()
            else:
                self.target()

    class Robot:
        did = ()

        def perform(self, act):
            self.did += (str(act),)
            return act.done()

        measure, alarm = perform, None

        def stop(self, act):
            raise AssertionError("there is nothing to stop")

    monkeypatch.setattr(drivers.threading, "Thread", Thread)
    session, robot = begun(CORRECT_LEVEL), Robot()
    recovery = drive(session, robot)
    late[0]()  # the first thread runs at last
    assert recovery.ending is Ending.CANCELLED
    assert robot.did == ()
    assert recovery.cost == 0.0


def test_an_alarm_while_a_person_takes_over_begins_nothing_behind_their_back(begun):
    session = begun(Escalate(), CORRECT_LEVEL, again={"nothing": 0.5, "moved": 0.5, "added": 0.5}, attended=False)
    hand_over = session.request.act
    assert session.alarm(at=1.0).kind == "stop"
    assert session.reply(hand_over.done("Ada has it"), at=2.0).kind == "end"
    assert session.recovery.ending is Ending.HANDED_OVER


def test_a_call_of_stop_that_has_not_begun_says_nothing_about_the_act(scripted, table, monkeypatch):
    release, begun = threading.Event(), list[threading.Thread]()

    class Held(threading.Thread):
        def start(self):
            begun.append(self)
            if len(begun) == 2:  # the thread of stop gets no turn, and the act ends by itself
                release.set()
            else:
                super().start()

    class Stopping(scripted.Scripted):
        def perform(self, act):
            if not self.did:
                session.alarm()
                release.wait(PATIENCE_S)
            return super().perform(act)

        def stop(self, act):
            raise AssertionError("its thread was never begun")

    monkeypatch.setattr(drivers.threading, "Thread", Held)
    state = table(again={"nothing": 0.5, "moved": 0.5, "added": 0.5})
    session = Session.begin(state, scripted.Steps([CORRECT_LEVEL, Continue()]), rules=Rules(stop_s=PATIENCE_S))
    recovery = drive(session, Stopping(state))
    assert [(receipt.what, receipt.succeeded) for receipt in recovery.receipts] == [
        ("undo: clear", True),
        ("finish the task", True),
    ]


@pytest.mark.parametrize("apart", [True, False])
def test_what_goes_wrong_in_a_policy_is_raised_where_that_is_wanted(scripted, table, apart):
    begin = partial(Session.begin, table(), scripted.Steps([]), strict=True, decide_apart=apart, at=0.0)
    with pytest.raises(IndexError):
        begin().decide(at=1.0) if apart else begin()


def test_who_is_asked_about_an_act_in_doubt_is_told_what_came_between(begun, scripted):
    session = begun(CORRECT_LEVEL, timeout_s=5)
    assert "(no receipt within 5 s)" in in_doubt(session, at=6.0).reason
    log = begun(CORRECT_LEVEL).log
    session = Session.resume(log, "s", policy=scripted.Steps([]), at=1.0)
    assert "(the program that had begun it ended" in session.reply(NoReceipt("no idea"), at=2.0).reason


def test_a_late_receipt_of_another_act_is_not_taken_for_that_of_the_act_under_way(begun):
    """Whoever forgets to say which request a receipt answers must not set two things moving."""
    session = begun(CORRECT_LEVEL, CORRECT_LEVEL, timeout_s=5)
    slow = session.request
    session.tick(6.0)
    session.reply(slow.act.done(), at=6.5)  # the robot has stopped it, and it was done by then
    under_way = session.request
    assert under_way.act != slow.act
    with pytest.raises(StaleReply):
        session.reply(slow.act.done(), at=7.0)  # and this is what its call returns
    assert session.request == under_way
    assert session.reply(under_way.act.done(), at=8.0).number > under_way.number


def test_whoever_says_which_request_it_answers_may_call_an_act_as_they_like(begun):
    session, taken = begun(CORRECT_LEVEL), 0
    while session.request.kind == "perform":
        receipt = replace(session.request.act.done(), what="a program of the controller")
        session.reply(receipt, to=session.request.number if taken % 2 else None, at=1.0)
        taken += 1
    assert taken == len(session.recovery.receipts) > 3


def test_a_question_of_another_session_of_the_same_name_is_another_question(table, scripted):
    tokens = [
        Session.begin(
            table(reversible=False), scripted.Steps([Continue()]), log=MemoryLog(), name="cup", at=at
        ).request.token
        for at in (1e9, 1e9, 1e9 + 1)
    ]  # fmt: skip
    assert tokens[0] == tokens[1] != tokens[2]


def test_no_act_takes_less_than_no_time_where_the_calendar_is_set_back(begun):
    session = begun(CORRECT_LEVEL)
    session.reply(session.request.act.done(), at=-3_600.0)
    assert session.recovery.receipts[0].seconds == 0.0


def test_who_is_asked_after_a_crash_hears_of_it_and_may_answer_for_the_act_by_its_own_number(begun, scripted):
    session = begun(CORRECT_LEVEL)
    begins = session.request
    later = Session.resume(session.log, "s", policy=scripted.Steps([]), at=5.0)
    assert later.request.kind == "verify"
    assert later.request.reason == "the program that had begun it ended before its receipt came"
    assert later.request.number > begins.number
    with pytest.raises(StaleReply):
        later.reply(begins.act.done(), to=begins.number - 1, at=6.0)
    later.reply(begins.act.done(), to=begins.number, at=6.0)
    assert later.recovery.receipts[0].succeeded


def test_an_alarm_withdraws_a_hand_over_that_a_policy_has_chosen_and_it_decides_again(begun):
    session = begun(Escalate(), Continue(), again={"nothing": 0.5, "moved": 0.6, "added": 0.6})
    assert session.request.act.kind == "hand over"
    assert str(session.alarm(at=1.0).act) == "finish the task"


@pytest.mark.parametrize("where", ["methods", "data"])
def test_what_is_sent_as_data_means_what_the_method_of_its_name_means(begun, where):
    session = begun(Reprobe("look"), CORRECT_LEVEL, again={"nothing": 0.5, "moved": 0.7, "added": 0.6}, attended=True)

    def say(kind, *, to=None, at, **keys):
        if where == "data":
            return session.receive(message_from_data({"kind": kind, **keys}), to=to, at=at)
        return getattr(session, kind)(*keys.values(), at=at) if kind != "answer" else session.answer(**keys, at=at)

    look = session.request
    say("observe", probe="weigh", value="18", at=1.0)
    say("alarm", name=None, at=2.0)
    receipt = look.act.done("there")
    if where == "data":
        session.receive(message_from_data(reply_to_data(receipt)), to=look.number, at=3.0)
    else:
        session.reply(receipt, to=look.number, at=3.0)
    if session.request.kind == "perform":
        session.reply(RuntimeError("bump"), at=4.0)
    question = session.reply(NoReceipt("it cannot tell"), at=5.0)
    with pytest.raises(AquaMendError, match="the answer is to question"):
        say("answer", granted=True, by="Ada", token="of another", at=6.0)
    if where == "data":
        say("settle", done=True, by="Ada", at=7.0)
    else:
        session.settle(done=True, by="Ada", at=7.0)
    say("cancel", why="lunch", at=8.0)
    assert question.token
    assert [event.kind for event in events(session)] == [
        "alarmed", "decided", "intended", "observed", "alarmed again", "stopping", "done", "decided", "intended",
        "lost", "unknown", "asked", "settled", "intended", "cancelled", "stopping",
    ]  # fmt: skip


class TakenUpAtOnce(MemoryLog):
    """A log in which another program takes a session up as soon as it stands there."""

    def __init__(self, policy):
        super().__init__()
        self.policy, self.other = policy, None

    def append(self, session, after, events, *, at=None):
        super().append(session, after, events, at=at)
        if after == 0:
            self.other = Session.resume(self, session, policy=self.policy, at=0.0)


@pytest.mark.parametrize("apart", [False, True])
def test_of_two_programs_one_begins_an_act_where_a_session_is_taken_up_as_it_begins(scripted, table, apart):
    log = TakenUpAtOnce(scripted.Steps([CORRECT_LEVEL]))
    mine = scripted.Steps([CORRECT_LEVEL])
    with pytest.raises(ForeignSession):
        Session.begin(table(), mine, log=log, name="s", decide_apart=apart, at=0.0).decide(at=0.0)
    assert log.other.request.kind == "perform"
    assert sum(isinstance(entry.event, Intended) for entry in log.read("s")) == 1
