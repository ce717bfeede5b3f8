"""Deciding outside the tick: a caller with a short tick is never kept waiting, and the result is the same."""

import threading
import time

import pytest
from tests.waiting import PATIENCE_S

from aquamend.decision.steps import Continue, NewDeclaration, Reprobe, RollBack
from aquamend.errors import AquaMendError, StaleReply
from aquamend.recovery import UNATTENDED, Decide, End, Ending, MemoryLog, Perform, RunProbe, Session, Thinking, recover

CORRECT_LEVEL = RollBack(("level",), declare=(NewDeclaration("level", 40.0),))


class Slow:
    """A policy that thinks until it is let go."""

    def __init__(self, policy):
        self.policy, self.free = policy, threading.Event()

    def next_step(self, state):
        assert self.free.wait(PATIENCE_S)
        return self.policy.next_step(state)


def ticked(thinking, robot, *, while_deciding=lambda: None):
    """Drive a session by ticks alone."""
    end = time.monotonic() + PATIENCE_S
    while not isinstance(request := thinking.tick(), End) and time.monotonic() < end:
        match request:
            case Decide():
                while_deciding()
            case RunProbe(number=number, act=act):
                thinking.session.reply(robot.measure(act), to=number)
            case Perform(number=number, act=act):
                thinking.session.reply(robot.perform(act), to=number)
    return thinking.session.recovery


def steps(scripted):
    return scripted.Steps([Reprobe("weigh"), CORRECT_LEVEL])


def test_no_tick_waits_for_a_decision_and_the_result_is_the_same(scripted, table):
    policy, ticks = Slow(steps(scripted)), []

    def while_deciding():
        ticks.append(1)
        if len(ticks) == 5:  # five ticks have come back meanwhile
            policy.free.set()

    session = Session.begin(table(), policy, rules=UNATTENDED, decide_apart=True)
    robot, other = (scripted.Scripted(table(), {"weigh": ["40"]}) for _ in range(2))
    apart = ticked(Thinking(session), robot, while_deciding=while_deciding)
    inside = recover(steps(scripted), other, rules=UNATTENDED)
    assert apart.ending is Ending.FINISHED
    assert robot.did == other.did
    assert apart.receipts == inside.receipts
    assert apart.steps == inside.steps
    assert apart.state.posterior.tobytes() == inside.state.posterior.tobytes()


def test_an_alarm_while_it_is_decided_makes_that_decision_void(scripted, table):
    class ByAlarms:
        def next_step(self, state):
            return Continue() if state.alarms == 2 else CORRECT_LEVEL

    again = {"nothing": 0.01, "moved": 0.9, "added": 0.9}
    policy = Slow(ByAlarms())
    session = Session.begin(table(again=again), policy, rules=UNATTENDED, decide_apart=True)
    thinking, alarmed = Thinking(session), []
    first = thinking.tick()

    def while_deciding():
        if not alarmed:
            alarmed.append(session.alarm())
            assert alarmed[0].number > first.number
        policy.free.set()

    recovery = ticked(thinking, scripted.Scripted(table()), while_deciding=while_deciding)
    assert recovery.ending is Ending.FINISHED
    assert [type(step) for step in recovery.steps] == [Continue]  # only what was decided after the alarm counts
    assert recovery.state.alarms == 2


def test_a_decision_on_what_was_known_before_is_refused_and_so_is_one_that_nobody_asked_for(scripted, table):
    again = {"nothing": 0.01, "moved": 0.9, "added": 0.9}
    policy = scripted.Steps([Continue(), CORRECT_LEVEL])
    session = Session.begin(table(again=again), policy, rules=UNATTENDED, decide_apart=True)
    thought = session.deliberation
    decided = thought.compute()
    session.alarm()
    with pytest.raises(StaleReply):
        session.reply(decided, to=thought.number)
    assert session.recovery.steps == ()
    act = session.decide()
    assert isinstance(act, Perform)
    with pytest.raises(StaleReply):
        session.reply(decided)
    assert (session.request, len(session.recovery.steps)) == (act, 1)


def test_a_policy_that_fails_apart_is_handed_over_or_raised(scripted, table):
    class Fails:
        def next_step(self, state):
            raise RuntimeError("out of memory")

    session = Session.begin(table(), Fails(), rules=UNATTENDED, decide_apart=True)
    recovery = ticked(Thinking(session), scripted.Scripted(table()))
    assert recovery.reason == "the policy failed: RuntimeError: out of memory"
    assert recovery.ending is Ending.HANDED_OVER
    session = Session.begin(table(), Fails(), rules=UNATTENDED, decide_apart=True, strict=True)
    with pytest.raises(RuntimeError, match="out of memory"):
        ticked(Thinking(session), scripted.Scripted(table()))


def test_a_session_starts_no_thread_and_says_nothing_by_itself(scripted, table, capsys):
    before = threading.active_count()
    session = Session.begin(table(), "aquamend", log=MemoryLog(), name="s", at=0.0)
    session.tick(1.0)
    assert threading.active_count() == before
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("said", [{"rung": "scale"}, {"silent": ["scale"]}])
def test_a_state_has_heard_its_alarms_already(table, said):
    with pytest.raises(AquaMendError, match="rung and silent go with a tracker"):
        Session.begin(table(), "aquamend", **said)
