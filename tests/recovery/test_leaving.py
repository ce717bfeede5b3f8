"""Whatever ends a driver while an act is under way, the act is stopped: nobody would wait for it any more."""

import asyncio
import threading

import pytest

from aquamend.decision.steps import NewDeclaration, RollBack
from aquamend.errors import BadJournal, ForeignSession
from aquamend.recovery import Declare, Ending, HandOver, MemoryLog, Rules, Session, recover, recover_async, resume
from aquamend.recovery.events import Done, Stopping

CORRECT_LEVEL = RollBack(("level",), declare=(NewDeclaration("level", 40.0),))
A_WHILE_S = 20.0
RULES = Rules(timeout_s=0.05, ask_before_handing_over=False)


class Moving:
    """A robot that moves until it is stopped, and says what it was asked."""

    def __init__(self, state):
        self.state, self.halted, self.asked = state, threading.Event(), []
        self.begun, self.rests = threading.Event(), threading.Event()

    def alarm(self):
        return self.state

    def measure(self, act):
        return act.done("there")

    def perform(self, act):
        if isinstance(act, Declare | HandOver):
            return act.done()
        self.asked.append(str(act))
        self.begun.set()
        assert self.halted.wait(A_WHILE_S)
        self.rests.set()
        return act.failed("stopped half-way")

    def stop(self, act):
        self.asked.append(f"stop {act}")
        self.halted.set()
        assert self.rests.wait(A_WHILE_S)
        return act.failed("stopped half-way")


class Awaited(Moving):
    async def perform(self, act):
        return await asyncio.to_thread(super().perform, act)

    async def stop(self, act):
        return await asyncio.to_thread(super().stop, act)


class Failing(MemoryLog):
    """A log that cannot be written any more once an act has begun."""

    def __init__(self, error, robot):
        super().__init__()
        self.error, self.robot = error, robot

    def append(self, session, after, events, *, at=None):
        if self.robot.begun.is_set() and self.error is not None:
            raise self.error
        super().append(session, after, events, at=at)


@pytest.fixture(params=["sync", "async"])
def recovering(request, table, scripted):
    """Recover in one of the two ways; return the robot, and a function that does."""
    robot = (Moving if request.param == "sync" else Awaited)(table())

    def run(log, rules=RULES):
        given = {"journal": log, "session": "s", "rules": rules}
        policy = scripted.Steps([CORRECT_LEVEL] * 3)
        if request.param == "async":
            return asyncio.run(recover_async(policy, robot, **given))
        return recover(policy, robot, **given)

    return robot, run


ERRORS = (BadJournal("j.db", "cannot grow", "make room"), OSError(28, "full"), SystemExit(3), KeyboardInterrupt())


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_where_nothing_can_be_written_any_more_the_robot_stops_all_the_same(recovering, scripted, error):
    robot, run = recovering
    log = Failing(error, robot)
    with pytest.raises(type(error)):
        run(log)
    assert robot.asked == ["undo: clear", "stop undo: clear"]
    assert robot.rests.is_set()
    log.error = None  # there is room again, and it goes on where it stood
    again = scripted.Scripted(robot.state)
    recovery = resume(log, "s", again, policy=scripted.Steps([]))
    assert recovery.ending is Ending.HANDED_OVER
    assert again.did == ["hand over to a person"]  # nobody can verify the act


def test_whoever_loses_the_session_to_another_program_stops_first(recovering, scripted):
    robot, run = recovering
    log = MemoryLog()

    def rival():
        robot.begun.wait(A_WHILE_S)
        Session.resume(log, "s", policy=scripted.Steps([]))

    other = threading.Thread(target=rival)
    other.start()
    with pytest.raises(ForeignSession):
        run(log)
    other.join(A_WHILE_S)
    assert robot.asked == ["undo: clear", "stop undo: clear"]
    assert robot.rests.is_set()


def test_a_program_that_is_told_to_end_writes_down_that_the_act_was_stopped(recovering):
    robot, run = recovering

    class Ends(MemoryLog):
        heard = False

        def append(self, session, after, events, *, at=None):
            if not self.heard and any(isinstance(event, Stopping) for event in events):
                self.heard = True
                raise SystemExit(0)
            super().append(session, after, events, at=at)

    log = Ends()
    with pytest.raises(SystemExit):
        run(log)
    *_, asked, came = [entry.event for entry in log.read("s") if isinstance(entry.event, Stopping | Done)]
    assert isinstance(asked, Stopping)
    assert came.receipt.finding == "stopped half-way"
    assert robot.asked[:2] == ["undo: clear", "stop undo: clear"]
